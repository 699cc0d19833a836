package api

import (
	"encoding/json"
	"time"
)

// Approval is one request that somebody agree to a call.
type Approval struct {
	ID      string    `json:"id"`
	Status  string    `json:"status" enum:"pending,approved,edited,rejected,expired,cancelled,superseded" doc:"approved and edited: the call may be made once, until it expires; superseded: the call would be another one by now"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires" doc:"Until when it can be decided or, once it is agreed to, the call be made"`

	Tenant  string `json:"tenant,omitempty" doc:"Of who asks"`
	Subject string `json:"subject" doc:"Who asks"`
	Door    string `json:"door" doc:"By which way"`
	Session string `json:"session,omitempty" doc:"Of the caller, as in the states of calls"`
	Client  string `json:"client,omitempty" doc:"The caller's program, as it calls itself"`
	Group   string `json:"group,omitempty" doc:"At whose address"`
	Retrier string `json:"retrier,omitempty" doc:"Who has had the call made once more for who asks; neither decides about it"`
	Call    string `json:"call,omitempty" doc:"Id of the call that asked first, in the record of calls"`

	Method        string          `json:"method" example:"tools/call"`
	Name          string          `json:"name" doc:"Of the tool or prompt, or the URI, as the caller put it"`
	Server        string          `json:"server"`
	Servers       []string        `json:"servers,omitempty" doc:"Of a pool, those to which the call may go; not there if that is just server"`
	Tool          string          `json:"tool" doc:"The server's own name for it"`
	ToolHash      string          `json:"toolHash" doc:"Of the tool's description; the call is not made if that changes"`
	Hash          string          `json:"hash" doc:"Of the arguments that would be sent now; who agrees second says by it what was seen"`
	Shown         json.RawMessage `json:"shown,omitempty" doc:"The arguments that would be sent now, without what may be a secret"`
	Arguments     json.RawMessage `json:"arguments,omitempty" doc:"Exactly what was asked for; only of one request, and only for who may decide about it or has asked"`
	Edited        json.RawMessage `json:"edited,omitempty" doc:"Exactly what somebody has put in its place; as arguments"`
	Extra         json.RawMessage `json:"extra,omitempty" doc:"What is sent besides the arguments, such as answers to the tool's questions; as arguments"`
	ExtraShown    json.RawMessage `json:"extraShown,omitempty" doc:"What is sent besides the arguments, without what may be a secret"`
	Hidden        bool            `json:"hidden,omitempty" doc:"There are arguments, and only the hub that was asked has the key for them"`
	Definition    json.RawMessage `json:"definition,omitempty" doc:"The tool as its server describes it now; only of one request"`
	ToolChanged   bool            `json:"toolChanged,omitempty" doc:"The tool is described otherwise by now, or is gone: the call will not be made as it is"`
	Risk          string          `json:"risk" enum:"low,medium,high,critical"`
	Reasons       []string        `json:"reasons" doc:"Why, the gravest first"`
	Warning       string          `json:"warning,omitempty" doc:"What may happen, in one sentence"`
	Tags          []string        `json:"tags,omitempty" doc:"What it is about"`
	Unclear       bool            `json:"unclear,omitempty" doc:"Part of the arguments could not be read"`
	Policy        string          `json:"policy" doc:"Version of the policy"`
	Rule          string          `json:"rule,omitempty" doc:"That has it asked; not there if the risk alone does"`
	Because       string          `json:"because,omitempty" doc:"What the rule's writer gives as the reason"`
	Persons       int             `json:"persons" doc:"How often somebody has to agree"`
	SecondPerson  bool            `json:"secondPerson,omitempty" doc:"The second agreement has to be another person's"`
	Confirmations int             `json:"confirmations" doc:"How often somebody has agreed to what would be sent now; the next agreement is confirmation number this plus 1"`
	Decisions     []Decision      `json:"decisions" doc:"In their order"`
	Taken         string          `json:"taken,omitempty" doc:"Id of the call that was made by it"`
	Note          string          `json:"note,omitempty" doc:"Why it was cancelled or superseded"`
}

// Decision is what one person has said to a request.
type Decision struct {
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind" enum:"approve,edit,reject"`
	Door string    `json:"door,omitempty"`
	Note string    `json:"note,omitempty"`
	Hash string    `json:"hash,omitempty" doc:"Of the arguments that were agreed to"`
}

// ApprovalList is some requests, newest first.
type ApprovalList struct {
	Approvals []Approval `json:"approvals"`
	Next      string     `json:"next,omitempty" doc:"The cursor of those that follow; not there if none do"`
}

// Approve agrees to a request.
type Approve struct {
	Note         string    `json:"note,omitempty" maxLength:"2000" doc:"For the record and the caller"`
	Confirmation int       `json:"confirmation,omitempty" minimum:"1" maximum:"2" doc:"Which agreement this is meant to be; the second of a request needs it"`
	Saw          string    `json:"saw,omitempty" doc:"The request's hash as it was seen; the second agreement needs it"`
	Remember     *Remember `json:"remember,omitempty" doc:"Also give a grant, so that calls like this one ask nobody for a while; not with an agreement after which another one is needed"`
}

// Reject rejects a request.
type Reject struct {
	Note string `json:"note,omitempty" maxLength:"2000" doc:"Why; the caller is told"`
}

// Edit agrees to a request with other arguments.
type Edit struct {
	Arguments    json.RawMessage `json:"arguments" doc:"JSON object; held against the tool's schema and judged before anything is decided"`
	Note         string          `json:"note,omitempty" maxLength:"2000" doc:"For the record and the caller"`
	Confirmation int             `json:"confirmation,omitempty" minimum:"1" maximum:"2" doc:"As in an approval"`
	Saw          string          `json:"saw,omitempty" doc:"As in an approval"`
}

// Remember says which calls are to ask nobody from now on.
type Remember struct {
	For       string          `json:"for" doc:"For how long, such as 1h or 7d; 30d at most" example:"1h"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"\"exact\" (the default): with the same arguments; \"any\"; or an object that is not empty: with these members, whatever else there is"`
	Anyone    bool            `json:"anyone,omitempty" doc:"For every caller of the tenant, and not only for who has asked"`
	MaxRisk   string          `json:"maxRisk,omitempty" enum:"low,medium,high" doc:"Of no more risk than this; that of the request if it is not given. Critical calls always ask"`
}

// Grant is an agreement that stands: calls that it covers ask nobody.
type Grant struct {
	ID            string                     `json:"id"`
	Tenant        string                     `json:"tenant,omitempty"`
	Subject       string                     `json:"subject,omitempty" doc:"Whose calls; not there for every caller of the tenant"`
	Server        string                     `json:"server"`
	Tool          string                     `json:"tool" doc:"The server's own name for it"`
	ToolHash      string                     `json:"toolHash" doc:"Of the description; a tool that changes is not covered any more"`
	ArgumentsHash string                     `json:"argumentsHash,omitempty" doc:"With exactly these arguments"`
	Members       map[string]json.RawMessage `json:"members,omitempty" doc:"With these members of the arguments, whatever else there is"`
	MaxRisk       string                     `json:"maxRisk" enum:"low,medium,high" doc:"Of no more risk than this"`
	Request       string                     `json:"request,omitempty" doc:"Id of the request that it was given with"`
	Note          string                     `json:"note,omitempty"`
	By            string                     `json:"by" doc:"Who gave it; it never covers calls of theirs"`
	Created       time.Time                  `json:"created"`
	Expires       time.Time                  `json:"expires"`
	Revoked       *time.Time                 `json:"revoked,omitempty"`
	Revoker       string                     `json:"revoker,omitempty"`
	Uses          int64                      `json:"uses" doc:"Calls that it covered; those of the last seconds may be missing"`
	Used          *time.Time                 `json:"used,omitempty" doc:"When it covered one last"`
}

// GrantList is some grants, newest first.
type GrantList struct {
	Grants []Grant `json:"grants"`
	Next   string  `json:"next,omitempty" doc:"The cursor of those that follow; not there if none do"`
}

// GrantAdd gives a grant.
type GrantAdd struct {
	Tool      string                     `json:"tool" doc:"The tool, by the name under which it is called" example:"files__write_file"`
	Subject   string                     `json:"subject,omitempty" doc:"Whose calls; every caller of the tenant if it is not given"`
	Tenant    string                     `json:"tenant,omitempty" doc:"Whose; only the hub's own principals may name another than their own"`
	Arguments json.RawMessage            `json:"arguments,omitempty" doc:"With exactly these arguments; any if neither this nor members are given"`
	Members   map[string]json.RawMessage `json:"members,omitempty" doc:"With these members of the arguments, whatever else there is"`
	MaxRisk   string                     `json:"maxRisk,omitempty" enum:"low,medium,high" doc:"Of no more risk than this; high if it is not given"`
	For       string                     `json:"for" doc:"For how long, such as 1h or 7d; 30d at most" example:"8h"`
	Note      string                     `json:"note,omitempty" maxLength:"2000"`
}

// GrantPreview is which calls of the record a grant would have covered.
type GrantPreview struct {
	Since      time.Time      `json:"since"`
	Calls      int            `json:"calls" doc:"Of the tool, that were looked at"`
	Covered    int            `json:"covered" doc:"Of them, that it would have covered"`
	CannotTell map[string]int `json:"cannotTell" doc:"Of them, of which the record does not have what the grant depends on, by the reason: absent (arguments not kept), hidden (redacted), risk (never judged)"`
	Examples   []CallRecord   `json:"examples" doc:"Some that it would have covered, newest first"`
	Cut        bool           `json:"cut,omitempty" doc:"There were more calls than are looked at"`
}
