package config

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// What holds for a server that does not say otherwise. A server is started when
// it is needed and ended when it no longer is, so that hundreds of them cost
// next to nothing.
const (
	usualIdleStop      = 5 * time.Minute
	usualListTTL       = 5 * time.Minute
	usualProbeInterval = 30 * time.Second
	usualProbeTimeout  = 10 * time.Second
	usualMisses        = 3
	usualFailures      = 5
	usualCooldown      = 30 * time.Second
)

// Bounds of what an entry may say about the life of its server.
const (
	maxInstances  = 64
	maxQueue      = 1000
	maxReconnects = 1_000_000
	maxMisses     = 100
	maxFailures   = 1000

	minProbeInterval = 10 * time.Millisecond
)

// usualBreaker is the breaker of a server that says nothing about it.
func usualBreaker() hub.Breaker { return hub.Breaker{Failures: usualFailures, Cooldown: usualCooldown} }

// usualServer is a server of which nothing is said.
func usualServer() hub.Server {
	return hub.Server{
		Enabled:       true,
		AutoRestart:   true,
		AutoReconnect: true,
		IdleStop:      usualIdleStop,
		Health:        hub.Health{Interval: usualProbeInterval, Timeout: usualProbeTimeout, Misses: usualMisses},
		Breaker:       usualBreaker(),
		ListTTL:       usualListTTL,
		Timeout:       hub.DefaultTimeout,
		Retry:         hub.DefaultRetry(),
	}
}

// lifeMembers are those of the members about the life of a server that mean
// nothing to a built-in one: it is part of this process, lives as long as it
// does, and its tools are those of this version.
func lifeMembers() []string {
	return []string{
		"cleanupInterval", "instances", "maxReconnectAttempts", "healthCheckInterval", "healthCheckTimeout", "healthCheckMisses",
		"healthCheckPath", "circuitBreaker", "limits", "sandbox", "directNode", "cacheTTL",
	}
}

// usualOf is a server of a kind of which nothing else is said.
func usualOf(kind hub.Kind) hub.Server {
	s := usualServer()
	s.Kind, s.AutoStart, s.Priority = kind, kind == hub.KindBuiltin, usualPriority(kind)
	fitLife(&s)
	return s
}

// settleLife puts together what is said about the life of the server, when it is
// known how the server is reached.
func (e *entry) settleLife() {
	if _, said := e.has["autoStart"]; !said {
		e.server.AutoStart = e.server.Kind == hub.KindBuiltin
	}
	fitLife(&e.server)
}

// fitLife drops what means nothing to a server of this kind.
func fitLife(s *hub.Server) {
	if s.Kind == hub.KindBuiltin {
		s.IdleStop, s.ListTTL, s.Instances = 0, 0, hub.Instances{}
		s.Health, s.Breaker = hub.Health{}, hub.Breaker{}
	}
	if s.Kind != hub.KindStdio {
		s.Limits, s.Sandbox, s.DirectNode = hub.Limits{}, nil, false
	}
	if !s.Kind.Remote() {
		s.MaxReconnects, s.Health.Path = 0, ""
	}
	if s.Health.Interval == 0 {
		s.Health = hub.Health{}
	}
}

func (e *entry) readPreload(m member)    { e.set(&e.server.Preload, m) }
func (e *entry) readPinned(m member)     { e.set(&e.server.Pinned, m) }
func (e *entry) readDirectNode(m member) { e.set(&e.server.DirectNode, m) }

func (e *entry) readIdleStop(m member) { e.interval(&e.server.IdleStop, m) }
func (e *entry) readListTTL(m member)  { e.interval(&e.server.ListTTL, m) }

func (e *entry) readHealthInterval(m member) {
	e.interval(&e.server.Health.Interval, m)
	if every := e.server.Health.Interval; every > 0 && every < minProbeInterval {
		e.problem(m.value.StartOffset, `%s%s must be at least %v, or "off" for never`, e.where, quoted(m.name), minProbeInterval)
	}
}

func (e *entry) readHealthTimeout(m member) { e.span(&e.server.Health.Timeout, m) }

func (e *entry) readMisses(m member)     { e.whole(&e.server.Health.Misses, m, 1, maxMisses) }
func (e *entry) readReconnects(m member) { e.whole(&e.server.MaxReconnects, m, 0, maxReconnects) }

// readHealthPath reads the path of a URL. A query is refused, as it may hold a
// secret, which could not be told from the rest.
func (e *entry) readHealthPath(m member) {
	path := e.plain(m.name, m.value)
	_, err := url.ParseRequestURI(path)
	switch {
	case path == "": // reported already; or files that programs write have it
	case err != nil, !strings.HasPrefix(path, "/"), strings.ContainsAny(path, "?#"), hasControl(path):
		e.problem(m.value.StartOffset, `%s%s must be a path that begins with "/", without a query`, e.where, quoted(m.name))
	default:
		e.server.Health.Path = path
	}
}

// readInstances reads how many there may be, or an object with more about it.
func (e *entry) readInstances(m member) {
	in := hub.Instances{Min: 1, Queue: 1}
	switch m.value.Value.Kind() {
	case '0':
		e.whole(&in.Max, m, 1, maxInstances)
	case '{':
		e.parts(m,
			part{"min", func(m member) { e.whole(&in.Min, m, 1, maxInstances) }},
			part{"max", func(m member) { e.whole(&in.Max, m, 1, maxInstances) }},
			part{"queue", func(m member) { e.whole(&in.Queue, m, 1, maxQueue) }},
		)
	default:
		e.wrong(m.name, m.value, `a whole number, or an object with "min", "max" and "queue"`)
	}
	switch {
	case in.Max == 0:
		in.Max = in.Min
	case in.Max < in.Min:
		e.problem(m.value.StartOffset, `%s%s has a "min" that is more than its "max"`, e.where, quoted(m.name))
	}
	if in.Max == 1 {
		in = hub.Instances{}
	}
	e.server.Instances = in
}

// readBreaker reads an object, false for none, or true for the usual one.
func (e *entry) readBreaker(m member) {
	switch m.value.Value.Kind() {
	case 'f':
		e.server.Breaker = hub.Breaker{}
	case 't':
		e.server.Breaker = usualBreaker()
	case '{':
		b := &e.server.Breaker
		if b.Failures == 0 {
			*b = usualBreaker()
		}
		e.parts(m,
			part{"failures", func(m member) { e.whole(&b.Failures, m, 1, maxFailures) }},
			part{"cooldown", func(m member) { e.span(&b.Cooldown, m) }},
		)
	default:
		e.wrong(m.name, m.value, `true or false, or an object with "failures" and "cooldown"`)
	}
}

// part is one member of an object within an entry.
type part struct {
	name string
	read func(member) // its name is then the way to it from the entry
}

// parts reads an object within an entry.
func (e *entry) parts(m member, parts ...part) {
	names := make([]string, len(parts))
	read := make(map[string]func(member))
	for i, p := range parts {
		names[i], read[p.name] = p.name, p.read
	}
	members, _ := e.object(m.value, message.Say("%s%s", e.where, quoted(m.name)))
	for _, inner := range members {
		switch take := read[inner.name]; {
		case take == nil:
			e.unknown(message.Say("%s%s: ", e.where, quoted(m.name)), inner, names)
		case !isNull(inner.value):
			inner.name = m.name + "." + inner.name
			take(inner)
		}
	}
}

// span reads a duration, for which a bare number counts milliseconds.
func (e *entry) span(to *time.Duration, m member) {
	if d := e.duration(m, e.where, time.Millisecond, ""); d > 0 {
		*to = d
	}
}

// interval is span for what may never happen: 0 or "off".
func (e *entry) interval(to *time.Duration, m member) {
	if lit, ok := m.value.Value.(hujson.Literal); ok {
		switch lit.String() {
		case "0", "0s", "off":
			*to = 0
			return
		}
	}
	if d := e.duration(m, e.where, time.Millisecond, `, or "off" for never`); d > 0 {
		*to = d
	}
}

// whole reads a whole number.
func (e *entry) whole(to *int, m member, least, most int) {
	lit, ok := m.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '0' {
		e.wrong(m.name, m.value, "a whole number")
		return
	}
	n, err := strconv.Atoi(string(lit))
	if err != nil || n < least || n > most {
		e.problem(m.value.StartOffset, "%s%s must be a whole number from %d to %d", e.where, quoted(m.name), least, most)
		return
	}
	*to = n
}

// elements are the values of an array, each under the name of its place.
func (e *entry) elements(m member, want string) []member {
	arr, ok := m.value.Value.(*hujson.Array)
	if !ok {
		e.wrong(m.name, m.value, want)
		return nil
	}
	all := make([]member, len(arr.Elements))
	for i, v := range arr.Elements {
		all[i] = member{name: fmt.Sprintf("%s[%d]", m.name, i), at: v.StartOffset, value: v}
	}
	return all
}
