package gateway

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Session is one conversation of the legacy era, from initialize to its end.
type Session struct {
	id        string
	revision  protocol.Revision
	principal hub.Principal

	level atomic.Pointer[string]
	used  atomic.Int64 // Unix nanoseconds of the last request
	busy  atomic.Int32 // requests and streams under way

	mu     sync.Mutex
	ended  bool
	stream context.CancelFunc // of the stream that is open, nil if there is none
}

// ID is the session's id, which is also what proves that a request belongs to
// it; it is not to be logged.
func (s *Session) ID() string { return s.id }

// Revision is what was agreed upon.
func (s *Session) Revision() protocol.Revision { return s.revision }

// Principal is who opened the session. Nobody else may use it.
func (s *Session) Principal() hub.Principal { return s.principal }

// Level is the log level that the caller set, "" if it did not.
func (s *Session) Level() string {
	if p := s.level.Load(); p != nil {
		return *p
	}
	return ""
}

// Caller returns the session as the sender of a request.
func (s *Session) Caller() *Caller {
	return &Caller{Principal: s.principal, Era: protocol.Legacy, Session: s}
}

// Enter keeps the session from being idle until the returned function is
// called.
func (s *Session) Enter() func() {
	s.busy.Add(1)
	return func() {
		s.used.Store(time.Now().UnixNano())
		s.busy.Add(-1)
	}
}

// Initialize opens a session for an initialize request and answers it. The
// session is nil if the answer is an error.
func (g *Gateway) Initialize(p hub.Principal, m *wire.Message) (*Session, Answer) {
	s, answer, err := g.initialize(p, m)
	if err != nil {
		return nil, Fault(protocol.Legacy, m.ID.Of(m.Raw), hub.AsError(err))
	}
	return s, answer
}

func (g *Gateway) initialize(p hub.Principal, m *wire.Message) (*Session, Answer, error) {
	if err := checkParams(m); err != nil {
		return nil, Answer{}, err
	}
	asked, ok := wire.String(m.Raw, m.Member("protocolVersion"))
	if !ok {
		return nil, Answer{}, invalid(`"protocolVersion" has to be a string`)
	}
	s := &Session{id: rand.Text(), revision: protocol.Negotiate(protocol.Revision(asked)), principal: p}
	s.used.Store(time.Now().UnixNano())
	if !g.admit(s) {
		return nil, Answer{}, hub.E(message.TooManySessions, nil, "limit", strconv.Itoa(g.opt.MaxSessions))
	}
	body := []byte(`{"protocolVersion":"` + string(s.revision) + `","capabilities":` + capabilities + `,"serverInfo":`)
	body = append(body, g.opt.ServerInfo...)
	return s, result(m, append(body, '}')), nil
}

// admit enters a session. When there are too many, the one that has been idle
// for longest makes room; false if all are in use.
func (g *Gateway) admit(s *Session) bool {
	g.mu.Lock()
	var idle *Session
	if len(g.sessions) >= g.opt.MaxSessions {
		for _, other := range g.sessions {
			if other.busy.Load() == 0 && (idle == nil || other.used.Load() < idle.used.Load()) {
				idle = other
			}
		}
	}
	full := len(g.sessions) >= g.opt.MaxSessions && idle == nil
	if !full {
		g.sessions[s.id] = s
	}
	g.mu.Unlock()
	if idle != nil {
		g.End(idle)
	}
	return !full
}

// capabilities are what the hub offers to its callers.
const capabilities = `{"logging":{},"tools":{"listChanged":true}}`

// discovered is the result of server/discover.
func (g *Gateway) discovered() []byte {
	b := protocol.AppendRevisions([]byte(`{"resultType":"complete","supportedVersions":`))
	b = append(b, `,"capabilities":`+capabilities+`,"ttlMs":0,"cacheScope":"private","_meta":{"`+protocol.MetaServerInfo+`":`...)
	b = append(b, g.opt.ServerInfo...)
	return append(b, "}}"...)
}

// Session returns the session with the id, if there is one that has not ended.
func (g *Gateway) Session(id string) (*Session, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.sessions[id]
	return s, ok
}

// Sessions is how many sessions there are.
func (g *Gateway) Sessions() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.sessions)
}

// End ends a session: its calls are cancelled, its stream ends.
func (g *Gateway) End(s *Session) {
	g.mu.Lock()
	_, there := g.sessions[s.id]
	delete(g.sessions, s.id)
	g.mu.Unlock()
	if !there {
		return
	}
	s.mu.Lock()
	s.ended = true
	if s.stream != nil {
		s.stream()
	}
	s.mu.Unlock()
	g.opt.Call.Calls().CancelSession(s.id)
	if s.Level() != "" {
		g.relevel()
	}
}

// expire ends the sessions that have been idle for too long.
func (g *Gateway) expire(now time.Time) {
	var idle []*Session
	g.mu.Lock()
	for _, s := range g.sessions {
		if s.busy.Load() == 0 && now.UnixNano()-s.used.Load() > int64(g.opt.Idle) {
			idle = append(idle, s)
		}
	}
	g.mu.Unlock()
	for _, s := range idle {
		g.End(s)
	}
}

// defaultLevel is what servers are asked for when nobody asks for anything any
// more: a level that was set cannot be unset.
const defaultLevel = "info"

func (g *Gateway) setLevel(c *Caller, m *wire.Message) (Answer, error) {
	level, ok := wire.String(m.Raw, m.Member("level"))
	if _, known := protocol.Level(level); !ok || !known {
		return Answer{}, invalid(`"level" has to be one of debug, info, notice, warning, error, critical, alert, emergency`)
	}
	c.Session.level.Store(&level)
	g.relevel()
	return result(m, []byte("{}")), nil
}

// relevel has the servers log from the most verbose level on that any session
// wants; each caller gets its own share of it.
func (g *Gateway) relevel() {
	lowest, name := -1, ""
	g.mu.Lock()
	for _, s := range g.sessions {
		level := s.Level()
		if rank, ok := protocol.Level(level); ok && (lowest < 0 || rank < lowest) {
			lowest, name = rank, level
		}
	}
	g.mu.Unlock()
	if name == "" {
		name = defaultLevel
	}
	g.opt.Call.SetLevel(name)
}
