package policy

import (
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// finding is what rules with one effect may say to a call of the record.
type finding struct {
	could []outcome // each once
	rule  int       // that is met for certain, -1 for none
	named bool      // one that is named is met for certain
	maybe bool      // one that is named may be met
}

// find looks through the rules with one effect.
func (r *recalled) find(x *index) finding {
	found := finding{rule: -1}
	perhaps, fails := false, false
	for _, at := range x.all {
		rule := &r.policy.rules[at]
		could := r.try(rule)
		switch certain := len(could) == 1; {
		case certain && could[0] == unmet:
		case certain && could[0] == met:
			if found.rule < 0 || r.policy.rules[found.rule].conditional && !rule.conditional {
				found.rule = int(at)
			}
			found.named = found.named || rule.named
		case certain:
			fails = true
		default:
			perhaps = true
			found.maybe = found.maybe || rule.named
		}
	}
	switch {
	case found.rule >= 0:
		found.could = []outcome{met}
	case perhaps && fails:
		found.could = []outcome{met, failed}
	case perhaps:
		found.could = []outcome{unmet, met, failed}
	case fails:
		found.could = []outcome{failed}
	default:
		found.could = []outcome{unmet}
	}
	return found
}

// try holds one rule against the call.
func (r *recalled) try(rule *rule) []outcome {
	if !rule.meant(r.facts) {
		return []outcome{unmet}
	}
	var missing []Doubt
	if len(rule.roles) > 0 && r.q.Principal.Role == "" {
		missing = append(missing, DoubtRole)
	} else if !rule.fitsRole(r.facts) {
		return []outcome{unmet}
	}
	if len(rule.risks) > 0 && len(r.risks) > 1 {
		missing = append(missing, r.lost)
	} else if !rule.fitsRisk(r.facts) {
		return []outcome{unmet}
	}
	if len(rule.tags) > 0 && !r.tagged(rule.tags) {
		if r.lost == "" {
			return []outcome{unmet}
		}
		missing = append(missing, r.lost)
	}
	said := met
	if rule.conditional {
		if unknown := r.unknown(rule.expression); len(unknown) > 0 {
			missing, said = append(missing, unknown...), failed
		} else if said = rule.says(r.facts); said == unmet {
			return []outcome{unmet}
		}
	}
	if len(missing) == 0 {
		return []outcome{said}
	}
	for _, doubt := range missing {
		r.missed[doubt] = true
	}
	if rule.conditional {
		return []outcome{unmet, met, failed}
	}
	return []outcome{unmet, met}
}

// unknown is what an expression would have to know.
func (r *recalled) unknown(e *expression) []Doubt {
	var missing []Doubt
	if e == nil {
		return nil
	}
	reads := e.all || len(e.members) > 0
	switch {
	case reads && r.absent:
		missing = append(missing, DoubtAbsent)
	case reads && (r.unnamed || e.all && r.hidden != nil),
		slices.ContainsFunc(e.members, func(name string) bool { return r.hidden[name] }):
		missing = append(missing, DoubtHidden)
	}
	if e.role && r.q.Principal.Role == "" {
		missing = append(missing, DoubtRole)
	}
	if e.risk && len(r.risks) > 1 || e.tags && r.lost != "" {
		missing = append(missing, r.lost)
	}
	return missing
}

// verdicts are those that are possible, each once.
func (r *recalled) verdicts() []hub.Verdict {
	var all []hub.Verdict
	add := func(v hub.Verdict) {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	deny, ask, allow := &r.rules[0], &r.rules[1], &r.rules[2]
	for _, risk := range r.risks {
		usual := r.policy.Usual(r.q.Principal.Door, risk)
		doubt := hub.VerdictAsk
		if usual == hub.VerdictDeny {
			doubt = usual
		}
		for _, d := range deny.could {
			for _, a := range ask.could {
				switch {
				case d == met:
					add(hub.VerdictDeny)
				case d == failed:
					add(doubt)
				case a == met:
					add(hub.VerdictAsk)
				case a == failed:
					add(doubt)
				default:
					r.permit(allow, usual, doubt, add)
				}
			}
		}
	}
	if len(all) > 1 && (len(r.risks) > 1 || len(r.unclear) > 1) {
		r.missed[r.lost] = true
	}
	return all
}

// permit adds what is possible where no rule denies or asks.
func (r *recalled) permit(allow *finding, usual, doubt hub.Verdict, add func(hub.Verdict)) {
	for _, unclear := range r.unclear {
		switch {
		case !r.readable:
			add(doubt)
		case unclear:
			if allow.named || allow.maybe {
				add(hub.VerdictAllow)
			}
			if !allow.named {
				add(doubt)
			}
		default:
			for _, could := range allow.could {
				switch could {
				case met:
					add(hub.VerdictAllow)
				case failed:
					add(doubt)
				case unmet:
					add(usual)
				}
			}
		}
	}
}

// decider is the id of the rule that certainly decides for a verdict.
func (r *recalled) decider(v hub.Verdict) string {
	for i, effect := range []hub.Verdict{hub.VerdictDeny, hub.VerdictAsk, hub.VerdictAllow} {
		if at := r.rules[i].rule; at >= 0 && effect == v {
			return r.policy.rules[at].id
		}
	}
	return ""
}
