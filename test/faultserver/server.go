package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	newestLegacy = "2025-11-25"
	modern       = "2026-07-28"
)

func isLegacy(version string) bool {
	return slices.Contains([]string{"2024-11-05", "2025-03-26", "2025-06-18", newestLegacy}, version)
}

// server is what all conversations share: the tools, the counters and the
// chosen faults. Its methods may be used by several goroutines at once.
type server struct {
	opt   options
	tools []tool

	mu          sync.Mutex
	sessions    map[string]*session // of HTTP, by id
	listeners   map[*listener]bool
	fillers     int
	onlyFillers bool
	failedOnce  bool
	listed      bool
	count       stats

	wide wide
}

// stats is what GET /stats answers. Live counts are of now, the others since
// the start.
type stats struct {
	SessionsOpened int            `json:"sessions_opened"`
	SessionsLive   int            `json:"sessions_live"`
	StreamsLive    int            `json:"streams_live"`
	Posts          int            `json:"posts"`
	Gets           int            `json:"gets"`
	Deletes        int            `json:"deletes"`
	Redirected     int            `json:"redirected"`
	Cancelled      int            `json:"cancelled"`
	Methods        map[string]int `json:"methods"`
	Calls          map[string]int `json:"calls"`
}

// listener is somebody who is told when the list of tools changes.
type listener struct {
	// subscription is the id of the subscriptions/listen request in revision
	// 2026-07-28, nil in earlier ones.
	subscription json.RawMessage
	// send may drop the note of a listener that does not read.
	send func(note []byte)
}

func newServer(o options) *server {
	offered := tools(o.about)
	if o.wide {
		offered = append(offered, wideTools()...)
	}
	if o.name != "" {
		offered = append(offered, riskyTools()...)
	}
	return &server{
		opt:       o,
		tools:     offered,
		sessions:  map[string]*session{},
		listeners: map[*listener]bool{},
		count:     stats{Methods: map[string]int{}, Calls: map[string]int{}},
		wide:      wide{heard: map[string]json.RawMessage{}, answers: map[string]chan message{}},
	}
}

// tally changes the counters.
func (s *server) tally(f func(c *stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.count)
}

// saw counts a message that arrived, whatever becomes of it.
func (s *server) saw(m message) {
	s.tally(func(c *stats) {
		if m.Method != "" {
			c.Methods[m.Method]++
		}
		if m.Method == "tools/call" {
			c.Calls[m.tool()]++
		}
	})
}

func (s *server) snapshot() stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.count
	c.Methods, c.Calls = maps.Clone(c.Methods), maps.Clone(c.Calls)
	c.SessionsLive, c.StreamsLive = len(s.sessions), len(s.listeners)
	return c
}

func (s *server) listen(l *listener) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[l] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, l)
	}
}

func (s *server) setTools(n int, only bool) {
	s.mu.Lock()
	s.fillers, s.onlyFillers = n, only
	listeners := slices.Collect(maps.Keys(s.listeners))
	s.mu.Unlock()
	for _, l := range listeners {
		params := map[string]any{}
		if l.subscription != nil {
			params["_meta"] = map[string]any{metaSubscription: l.subscription}
		}
		l.send(notification("notifications/tools/list_changed", params))
	}
}

// tellAll sends a notification to everybody who listens. Its parameters are a
// JSON object that is not empty and has no _meta.
func (s *server) tellAll(method, params string) {
	s.mu.Lock()
	listeners := slices.Collect(maps.Keys(s.listeners))
	s.mu.Unlock()
	for _, l := range listeners {
		tag := ""
		if l.subscription != nil {
			tag = fmt.Sprintf(`"_meta":{%q:%s},`, metaSubscription, l.subscription)
		}
		l.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{%s%s}`, method, tag, params[1:]))
	}
}

// session is one caller's conversation: the process's only one on stdio, one
// per Mcp-Session-Id over HTTP, one per request in revision 2026-07-28.
type session struct {
	id     string
	closed chan struct{} // ends the session's GET stream

	mu      sync.Mutex
	ready   bool // initialize was answered
	level   string
	calls   int
	running map[string]context.CancelFunc // by the bytes of the request's id
}

func newSession(id string) *session {
	return &session{id: id, closed: make(chan struct{}), running: map[string]context.CancelFunc{}}
}

// begin makes the request cancellable until end is called. It has to be called
// before the next message is read, or a cancellation could come too early.
func (c *session) begin(ctx context.Context, id json.RawMessage) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[string(id)] = cancel
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, string(id))
	}
}

func (c *session) cancel(id json.RawMessage) {
	c.mu.Lock()
	cancel := c.running[string(id)]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// request is a message on its way through the server.
type request struct {
	message
	session *session
	modern  bool
	header  http.Header // nil on stdio
	// notify sends a notification ahead of the reply.
	notify func(note []byte)
	// end is how a risky tool wants the answer to end, and what is to come then.
	end *string
}

// handle takes one message. It returns what is to be sent back, in that order:
// nothing for a notification, for a cancelled request and where a fault says
// so. The request's context must come from session.begin.
func (s *server) handle(ctx context.Context, r request) []reply {
	s.wide.take(r.message)
	if !r.isRequest() {
		if r.Method == "notifications/cancelled" {
			var p struct {
				RequestID json.RawMessage `json:"requestId"`
			}
			if json.Unmarshal(r.Params, &p) == nil {
				r.session.cancel(p.RequestID)
			}
		}
		return nil
	}
	result, err := s.dispatch(ctx, r)
	switch {
	case ctx.Err() != nil, r.end != nil && *r.end != "" && result == nil && err == nil:
		return nil
	case err != nil:
		return s.spoil(r.message, reply{id: r.ID, err: err})
	case r.Method == "initialize" && s.opt.faults.has("garbage"):
		return []reply{{raw: []byte("Fatal: configuration not found, using defaults")}}
	case r.modern:
		result = complete(result)
	}
	return s.spoil(r.message, reply{id: r.ID, result: result})
}

func (s *server) dispatch(ctx context.Context, r request) (json.RawMessage, *rpcError) {
	if s.opt.faults.has("modernonly") {
		if err := checkModern(r.message); err != nil {
			return nil, err
		}
	}
	if s.opt.wide {
		if result, ok := s.serveWide(r); ok {
			return json.RawMessage(result), nil
		}
	}
	switch r.Method {
	case "initialize":
		return s.initialize(ctx, r)
	case "tools/list":
		return s.list(ctx, r)
	case "tools/call":
		return s.call(ctx, r)
	}
	if s.opt.faults.has("silentunknown") {
		if r.Method == "server/discover" && !r.session.isReady() {
			os.Exit(exitFault)
		}
		<-ctx.Done()
		return nil, nil
	}
	if s.opt.faults.has("noping") && r.Method == "ping" {
		<-ctx.Done()
		return nil, nil
	}
	switch {
	case r.Method == "ping" && !r.modern:
		return json.RawMessage(`{}`), nil
	case r.Method == "logging/setLevel" && !r.modern:
		return r.session.setLevel(r.Params)
	case r.Method == "server/discover" && r.modern:
		return s.discover(), nil
	case r.Method == "subscriptions/listen" && r.modern:
		return s.subscribe(ctx, r)
	}
	return nil, &rpcError{Code: codeUnknownMethod, Message: "Method not found: " + r.Method}
}

func (s *server) initialize(ctx context.Context, r request) (json.RawMessage, *rpcError) {
	if s.opt.faults.has("neverinit") {
		<-ctx.Done()
		return nil, nil
	}
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil || p.ProtocolVersion == "" {
		return nil, &rpcError{Code: codeBadParams, Message: "initialize needs a protocolVersion"}
	}
	version := p.ProtocolVersion
	if !isLegacy(version) {
		version = newestLegacy
	}
	if s.opt.faults.has("badproto") {
		version = "1999-01-01"
	}
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	r.session.ready = true
	return fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,`+
		`"serverInfo":{"name":"faultserver","version":"1.0.0"},"instructions":"Goes wrong on request."}`, version, s.capabilities()), nil
}

func (c *session) isReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready
}

// levels are the log levels of MCP, the least important first.
func levels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

func (c *session) setLevel(params json.RawMessage) (json.RawMessage, *rpcError) {
	var p struct {
		Level string `json:"level"`
	}
	if json.Unmarshal(params, &p) != nil || !slices.Contains(levels(), p.Level) {
		return nil, &rpcError{Code: codeBadParams, Message: "unknown log level"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.level = p.Level
	return json.RawMessage(`{}`), nil
}

// wait waits for d or the end of ctx.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// spoil turns the right reply into what the chosen answer faults make of it.
func (s *server) spoil(m message, right reply) []reply {
	f := s.opt.faults
	r := right
	if f.hits("wrongid", m) {
		r.id = json.RawMessage("987654321")
	}
	if f.hits("strid", m) && len(r.id) > 0 && r.id[0] != '"' {
		r.id = encode(string(r.id))
	}
	if f.hits("hugeline", m) || f.hits("hugejson", m) {
		r.result, r.err = textResult(filler(s.opt.size)), nil
	}
	switch {
	case f.hits("noreply", m):
		return nil
	case f.hits("dupreply", m):
		return []reply{r, r}
	}
	return []reply{r}
}

// after is called when the reply to m has left.
func (s *server) after(m message) {
	if s.opt.faults.hits("crashafter", m) {
		os.Exit(exitCrash)
	}
}
