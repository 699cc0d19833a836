package gateway

import (
	"bytes"
	"crypto/rand"
	"maps"
	"slices"
	"strconv"
	"strings"
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
	ref       string // by which others may read of it; see [hub.SessionRef]
	revision  protocol.Revision
	principal hub.Principal

	began        time.Time
	capabilities []byte      // JSON object, as the caller declared them; nil for none
	viewer       hub.Viewer  // through which the caller looks
	accept       string      // in which languages it wants to be told things
	device       bool        // see [Caller]
	told         hub.ListSet // of whose changes it was promised to be told
	reads        reads       // of announce
	ties

	level   atomic.Pointer[string]
	used    atomic.Int64 // Unix nanoseconds of the last request
	busy    atomic.Int32 // requests and streams under way
	closing atomic.Bool

	queue queue    // of what belongs to no request
	log   eventLog // of the gateway's history

	mu     sync.Mutex
	ended  bool
	reader *reader // of the queue; nil if there is none
	read   bool    // there is a reader, or was one
	left   int     // requests under way whose clients have gone
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

// Group is the name of the group to whose address the session belongs, "" for
// none.
func (s *Session) Group() string { return s.viewer.Group }

// Caller returns the session as the sender of a request.
func (s *Session) Caller() *Caller {
	return &Caller{
		Principal: s.principal, Viewer: s.viewer, Era: protocol.Legacy, Session: s, Accept: s.accept, Device: s.device,
	}
}

// Shutdown has the session end once the request under way that asks for it is
// answered: whoever sends the answer looks at Closing behind it.
func (s *Session) Shutdown() { s.closing.Store(true) }

// Closing reports whether the session is to be ended, see Shutdown.
func (s *Session) Closing() bool { return s.closing.Load() }

// Enter keeps the session from being idle until the returned function is
// called.
func (s *Session) Enter() func() {
	s.busy.Add(1)
	return s.leave
}

func (s *Session) leave() {
	s.used.Store(time.Now().UnixNano())
	s.busy.Add(-1)
}

// Limits of what a client says about itself when it opens a session, which is
// kept as long as that.
const (
	maxCapabilities = 64 << 10
	maxClient       = 256
)

// Initialize opens a session for an initialize request and answers it. Of the
// caller are used: Principal, Viewer without its client, Accept and Device. The session
// is nil if the answer is an error.
func (g *Gateway) Initialize(from *Caller, m *wire.Message) (*Session, Answer) {
	s, answer, err := g.initialize(from, m)
	if err != nil {
		return nil, g.Fault(from, m, hub.AsError(err))
	}
	return s, answer
}

func (g *Gateway) initialize(from *Caller, m *wire.Message) (*Session, Answer, error) {
	if err := checkParams(m); err != nil {
		return nil, Answer{}, err
	}
	asked, ok := wire.String(m.Raw, m.Member("protocolVersion"))
	if !ok {
		return nil, Answer{}, invalid(`"protocolVersion" has to be a string`)
	}
	s := &Session{
		id: rand.Text(), revision: protocol.Negotiate(protocol.Revision(asked)), principal: from.Principal, began: time.Now(),
		accept: strings.Clone(from.Accept), device: from.Device,
	}
	s.ref = hub.SessionRef(s.id)
	s.viewer = hub.Viewer{Group: from.Viewer.Group, Tenant: from.Viewer.Tenant, Scope: from.Viewer.Scope}
	if err := s.introduce(m); err != nil {
		return nil, Answer{}, err
	}
	view, err := g.opt.Catalog.View(s.viewer)
	if err != nil {
		return nil, Answer{}, err
	}
	has := g.offered(view)
	s.told, s.reads = promised(view, has), g.readsOf(s.viewer)
	s.used.Store(time.Now().UnixNano())
	if !g.admit(s) {
		return nil, Answer{}, hub.E(message.TooManySessions, nil, "limit", strconv.Itoa(g.opt.MaxSessions))
	}
	g.opt.Log.Debug("a session was opened", "client", message.Quote(s.viewer.Client), "group", s.viewer.Group, "protocol", s.revision)
	body := appendOffer([]byte(`{"protocolVersion":"`+string(s.revision)+`",`), view, has)
	body = append(append(body, `,"serverInfo":`...), g.opt.ServerInfo...)
	return s, result(m, append(body, '}')), nil
}

// introduce takes what the client says about itself. Both members are required,
// but the first clients left them out.
func (s *Session) introduce(m *wire.Message) error {
	for _, name := range [...]string{"capabilities", "clientInfo"} {
		if at := m.Member(name); at.Exists() && m.Raw[at.Start] != '{' {
			return invalid(`"%s" has to be an object`, name)
		}
	}
	declared := m.Member("capabilities")
	if declared.Len() > maxCapabilities {
		return invalid(`"capabilities" has more than %d KiB`, maxCapabilities>>10)
	}
	if declared.Exists() {
		s.capabilities = bytes.Clone(declared.Of(m.Raw))
	}
	s.viewer.Client = ClientName(m.Raw, m.Member("clientInfo"))
	return nil
}

// ClientName is the name in a client's description of itself, "" if it has none
// that could be one.
func ClientName(raw []byte, clientInfo wire.Span) string {
	name, _ := wire.String(raw, wire.Lookup(raw, clientInfo, "name"))
	if len(name) > maxClient {
		return ""
	}
	return strings.Clone(name) // not to keep the whole message
}

// Known is an error if there is no view for the viewer: its group is not there, or
// has nothing that it may see.
func (g *Gateway) Known(viewer hub.Viewer) *hub.Error {
	_, err := g.opt.Catalog.View(viewer)
	return hub.AsError(err)
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

// all are the sessions there are.
func (g *Gateway) all() []*Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.sessions))
}

// End ends a session: its calls are cancelled, its streams end, and nothing is
// kept of it. It may be called again.
func (g *Gateway) End(s *Session) {
	g.mu.Lock()
	delete(g.sessions, s.id)
	g.mu.Unlock()
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	if s.reader != nil {
		s.reader.end()
	}
	s.mu.Unlock()
	g.opt.Call.Calls().CancelSession(s.id)
	g.forget(s)
	g.history.drop(&s.log)
	g.relevel(s, "")
	if n := s.queue.lost(); n > 0 {
		g.opt.Log.Info("a caller did not take all that it was to be told", "dropped", n)
	}
}

// expire ends the sessions that have been idle for too long.
func (g *Gateway) expire(now time.Time) {
	for _, s := range g.all() {
		if s.busy.Load() == 0 && now.UnixNano()-s.used.Load() > int64(g.opt.Idle) {
			g.End(s)
		}
	}
}

// levels is what log levels the sessions want.
type levels struct {
	mu    sync.Mutex
	level string         // that servers were asked for last; "" for none yet
	wants map[string]int // how many sessions want the level
}

// defaultLevel is what servers are asked for when nobody asks for anything any
// more: a level that was set cannot be unset.
const defaultLevel = "info"

func (g *Gateway) setLevel(c *Caller, m *wire.Message) (Answer, error) {
	level, ok := wire.String(m.Raw, m.Member("level"))
	if _, known := protocol.Level(level); !ok || !known {
		return Answer{}, invalid(`"level" has to be one of debug, info, notice, warning, error, critical, alert, emergency`)
	}
	g.relevel(c.Session, level)
	return result(m, []byte("{}")), nil
}

// relevel enters the level that a session wants, "" for none any more, and has
// the servers log from the most verbose level on that any session wants; each
// caller gets its own share of it.
func (g *Gateway) relevel(s *Session, level string) {
	l := &g.levels
	l.mu.Lock()
	defer l.mu.Unlock()
	before := s.Level()
	if before == level || level != "" && s.gone.Load() {
		return
	}
	if l.wants == nil {
		l.wants = make(map[string]int)
	}
	if l.wants[before]--; l.wants[before] <= 0 {
		delete(l.wants, before)
	}
	s.level.Store(&level)
	if level != "" {
		l.wants[level]++
	}
	lowest, name := -1, defaultLevel
	for wanted := range l.wants {
		if rank, _ := protocol.Level(wanted); lowest < 0 || rank < lowest {
			lowest, name = rank, wanted
		}
	}
	if name != l.level {
		l.level = name
		g.opt.Call.SetLevel(name)
	}
}
