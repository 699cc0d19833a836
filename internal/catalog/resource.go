package catalog

import (
	"cmp"
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// ResourceEntry is one resource, or one template of resources, as callers see
// it. Neither it nor what it refers to is changed once a snapshot holds it, and
// nobody else may.
type ResourceEntry struct {
	Server string // key of the one that has it
	Own    string // the server's own URI, or URI template

	// URI is how callers know it, and nothing else in the same list: Own, or its
	// prefixed form; see [Prefixed].
	URI string
	// Raw is the description with URI in the place of the server's own; every
	// other byte is the server's.
	Raw []byte

	pattern *pattern // of a template
}

// shelved is a resource or a template under the URIs that it has had.
type shelved struct {
	plain    *ResourceEntry // the server's own
	prefixed *ResourceEntry // nil as long as nobody has asked for it
}

// prefix returns the entry in the prefixed form. The member is the one that has
// the URI.
func (s *shelved) prefix(member string) *ResourceEntry {
	if s.prefixed == nil {
		e := *s.plain
		e.URI = Prefixed(e.Server, e.Own)
		e.Raw = replaced(e.Raw, member, e.URI)
		s.prefixed = &e
	}
	return s.prefixed
}

// shelf is all resources, or all templates, and what their URIs stand for.
type shelf struct {
	entries []*ResourceEntry            // in the order of listing
	exposed map[string]*ResourceEntry   // by URI
	own     map[string][]*ResourceEntry // by the server's own URI, those that are listed by another; in the order of the configuration
	by      map[string][]*ResourceEntry // by server, in its order
}

// fill puts what the servers have on the shelf. The parts are in the order of
// listing, and ranked are the same in the order of the configuration, by which a
// URI is the first server's. It returns those that are listed in the prefixed
// form though their servers are not set so, by server.
func (s *shelf) fill(parts, ranked []*part, member string, of func(*part) []shelved, prefixed func(uri string) bool) (clashes map[string][]string) {
	total := 0
	for _, p := range parts {
		total += len(of(p))
	}
	if total == 0 {
		return nil
	}
	s.exposed = make(map[string]*ResourceEntry, total)
	s.own = make(map[string][]*ResourceEntry)
	clashes = make(map[string][]string)
	s.by = make(map[string][]*ResourceEntry)
	for _, p := range ranked {
		all := of(p)
		for i := range all {
			e := all[i].plain
			_, taken := s.exposed[e.Own]
			clash := taken || prefixed(e.Own)
			if clash || p.server.PrefixURIs {
				e = all[i].prefix(member)
				s.own[e.Own] = append(s.own[e.Own], e)
			}
			if clash && !p.server.PrefixURIs {
				clashes[e.Server] = append(clashes[e.Server], e.Own)
			}
			s.exposed[e.URI] = e
			s.by[e.Server] = append(s.by[e.Server], e)
		}
	}
	s.entries = make([]*ResourceEntry, 0, total)
	for _, p := range parts {
		s.entries = append(s.entries, s.by[p.server.Key]...)
	}
	return clashes
}

// fillShelves puts the resources and the templates of the parts, which are in
// the order of listing, into the snapshot.
func (s *Snapshot) fillShelves(parts []*part) {
	ranked := slices.Clone(parts)
	slices.SortStableFunc(ranked, func(a, b *part) int { return cmp.Compare(a.server.Order, b.server.Order) })
	// What reads as the prefixed form of a server that there is belongs to it,
	// whoever else lists it.
	prefixed := func(uri string) bool {
		key, _, ok := Unprefixed(uri)
		return ok && s.keys[key]
	}
	resources := s.resources.fill(parts, ranked, "uri", func(p *part) []shelved { return p.resources }, prefixed)
	templates := s.templates.fill(parts, ranked, "uriTemplate", func(p *part) []shelved { return p.templates }, prefixed)
	s.clashes = make(map[string][]string)
	for _, p := range parts {
		if all := slices.Concat(resources[p.server.Key], templates[p.server.Key]); len(all) > 0 {
			s.clashes[p.server.Key] = all
		}
	}
}

// Resources returns all resources, in the order of [Snapshot.Entries].
func (s *Snapshot) Resources() []*ResourceEntry { return s.resources.entries }

// Templates returns all templates of resources, in the same order.
func (s *Snapshot) Templates() []*ResourceEntry { return s.templates.entries }

// Clashes are the URIs and URI templates of a server, its own, that are listed
// in the prefixed form though it is not set so: a server before it in the
// configuration has listed the same, or they read as the prefixed form of
// another's.
func (s *Snapshot) Clashes(server string) []string { return s.clashes[server] }

// Resource returns where the resource is that a caller means by a URI: the one
// that is listed under it; else, for a prefixed form, whatever the server has
// under the rest of it, listed or not; else the one that a server which comes
// later, or lists by prefixed forms only, has under it; and at last what the
// template stands for that fits best. Of several servers the first in the order
// of the configuration counts. Only servers count that are in the set, of keys;
// nil for all.
func (s *Snapshot) Resource(uri string, in func(server string) bool) (Place, bool) {
	if place, ok, final := s.exactly(&s.resources, uri, in); final {
		return place, ok
	}
	if e := s.fitting(uri, in); e != nil {
		return s.place(e.Server, uri, false)
	}
	return Place{}, false
}

// Template returns where the template is that a caller means by a URI template,
// as [Snapshot.Resource] does but for the last.
func (s *Snapshot) Template(uri string, in func(server string) bool) (Place, bool) {
	place, ok, _ := s.exactly(&s.templates, uri, in)
	return place, ok
}

// exactly finds what is on a shelf without looking for templates that fit. It is
// final if these would be of no use.
func (s *Snapshot) exactly(from *shelf, uri string, in func(server string) bool) (place Place, ok, final bool) {
	may := func(server string) bool { return in == nil || in(server) }
	if e := from.exposed[uri]; e != nil && may(e.Server) {
		place, ok = s.place(e.Server, e.Own, e.URI != e.Own)
		return place, ok, true
	}
	if key, own, is := Unprefixed(uri); is && s.keys[key] {
		if may(key) {
			place, ok = s.place(key, own, true)
		}
		return place, ok, true
	}
	for _, e := range from.own[uri] {
		if may(e.Server) {
			place, ok = s.place(e.Server, uri, false)
			return place, ok, true
		}
	}
	return Place{}, false, false
}

// place is the place of a server's own URI; false if the server is not listed.
func (s *Snapshot) place(server, own string, prefixed bool) (Place, bool) {
	share, ok := s.shares[server]
	if !ok {
		return Place{}, false
	}
	return Place{Server: *share.Server, URI: own, Prefixed: prefixed}, true
}

// fitting is the template that fits a URI best: that of a server which lists
// URIs verbatim before others, one with fewer variables, one with more text
// besides, and the first in the order of the configuration. Nil if none fits.
func (s *Snapshot) fitting(uri string, in func(server string) bool) *ResourceEntry {
	var best *ResourceEntry
	for _, e := range s.templates.entries {
		if in != nil && !in(e.Server) || best != nil && s.preference(best, e) <= 0 {
			continue
		}
		if e.pattern.matches(uri) {
			best = e
		}
	}
	return best
}

// preference is negative if a template is preferred to another that fits too.
func (s *Snapshot) preference(a, b *ResourceEntry) int {
	x, y := s.shares[a.Server].Server, s.shares[b.Server].Server
	later := func(s *hub.Server) int {
		if s.PrefixURIs {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(later(x), later(y)),
		cmp.Compare(a.pattern.variables, b.pattern.variables),
		cmp.Compare(b.pattern.literal, a.pattern.literal),
		cmp.Compare(x.Order, y.Order))
}
