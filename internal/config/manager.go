package config

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// defaultCacheTTL is the age up to which lists of tools from before the hub's
// start are taken for fresh.
const defaultCacheTTL = time.Hour

// preload is a server that "preloadServices" names.
type preload struct {
	name string
	at   int
}

// general reads a member of the file that is about no single server.
func (r *reader) general(m member) {
	switch m.name {
	case "mcpServiceManager":
		r.manager(m)
	case "cache_ttl_seconds":
		r.readCacheTTL(m)
	case groupsMember:
		r.readGroups(m)
	case "clients":
		r.readClients(m)
	case "force_refresh_on_init":
		if on := r.truth(m, message.Phrase{}); on != nil {
			r.forceRefresh = *on
		}
	}
}

// readCacheTTL reads whole seconds. 0 is refused: one program means "never
// fresh" by that, and the next "for ever".
func (r *reader) readCacheTTL(m member) {
	const most = int64(math.MaxInt64 / time.Second)
	lit, _ := m.value.Value.(hujson.Literal)
	seconds, err := strconv.ParseInt(string(lit), 10, 64)
	if err != nil || seconds < 1 || seconds > most {
		r.problem(m.value.StartOffset, `%s must be a whole number of seconds, at least 1; "force_refresh_on_init": true has every list asked for at the start`, quoted(m.name))
		return
	}
	r.cacheTTL = time.Duration(seconds) * time.Second
}

// manager reads "mcpServiceManager", which says what holds for every server of
// the file that does not say otherwise.
//
// What it says about that program's own process has no meaning here: "port",
// and "autoStart", by which that process comes up with its client. It starts no
// server; those are started when they are needed.
func (r *reader) manager(m member) {
	e := &entry{reader: r, server: r.usual}
	nothing := func(member) {}
	e.parts(m,
		part{"serviceTimeout", func(m member) { e.span(&e.server.Timeout, m) }},
		part{"preloadServices", e.readPreloads},
		part{"cleanupInterval", e.readIdleStop},
		part{"maxReconnectAttempts", e.readReconnects},
		part{"healthCheckInterval", e.readHealthInterval},
		part{"healthCheckTimeout", e.readHealthTimeout},
		part{"healthCheckMisses", e.readMisses},
		part{"circuitBreaker", e.readBreaker},
		part{"cacheTTL", e.readListTTL},
		part{"autoStart", nothing},
		part{"port", nothing},
	)
	r.usual = e.server
}

// readPreloads reads the keys of the servers that are started with the hub.
func (e *entry) readPreloads(m member) {
	for _, el := range e.elements(m, "an array of servers' names") {
		if name := e.plain(el.name, el.value); name != "" {
			e.preloads = append(e.preloads, preload{name, el.at})
		}
	}
}

// preload applies "preloadServices" to the servers.
func (r *reader) preload(servers []hub.Server) {
	for _, p := range r.preloads {
		i := slices.IndexFunc(servers, func(s hub.Server) bool { return s.Key == p.name })
		if i < 0 {
			r.warn(p.at, `"preloadServices" names %s, which is no server here`, quoted(p.name))
			continue
		}
		servers[i].Preload = true
	}
}
