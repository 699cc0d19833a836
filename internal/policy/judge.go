package policy

import (
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Judge says what the rules say to a call. It never fails: what cannot be told
// is asked. It does not wait for anything.
func (p *Policy) Judge(q *Question) hub.Judgement {
	j := hub.Judgement{Assessment: p.profiles.assess(q), Mode: p.Mode(q.Principal.Door), Version: p.version}
	f := newFacts(q, &j.Assessment, &p.profiles)
	d := p.decide(f)
	readable := f.readable
	f.release()

	j.Verdict = d.verdict
	if d.rule >= 0 {
		r := &p.rules[d.rule]
		j.Rule, j.Because = r.id, r.because
		if d.failed {
			addReason(&j, message.Say("the rule %s cannot be applied to these arguments", message.Quote(r.id)))
		}
	}
	if !readable {
		addReason(&j, message.Say("the arguments cannot be read with certainty"))
	}
	if j.Verdict == hub.VerdictAsk {
		j.Persons = 1
		if j.Risk == hub.RiskCritical {
			j.Persons, j.Second = 2, p.second
		}
	}
	return j
}

// addReason adds a reason behind those of the assessment, which others share.
func addReason(j *hub.Judgement, reason message.Phrase) {
	j.Reasons = append(slices.Clip(j.Reasons), reason)
}

// decision is a verdict and where it comes from.
type decision struct {
	verdict hub.Verdict
	rule    int  // -1 for none
	failed  bool // because the rule's expression cannot be told
}

// decide finds the rule that decides. Nothing is looked at once that is certain.
func (p *Policy) decide(f *facts) decision {
	deny := p.look(&p.denies, f, false)
	if deny.outcome == met {
		return decision{hub.VerdictDeny, deny.rule, false}
	}
	doubt := p.stricter(f)
	if deny.outcome == failed {
		return decision{doubt, deny.rule, true}
	}
	switch ask := p.look(&p.asks, f, false); ask.outcome {
	case met:
		return decision{hub.VerdictAsk, ask.rule, false}
	case failed:
		return decision{doubt, ask.rule, true}
	}
	sure := f.readable && !f.found.Unclear
	if f.readable {
		switch allow := p.look(&p.allows, f, !sure); allow.outcome {
		case met:
			return decision{hub.VerdictAllow, allow.rule, false}
		case failed:
			return decision{doubt, allow.rule, true}
		}
	}
	if !sure {
		return decision{doubt, -1, false}
	}
	return decision{p.Usual(f.q.Principal.Door, f.found.Risk), -1, false}
}

// stricter is the verdict on what cannot be told: ask, or deny if the risk alone
// says so.
func (p *Policy) stricter(f *facts) hub.Verdict {
	if p.Usual(f.q.Principal.Door, f.found.Risk) == hub.VerdictDeny {
		return hub.VerdictDeny
	}
	return hub.VerdictAsk
}

// sight is what the rules with one effect say to a call: that one is met, that
// none is but one cannot be told, or neither.
type sight struct {
	outcome outcome
	rule    int
}

// look looks through the rules with one effect; through those only that are named,
// if that is said.
func (p *Policy) look(x *index, f *facts, named bool) sight {
	f.pending = f.pending[:0]
	best := int32(-1)
	try := func(list []int32) {
		for _, at := range list {
			r := &p.rules[at]
			switch {
			case best >= 0 && (r.conditional || at >= best), named && !r.named, !r.fits(f):
			case r.conditional:
				f.pending = append(f.pending, at)
			default:
				best = at
			}
		}
	}
	if f.uri != nil { // which no name of the index is
		try(x.all)
		return p.sighted(best, f)
	}
	x.tools.find(f.q.Name, try)
	if f.own != "" {
		if f.qualified != f.q.Name {
			x.tools.find(f.qualified, try)
		}
		if f.own != f.q.Name {
			x.tools.find(f.own, try)
		}
	}
	x.servers.find(f.server, try)
	try(x.rest)
	return p.sighted(best, f)
}

// sighted is what look has found: the rule that is met whatever the arguments are,
// or one of those whose expressions are to be tried.
func (p *Policy) sighted(best int32, f *facts) sight {
	if best >= 0 {
		return sight{met, int(best)}
	}
	return p.evaluate(f)
}

// evaluate tries the expressions of the rules that are met but for them, in their
// order.
func (p *Policy) evaluate(f *facts) sight {
	slices.Sort(f.pending)
	found := sight{unmet, -1}
	last := int32(-1)
	for _, at := range f.pending {
		if at == last { // by several names
			continue
		}
		last = at
		switch p.rules[at].says(f) {
		case met:
			return sight{met, int(at)}
		case failed:
			if found.outcome == unmet {
				found = sight{failed, int(at)}
			}
		}
	}
	return found
}
