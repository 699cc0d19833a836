package risk

import (
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// maxReasons is how many reasons a person is given: the gravest ones.
const maxReasons = 6

// finding is one reason for a risk.
type finding struct {
	risk hub.Risk
	tag  string // "" for none
	why  message.Phrase
}

// findings are what was found, and what could not be read. The zero value is
// empty.
type findings struct {
	risk    hub.Risk
	list    []finding
	unclear bool
}

// add notes a reason. One that reads the same and is no graver than one that is
// there already is left out.
func (f *findings) add(risk hub.Risk, tag, format string, args ...any) {
	f.note(finding{risk, tag, message.Phrase{Format: format, Args: args}})
}

func (f *findings) note(n finding) {
	f.risk = max(f.risk, n.risk)
	for i, old := range f.list {
		if old.why.Format == n.why.Format && old.tag == n.tag {
			if n.risk > old.risk {
				f.list[i] = n
			}
			return
		}
	}
	if len(f.list) < 4*maxReasons {
		f.list = append(f.list, n)
		return
	}
	for i, old := range f.list {
		if old.risk < n.risk {
			f.list[i] = n
			return
		}
	}
}

// hide notes that something could not be read, and why.
func (f *findings) hide(risk hub.Risk, tag, format string, args ...any) {
	f.unclear = true
	f.add(risk, tag, format, args...)
}

// join takes over what others have found.
func (f *findings) join(other *findings) {
	f.risk = max(f.risk, other.risk)
	f.unclear = f.unclear || other.unclear
	for _, n := range other.list {
		f.note(n)
	}
}

// assessment is what is told of the findings; risk may be less than theirs only
// if it is not said why.
func (f *findings) assessment(risk hub.Risk) hub.Assessment {
	a := hub.Assessment{Risk: risk, Unclear: f.unclear}
	if len(f.list) > 0 {
		slices.SortStableFunc(f.list, func(a, b finding) int { return int(b.risk) - int(a.risk) })
		a.Reasons = make([]message.Phrase, 0, min(len(f.list), maxReasons))
		for _, n := range f.list {
			if n.risk > hub.RiskLow && len(a.Reasons) < maxReasons {
				a.Reasons = append(a.Reasons, n.why)
			}
			if n.tag != "" && !slices.Contains(a.Tags, n.tag) {
				a.Tags = append(a.Tags, n.tag)
			}
		}
		slices.Sort(a.Tags)
	}
	a.Warning = warning(risk, a.Tags)
	return a
}

// warning is the one sentence of what may happen.
func warning(risk hub.Risk, tags []string) message.Phrase {
	has := func(tag string) bool { return slices.Contains(tags, tag) }
	if risk >= hub.RiskHigh {
		switch {
		case has("payment"):
			return message.Say("This may move money, which usually cannot be taken back.")
		case risk == hub.RiskCritical && has("sql") && has("destroy"):
			return message.Say("This may destroy data in a database for good.")
		case risk == hub.RiskCritical && has("destroy"):
			return message.Say("This may delete or destroy something for good.")
		case has("secret"):
			return message.Say("This may hand a password or key to somebody else.")
		case risk == hub.RiskCritical && (has("execute") || has("shell")):
			return message.Say("This may run any program on the machine, with all its rights.")
		case has("internal"):
			return message.Say("This may reach a service that is not meant to be reached from outside.")
		case risk == hub.RiskCritical:
			return message.Say("This may do harm that cannot be undone.")
		default:
			return message.Say("This may change data or the state of a system.")
		}
	}
	if risk == hub.RiskMedium {
		return message.Say("This may touch data that is sensitive, or do more than its name says.")
	}
	return message.Phrase{}
}
