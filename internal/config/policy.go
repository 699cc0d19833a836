package config

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
)

// Bounds of what is said about rules.
const (
	maxRules  = 10_000
	maxRuleID = 128 // characters
	maxTag    = 64  // characters
)

// What holds for asking people if nothing is said, and the bounds of what may be.
const (
	usualExpires = 5 * time.Minute
	usualHold    = 45 * time.Second
	usualPending = 100

	minExpires = 10 * time.Second
	maxExpires = day
	minHold    = time.Second
	maxHold    = 10 * time.Minute
	maxPending = 10_000
)

func usualApproval() hub.Approval {
	return hub.Approval{Expires: usualExpires, Hold: usualHold, Pending: usualPending}
}

// mention is a name of what may be elsewhere in the file, and where it stands.
type mention struct {
	where message.Phrase
	name  string
	at    int
}

// policyReading is "policy" while it is read.
type policyReading struct {
	rules   []ruleAt
	servers []mention // that rules name
	groups  []mention // as well
}

// ruleAt is where a rule stands, and what it is called in what is told.
type ruleAt struct {
	where    message.Phrase
	id, when member
}

// readPolicy reads "policy".
func (r *reader) readPolicy(m member) {
	e := &entry{reader: r}
	p := &r.settings.Policy
	p.Given = true
	var rules member
	e.strictly(m, m.name+".",
		part{"modes", func(m member) { e.readModes(p, m) }},
		part{"defaults", func(m member) { e.readVerdicts(p, m) }},
		part{"secondPerson", func(m member) { e.set(&p.SecondPerson, m) }},
		part{"rules", func(m member) { rules = m }},
	)
	if rules.value.Value == nil {
		return
	}
	all := e.elements(rules, "an array of objects")
	if len(all) > maxRules {
		e.problem(all[maxRules].at, "%s%s has more than %d elements", e.where, quoted(rules.name), maxRules)
		all = all[:maxRules]
	}
	for i, el := range all {
		r.readRule(p, i, el)
	}
	r.checkRules(*p)
}

// readModes reads what becomes of verdicts, by door.
func (e *entry) readModes(p *hub.Policy, m member) {
	doors, _ := e.object(m.value, message.Say("%s%s", e.where, quoted(m.name)))
	for _, d := range doors {
		name := d.name
		d.name = m.name + "." + d.name
		if !slices.Contains(policy.Doors(), hub.Door(name)) {
			e.problem(d.at, "%s%s is no door; there are %s", e.where, quoted(d.name), doorNames())
			continue
		}
		if mode, ok := e.choice(d, string(hub.PolicyObserve), string(hub.PolicyEnforce)); ok {
			if p.Modes == nil {
				p.Modes = make(map[hub.Door]hub.PolicyMode)
			}
			p.Modes[hub.Door(name)] = hub.PolicyMode(mode)
		}
	}
}

// readVerdicts reads what holds by the risk where no rule is met.
func (e *entry) readVerdicts(p *hub.Policy, m member) {
	risks, _ := e.object(m.value, message.Say("%s%s", e.where, quoted(m.name)))
	for _, one := range risks {
		risk, ok := hub.ParseRisk(one.name)
		one.name = m.name + "." + one.name
		switch {
		case !ok:
			e.problem(one.at, "%s%s is no risk; there are %s", e.where, quoted(one.name), list(riskNames()))
		default:
			if v, ok := e.choice(one, hub.VerdictAllow, hub.VerdictAsk, hub.VerdictDeny); ok {
				p.Verdicts[risk] = v
			}
		}
	}
}

// readRule reads one rule, which is the i-th.
func (r *reader) readRule(p *hub.Policy, i int, el member) {
	e := &entry{reader: r, member: el, where: message.Say("%s: ", quoted(el.name))}
	rule := hub.Rule{ID: fmt.Sprintf("rule %d", i+1)}
	at := ruleAt{where: e.where, id: el}
	e.strictly(el, "",
		part{"id", func(m member) {
			at.id, rule.ID = m, e.plain(m.name, m.value)
			e.checkName(m, rule.ID, maxRuleID)
		}},
		part{"effect", func(m member) { rule.Effect, _ = e.choice(m, hub.VerdictAllow, hub.VerdictAsk, hub.VerdictDeny) }},
		part{"when", func(m member) {
			at.when, rule.When = m, e.plain(m.name, m.value)
			if isString(m.value) && blank(rule.When) {
				e.problem(m.value.StartOffset, "%s%s is empty", e.where, quoted(m.name))
				rule.When = ""
			}
		}},
		part{"because", func(m member) { rule.Because = e.plain(m.name, m.value) }},
		part{"tenant", func(m member) { rule.Tenants = e.matchers(m, true) }},
		part{"caller", func(m member) { rule.Callers = e.matchers(m, false) }},
		part{"role", func(m member) { rule.Roles = choices[hub.Role](e, m, roleNames()) }},
		part{"door", func(m member) { rule.Doors = e.doors(m) }},
		part{"group", func(m member) {
			rule.Groups = e.matchers(m, false)
			r.policy.groups = append(r.policy.groups, e.mentions(m)...)
		}},
		part{"client", func(m member) { rule.Clients = e.matchers(m, false) }},
		part{"method", func(m member) { rule.Methods = e.matchers(m, false) }},
		part{"server", func(m member) {
			rule.Servers = e.matchers(m, false)
			r.policy.servers = append(r.policy.servers, e.mentions(m)...)
		}},
		part{"tool", func(m member) { rule.Tools = e.matchers(m, false) }},
		part{"tags", func(m member) { rule.Tags = e.matchers(m, false) }},
		part{"risk", func(m member) {
			for _, name := range choices[string](e, m, riskNames()) {
				risk, _ := hub.ParseRisk(name)
				rule.Risks = append(rule.Risks, risk)
			}
		}},
	)
	if find(el.value, "effect") == nil && el.value.Value.Kind() == '{' {
		e.problem(el.at, `%sit needs "effect": "allow", "ask" or "deny"`, e.where)
	}
	p.Rules = append(p.Rules, rule)
	r.policy.rules = append(r.policy.rules, at)
}

// checkRules reports ids that are there twice, and what cannot be compiled.
func (r *reader) checkRules(p hub.Policy) {
	first := make(map[string]int)
	for i, rule := range p.Rules {
		at := r.policy.rules[i]
		if before, again := first[rule.ID]; again {
			line, _ := r.position(before)
			r.problem(at.id.value.StartOffset, "%sanother rule has the \"id\" %s already, in line %d", at.where, quoted(rule.ID), line)
			continue
		}
		first[rule.ID] = at.id.value.StartOffset
	}
	if len(r.problems) > 0 {
		p.Rules = slices.Clone(p.Rules) // what has no effect is reported already
		for i := range p.Rules {
			if p.Rules[i].Effect == "" {
				p.Rules[i].Effect = hub.VerdictAsk
			}
		}
	}
	_, faults := policy.Compile(p)
	for _, f := range faults {
		if f.Rule < 0 {
			continue // reported already
		}
		at := r.policy.rules[f.Rule]
		r.problem(at.when.value.StartOffset, "%s%s: %s", at.where, quoted(at.when.name), f.Detail)
	}
}

// absent warns about servers and groups that rules name and that are not there.
// They may come later.
func (r *reader) absent(servers []hub.Server) {
	var keys, groups []string
	for _, s := range servers {
		keys = append(keys, s.Key)
		if s.Pool != "" && !slices.Contains(keys, s.Pool) {
			keys = append(keys, s.Pool)
		}
	}
	for _, g := range r.groups {
		groups = append(groups, g.Name)
	}
	r.eachAbsent(r.policy.servers, keys, func(m mention, near message.Phrase) {
		r.warn(m.at, "%sthere is no server %s; the rule holds once there is%s", m.where, quoted(m.name), near)
	})
	r.eachAbsent(r.policy.groups, groups, func(m mention, near message.Phrase) {
		r.warn(m.at, "%sthere is no group %s; the rule holds once there is%s", m.where, quoted(m.name), near)
	})
	r.eachAbsent(r.voice.groups, groups, func(m mention, near message.Phrase) {
		r.warn(m.at, "%sthere is no group %s; it is offered nothing until there is%s", m.where, quoted(m.name), near)
	})
}

func (r *reader) eachAbsent(mentions []mention, known []string, warn func(m mention, near message.Phrase)) {
	for _, m := range mentions {
		switch {
		case slices.Contains(known, m.name):
		case len(r.warnings) >= maxNotes:
			return // finding the nearest takes time
		default:
			near := message.Phrase{}
			if name := nearest(m.name, known); name != "" {
				near = message.Say("; did you mean %s?", quoted(name))
			}
			warn(m, near)
		}
	}
}

// samePolicy reports whether two configurations say the same about rules, and
// about asking people.
func samePolicy(a, b *Config) bool {
	return reflect.DeepEqual(a.Policy, b.Policy) && a.Approval == b.Approval
}
