package config

import (
	"maps"
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

// checkNames reports names of servers and pools that go on where another one ends with
// what stands between a server's name and its tool's: by one name, such as a__b__c,
// tools of both would be meant, and so they would by one rule.
func (r *reader) checkNames() {
	at := make(map[string]int)
	for _, key := range r.builtins {
		at[key] = -1
	}
	for _, s := range r.servers {
		at[s.Key] = r.seen[s.Key]
	}
	for _, p := range r.pools {
		if _, taken := at[p.pool]; !taken {
			at[p.pool] = p.at
		}
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		for end := len(name) - 1; end > 0; end-- {
			other, there := at[name[:end]]
			rest := name[end:]
			if there && (rest == "_" || strings.HasPrefix(rest, separator)) {
				r.problem(max(at[name], other, 0), "%s and %s cannot both be names of servers or pools: a tool could be meant by one name at either", quoted(name[:end]), quoted(name))
				break
			}
		}
	}
}

// separator stands between the name of a server or pool and that of its tool.
const separator = "__"
