// Package policy says what the rules of the configuration have to say to a call:
// allow, ask or deny.
//
// # How a verdict comes about
//
// Of all rules that a call meets, deny goes before ask, and ask before allow. The
// place of a rule decides only which one is named of several with the same
// effect: the first without an expression, and if there is none the first that
// has one. Without any rule the risk decides ([hub.Policy.Verdicts], and where
// that says nothing what is usual at the door).
//
// What cannot be told is never allowed:
//
//   - An expression that fails for a call (a member that is missing, a type that
//     does not fit, more cost than it may have) asks, whatever the effect of its
//     rule. So does one that did not compile. A deny that is met still denies.
//   - Arguments that are no JSON object, or one with a name twice, also in upper
//     and lower case where the tool's schema does not have both, or with text
//     that is no Unicode, or nested too deeply, ask at least; no expression is
//     tried on them.
//   - A call whose assessment is unclear asks, unless it is allowed by a rule
//     that names its server or its tool and does not depend on what the arguments
//     say: one without "when", "risk" and "tags".
//
// A policy is immutable, and safe for concurrent use.
package policy

import (
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Fault is something in a policy that cannot be used as it is written.
type Fault struct {
	Rule   int // index in [hub.Policy.Rules]; -1 for none of them
	Detail message.Phrase
}

// Policy judges calls. It is made by [Compile].
type Policy struct {
	modes    map[hub.Door]hub.PolicyMode
	verdicts [len(hub.Risks)]hub.Verdict // "" for what is usual at the door
	second   bool
	version  string
	rules    []rule
	profiles profiles

	denies, asks, allows index
}

// Question is a call that is to be judged. Nothing in it is kept or changed, but
// for what Tool.Raw refers to, which is kept.
type Question struct {
	Principal hub.Principal
	Group     string // at whose address; "" for none
	Client    string // as it calls itself; "" if it did not say
	Method    string // of MCP, such as tools/call
	Server    *hub.Server
	Name      string    // exposed name of a tool; URI; name of a prompt
	Tool      *hub.Tool // nil for what is no tool
	Arguments []byte    // JSON object; nil for none
}

// Mode is what becomes of verdicts at a door.
func (p *Policy) Mode(d hub.Door) hub.PolicyMode {
	if mode, ok := p.modes[d]; ok {
		return mode
	}
	return hub.PolicyEnforce
}

// Version names what the policy says, in hexadecimal digits: policies that say the
// same have the same one, and others have others.
func (p *Policy) Version() string { return p.version }

// Usual is what holds at a door for calls of a risk that no rule is met by.
func (p *Policy) Usual(d hub.Door, r hub.Risk) hub.Verdict {
	if int(r) >= len(p.verdicts) {
		return hub.VerdictAsk
	}
	if v := p.verdicts[r]; v != "" {
		return v
	}
	return usualVerdict(d, r)
}
