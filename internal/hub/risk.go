package hub

import (
	"fmt"
	"slices"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Risk is how much harm a call may do.
type Risk uint8

// The risks, each greater than the one before.
const (
	RiskLow      Risk = iota // it only reads
	RiskMedium               // it may touch what is sensitive, or what it does is not known
	RiskHigh                 // it changes something
	RiskCritical             // it destroys, executes or pays
)

// Risks are all of them, from the least on.
var Risks = [...]Risk{RiskLow, RiskMedium, RiskHigh, RiskCritical} //nolint:gochecknoglobals // a table

var riskNames = [...]string{"low", "medium", "high", "critical"} //nolint:gochecknoglobals // a table

// String is the name of the risk, such as "high".
func (r Risk) String() string {
	if int(r) < len(riskNames) {
		return riskNames[r]
	}
	return fmt.Sprintf("Risk(%d)", uint8(r))
}

// ParseRisk returns the risk with the name.
func ParseRisk(name string) (Risk, bool) {
	at := slices.Index(riskNames[:], name)
	return Risk(max(at, 0)), at >= 0 //nolint:gosec // four of them
}

// Assessment is what is thought of one call before it is made.
type Assessment struct {
	Risk    Risk
	Reasons []message.Phrase // for people, the gravest first; none says why something is harmless
	Warning message.Phrase   // one sentence of what may happen; empty for RiskLow
	Tags    []string         // of what the call is about, such as "shell", "sql", "payment", in the order of the alphabet
	Unclear bool             // part of the arguments could not be read, such as a command line: a person has to look
}

// Verdict is what the rules say to a call.
type Verdict = string

// The verdicts.
const (
	VerdictAllow Verdict = "allow"
	VerdictAsk   Verdict = "ask"  // a person has to agree
	VerdictDeny  Verdict = "deny" // nobody can agree
)

// PolicyMode says what becomes of verdicts at a door.
type PolicyMode string

// The modes.
const (
	// PolicyObserve judges and records, and lets every call pass.
	PolicyObserve PolicyMode = "observe"
	// PolicyEnforce does as the verdicts say.
	PolicyEnforce PolicyMode = "enforce"
)

// Judgement is what the rules say to one call, and why.
type Judgement struct {
	Assessment
	Verdict Verdict
	Mode    PolicyMode
	Rule    string // id of the rule that decided; "" for what holds by the risk alone
	Because string // what the rule's writer gives as the reason; "" for none
	Version string // of the policy: another one for each that says something else
	Persons int    // that have to agree, one after the other, if the verdict is ask: 1 or 2
	Second  bool   // the second agreement has to be another person's
}

// Stops reports whether the call may not simply go on.
func (j *Judgement) Stops() bool { return j.Mode == PolicyEnforce && j.Verdict != VerdictAllow }
