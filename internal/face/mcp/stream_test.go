package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// The official client works over both kinds of stream, in either era.
func TestClients(t *testing.T) {
	h := open(t)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	for _, tt := range []struct {
		name, version string
		transport     func() sdk.Transport
	}{
		{"websocket, legacy", "2025-11-25", func() sdk.Transport { return wsTransport{h.ws("")} }},
		{"websocket, modern", "2026-07-28", func() sdk.Transport { return wsTransport{h.ws("")} }},
		{"sse, 2024-11-05", "2024-11-05", func() sdk.Transport {
			return &sdk.SSEClientTransport{Endpoint: h.URL + "/sse", HTTPClient: client}
		}},
		{"sse, modern", "2026-07-28", func() sdk.Transport {
			return &sdk.SSEClientTransport{Endpoint: h.URL + "/sse", HTTPClient: client}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			changed := make(chan struct{}, 8)
			c := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
				ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
			})
			session, err := c.Connect(ctx, tt.transport(), &sdk.ClientSessionOptions{ProtocolVersion: tt.version})
			if err != nil {
				t.Fatal(err)
			}
			tools, err := session.ListTools(ctx, nil)
			if err != nil || len(tools.Tools) < 2 {
				t.Fatalf("the tools are %v, %v", tools, err)
			}
			res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "calculator__calculator", Arguments: map[string]any{"expression": "6*7"}})
			if err != nil || !strings.Contains(fmt.Sprint(res.Content[0].(*sdk.TextContent).Text), "42") {
				t.Errorf("the call: %+v, %v", res, err)
			}
			if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "nobody__x"}); err == nil {
				t.Error("a tool that is not there was called")
			}
			h.catalog.Replace(h.lab, hub.Offer{Tools: []hub.Tool{{Name: tt.name, Raw: []byte(`{"name":"n","inputSchema":{"type":"object"}}`)}}})
			select {
			case <-changed:
			case <-ctx.Done():
				t.Error("the client was not told of changed tools")
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// 32 calls at a time on one stream, with a thousand notifications of progress:
// each caller's come in order, and none behind its response.
func TestOrder(t *testing.T) {
	h := open(t)
	const callers, rounds, steps = 32, 4, 8
	s := h.dial(t, "").greet()
	calls := callers * rounds
	go func() {
		for i := range calls {
			s.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"lab__steps","arguments":{"steps":%d},"_meta":{"progressToken":%d}}}`, i, steps, i)
		}
	}()
	seen, answered := make([]int, calls), 0
	for answered < calls {
		var m struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
			Params struct {
				Token    int `json:"progressToken"`
				Progress int `json:"progress"`
			} `json:"params"`
		}
		raw := s.next()
		if err := json.Unmarshal([]byte(raw), &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.ID == nil:
			if seen[m.Params.Token]++; seen[m.Params.Token] != m.Params.Progress {
				t.Fatalf("notification %d of call %d is %s", seen[m.Params.Token], m.Params.Token, raw)
			}
		case m.Result == nil:
			t.Fatalf("got %s", raw)
		default:
			if seen[*m.ID] != steps {
				t.Fatalf("the response of call %d came after %d notifications", *m.ID, seen[*m.ID])
			}
			answered++
		}
	}
}

// A subscription that waits for its server holds up nothing that comes behind it,
// but for what is about the same resource.
func TestSlowSubscription(t *testing.T) {
	h := open(t)
	s := h.dial(t, "").greet()
	const about = `{"jsonrpc":"2.0","id":%d,"method":"resources/%s","params":{"uri":"shelf:/%s"}}`
	s.send(about, 1, "subscribe", "held")
	<-h.began
	s.send(about, 2, "unsubscribe", "held")
	s.send(about, 3, "subscribe", "held")
	s.send(about, 4, "subscribe", "free")
	s.want(fmt.Sprintf(pong, "4"))
	s.send(ping, "5")
	s.want(fmt.Sprintf(pong, "5"))
	close(h.release)
	for _, id := range []string{"1", "2", "3"} {
		s.want(fmt.Sprintf(pong, id))
	}
}

// A request that the client cancels, however it writes the id, gets no answer
// and ends at the server; others go on. A stream that ends ends them all.
func TestCancel(t *testing.T) {
	h := open(t)
	s := h.dial(t, "").greet()
	for _, id := range []string{`"x"`, `1`, `"1"`} {
		s.send(hold, id)
		<-h.began
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0078"}}`)
	if err := <-h.ended; err == nil {
		t.Error("the cancelled call was not cancelled at its server")
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	s.send(ping, `"p"`)
	s.want(fmt.Sprintf(pong, `"p"`))

	// A modern call has no session, and is cancelled all the same.
	s.send(`{"jsonrpc":"2.0","id":"m","method":"tools/call","params":{"name":"lab__hold","arguments":{},%s}}`, modern)
	<-h.began
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"m"}}`)
	<-h.ended

	other := h.dial(t, "").greet()
	other.send(hold, `1`)
	<-h.began
	s.conn.CloseNow()
	for range 2 {
		if err := <-h.ended; err == nil {
			t.Error("a call outlived its stream")
		}
	}
	close(h.release)
	if got := other.next(); !strings.Contains(got, `"id":1,"result"`) {
		t.Errorf("a call on another stream: %s", got)
	}
}

// What is wrong with a message is answered as over HTTP, and the stream goes
// on.
func TestHostile(t *testing.T) {
	h := open(t)
	s := h.dial(t, "")
	for _, tt := range []struct{ raw, id, code string }{
		{`{`, `null`, "message_malformed"},
		{``, `null`, "message_malformed"},
		{`null`, `null`, "message_invalid"},
		{`{"jsonrpc":"2.0","method":"ping"} {}`, `null`, "message_malformed"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","id":2}`, `null`, "message_invalid"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"\u0062":2}}}`, `1`, "message_invalid"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, `1`, "message_invalid"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `1`, "message_malformed"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, `1`, "message_invalid"},
		{fmt.Sprintf(ping, `1`), `1`, ""}, // the one request that may come before initialize
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `1`, "not_initialized"},
		{`[` + fmt.Sprintf(ping, `1`) + `]`, `null`, "not_initialized"},
		{`[]`, `null`, "message_invalid"},
		{`[1`, `null`, "message_malformed"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `1`, "params_invalid"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`, `1`, "version_unsupported"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}`, `1`, "version_unsupported"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}}`, `1`, "meta_missing"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `1`, "meta_missing"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modern + `}}`, `1`, "method_unknown"},
		{`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{` + modern + `}}`, `1`, "params_invalid"},
	} {
		if got := s.ask("%s", tt.raw); code(got) != tt.code || !strings.Contains(got, `"id":`+tt.id+`,`) {
			t.Errorf("%.200s\nis answered with %s\nwant %s for the id %s", tt.raw, got, tt.code, tt.id)
		}
	}
	for _, silent := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"2.0","method":"no/such"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":[1]}}}`,
	} {
		s.send("%s", silent)
	}
	s.greet()
	if got := s.ask(`[`+ping+`]`, `1`); code(got) != "batch_refused" {
		t.Errorf("a batch is answered with %s", got)
	}
}

// A message that is too large is answered, and the stream goes on.
func TestTooLarge(t *testing.T) {
	h := open(t)
	h.door.SetMaxBytes(1 << 20)
	s := h.dial(t, "")
	for _, size := range []int{1<<20 + 1, 3 << 20} {
		if got := s.ask("%s", strings.Repeat(" ", size)); code(got) != "message_too_big" || !strings.Contains(got, "1 MiB") {
			t.Errorf("%d bytes: %s", size, got)
		}
	}
	s.greet()
	if got := s.ask("%s%s", fmt.Sprintf(ping, "1"), strings.Repeat(" ", 1<<20-len(fmt.Sprintf(ping, "1")))); got != fmt.Sprintf(pong, "1") {
		t.Errorf("the largest message: %s", got)
	}
	e := h.listen(t, "")
	if status := e.post(strings.Repeat(" ", 1<<20+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("posted: status %d", status)
	}
}

// The first revisions have batches; each request in one can be cancelled.
func TestBatch(t *testing.T) {
	h := open(t)
	s := h.dial(t, "")
	s.ask("%s", strings.Replace(initialize, "2025-06-18", "2025-03-26", 1))
	s.send(`[`+hold+`,`+ping+`,{"jsonrpc":"2.0"},`+initialized+`]`, `7`, `"p"`)
	<-h.began
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if got := s.next(); !strings.HasPrefix(got, `[`+fmt.Sprintf(pong, `"p"`)+`,{"jsonrpc":"2.0","id":null,"error":`) || strings.Contains(got, `"id":7`) {
		t.Errorf("the batch is answered with %s", got)
	}
	s.send(`[` + initialized + `]`)
	s.send(ping, `1`)
	s.want(fmt.Sprintf(pong, `1`))
	if got := s.ask("%s", `[1`+strings.Repeat(`,1`, 1000)+`]`); !strings.Contains(got, "larger than 1000 messages in one batch.") {
		t.Errorf("a batch that is too large is answered with %s", got)
	}
}

// An id may be used again once its request was answered, not before; a new
// initialize begins anew.
func TestSameID(t *testing.T) {
	h := open(t)
	s := h.dial(t, "").greet()
	for range 200 {
		if got := s.ask(add, 1, 41); code(got) != "" {
			t.Fatalf("a request with the id of an answered one: %s", got)
		}
	}
	s.send(hold, `"x"`)
	<-h.began
	if got := s.ask(hold, `"\u0078"`); code(got) != "params_invalid" {
		t.Errorf("the second request is answered with %s", got)
	}
	s.send(initialize)
	answers := s.next() + s.next()
	if !strings.Contains(answers, `"code":"cancelled"`) || !strings.Contains(answers, `"id":"i","result"`) {
		t.Errorf("got %s", answers)
	}
	<-h.ended
	s.greet()
}

// Subscriptions on a stream: they are told apart by their tags, end by
// cancelling without an answer, and are bounded.
func TestListen(t *testing.T) {
	h := open(t)
	s := h.dial(t, "")
	const listen = `{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},%s}}`
	for i := range 16 {
		if got := s.ask(listen, i, modern); !strings.Contains(got, "acknowledged") || !strings.Contains(got, fmt.Sprintf(`subscriptionId":%d`, i)) {
			t.Fatalf("subscription %d: %s", i, got)
		}
	}
	if got := s.ask(listen, 16, modern); code(got) != "params_invalid" {
		t.Errorf("one more is answered with %s", got)
	}
	for i := range 15 {
		s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)
	}
	// Each ends in a goroutine of its own. One more is taken when one has.
	for code(s.ask(listen, 99, modern)) == "params_invalid" {
	}
	heard := map[string]bool{}
	h.catalog.Replace(h.lab, hub.Offer{Tools: []hub.Tool{{Name: "n", Raw: []byte(`{"name":"n","inputSchema":{"type":"object"}}`)}}})
	for !heard[`15`] || !heard[`99`] {
		got := s.any()
		for _, id := range []string{`15`, `99`} {
			heard[id] = heard[id] || strings.Contains(got, toolsChanged) && strings.Contains(got, `subscriptionId":`+id)
		}
	}
	go h.door.Close(t.Context())
	ends := s.next() + s.next()
	for _, id := range []string{`15`, `99`} {
		if !strings.Contains(ends, `"id":`+id+`,"result":{"resultType":"complete"`) {
			t.Errorf("at the end of the hub came %s", ends)
		}
	}
}

// A stream has 64 calls under way at a time, and goes on with the next when one
// has ended. What comes behind those that wait is taken meanwhile: it may be what
// one of the calls is waiting for.
func TestBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openAt(t, rig.NewListener(net.Pipe))
		s := h.dial(t, "").greet()
		go func() {
			for i := range 70 {
				s.send(hold, fmt.Sprint(i))
			}
		}()
		synctest.Wait()
		if n := len(h.began); n != 64 {
			t.Errorf("%d calls have begun", n)
		}
		s.send(ping, `"p"`)
		s.want(fmt.Sprintf(pong, `"p"`))
		for _, id := range []int{69, 68, 67, 3} { // the last of which is under way
			s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
		}
		synctest.Wait()
		if n := len(h.began); n != 65 {
			t.Errorf("%d calls have begun after one was cancelled", n)
		}
		close(h.release)
		for range 66 {
			if got := s.next(); !strings.Contains(got, `"result"`) {
				t.Errorf("got %s", got)
			}
		}
		if n := len(h.began); n != 67 {
			t.Errorf("%d calls have begun in all", n)
		}
	})
}

// When the hub stops, calls under way are answered and the stream is closed as
// going away; new requests and streams are refused.
func TestStop(t *testing.T) {
	h := open(t)
	if n, _ := h.door.Attached(); n != 0 {
		t.Errorf("%d are attached", n)
	}
	_, changed := h.door.Attached()
	s, other := h.dial(t, "?client=stdio").greet(), h.dial(t, "").greet()
	<-changed
	n, changed := h.door.Attached()
	if n != 1 {
		t.Errorf("%d are attached", n)
	}
	s.send(hold, `1`)
	<-h.began
	stopped := make(chan struct{})
	go func() {
		_ = h.door.Close(context.Background())
		close(stopped)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if _, _, err := other.conn.Read(ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("an idle stream ended with %v", err)
	}
	if got := s.ask(ping, `2`); code(got) != "shutting_down" {
		t.Errorf("a new request is answered with %s", got)
	}
	if _, res, err := websocket.Dial(ctx, h.ws(""), nil); err == nil || res == nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new stream: %v", err)
	}
	close(h.release)
	if got := s.next(); !strings.Contains(got, `"id":1,"result"`) {
		t.Errorf("the call under way is answered with %s", got)
	}
	if _, _, err := s.conn.Read(ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the stream ended with %v", err)
	}
	<-stopped
	<-changed
	if n, _ := h.door.Attached(); n != 0 {
		t.Errorf("%d are attached", n)
	}
}

// The hub waits for calls only as long as it was told to.
func TestImpatientStop(t *testing.T) {
	h := open(t)
	s := h.dial(t, "").greet()
	s.send(hold, `1`)
	<-h.began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = h.door.Close(ctx)
	if err := <-h.ended; err == nil {
		t.Error("the call was not cancelled")
	}
}

// A client that does not read delays nobody else, and is given up together
// with its calls when it has not taken a message for 10 s.
func TestDeafClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openAt(t, rig.NewListener(net.Pipe)) // which buffers nothing
		deaf, well := h.dial(t, "").greet(), h.dial(t, "").greet()
		began := time.Now()
		deaf.send(hold, "1")
		deaf.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lab__steps","arguments":{"steps":5},"_meta":{"progressToken":2}}}`)
		synctest.Wait()
		for i := range 5 {
			well.send(add, i, i)
			if got := well.next(); !strings.Contains(got, fmt.Sprint(i+1)) {
				t.Errorf("got %s", got)
			}
		}
		well.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lab__steps","arguments":{"steps":5},"_meta":{"progressToken":2}}}`)
		for range 6 {
			well.next()
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the other client waited for %s", waited)
		}
		if err := <-h.ended; err == nil || time.Since(began) != 10*time.Second {
			t.Errorf("the call of the deaf client ended with %v after %s", err, time.Since(began))
		}
	})
}

// FuzzStream: whatever comes in a frame, the stream goes on, and who asks is
// answered.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		initialize, initialized, `[` + initialized + `]`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modern + `}}`,
		fmt.Sprintf(add, 1, 1), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},` + modern + `}}`,
		`{`, `[`, `[]`, "\xff", `{"jsonrpc":"2.0","id":1,"result":{}}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},1]`,
	} {
		f.Add(seed)
	}
	h := open(f)
	close(h.release)
	var mu sync.Mutex
	f.Fuzz(func(t *testing.T, frame string) {
		mu.Lock()
		defer mu.Unlock()
		s := h.dial(t, "")
		s.ask("%s", strings.Replace(initialize, "2025-06-18", "2025-03-26", 1))
		s.send("%s", frame)
		s.send(ping, `"end of the test"`)
		for s.next() != fmt.Sprintf(pong, `"end of the test"`) {
		}
		s.conn.CloseNow()
	})
}
