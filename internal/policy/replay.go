package policy

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Past is a call of the record, with what is known now of what it was about.
type Past struct {
	Call   *hub.CallRecord
	Server *hub.Server // nil if there is none any more
	Tool   *hub.Tool   // nil if there is none any more
	Name   string      // the exposed name that the tool has now; "" for the one on record
	Role   hub.Role    // of the caller, which the record does not have; "" if it is not known
}

// Doubt is why it cannot be told what a policy would say to a call of the record.
// It means the same in every version.
type Doubt string

// The doubts. Of several the first one counts.
const (
	DoubtNone   Doubt = ""
	DoubtGone   Doubt = "gone"   // the tool is not there any more
	DoubtAbsent Doubt = "absent" // the arguments were not kept
	DoubtHidden Doubt = "hidden" // part of the arguments was hidden, as it may be a secret
	DoubtRole   Doubt = "role"   // the caller's role is not on record
)

var doubts = [...]Doubt{DoubtGone, DoubtAbsent, DoubtHidden, DoubtRole} //nolint:gochecknoglobals // a table

// Phrase says the doubt to people; it is empty for [DoubtNone].
func (d Doubt) Phrase() message.Phrase {
	switch d {
	case DoubtGone:
		return message.Say("the tool is not there any more")
	case DoubtAbsent:
		return message.Say("the arguments are not on record")
	case DoubtHidden:
		return message.Say("part of the arguments is hidden on record")
	case DoubtRole:
		return message.Say("the caller's role is not on record")
	}
	return message.Phrase{}
}

// Replayed is what a policy says to a call of the record.
type Replayed struct {
	Before hub.Verdict    // as recorded; "" if it was not judged
	Now    hub.Verdict    // "" if it cannot be told
	Mode   hub.PolicyMode // now, at the call's door
	Rule   string         // id of the rule that decides; "" if the risk does, or several could
	Doubt  Doubt          // why it cannot be told
}

// Tally counts what was replayed.
type Tally struct {
	Calls      int
	Unjudged   int // of which there is no verdict from before
	Same       int
	Stricter   int // than before
	Laxer      int
	CannotTell map[Doubt]int // not among those above, but for Calls
	Now        map[hub.Verdict]int
}

// Add counts one call.
func (t *Tally) Add(r Replayed) {
	if t.Now == nil {
		t.CannotTell, t.Now = make(map[Doubt]int), make(map[hub.Verdict]int)
	}
	t.Calls++
	if r.Now == "" {
		t.CannotTell[r.Doubt]++
		return
	}
	t.Now[r.Now]++
	switch before, now := severity(r.Before), severity(r.Now); {
	case r.Before == "":
		t.Unjudged++
	case now > before:
		t.Stricter++
	case now < before:
		t.Laxer++
	default:
		t.Same++
	}
}

func severity(v hub.Verdict) int {
	return slices.Index([]hub.Verdict{hub.VerdictAllow, hub.VerdictAsk, hub.VerdictDeny}, v)
}

// Replay says what the policy would say to a call of the record. Where that
// depends on what the record does not have, it cannot be told: an argument that
// was hidden or cut off and is read by an expression, the role of the caller, or a
// tool that is gone. The risk of a call whose arguments are not whole is the
// recorded one. A tool that is described otherwise by now is judged as it is now.
func (p *Policy) Replay(past *Past) Replayed {
	c := past.Call
	answer := Replayed{Before: c.Verdict, Mode: p.Mode(c.Door)}
	r := p.recall(past)
	defer r.release()
	if len(r.missed) == 0 && len(r.risks)*len(r.unclear) == 1 {
		f := past.facts(r.q, &r.found, &p.profiles) // as nothing has been tried on them
		defer f.release()
		d := p.decide(f)
		answer.Now = d.verdict
		if d.rule >= 0 {
			answer.Rule = p.rules[d.rule].id
		}
		return answer
	}
	said := r.verdicts()
	if len(said) == 1 {
		answer.Now, answer.Rule = said[0], r.decider(said[0])
		return answer
	}
	for _, doubt := range doubts {
		if r.missed[doubt] {
			answer.Doubt = doubt
			break
		}
	}
	return answer
}

// recalled is a call of the record, and what of it is not known.
type recalled struct {
	*facts
	policy *Policy
	found  hub.Assessment

	lost    Doubt           // why the assessment is not certain; "" if it is
	absent  bool            // the arguments were not kept
	hidden  map[string]bool // the members that are not whole
	unnamed bool            // a member's name is hidden
	risks   []hub.Risk      // one of these
	unclear []bool          // as well

	missed map[Doubt]bool // what a rule would have had to know
	rules  [3]finding     // deny, ask, allow
}

// omitted is what the record has in place of arguments that are too large.
var omitted = regexp.MustCompile(`^\{"omitted":"\d+ bytes"\}$`)

// hiddenText stands for what is hidden; see package audit.
const hiddenText = "***"

// recall finds out what is known of a call.
func (p *Policy) recall(past *Past) *recalled {
	c := past.Call
	r := &recalled{policy: p, missed: make(map[Doubt]bool)}
	r.absent = c.Arguments == "" && c.Digest != "" || omitted.MatchString(c.Arguments)
	q := &Question{
		Principal: hub.Principal{Subject: c.Subject, Door: c.Door, Role: past.Role, Tenant: c.Tenant},
		Group:     c.Group, Client: c.Client, Method: c.Method, Server: past.Server, Name: c.Name, Tool: past.Tool,
	}
	if past.Name != "" {
		q.Name = past.Name
	}
	if !r.absent {
		q.Arguments = []byte(c.Arguments)
		r.hide(q.Arguments)
	}
	r.assess(q, c)
	r.facts = past.facts(q, &r.found, &p.profiles)
	for i, x := range []*index{&p.denies, &p.asks, &p.allows} {
		r.rules[i] = r.find(x)
	}
	return r
}

// facts are those of the call, also of a server and a tool that are gone. They are
// to be released.
func (past *Past) facts(q *Question, found *hub.Assessment, of *profiles) *facts {
	f, c := newFacts(q, found, of), past.Call
	if past.Server == nil {
		f.server = c.Server
	}
	if past.Tool == nil && c.Method == methodCall {
		f.own, f.qualified = c.Tool, qualify(q.Name, f.server, c.Tool)
	}
	return f
}

// hide notes which arguments are not whole.
func (r *recalled) hide(raw []byte) {
	if !bytes.Contains(raw, []byte(hiddenText)) || !readable(raw) {
		return
	}
	r.hidden = make(map[string]bool)
	for m := range wire.Object(raw, wire.Value(raw)) {
		name, _ := wire.String(raw, m.Key)
		r.unnamed = r.unnamed || strings.Contains(name, hiddenText)
		if bytes.Contains(m.Value.Of(raw), []byte(hiddenText)) {
			r.hidden[name] = true
		}
	}
}

// assess finds out what is known of the call's risk.
func (r *recalled) assess(q *Question, c *hub.CallRecord) {
	tool := c.Method == methodCall
	known, recorded := hub.ParseRisk(c.Risk)
	switch {
	case tool && q.Tool == nil, q.Server == nil && (tool || c.Server != ""):
		r.lost = DoubtGone
	case tool && r.absent:
		r.lost = DoubtAbsent
	case tool && r.hidden != nil:
		r.lost = DoubtHidden
	}
	if !tool || r.lost == "" {
		r.found = r.policy.profiles.assess(q)
		if q.Method == methodRead && recorded { // of a URI the record has no query and no user
			r.found.Risk = max(r.found.Risk, known)
		}
		r.risks, r.unclear = []hub.Risk{r.found.Risk}, []bool{r.found.Unclear}
		return
	}
	if r.lost == DoubtHidden {
		r.found = r.policy.profiles.assess(q)
	}
	sure := r.lost == DoubtHidden && recorded && r.found.Risk == known
	r.risks, r.unclear = hub.Risks[:], []bool{false, true}
	if recorded {
		r.risks, r.found.Risk = []hub.Risk{known}, known
	}
	switch {
	case sure, r.found.Unclear:
		r.unclear = []bool{r.found.Unclear}
	case c.Verdict == hub.VerdictAllow && c.Rule == "": // or it would have been asked
		r.unclear = []bool{false}
	}
}
