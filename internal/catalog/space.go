package catalog

import "strings"

// item is what callers know by a name of its own: an [*Entry] or a
// [*PromptEntry].
type item interface {
	comparable
	exposedName() string
	isBlocked() bool // it keeps its name, and is not offered
}

// prepared is an item that may be listed, under the names that it has had.
type prepared[E item] struct {
	name      string // the server's own, or the one it was given instead
	qualified string // server__name; may be any text
	plain     E      // under its stable name
	other     E      // under the name it had to take instead last; the zero value if none
}

// prepare returns what is exposed by the naming.
func prepare[E item](n naming, under func(exposed string) E) prepared[E] {
	return prepared[E]{name: n.as, qualified: qualified(n.server, n.as), plain: under(n.stable())}
}

// space is a set of items and what their names stand for: tools have one, and
// prompts another.
type space[E item] struct {
	entries   []E            // those that are not blocked, in the order of listing
	exposed   map[string]E   // by exposed name; those that are blocked keep theirs
	qualified map[string]E   // by server__name, where that is not the exposed name; so do they
	bare      map[string][]E // by the name without the server's, unless that has a Separator; in the order of entries
	barred    map[string]E   // by the same, the first that is blocked
}

// newSpace makes room for so many items.
func newSpace[E item](total int) space[E] {
	return space[E]{
		entries:   make([]E, 0, total),
		exposed:   make(map[string]E, total),
		qualified: make(map[string]E),
		bare:      make(map[string][]E, total),
		barred:    make(map[string]E),
	}
}

// taken reports whether another item has the name already.
func (s *space[E]) taken(exposed string) bool {
	_, ok := s.exposed[exposed]
	return ok
}

// renamed returns an item, whose stable name is taken, under the first of its
// other names that is not.
func (s *space[E]) renamed(this *prepared[E], n naming, under func(exposed string) E) E {
	for attempt := 0; ; attempt++ {
		name := n.suffixed(attempt)
		if s.taken(name) {
			continue
		}
		var none E
		if this.other == none || this.other.exposedName() != name {
			this.other = under(name)
		}
		return this.other
	}
}

// add adds an item as the entry that it has here.
func (s *space[E]) add(this *prepared[E], e E) {
	exposed := e.exposedName()
	s.exposed[exposed] = e
	if full := this.qualified; full != exposed {
		if _, clash := s.qualified[full]; !clash {
			s.qualified[full] = e
		}
	}
	bare := !strings.Contains(this.name, Separator)
	if !e.isBlocked() {
		s.entries = append(s.entries, e)
		if bare {
			s.bare[this.name] = append(s.bare[this.name], e)
		}
		return
	}
	if _, other := s.barred[this.name]; bare && !other {
		s.barred[this.name] = e
	}
}

// meant is the entry that a name stands for, blocked or not; the zero value if
// there is none.
func (s *space[E]) meant(name string) E {
	if e, ok := s.exposed[name]; ok {
		return e
	}
	if e, ok := s.qualified[name]; ok {
		return e
	}
	if all := s.bare[name]; len(all) > 0 {
		return all[0]
	}
	return s.barred[name]
}
