package gateway_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is what a scripted server is asked.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name  string `json:"name"`
		URI   string `json:"uri"`
		Level string `json:"level"`
		Meta  struct {
			ProgressToken json.RawMessage `json:"progressToken"`
			Level         string          `json:"io.modelcontextprotocol/logLevel"`
		} `json:"_meta"`
	} `json:"params"`
}

// scripted is a server in this process with one tool "t"; call answers it, and
// returns the members of the response.
type scripted struct {
	modern bool
	call   func(r request, send func(format string, args ...any)) string
	more   string                      // capabilities besides those of every scripted server
	other  func(r request) string      // answers other methods; "" for an empty result
	send   func(string, ...any)        // writes a message on the newest connection, once there is one
	hangUp func()                      // ends that one
	def    func(*hub.Server)           // changes the definition, unless it is nil
	over   chan struct{}               // closed when the server has ended, unless it is nil
	told   func(raw string, m request) // gets what is no request
	slow   time.Duration               // before it answers anything; the test does not wait for its lists then
}

func (s *scripted) serve(_ context.Context, _ string, r io.ReadCloser, w io.WriteCloser) error {
	defer w.Close()
	var mu sync.Mutex
	send := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(w, format+"\n", args...)
	}
	s.send, s.hangUp = send, func() { _ = w.Close() }
	if s.over != nil {
		defer close(s.over)
	}
	time.Sleep(s.slow) // of a bubble
	in := bufio.NewScanner(r)
	for in.Scan() {
		var q request
		if json.Unmarshal(in.Bytes(), &q) != nil {
			continue
		}
		if q.ID == nil || q.Method == "" {
			if s.told != nil {
				s.told(in.Text(), q)
			}
			continue
		}
		reply := func(members string) { send(`{"jsonrpc":"2.0","id":%s,%s}`, q.ID, members) }
		switch q.Method {
		case "initialize":
			if s.modern {
				reply(`"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}`)
				continue
			}
			reply(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}` + s.more + `},"serverInfo":{"name":"s","version":"1"}}`)
		case "server/discover":
			reply(`"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}` + s.more + `}}`)
		case "tools/list":
			reply(`"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			go func() { reply(s.call(q, send)) }()
		default:
			answer := ""
			if s.other != nil {
				answer = s.other(q)
			}
			reply(cmp.Or(answer, `"result":{}`))
		}
	}
	return nil
}

// hall is a gateway with all that is behind it.
type hall struct {
	*gateway.Gateway
	catalog *catalog.Catalog
	server  hub.Server
	stop    func()
}

// dial connects to a scripted server whatever kind its definition says.
func dial(ctx context.Context, opt upstream.Options) (*upstream.Conn, error) {
	opt.Server.Kind = hub.KindBuiltin
	return upstream.Dial(ctx, opt)
}

func start(t *testing.T, s *scripted, opt gateway.Options) *hall {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	events := &bus.Bus{}
	cat, err := catalog.Open(catalog.Options{Bus: events, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	def := hub.Server{Key: "s", Kind: hub.KindBuiltin, Enabled: true, AutoStart: true, Timeout: time.Hour}
	if s.def != nil {
		s.def(&def)
	}
	cat.SetServers([]hub.Server{def})
	listed, once := make(chan struct{}), sync.Once{}
	var g *gateway.Gateway
	f := fleet.New(fleet.Options{
		Updated:  func(server string, callers []string, raw []byte) { g.Updated(server, callers, raw) },
		Elicited: func(server, id string, raw []byte) { g.Elicited(server, id, raw) },
		Servers:  []hub.Server{def}, Dial: dial, Serve: s.serve, ClientInfo: []byte(`{"name":"hub"}`), Bus: events, Log: log,
		Listed: func(server hub.Server, lists hub.Lists) {
			cat.Listed(server, lists)
			once.Do(func() { close(listed) })
		},
	})
	opt.Call, opt.Catalog, opt.Bus, opt.ServerInfo = call.New(call.Options{Catalog: cat, Fleet: f, Bus: events, Log: log}), cat, events, []byte(`{"name":"hub"}`)
	opt.Log = cmp.Or(opt.Log, log)
	g = gateway.New(opt)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = f.Run(ctx) })
	all.Go(func() { _ = g.Run(ctx) })
	if s.slow == 0 {
		<-listed
	}
	return &hall{g, cat, def, func() { cancel(); all.Wait() }}
}

// ear is what a caller hears before its answer.
type ear struct {
	mu    sync.Mutex
	heard []string
}

func (e *ear) Notify(raw []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, string(raw))
}

// Event makes it a [gateway.Feed]: the first event has no message.
func (e *ear) Event(_ string, raw []byte) error {
	if raw != nil {
		e.Notify(raw)
	}
	return nil
}

func msg(t *testing.T, format string, args ...any) *wire.Message {
	t.Helper()
	m, err := wire.Scan(fmt.Appendf(nil, format, args...), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

func text(a gateway.Answer) string { return string(wire.Splice(a.Raw, a.Edits...)) }

func (h *hall) open(t *testing.T) *gateway.Session {
	t.Helper()
	s, a := h.Initialize(&gateway.Caller{Principal: hub.Local(hub.DoorMCP)}, msg(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
	if s == nil {
		t.Fatal(text(a))
	}
	return s
}

const callT = `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"s__t","arguments":{},"_meta":{"progressToken":"p"}}}`

func TestInitialize(t *testing.T) {
	h := start(t, &scripted{}, gateway.Options{})
	defer h.stop()
	s, a := h.Initialize(&gateway.Caller{Principal: hub.Local(hub.DoorMCP)}, msg(t, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2024-11-05"}}`))
	want := `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2024-11-05","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"hub"}}}`
	if text(a) != want || s.Revision() != protocol.Rev20241105 {
		t.Errorf("got %s", text(a))
	}
	if again, ok := h.Session(s.ID()); !ok || again != s {
		t.Error("the session is not known")
	}
	for _, params := range []string{``, `,"params":{}`, `,"params":{"protocolVersion":1}`, `,"params":[]`} {
		if s, a := h.Initialize(&gateway.Caller{Principal: hub.Local(hub.DoorMCP)}, msg(t, `{"jsonrpc":"2.0","id":1,"method":"initialize"%s}`, params)); s != nil || a.Code != protocol.CodeInvalidParams {
			t.Errorf("params %s: %s", params, text(a))
		}
	}
}

func TestTooManySessions(t *testing.T) {
	h := start(t, &scripted{}, gateway.Options{MaxSessions: 2})
	defer h.stop()
	first, second := h.open(t), h.open(t)
	leave := first.Enter()
	third := h.open(t) // in the place of the idle one
	if _, ok := h.Session(second.ID()); ok || h.Sessions() != 2 {
		t.Error("the idle session did not make room")
	}
	defer third.Enter()()
	defer leave()
	if s, a := h.Initialize(&gateway.Caller{Principal: hub.Local(hub.DoorMCP)}, msg(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`)); s != nil || !strings.Contains(text(a), "too_many_sessions") {
		t.Errorf("one more session: %s", text(a))
	}
	h.End(first)
	h.open(t)
}

// A session that nobody uses ends; one with a request or a stream under way
// does not, however long that takes.
func TestIdleSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, &scripted{}, gateway.Options{Idle: 10 * time.Minute})
		defer h.stop()
		idle, busy := h.open(t), h.open(t)
		leave := busy.Enter()
		time.Sleep(9 * time.Minute)
		if h.Sessions() != 2 {
			t.Errorf("%d sessions after 9 minutes, want 2", h.Sessions())
		}
		time.Sleep(2 * time.Minute)
		if _, ok := h.Session(idle.ID()); ok || h.Sessions() != 1 {
			t.Errorf("%d sessions after 11 minutes, want the busy one", h.Sessions())
		}
		leave()
		for range 2 {
			time.Sleep(9 * time.Minute)
			if h.Sessions() != 1 {
				t.Error("the session ended too early")
			}
			h.Notification(busy.Caller(), msg(t, `{"jsonrpc":"2.0","method":"notifications/x"}`))
		}
		time.Sleep(9 * time.Minute)
		if h.Sessions() != 1 {
			t.Error("the session of who has something to tell ended")
		}
		time.Sleep(2 * time.Minute)
		if h.Sessions() != 0 {
			t.Error("the session did not end")
		}
	})
}

// The end of a session ends its calls and its stream, and no others.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := start(t, &scripted{call: func(request, func(string, ...any)) string {
			<-release
			return `"result":{"content":[]}`
		}}, gateway.Options{})
		defer h.stop()
		mine, other := h.open(t), h.open(t)
		answers := make(chan string, 2)
		for _, s := range []*gateway.Session{mine, other} {
			go func() { answers <- text(h.Request(t.Context(), s.Caller(), msg(t, callT), &ear{})) }()
		}
		streamed := make(chan struct{})
		go func() {
			h.Stream(t.Context(), mine, "", &ear{})
			close(streamed)
		}()
		synctest.Wait()
		h.End(mine)
		if a := <-answers; !strings.Contains(a, `"code":"cancelled"`) {
			t.Errorf("the call of the ended session: %s", a)
		}
		<-streamed
		close(release)
		if a := <-answers; a != `{"jsonrpc":"2.0","id":"x","result":{"content":[]}}` {
			t.Errorf("the call of the other session: %s", a)
		}
		if e := h.Stream(t.Context(), mine, "", &ear{}); e == nil || e.Code != message.SessionUnknown {
			t.Errorf("a stream of the ended session: %v", e)
		}
		if a := text(h.Request(t.Context(), mine.Caller(), msg(t, callT), &ear{})); !strings.Contains(a, `"code":"session_unknown"`) {
			t.Errorf("a call in the ended session: %s", a)
		}
		if h.Post(mine).Left() {
			t.Error("a request of the ended session goes on without its client")
		}
	})
}

// notifications/cancelled ends the one request that it names: a number by its
// bytes, a string by what it says, however it is written.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := start(t, &scripted{call: func(request, func(string, ...any)) string {
			<-release
			return `"result":{}`
		}}, gateway.Options{})
		defer h.stop()
		s := h.open(t)
		answers := map[string]chan string{`1`: make(chan string, 1), `"\u0031\/"`: make(chan string, 1)}
		for id := range answers {
			go func() {
				answers[id] <- text(h.Request(t.Context(), s.Caller(), msg(t, "%s", strings.Replace(callT, `"x"`, id, 1)), &ear{}))
			}()
		}
		synctest.Wait()
		h.Notification(h.open(t).Caller(), msg(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
		h.Notification(s.Caller(), msg(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1/"}}`))
		if a := <-answers[`"\u0031\/"`]; !strings.Contains(a, `"code":"cancelled"`) || !strings.Contains(a, `"id":"\u0031\/"`) {
			t.Errorf("the cancelled request: %s", a)
		}
		synctest.Wait()
		if len(answers[`1`]) != 0 {
			t.Errorf("another request was ended: %s", <-answers[`1`])
		}
		close(release)
		if a := <-answers[`1`]; a != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("the other request: %s", a)
		}
	})
}

// What a server says for a call that was cancelled does not reach the next
// caller, although that one's is then the only call that anybody waits for.
func TestLateLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late, calls := [2]chan struct{}{make(chan struct{}), make(chan struct{})}, 0
		h := start(t, &scripted{call: func(_ request, send func(string, ...any)) string {
			n := calls
			calls++
			<-late[n]
			if n > 0 {
				return `"result":{}`
			}
			send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"secret of the first"}}`)
			return `"result":{}`
		}}, gateway.Options{})
		defer h.stop()
		first, second, e := h.open(t), h.open(t), &ear{}
		answers := make(chan string, 2)
		go func() { answers <- text(h.Request(t.Context(), first.Caller(), msg(t, callT), &ear{})) }()
		synctest.Wait()
		h.End(first)
		<-answers
		go func() { answers <- text(h.Request(t.Context(), second.Caller(), msg(t, callT), e)) }()
		synctest.Wait()
		close(late[0])
		synctest.Wait()
		close(late[1])
		if a := <-answers; a != `{"jsonrpc":"2.0","id":"x","result":{}}` {
			t.Errorf("the second call: %s", a)
		}
		if len(e.heard) > 0 {
			t.Errorf("the second caller heard %q", e.heard)
		}
	})
}

// Log lines reach a caller from its level on, in either era's way of saying so.
func TestLevels(t *testing.T) {
	lines := func(_ request, send func(string, ...any)) string {
		for _, level := range []string{"debug", "warning", "error"} {
			send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":1}}`, level)
		}
		return `"result":{}`
	}
	for _, tt := range []struct {
		name, set, meta string
		modern          bool
		want            int
	}{
		{"legacy, not set", "", "", false, 3},
		{"legacy, warning", "warning", "", false, 2},
		{"legacy, emergency", "emergency", "", false, 0},
		{"modern, not set", "", "", true, 0},
		{"modern, error", "", "error", true, 1},
		{"modern, no such level", "", "loud", true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := start(t, &scripted{call: lines}, gateway.Options{})
			defer h.stop()
			c := &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern, Level: tt.meta}
			if !tt.modern {
				c = h.open(t).Caller()
			}
			if tt.set != "" {
				if a := h.Request(t.Context(), c, msg(t, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":%q}}`, tt.set), &ear{}); a.Code != 0 {
					t.Fatal(text(a))
				}
			}
			e := &ear{}
			if a := h.Request(t.Context(), c, msg(t, callT), e); a.Code != 0 {
				t.Fatal(text(a))
			}
			if len(e.heard) != tt.want {
				t.Errorf("heard %q, want %d lines", e.heard, tt.want)
			}
		})
	}
}

// Between the eras a result gains or loses what only one of them has.
func TestEras(t *testing.T) {
	for _, tt := range []struct {
		name           string
		server, caller bool // modern
		result, want   string
	}{
		{"legacy to legacy", false, false, `"result":{"a":1}`, `"result":{"a":1}`},
		{"legacy to modern", false, true, `"result":{"a":1}`, `"result":{"resultType":"complete","a":1}`},
		{"modern to legacy", true, false, `"result":{"resultType":"complete","a":1}`, `"result":{"a":1}`},
		{"modern to modern", true, true, `"result":{"a":1,"resultType":"complete"}`, `"result":{"a":1,"resultType":"complete"}`},
		{"a question, modern to modern", true, true, `"result":{"resultType":"input_required","requestState":"s"}`, `"result":{"resultType":"input_required","requestState":"s"}`},
		{"an error keeps its data", false, false, `"error":{"code":-5,"message":"m","data":[1]}`, `"error":{"code":-5,"message":"m","data":[1]}`},
		{"no resource, legacy to modern", false, true, `"error":{"code":-32002,"message":"m"}`, `"error":{"code":-32602,"message":"m"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := start(t, &scripted{modern: tt.server, call: func(request, func(string, ...any)) string { return tt.result }}, gateway.Options{})
			defer h.stop()
			c := &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern}
			if !tt.caller {
				c = h.open(t).Caller()
			}
			if got, want := text(h.Request(t.Context(), c, msg(t, callT), &ear{})), `{"jsonrpc":"2.0","id":"x",`+tt.want+`}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	t.Run("a question, modern to legacy", func(t *testing.T) {
		h := start(t, &scripted{modern: true, call: func(request, func(string, ...any)) string {
			return `"result":{"resultType":"input_required","requestState":"s"}`
		}}, gateway.Options{})
		defer h.stop()
		if got := text(h.Request(t.Context(), h.open(t).Caller(), msg(t, callT), &ear{})); !strings.Contains(got, "question_of_other_revision") {
			t.Errorf("got %s", got)
		}
	})
}

func TestUnknown(t *testing.T) {
	h := start(t, &scripted{}, gateway.Options{})
	defer h.stop()
	legacy, modern := h.open(t).Caller(), &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern}
	for _, tt := range []struct {
		c      *gateway.Caller
		method string
		params string
		code   int
	}{
		{legacy, "no/such", `{}`, protocol.CodeMethodUnknown},
		{modern, "no/such", `{}`, protocol.CodeMethodUnknown},
		{modern, "ping", `{}`, protocol.CodeMethodUnknown},
		{legacy, "server/discover", `{}`, protocol.CodeMethodUnknown},
		{modern, "logging/setLevel", `{"level":"info"}`, protocol.CodeMethodUnknown},
		{legacy, "notifications/initialized", `{}`, protocol.CodeMethodUnknown},
		{legacy, "tools/call", `{"name":"nobody__x"}`, protocol.CodeInvalidParams},
		{legacy, "tools/call", `{"name":1}`, protocol.CodeInvalidParams},
		{legacy, "tools/call", `{}`, protocol.CodeInvalidParams},
		{legacy, "tools/call", `{"name":"s__t","arguments":[]}`, protocol.CodeInvalidParams},
		{legacy, "tools/call", `[]`, protocol.CodeInvalidParams},
		{legacy, "tools/list", `{"_meta":1}`, protocol.CodeInvalidParams},
		{legacy, "tools/list", `{"cursor":1}`, protocol.CodeInvalidParams},
		{legacy, "tools/list", `{"cursor":"forged"}`, protocol.CodeInvalidParams},
		{legacy, "logging/setLevel", `{"level":"loud"}`, protocol.CodeInvalidParams},
		{legacy, "tools/list", `{"cursor":null}`, 0},
		{legacy, "ping", `{}`, 0},
	} {
		if a := h.Request(t.Context(), tt.c, msg(t, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tt.method, tt.params), &ear{}); a.Code != tt.code {
			t.Errorf("%s %s, %s: %s", tt.c.Era, tt.method, tt.params, text(a))
		}
	}
}

// A stream tells of changed tools; the next stream of the session takes over.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, &scripted{}, gateway.Options{})
		synctest.Wait() // what came with the start has been told
		s := h.open(t)
		lost, hears, listens := &ear{}, &ear{}, &ear{}
		first, second := make(chan struct{}), make(chan struct{})
		go func() {
			h.Stream(t.Context(), s, "", lost)
			close(first)
		}()
		synctest.Wait()
		go func() {
			h.Stream(t.Context(), s, "", hears)
			close(second)
		}()
		<-first
		ended := make(chan gateway.Answer, 1)
		go func() {
			ended <- h.Listen(t.Context(), &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern}, msg(t, `{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true}}}`), listens)
		}()
		synctest.Wait()
		for i := range 2 {
			raw := fmt.Appendf(nil, `{"name":"n%d","inputSchema":{"type":"object"}}`, i)
			h.catalog.Replace(h.server, hub.Offer{Tools: []hub.Tool{{Name: fmt.Sprint("n", i), Raw: raw}}})
			synctest.Wait()
		}
		h.stop()
		<-second
		const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		if len(lost.heard) > 0 || !slices.Equal(hears.heard, []string{changed, changed}) {
			t.Errorf("the lost stream got %q, the other one %q", lost.heard, hears.heard)
		}
		const tagged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}`
		const ack = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},"notifications":{"toolsListChanged":true}}}`
		if !slices.Equal(listens.heard, []string{ack, tagged, tagged}) {
			t.Errorf("the subscription got %q", listens.heard)
		}
		if got, want := text(<-ended), `{"jsonrpc":"2.0","id":"sub","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}`; got != want {
			t.Errorf("the subscription ended with %s", got)
		}
	})
}

// A fault of the hub's own ends the one request, not the hub.
func TestPanic(t *testing.T) {
	h := start(t, &scripted{}, gateway.Options{})
	defer h.stop()
	c := h.open(t).Caller()
	c.Session = nil // which setLevel relies on
	if a := h.Request(t.Context(), c, msg(t, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`), &ear{}); !strings.Contains(text(a), `"code":"internal"`) {
		t.Errorf("got %s", text(a))
	}
}

func TestRequestKey(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{`"x"`, `"\u0078"`, true},
		{`"/"`, `"\/"`, true},
		{`"\""`, `"\u0022"`, true},
		{`"é"`, `"\u00e9"`, true},
		{`1`, `"1"`, false},
		{`1`, `1.0`, false},
		{`"x"`, `"X"`, false},
		{`"\\"`, `"\/"`, false},
		{`-1`, `-1`, true},
	} {
		if got := gateway.RequestKey([]byte(tt.a)) == gateway.RequestKey([]byte(tt.b)); got != tt.same {
			t.Errorf("%s and %s: the same is %t", tt.a, tt.b, got)
		}
	}
}
