package gateway

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Bounds of what is remembered of URLs that callers were sent to: a person may
// well never go there.
const (
	maxElicitations = 64 // for each session; the oldest go first
	elicitationAge  = time.Hour
)

// elicitation names what a server has sent a person to a URL for.
type elicitation struct{ server, id string }

// elicitations are those whose end has not been told. Two callers may have been
// given the same one, as by a server that does not tell them apart. The zero
// value is ready for use.
type elicitations struct {
	mu       sync.Mutex
	waiting  map[elicitation][]*Session
	sessions map[*Session][]remembered // oldest first
}

type remembered struct {
	elicitation
	at time.Time
}

// add remembers to whom an elicitation went, unless that one has left.
func (es *elicitations) add(s *Session, e elicitation) {
	es.mu.Lock()
	defer es.mu.Unlock()
	if s.gone.Load() {
		return
	}
	if es.waiting == nil {
		es.waiting, es.sessions = make(map[elicitation][]*Session), make(map[*Session][]remembered)
	}
	es.drop(s, e) // it is the newest now
	old := es.sessions[s]
	for len(old) > 0 && (len(old) >= maxElicitations || time.Since(old[0].at) > elicitationAge) {
		es.drop(s, old[0].elicitation)
		old = es.sessions[s]
	}
	es.sessions[s] = append(old, remembered{e, time.Now()})
	es.waiting[e] = append(es.waiting[e], s)
}

// drop forgets that an elicitation went to a session. es.mu is held.
func (es *elicitations) drop(s *Session, e elicitation) {
	if i := slices.Index(es.waiting[e], s); i >= 0 {
		es.waiting[e] = slices.Delete(es.waiting[e], i, i+1)
	}
	if len(es.waiting[e]) == 0 {
		delete(es.waiting, e)
	}
	es.sessions[s] = slices.DeleteFunc(es.sessions[s], func(r remembered) bool { return r.elicitation == e })
	if len(es.sessions[s]) == 0 {
		delete(es.sessions, s)
	}
}

// take returns the sessions that an elicitation went to, and forgets them.
func (es *elicitations) take(e elicitation) []*Session {
	es.mu.Lock()
	defer es.mu.Unlock()
	var to []*Session
	for _, s := range slices.Clone(es.waiting[e]) {
		at := slices.IndexFunc(es.sessions[s], func(r remembered) bool { return r.elicitation == e })
		if time.Since(es.sessions[s][at].at) <= elicitationAge {
			to = append(to, s)
		}
		es.drop(s, e)
	}
	return to
}

// forget drops what was remembered of a session that is gone.
func (es *elicitations) forget(s *Session) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, r := range slices.Clone(es.sessions[s]) {
		es.drop(s, r.elicitation)
	}
}

// Elicited takes a server's notification that what a person was sent to a URL
// for is done (2025-11-25, "Elicitation", Completion Notifications). It is
// passed on, once, to the sessions that were given this id, and to nobody else.
func (g *Gateway) Elicited(server, id string, raw []byte) {
	for _, s := range g.elicitations.take(elicitation{server, id}) {
		s.Push(bytes.Clone(raw), "")
	}
}

// elicitationOf is the id of the elicitation, if the request sends a person to
// a URL.
func elicitationOf(m *wire.Message) (string, bool) {
	if mode, _ := wire.String(m.Raw, m.Member("mode")); mode != "url" || m.MethodName() != protocol.MethodElicitation {
		return "", false
	}
	return wire.String(m.Raw, m.Member("elicitationId"))
}

// required remembers the elicitations that a server's error says are needed
// first ("Elicitation", URL Elicitation Required Error).
func (g *Gateway) required(s *Session, server string, failure *wire.Message) {
	raw := failure.Raw
	list := wire.Lookup(raw, wire.Lookup(raw, failure.Error, "data"), "elicitations")
	for one := range wire.Array(raw, list) {
		if id, ok := wire.String(raw, wire.Lookup(raw, one, "elicitationId")); ok {
			g.elicitations.add(s, elicitation{server, id})
		}
	}
}
