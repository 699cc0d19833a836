// Package approval is the desk at which people agree to calls. A request is a row
// that is bound to one call: who makes it, of which tool as it was described, with
// which arguments, under which policy. It outlives the process; the first decision
// wins, over all hubs that share the database; and an agreement is good for one
// call, which takes it. What is agreed to once and for a while is a [Grant].
//
// The desk judges nothing: whether a call needs an agreement, whether arguments
// that a person has edited may be, and whether all is still as it was when the call
// is at last made, is asked and answered by whoever makes calls.
package approval

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Status is where a request stands.
type Status string

// The statuses. See [Transitions].
const (
	Pending    Status = "pending"    // somebody has to decide
	Approved   Status = "approved"   // it may be made as it was asked for
	Edited     Status = "edited"     // it may be made with other arguments
	Rejected   Status = "rejected"   // it may not be made
	Expired    Status = "expired"    // nobody has decided in time, or nobody has made the call in time
	Cancelled  Status = "cancelled"  // nobody wants it any more
	Superseded Status = "superseded" // the call would be another one by now
)

// Statuses are all of them.
var Statuses = [...]Status{Pending, Approved, Edited, Rejected, Expired, Cancelled, Superseded} //nolint:gochecknoglobals // a table

// Transitions says which statuses may follow which. An agreement that a call has
// taken stays what it is.
func Transitions() map[Status][]Status {
	return map[Status][]Status{
		Pending:  {Approved, Edited, Rejected, Expired, Cancelled, Superseded},
		Approved: {Expired, Cancelled, Superseded},
		Edited:   {Expired, Cancelled, Superseded},
	}
}

// Agreed reports whether the call may be made, unless another one was made by it.
func (s Status) Agreed() bool { return s == Approved || s == Edited }

// Text is what a person reads, in both languages.
type Text struct {
	EN string `json:"en,omitempty"`
	ZH string `json:"zh,omitempty"`
}

// TextOf is a phrase in both languages.
func TextOf(p message.Phrase) Text {
	if p.Empty() {
		return Text{}
	}
	return Text{p.In(message.English), p.In(message.Chinese)}
}

// TextsOf are phrases in both languages.
func TextsOf(all []message.Phrase) []Text {
	texts := make([]Text, len(all))
	for i, p := range all {
		texts[i] = TextOf(p)
	}
	return texts
}

// In is the text in a language.
func (t Text) In(lang message.Lang) string {
	if lang == message.Chinese && t.ZH != "" {
		return t.ZH
	}
	return t.EN
}

// Judged is what was thought of a call when somebody was asked to agree to it, or
// of the arguments that somebody has put in the place of its own.
type Judged struct {
	Policy  string   `json:"policy,omitempty"`  // version
	Rule    string   `json:"rule,omitempty"`    // id; "" for what holds by the risk alone
	Because string   `json:"because,omitempty"` // what the rule's writer gives as the reason
	Risk    hub.Risk `json:"risk"`
	Reasons []Text   `json:"reasons,omitempty"`
	Warning Text     `json:"warning,omitzero"`
	Tags    []string `json:"tags,omitempty"`
	Unclear bool     `json:"unclear,omitempty"`
	Persons int      `json:"persons"`          // that have to agree, one after the other: 1 or 2
	Second  bool     `json:"second,omitempty"` // the second agreement has to be another person's

	// Servers are those for which the call was judged, by key, and that it may go to
	// by an agreement: of a pool several. Whoever agrees leaves those that their token
	// is for. Nil stands for just the one of the request.
	Servers []string `json:"servers,omitempty"`
}

// JudgedOf is what a judgement says, for people.
func JudgedOf(j *hub.Judgement) Judged {
	return Judged{
		Policy: j.Version, Rule: j.Rule, Because: j.Because, Risk: j.Risk, Reasons: TextsOf(j.Reasons), Warning: TextOf(j.Warning),
		Tags: j.Tags, Unclear: j.Unclear, Persons: j.Persons, Second: j.Second,
	}
}

// Details are which call somebody is asked to agree to.
type Details struct {
	Tenant  string   `json:"-"`
	Subject string   `json:"-"`                 // who asks
	Token   string   `json:"token,omitempty"`   // id of what was shown; "" for none
	Role    hub.Role `json:"role,omitempty"`    // that the caller had when the call was judged
	Scope   string   `json:"scope,omitempty"`   // as well
	Retrier *Retrier `json:"retrier,omitempty"` // who has it made once more for the caller; nil for nobody else
	Door    hub.Door `json:"door,omitempty"`    // by which way
	Session string   `json:"session,omitempty"` // by [hub.SessionRef]
	Client  string   `json:"client,omitempty"`
	Group   string   `json:"group,omitempty"`
	Call    string   `json:"call,omitempty"` // id of the call that asked first

	Method        string `json:"method,omitempty"`
	Name          string `json:"name,omitempty"` // as the caller put it
	Server        string `json:"-"`
	Tool          string `json:"-"`                       // the server's own name
	ToolHash      string `json:"toolHash,omitempty"`      // of its description
	ArgumentsHash string `json:"argumentsHash,omitempty"` // of the canonical form, with what else is sent
	PlainHash     string `json:"plainHash,omitempty"`     // of the arguments alone, as grants know them; "" for the same as ArgumentsHash
	ExtraShown    string `json:"extraShown,omitempty"`    // of what is sent besides the arguments, as Shown; "" for nothing
}

// Retrier is somebody who has the call of another made once more: it is theirs as
// well, so that they decide about it as little as the caller does.
type Retrier struct {
	Subject string   `json:"subject"`
	Tenant  string   `json:"tenant,omitempty"`
	Token   string   `json:"token,omitempty"`
	Role    hub.Role `json:"role,omitempty"`
	Scope   string   `json:"scope,omitempty"`
	Door    hub.Door `json:"door,omitempty"`
}

// RetrierOf is the principal as a retrier; nil for nil.
func RetrierOf(p *hub.Principal) *Retrier {
	if p == nil {
		return nil
	}
	return &Retrier{p.Subject, p.Tenant, p.Token, p.Role, p.Scope, p.Door}
}

// Principal is who the retrier is; nil for nil.
func (r *Retrier) Principal() *hub.Principal {
	if r == nil {
		return nil
	}
	return &hub.Principal{Subject: r.Subject, Tenant: r.Tenant, Token: r.Token, Role: r.Role, Scope: r.Scope, Door: r.Door}
}

// is reports whether it is a principal, or somebody with the same token.
func (r *Retrier) is(subject, tenant, token string) bool {
	return r != nil && (r.Subject == subject && r.Tenant == tenant || r.Token != "" && r.Token == token)
}

// Asking asks that somebody agree to a call.
type Asking struct {
	Details
	Judged

	// Arguments are exactly what would be sent, a JSON object of [MaxArguments]
	// at most; nil for none. They are sealed before they are written.
	Arguments []byte
	// Extra is what would be sent besides them, such as the answers to questions that
	// the tool has asked: a JSON object of [MaxArguments] at most; nil for nothing. It
	// is sealed as well.
	Extra []byte
	// Shown is what of the arguments may be seen in lists and events, and stands in the
	// database in clear: redacted JSON, bounded.
	Shown string
}

// Request is one request as it stands. It is a value.
type Request struct {
	Details
	Judged

	ID      string // UUID of version 7
	Status  Status
	Created time.Time
	Expires time.Time // until when it can be decided or, once it is agreed to, taken
	Decided time.Time // zero if nobody has
	Node    string    // of the hub that asked

	// Arguments are what was asked for, Edited what a person has put in their
	// place. They are there in the answers of the desk about one request, not in
	// lists; nil if there are none. Hidden says that there are some which
	// this hub has no key for.
	Arguments []byte
	Edited    []byte
	Extra     []byte // as [Asking.Extra]
	Hidden    bool
	Shown     string // of what would be sent now, redacted
	Hash      string // of what would be sent now: ArgumentsHash, or that of the edited ones

	Decisions []Decision // so far, in their order
	Taken     string     // id of the call that was made by it; "" for none yet
	Note      string     // why it was cancelled or superseded

	key []byte // see Reference; nil of what was asked before there were any
}

// Decision is what a person has said to a request.
type Decision struct {
	By     string    `json:"by"` // subject
	Tenant string    `json:"tenant,omitempty"`
	Token  string    `json:"token,omitempty"`
	Door   hub.Door  `json:"door,omitempty"`
	At     time.Time `json:"at"`
	Kind   Kind      `json:"kind"`
	Hash   string    `json:"hash"` // of the arguments that were agreed to, or rejected
	Note   string    `json:"note,omitempty"`
}

// Kind is what a decision says.
type Kind string

// The kinds of decision.
const (
	Approve Kind = "approve"
	Edit    Kind = "edit" // other arguments, to which the person agrees by that
	Reject  Kind = "reject"
)

// Deciding is a decision on its way to the desk.
//
// An edit's arguments have to be checked before by whoever hands them in: that the
// tool takes them and that the rules do not deny them. The desk only sees to it
// that they are a JSON object.
type Deciding struct {
	By   hub.Principal // who has the right to decide, as the door has found
	Kind Kind
	Note string // for the caller; at most [MaxNote] bytes
	// There says that the person was asked in the caller's own client, where the
	// configuration allows that. By is then the caller, who decides for once.
	There bool

	// Confirmation is which agreement this is meant to be, from 1 on; 0 stands
	// for the first. So a click that comes twice is no second agreement.
	Confirmation int
	// Saw is [Request.Hash] as the person saw it. The second agreement needs it.
	Saw string

	// Grant has an agreement stand from now on, of what is agreed to here: both are
	// done, or neither is. Nothing is given with an agreement after which another
	// one is needed. The first agreement needs Saw then, too; nil for none.
	Grant *Grant

	// Of an edit.
	Arguments     []byte
	ArgumentsHash string  // of their canonical form
	Shown         string  // as [Asking.Shown]
	Judged        *Judged // what is thought of them; nil for the same as before. It never asks for fewer persons

	made func(token string, by hub.Principal) bool // of the desk; see ownedBy
}

// What is kept at most.
const (
	MaxArguments = 1 << 20 // bytes of arguments to which somebody can agree
	MaxNote      = 2000    // bytes of a note
	MaxPending   = 10_000  // requests that are pending at once
	MaxDecisions = 20      // on one request
	MaxGrants    = 10_000  // in force at once

	// Agreement is how long an agreement may be taken.
	Agreement = 5 * time.Minute
	// Retention is how long requests and grants are kept that are over.
	Retention = 90 * 24 * time.Hour
	// DefaultExpires is how long a request is pending at most, and DefaultPending
	// how many of one caller may be, where the settings say nothing.
	DefaultExpires = 5 * time.Minute
	DefaultPending = 100
)
