package catalog

import (
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// scope says what of the catalog is in a group, and within what a token is good
// for. The nil scope is everything, as it is.
type scope struct {
	group   hub.Group
	grouped bool // without it there is no group, and all that the words leave is in the scope
	servers map[string]bool
	words   hub.Scope
}

func newScope(g hub.Group) *scope {
	s := &scope{group: g, grouped: true, servers: make(map[string]bool, len(g.Servers))}
	for _, key := range g.Servers {
		s.servers[key] = true
	}
	return s
}

// within is the scope with no more than what the words leave; the nil scope stays
// nil if they leave everything.
func (s *scope) within(words hub.Scope) *scope {
	if words == "" {
		return s
	}
	narrow := scope{}
	if s != nil {
		narrow = *s
	}
	narrow.words = words
	return &narrow
}

// whole reports whether all that a server has is in the scope.
func (s *scope) whole(server string) bool {
	return s == nil || s.words.Server(server) && (!s.grouped || s.servers[server])
}

// touches reports whether anything that a server has may be in the scope. A tool
// can have any name if the server exposes bare ones, or if a name is too long, so
// that patterns without its key, or that of its pool, count as well.
func (s *scope) touches(server, pool string) bool {
	if s.whole(server) {
		return true
	}
	return s.words.Server(server) && (s.addresses(server, pool) || slices.ContainsFunc(s.group.Tools, func(pattern string) bool {
		key, _, named := strings.Cut(pattern, Separator)
		return !named || strings.Contains(key, "*")
	}))
}

// tool reports whether a tool is in the scope.
func (s *scope) tool(e *Entry) bool {
	if s == nil {
		return true
	}
	in := s.whole(e.Server.Key) || s.words.Server(e.Server.Key) && s.named(s.group.Tools, e)
	return in && !s.named(s.group.Exclude, e)
}

// concerns reports whether there is, or may be, anything in the scope that is in
// the snapshot.
func (s *scope) concerns(now *Snapshot) bool {
	for key := range now.keys {
		if s.whole(key) || s.words.Server(key) && !now.Listed(key) && s.addresses(key, now.pool[key]) {
			return true
		}
	}
	return slices.ContainsFunc(now.tools.entries, s.tool) || slices.ContainsFunc(now.inOrder, func(share *Share) bool {
		return slices.ContainsFunc(share.Tools, s.tool)
	})
}

// addresses reports whether a pattern names a server, or its pool.
func (s *scope) addresses(server, pool string) bool {
	return slices.ContainsFunc(s.group.Tools, func(pattern string) bool {
		return strings.HasPrefix(pattern, server+Separator) || pool != "" && strings.HasPrefix(pattern, pool+Separator)
	})
}

// named reports whether one of the patterns is for a tool.
func (s *scope) named(patterns []string, e *Entry) bool {
	if len(patterns) == 0 {
		return false
	}
	full := e.qualified()
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return fitsPattern(pattern, e.Exposed) || fitsPattern(pattern, full)
	})
}

// renamed is the name that a tool of the scope has there instead of its own; ""
// if it keeps that.
func (s *scope) renamed(e *Entry) string {
	if s == nil || len(s.group.Rename) == 0 {
		return ""
	}
	if name, ok := s.group.Rename[e.Exposed]; ok {
		return name
	}
	return s.group.Rename[e.qualified()]
}

// qualified is server__tool; it may be any text.
func (e *Entry) qualified() string {
	return qualified(e.Server.Key, namingOf(&e.Server, e.Tool.Name).as)
}

// Named reports whether one of the patterns, as groups have them, is for the tool.
func (e *Entry) Named(patterns []string) bool { return (*scope)(nil).named(patterns, e) }

// fitsPattern reports whether a text is what a pattern says, in which "*" stands
// for any text. It takes time in proportion to the product of both lengths at
// most.
func fitsPattern(pattern, text string) bool {
	start, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, start)
	for ok {
		var part string
		part, rest, wild = strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
	}
	return false
}
