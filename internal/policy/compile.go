package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// doors are those that the hub has.
var doors = [...]hub.Door{ //nolint:gochecknoglobals // a table
	hub.DoorMCP, hub.DoorSSE, hub.DoorWebSocket, hub.DoorStdio, hub.DoorREST, hub.DoorAgent, hub.DoorXiaoZhi, hub.DoorDevice,
}

// Doors returns the doors that the hub has, always in the same order.
func Doors() []hub.Door { return slices.Clone(doors[:]) }

// Compile makes a policy of what the configuration says. The policy judges also
// if there are faults: what cannot be used asks, as the package says.
func Compile(given hub.Policy) (*Policy, []Fault) {
	p := &Policy{modes: make(map[hub.Door]hub.PolicyMode, len(doors)), second: given.SecondPerson}
	var faults []Fault
	for _, door := range doors {
		p.modes[door] = usualMode(door, given.Given)
	}
	for door, mode := range given.Modes {
		if mode != hub.PolicyEnforce && mode != hub.PolicyObserve {
			faults = append(faults, Fault{-1, message.Say("the mode %s is none", message.Quote(string(mode)))})
			mode = hub.PolicyEnforce
		}
		p.modes[door] = mode
	}
	for i, v := range given.Verdicts {
		if v != "" && !isVerdict(v) {
			faults = append(faults, Fault{-1, message.Say("the verdict %s is none", message.Quote(v))})
			v = hub.VerdictAsk
		}
		p.verdicts[i] = v
	}
	p.rules = make([]rule, len(given.Rules))
	for i := range given.Rules {
		if fault := p.add(i, &given.Rules[i]); !fault.Empty() {
			faults = append(faults, Fault{i, fault})
		}
	}
	p.version = p.digest(given.Rules)
	return p, faults
}

// usualMode is the mode of a door that the configuration does not name.
func usualMode(door hub.Door, given bool) hub.PolicyMode {
	switch door {
	case hub.DoorMCP, hub.DoorSSE, hub.DoorWebSocket, hub.DoorStdio:
		if !given {
			return hub.PolicyObserve
		}
	}
	return hub.PolicyEnforce
}

// usualVerdict is what holds by the risk if the configuration says nothing. Who
// speaks to a device has no screen to agree on, and is asked only if it matters most.
func usualVerdict(door hub.Door, risk hub.Risk) hub.Verdict {
	asks := hub.RiskHigh
	if door == hub.DoorXiaoZhi || door == hub.DoorDevice {
		asks = hub.RiskCritical
	}
	if risk >= asks {
		return hub.VerdictAsk
	}
	return hub.VerdictAllow
}

func isVerdict(v hub.Verdict) bool {
	return v == hub.VerdictAllow || v == hub.VerdictAsk || v == hub.VerdictDeny
}

// add makes the rule at a place ready.
func (p *Policy) add(at int, given *hub.Rule) (fault message.Phrase) {
	r := newRule(given)
	if r.id == "" {
		r.id = fmt.Sprintf("rule %d", at+1)
	}
	if r.conditional {
		r.expression, fault = compile(given.When)
	}
	to := &p.asks
	switch given.Effect {
	case hub.VerdictAllow:
		to = &p.allows
	case hub.VerdictDeny:
		to = &p.denies
	case hub.VerdictAsk:
	default:
		fault = message.Say("the effect %s is none", message.Quote(given.Effect))
	}
	p.rules[at] = r
	to.add(&p.rules[at], int32(at)) //nolint:gosec // a file has not so many
	return fault
}

// digest is a digest of all that the policy says. The order within a list says
// nothing.
func (p *Policy) digest(rules []hub.Rule) string {
	said := struct {
		Format   int
		Modes    map[hub.Door]hub.PolicyMode
		Verdicts map[hub.Door][]hub.Verdict
		Second   bool
		Rules    []hub.Rule
	}{1, p.modes, make(map[hub.Door][]hub.Verdict, len(doors)), p.second, make([]hub.Rule, len(rules))}
	for _, door := range doors {
		for _, risk := range hub.Risks {
			said.Verdicts[door] = append(said.Verdicts[door], p.Usual(door, risk))
		}
	}
	for i, r := range rules {
		r.ID = p.rules[i].id
		for _, list := range []*[]string{&r.Tenants, &r.Callers, &r.Groups, &r.Clients, &r.Methods, &r.Servers, &r.Tools, &r.Tags} {
			*list = sorted(*list)
		}
		r.Roles, r.Doors, r.Risks = sorted(r.Roles), sorted(r.Doors), sorted(r.Risks)
		said.Rules[i] = r
	}
	text, err := json.Marshal(said)
	if err != nil {
		panic(fmt.Sprintf("a policy as JSON: %v", err)) // it is made of texts and numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// sorted is a list in order, each element once.
func sorted[T interface{ ~string | ~uint8 }](list []T) []T {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
