package catalog

import (
	"slices"
	"strings"
)

// item is what callers know by a name of its own: an [*Entry] or a
// [*PromptEntry].
type item interface {
	comparable
	exposedName() string
	isBlocked() bool // it keeps its name, and is not offered
}

// prepared is an item that may be listed, under the names that it has had.
type prepared[E item] struct {
	naming    naming
	pooled    bool   // it shares its name with those of other servers of the pool
	qualified string // server__name; may be any text
	plain     E      // under its stable name
	other     E      // under the name it had to take instead last; the zero value if none
	under     func(exposed string) E
}

// prepare returns what is exposed by the naming.
func prepare[E item](server string, n naming, under func(exposed string) E) prepared[E] {
	return prepared[E]{naming: n, qualified: qualified(server, n.as), plain: under(n.stable()), under: under}
}

// called is the item under a name.
func (p *prepared[E]) called(exposed string) E {
	if p.plain.exposedName() == exposed {
		return p.plain
	}
	var none E
	if p.other == none || p.other.exposedName() != exposed {
		p.other = p.under(exposed)
	}
	return p.other
}

// space is a set of items and what their names stand for: tools have one, and
// prompts another. Those of one pool share an exposed name, and are listed once.
type space[E item] struct {
	entries   []E               // those that are not blocked, in the order of listing
	exposed   map[string]E      // by exposed name; those that are blocked keep theirs
	mates     map[string][]E    // by exposed name, all of a pool, blocked or not; in the order of listing
	pools     map[naming]string // the exposed name that a pool's have
	qualified map[string]E      // by server__name, where that is not the exposed name; so do they
	bare      map[string][]E    // by the name without the server's, unless that has a Separator; in the order of listing
	barred    map[string][]E    // by the same, those that are blocked
}

// newSpace makes room for so many items.
func newSpace[E item](total int) space[E] {
	return space[E]{
		entries:   make([]E, 0, total),
		exposed:   make(map[string]E, total),
		mates:     make(map[string][]E),
		pools:     make(map[naming]string),
		qualified: make(map[string]E),
		bare:      make(map[string][]E, total),
		barred:    make(map[string][]E),
	}
}

// named is an item under the name that it has here: that of its pool, else its
// stable one, else the first of its others that no item has.
func (s *space[E]) named(this *prepared[E]) E {
	if exposed, ok := s.pools[this.naming]; ok && this.pooled {
		return this.called(exposed)
	}
	exposed := this.plain.exposedName()
	for attempt := 0; ; attempt++ {
		if _, taken := s.exposed[exposed]; !taken {
			return this.called(exposed)
		}
		exposed = this.naming.suffixed(attempt)
	}
}

// add adds an item, and returns the entry that it has here.
func (s *space[E]) add(this *prepared[E]) E {
	e := s.named(this)
	exposed := e.exposedName()
	mate, shared := s.exposed[exposed]
	first := !shared || mate.isBlocked() && !e.isBlocked() // of those that share the name, to be offered
	if first {
		s.exposed[exposed] = e
	}
	if this.pooled {
		s.pools[this.naming] = exposed
		s.mates[exposed] = append(s.mates[exposed], e)
	}
	if full := this.qualified; full != exposed {
		if _, clash := s.qualified[full]; !clash {
			s.qualified[full] = e
		}
	}
	if first && !e.isBlocked() {
		s.entries = append(s.entries, e)
	}
	if name := this.naming.as; !strings.Contains(name, Separator) {
		if e.isBlocked() {
			s.barred[name] = append(s.barred[name], e)
		} else {
			s.bare[name] = append(s.bare[name], e)
		}
	}
	return e
}

// meant is the entry that a name stands for, blocked or not, among those for
// which in reports true; nil is all. It is the zero value if there is none. Where
// the name stands for several, all are those, in the order of listing and whatever
// in says.
func (s *space[E]) meant(name string, in func(E) bool) (e E, all []E) {
	var none E
	if e = s.pick(name, in); e != none {
		return e, s.mates[name]
	}
	if e, ok := s.qualified[name]; ok && (in == nil || in(e)) {
		return e, nil
	}
	if e = firstOf(s.bare[name], in); e != none {
		return e, s.bare[name]
	}
	return firstOf(s.barred[name], in), nil
}

// pick is the entry that stands for those that have an exposed name, among those
// for which in reports true: the first that is not blocked or, if all are, the
// first.
func (s *space[E]) pick(exposed string, in func(E) bool) (none E) {
	e, ok := s.exposed[exposed]
	if !ok {
		return none
	}
	if in == nil || in(e) {
		return e
	}
	mates := s.mates[exposed]
	if e = firstOf(mates, func(e E) bool { return !e.isBlocked() && in(e) }); e != none {
		return e
	}
	return firstOf(mates, in)
}

// firstOf is the first entry for which in reports true; nil is any.
func firstOf[E item](all []E, in func(E) bool) (none E) {
	if in == nil {
		in = func(E) bool { return true }
	}
	if i := slices.IndexFunc(all, in); i >= 0 {
		return all[i]
	}
	return none
}
