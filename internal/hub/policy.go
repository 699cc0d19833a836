package hub

import "time"

// Policy is what the configuration says about who has to agree to which call. It
// is a value, as [Group] is.
type Policy struct {
	Given bool // the configuration has one; without it MCP callers are only observed

	// Modes are those of doors that the configuration names.
	Modes map[Door]PolicyMode
	// Verdicts are by risk what holds where no rule matches.
	Verdicts [len(Risks)]Verdict
	// SecondPerson has critical calls agreed to by two persons, and not by one
	// twice.
	SecondPerson bool
	Rules        []Rule
}

// Rule is one rule of a policy. A call that fits all of what is not empty is
// met by it: of a list one element has to fit. In texts "*" stands for any text.
type Rule struct {
	ID     string // unique in the policy; by its place, "rule 3", if the configuration gives none
	Effect Verdict

	Tenants []string
	Callers []string // by subject
	Roles   []Role
	Doors   []Door
	Groups  []string
	Clients []string
	Methods []string // of MCP; empty for tools/call
	Servers []string // by key
	Tools   []string // by exposed name or the server's own
	Tags    []string // of the server in the configuration, or of the assessment
	Risks   []Risk
	When    string // CEL over the call; "" for always

	Because string // for people; "" for none
}

// Approval says how people are asked.
type Approval struct {
	Expires time.Duration // from the request for agreement on; 0 for 5 min
	Hold    time.Duration // a call is held so long at most before its caller gets a ticket; 0 for 45 s
	Elicit  bool          // callers that can be asked questions are asked to agree there
	Pending int           // requests of one caller that may be open at once; 0 for 100
}
