package config

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
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

// named is what has a name that tools' names begin with.
type named struct {
	at int
	on bool     // it is enabled, or one in it is
	in []string // servers that are in it
}

// checkNames reports names of servers and pools that go on where another one ends with
// what stands between a server's name and its tool's: by one name, such as a__b__c,
// tools of both would be meant, and so they would by one rule. That is only told while
// one of them is not enabled. A pool stands for its servers, which are no others.
func (r *reader) checkNames() {
	all := r.named()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for end := len(name) - 1; end > 0; end-- {
			before, rest := name[:end], name[end:]
			this, other := all[name], all[before]
			if other == nil || rest != "_" && !strings.HasPrefix(rest, separator) || slices.Contains(this.in, before) || slices.Contains(other.in, name) {
				continue
			}
			at, told := max(this.at, other.at, 0), message.Say("%s and %s cannot both be names of servers or pools: a tool could be meant by one name at either",
				quoted(before), quoted(name))
			if this.on && other.on {
				r.problem(at, "%s", told)
			} else {
				r.warn(at, "%s", told)
			}
			break
		}
	}
}

// named are all servers and pools by their names.
func (r *reader) named() map[string]*named {
	all := make(map[string]*named)
	for _, key := range r.builtins {
		all[key] = &named{at: -1, on: true}
	}
	for _, s := range r.servers {
		all[s.Key] = &named{at: r.seen[s.Key], on: s.Enabled}
	}
	for _, p := range r.pools {
		at := slices.IndexFunc(r.servers, func(s hub.Server) bool { return s.Key == p.server && s.Pool == p.pool })
		if at < 0 {
			continue // an entry that is not read
		}
		if all[p.pool] == nil {
			all[p.pool] = &named{at: p.at}
		}
		pool := all[p.pool]
		pool.on = pool.on || r.servers[at].Enabled
		pool.in = append(pool.in, p.server)
	}
	return all
}

// separator stands between the name of a server or pool and that of its tool.
const separator = "__"
