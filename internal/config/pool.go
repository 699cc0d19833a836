package config

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// pooled is a server that says in which pool it is, and where it does.
type pooled struct {
	server, pool string
	at           int
}

// readPool reads the name of a pool, which may be any that a server may have:
// it stands in its place.
func (e *entry) readPool(m member) {
	name, at := e.plain(m.name, m.value), m.value.StartOffset
	switch {
	case name == "": // reported already; or files that programs write have it
		return
	case utf8.RuneCountInString(name) > maxKey:
		e.problem(at, "%s%s is longer than %d characters", e.where, quoted(m.name), maxKey)
	case strings.ContainsFunc(name, unicode.IsControl):
		e.problem(at, "%s%s has a control character", e.where, quoted(m.name))
	case isDots(name):
		e.problem(at, "%sa pool cannot be named %s", e.where, quoted(name))
	}
	e.server.Pool = name
	e.pools = append(e.pools, pooled{e.server.Key, name, at})
}

// checkPools reports pools that have the name of a server which is not in them:
// there would be two under one name.
func (r *reader) checkPools() {
	in := make(map[string]string)
	for _, s := range r.servers {
		in[s.Key] = s.Pool
	}
	for _, key := range r.builtins {
		if _, said := r.seen[key]; !said {
			in[key] = ""
		}
	}
	for _, p := range r.pools {
		is := func(s hub.Server) bool { return s.Key == p.server && s.Pool == p.pool }
		if !slices.ContainsFunc(r.servers, is) {
			continue // an entry that is not read, such as the second with its name
		}
		if other, taken := in[p.pool]; taken && other != p.pool {
			r.problem(p.at, `server %s: the pool %s has the name of a server that is not in it`, quoted(p.server), quoted(p.pool))
		}
	}
}
