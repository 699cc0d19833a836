package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/bridge"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	welcome     = `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	hold        = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"lab__hold","arguments":{}}}`
	ping        = `{"jsonrpc":"2.0","id":%s,"method":"ping"}`
	done        = `{"jsonrpc":"2.0","id":%s,"result":{}}`
	changed     = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
)

// lost reports whether a message says that nobody knows the outcome of the
// request with the id.
func lost(raw, id string) bool {
	return strings.HasPrefix(raw, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32603,`) && strings.Contains(raw, `"data":{"code":"hub_lost","class":"outcome","userMessage":"It is not known`) &&
		strings.Contains(raw, `,"outcome":"unknown"}`)
}

// The official client does not notice that the hub was killed and another one
// took its place, but for the call that was under way.
func TestClient(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			x := newExchange()
			first, second := open(t), open(t)
			kill := x.serve(first.door.WebSocket())
			defer kill()
			c := x.bridge(t)
			news := make(chan struct{}, 8)
			session, err := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
				ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { news <- struct{}{} },
			}).Connect(ctx, &sdk.IOTransport{Reader: c.out, Writer: c.in}, &sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := first.door.Attached(); n != 1 {
				t.Errorf("%d clients are attached to the hub", n)
			}
			calculate := func() error {
				res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "calculator__calculator", Arguments: map[string]any{"expression": "6*7"}})
				if err == nil && !strings.Contains(res.Content[0].(*sdk.TextContent).Text, "42") {
					err = fmt.Errorf("got %+v", res.Content)
				}
				return err
			}
			if err := calculate(); err != nil {
				t.Error(err)
			}
			held := make(chan error, 1)
			go func() {
				_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "lab__hold"})
				held <- err
			}()
			<-first.began
			kill()
			defer x.serve(second.door.WebSocket())()
			if err := <-held; err == nil || !strings.Contains(err.Error(), "Check before you repeat it") {
				t.Errorf("the call under way ended with %v", err)
			}
			if err := calculate(); err != nil {
				t.Error(err)
			}
			if version < "2026-07-28" {
				select {
				case <-news:
				case <-ctx.Done():
					t.Error("the client does not know that the tools may be others")
				}
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			if err := <-c.end; err != nil {
				t.Errorf("the bridge ended with %v", err)
			}
		})
	}
}

// What becomes of the requests of one moment when the hub is lost: those that
// may have reached a server are answered, the hub's own are asked again, a
// cancelled one is forgotten, and the conversation is opened anew before all.
func TestHubLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s := newExchange(), newScript(t)
		kill := x.serve(s)
		c := x.bridge(t)
		go func() {
			c.send(initialize)
			c.send(initialized)
			c.send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`)
			c.send(hold, `"\u0061"`)
			c.send(ping, `1`)
			c.send(hold, `"b"`)
			c.send(hold, `3`)
			c.send(`[`+ping+`,`+initialized+`]`, `4`)
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0062"}}`)
		}()
		hub := s.answer()
		hub.want(initialize)
		hub.send(fmt.Sprintf(welcome, `"i"`))
		c.want(fmt.Sprintf(welcome, `"i"`))
		hub.want(initialized)
		hub.want(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`)
		hub.send(fmt.Sprintf(done, `2`))
		c.want(fmt.Sprintf(done, `2`))
		for _, raw := range []string{
			fmt.Sprintf(hold, `"\u0061"`), fmt.Sprintf(ping, `1`), fmt.Sprintf(hold, `"b"`), fmt.Sprintf(hold, `3`),
			`[` + fmt.Sprintf(ping, `4`) + `,` + initialized + `]`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0062"}}`,
		} {
			hub.want(raw)
		}
		synctest.Wait()
		kill()
		began := time.Now()
		for _, id := range []string{`"\u0061"`, `3`, `4`} {
			if got := c.next(); !lost(got, id) {
				t.Errorf("the request %s is answered with %s", id, got)
			}
		}
		go c.send(hold, `5`) // waits
		synctest.Wait()
		time.Sleep(3 * time.Second)
		defer x.serve(s)()
		hub = s.answer()
		if away := time.Since(began); away != 3700*time.Millisecond { // 0.2 + 0.5 + 1 + 2
			t.Errorf("the bridge came back after %s", away)
		}
		const own = `"toolcrib stdio"`
		hub.want(strings.Replace(initialize, `"i"`, own, 1))
		hub.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		c.want(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		hub.send(fmt.Sprintf(welcome, own))
		hub.want(initialized)
		hub.want(`{"jsonrpc":"2.0","id":"toolcrib stdio","method":"logging/setLevel","params":{"level":"info"}}`)
		hub.send(fmt.Sprintf(done, own))
		hub.want(fmt.Sprintf(ping, `1`))
		c.want(changed)
		hub.want(fmt.Sprintf(hold, `5`))
		for _, id := range []string{`5`, `1`} {
			hub.send(fmt.Sprintf(done, id))
			c.want(fmt.Sprintf(done, id))
		}
	})
}

// A client whose initialize was not answered gets the answer from the next hub.
func TestHubLostAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s := newExchange(), newScript(t)
		kill := x.serve(s)
		c := x.bridge(t)
		go c.send(initialize)
		s.answer().want(initialize)
		synctest.Wait()
		kill()
		defer x.serve(s)()
		hub := s.answer()
		hub.want(initialize)
		hub.send(fmt.Sprintf(welcome, `"i"`))
		c.want(fmt.Sprintf(welcome, `"i"`))
		go c.send(ping, `1`)
		hub.want(fmt.Sprintf(ping, `1`))
	})
}

// A hub that stays away, or comes and goes, is given up after 30 s; one that
// was not there at first at once.
func TestHubGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s := newExchange(), newScript(t)
		if err := <-x.bridge(t).end; err == nil || !strings.Contains(err.Error(), "reach the hub") {
			t.Errorf("without a hub the bridge ends with %v", err)
		}
		kill := x.serve(s)
		c := x.bridge(t)
		s.answer()
		began := time.Now()
		kill()
		if err := <-c.end; err == nil || time.Since(began) != 30*time.Second || !strings.Contains(err.Error(), "there is no hub") {
			t.Errorf("the bridge ended after %s with %v", time.Since(began), err)
		}

		kill = x.serve(s)
		defer kill()
		c = x.bridge(t)
		began = time.Now()
		attempts := 0
		for ended := false; !ended; {
			select {
			case conn := <-s.conns:
				attempts++
				_ = conn.CloseNow()
			case err := <-c.end:
				if ended = true; err == nil || time.Since(began) != 30*time.Second {
					t.Errorf("the bridge ended after %s with %v", time.Since(began), err)
				}
			}
		}
		if attempts < 10 || attempts > 20 {
			t.Errorf("%d connections were made", attempts)
		}
	})
}

// When the client has closed its end, the answers to what it has asked are
// still delivered, for up to 10 s.
func TestEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s := newExchange(), newScript(t)
		defer x.serve(s)()
		for _, tt := range []struct {
			answer bool
			takes  time.Duration
		}{{true, 0}, {false, 10 * time.Second}} {
			c := x.bridge(t)
			hub := s.answer()
			go func() {
				c.send(hold, `1`)
				c.send(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen"}`) // is never answered
				_ = c.in.Close()
			}()
			hub.want(fmt.Sprintf(hold, `1`))
			hub.want(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen"}`)
			synctest.Wait()
			began := time.Now()
			if tt.answer {
				hub.send(fmt.Sprintf(done, `1`))
				c.want(fmt.Sprintf(done, `1`))
			}
			go hub.conn.CloseRead(t.Context()) // says goodbye
			if err := <-c.end; err != nil || time.Since(began) != tt.takes {
				t.Errorf("the bridge ended after %s with %v", time.Since(began), err)
			}
		}
	})
}

// A client that is gone ends the bridge, and so does the end of its context.
func TestEnd(t *testing.T) {
	x := newExchange()
	h := open(t)
	defer x.serve(h.door.WebSocket())()
	c := x.bridge(t)
	_ = c.out.Close()
	c.send(ping, `1`)
	if err := <-c.end; err != nil {
		t.Errorf("without a reader the bridge ends with %v", err)
	}
	if _, err := c.in.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the bridge still reads: %v", err)
	}

	c = x.bridge(t)
	c.send(hold, `1`)
	c.next() // it is refused, since no conversation is open
	c.stop()
	if err := <-c.end; err != nil {
		t.Errorf("the bridge ends with %v", err)
	}
	for n, changed := h.door.Attached(); n > 0; n, changed = h.door.Attached() {
		<-changed
	}
}

// 1,000 messages in both directions come in order.
func TestOrder(t *testing.T) {
	x, s := newExchange(), newScript(t)
	defer x.serve(s)()
	c := x.bridge(t)
	hub := s.answer()
	go func() {
		for i := range 1000 {
			c.send(`{"jsonrpc":"2.0","method":"n","params":{"i":%d}}`, i)
		}
	}()
	go func() {
		for i := range 1000 {
			hub.send(fmt.Sprintf("{\"jsonrpc\":\"2.0\",\n\"method\":\"n\",\"params\":{\"i\":%d}}", i))
		}
	}()
	for i := range 1000 {
		hub.want(fmt.Sprintf(`{"jsonrpc":"2.0","method":"n","params":{"i":%d}}`, i))
		c.want(fmt.Sprintf(`{"jsonrpc":"2.0", "method":"n","params":{"i":%d}}`, i))
	}
}

// A line that is too long is answered by the bridge; junk is left out.
func TestBadLines(t *testing.T) {
	x, s := newExchange(), newScript(t)
	x.lang = message.Chinese
	defer x.serve(s)()
	c := x.bridge(t)
	hub := s.answer()
	go func() {
		c.send("hello")
		_, _ = c.in.Write([]byte("{"))
		piece := []byte(strings.Repeat(" ", 1<<20))
		for range 64 {
			_, _ = c.in.Write(piece)
		}
		c.send("}")
		c.send(`{"broken`)
	}()
	if got := c.next(); !strings.Contains(got, `"message_too_big"`) || !strings.Contains(got, `"id":null`) || !strings.Contains(got, "64 MiB") ||
		!strings.Contains(got, `"class":"limit","userMessage":"请求过多`) {
		t.Errorf("got %s", got)
	}
	hub.want(`{"broken`)
}

// FuzzBridge: whatever the client and the hub send, the bridge goes on, also
// with another hub.
func FuzzBridge(f *testing.F) {
	for _, seed := range []string{
		initialize, initialized, fmt.Sprintf(hold, `1`), fmt.Sprintf(welcome, `"i"`), fmt.Sprintf(done, `1`),
		`[` + fmt.Sprintf(ping, `1`) + `]`, `[]`, `[1,{}]`, `{`, `[`, "{\xff", `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel"}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}`, fmt.Sprintf(ask, `"tc-1"`), fmt.Sprintf(ask, `null`), fmt.Sprintf(ask, `"\ud800"`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	} {
		f.Add(seed, seed)
		f.Add(initialize, seed)
	}
	f.Fuzz(func(t *testing.T, sent, got string) {
		x, s := newExchange(), newScript(t)
		kill := x.serve(s)
		c := x.bridge(t)
		hub := s.answer()
		end := make(chan error, 1)
		go func() {
			_, err := fmt.Fprintf(c.in, "%s\n%s\n", strings.ReplaceAll(sent, "\n", " "), fmt.Sprintf(ping, `"last"`))
			end <- err
		}()
		for {
			_, raw, err := hub.conn.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if string(raw) == fmt.Sprintf(ping, `"last"`) {
				break
			}
		}
		if err := <-end; err != nil {
			t.Fatal(err)
		}
		go func() {
			for _, raw := range []string{got, fmt.Sprintf(done, `"last"`)} {
				end <- hub.conn.Write(t.Context(), websocket.MessageText, []byte(raw))
			}
		}()
		for c.next() != fmt.Sprintf(done, `"last"`) {
		}
		if err := errors.Join(<-end, <-end); err != nil {
			t.Fatal(err)
		}
		kill()
		_ = c.in.Close()
		go func() {
			for c.scan.Scan() {
			}
		}()
		c.stop()
		if err := <-c.end; err != nil {
			t.Error(err)
		}
	})
}

// The errors of a first connection that fails name no more than the reason.
func TestConnectFails(t *testing.T) {
	inR, inW := io.Pipe()
	defer inW.Close()
	_, outW := io.Pipe()
	cause := errors.New("no hub")
	err := bridge.Run(t.Context(), bridge.Options{
		In: inR, Out: outW, Log: slog.New(slog.DiscardHandler),
		Dial: func(context.Context) (*bridge.Conn, error) { return nil, cause },
	})
	if !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if _, err := inW.Write([]byte("x")); err == nil {
		t.Error("the input is still open")
	}
}

// Who has closed its end cannot answer: what it was asked, and what it is asked
// from then on, is refused, so that its calls can end.
func TestAskBehindTheEnd(t *testing.T) {
	const refused = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"the client has closed its end and cannot answer"}}`
	synctest.Test(t, func(t *testing.T) {
		x, s := newExchange(), newScript(t)
		defer x.serve(s)()
		c := x.bridge(t)
		go c.send(hold, `1`)
		hub := s.answer()
		hub.want(fmt.Sprintf(hold, `1`))
		hub.send(fmt.Sprintf(ask, `"tc-1"`))
		c.want(fmt.Sprintf(ask, `"tc-1"`))
		began := time.Now()
		_ = c.in.Close()
		hub.want(fmt.Sprintf(refused, `"tc-1"`))
		go hub.send(fmt.Sprintf(ask, `"tc-2"`))
		c.want(fmt.Sprintf(ask, `"tc-2"`))
		hub.want(fmt.Sprintf(refused, `"tc-2"`))
		hub.send(fmt.Sprintf(done, `1`))
		c.want(fmt.Sprintf(done, `1`))
		_ = hub.conn.CloseNow()
		if err := <-c.end; err != nil || time.Since(began) > time.Second {
			t.Errorf("the bridge ended with %v after %s", err, time.Since(began))
		}
	})
}

// A client that has shut its session down has none any more: its calls are
// answered, and no other hub is asked for one.
func TestShutdown(t *testing.T) {
	h, x := open(t), newExchange()
	defer x.serve(h.door.WebSocket())()
	c := x.bridge(t)
	next := func() string {
		for {
			if raw := c.next(); raw != changed { // as may come at any time after the start
				return raw
			}
		}
	}
	c.send(initialize)
	next()
	c.send(initialized)
	c.send(hold, "1")
	<-h.began
	c.send(`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`)
	if got := next(); got != fmt.Sprintf(done, "2") {
		t.Errorf("shutdown is answered with %s", got)
	}
	if got := next(); !strings.Contains(got, `"id":1,"error"`) || !strings.Contains(got, `"code":"cancelled"`) {
		t.Errorf("the call is answered with %s", got)
	}
	if err := <-c.end; err != nil {
		t.Errorf("the bridge ended with %v", err)
	}
	if c.scan.Scan() {
		t.Errorf("after the end came %s", c.scan.Text())
	}
}

// What the hub says in place of a connection is what a person is told.
func TestConnectRefused(t *testing.T) {
	h := open(t)
	for path, handler := range map[string]http.Handler{
		"/ws/mcp?client=stdio&group=nothing": h.door.WebSocket(),
		"/plain":                             http.NotFoundHandler(),
		"/later": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no","data":{"code":"of_a_later_version"}}}`)
		}),
	} {
		server := httptest.NewServer(handler)
		_, err := bridge.Connect(t.Context(), server.Client(), server.URL+path, nil)
		server.Close()
		why, said := errors.AsType[*hub.Error](err)
		switch {
		case err == nil:
			t.Errorf("%s: connected", path)
		case path == "/plain", path == "/later":
			if said {
				t.Errorf("%s: got %v", path, err)
			}
		case !said || why.Code != message.GroupUnknown || why.Args["group"] != "nothing" || len(why.Args) != 1:
			t.Errorf("%s: got %v", path, err)
		}
	}
}

const ask = `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":"sure?"}}`

// Questions pass in both directions. Those that are open when the hub is lost are
// cancelled, and an answer to one of them does not become that to another of the
// same number.
func TestQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s := newExchange(), newScript(t)
		kill := x.serve(s)
		c := x.bridge(t)
		hub := s.answer()
		for _, id := range []string{`"tc-1"`, `"tc-2"`, `3`, `4`} {
			hub.send(fmt.Sprintf(ask, id))
			c.want(fmt.Sprintf(ask, id))
		}
		go func() {
			c.send(done, `"tc-2"`)
			c.send(done, `"tc-2"`) // once is enough
			c.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tc-1","progress":1}}`)
		}()
		hub.want(fmt.Sprintf(done, `"tc-2"`))
		hub.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tc-1","progress":1}}`)
		const never = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`
		hub.send(never)
		c.want(never)
		kill()
		for _, id := range []string{`"tc-1"`, `3`} {
			c.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"the hub was lost"}}`)
		}
		defer x.serve(s)()
		hub = s.answer()
		hub.send(fmt.Sprintf(ask, `"tc-1"`))
		const again = `"1:\"tc-1\""`
		c.want(fmt.Sprintf(ask, again))
		go func() {
			c.send(done, `"tc-1"`) // of the hub that was lost
			c.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"no"}}`, again)
		}()
		hub.want(`{"jsonrpc":"2.0","id":"tc-1","error":{"code":-1,"message":"no"}}`)
		hub.send(fmt.Sprintf(ask, `5`))
		c.want(fmt.Sprintf(ask, `"1:5"`))
		hub.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
		c.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1:5"}}`)
	})
}

// What the client has subscribed to is subscribed to at the next hub, and it is
// told of every list that may be another one.
func TestSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			request = `{"jsonrpc":"2.0","id":%s,"method":"resources/%s","params":{"uri":"%s"}}`
			hello   = `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{"listChanged":true,"subscribe":true},"prompts":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}`
		)
		x, s := newExchange(), newScript(t)
		kill := x.serve(s)
		c := x.bridge(t)
		hub := s.answer()
		send := func(raw, answer string) {
			go c.send("%s", raw)
			hub.want(raw)
			hub.send(answer)
			c.want(answer)
		}
		send(initialize, fmt.Sprintf(hello, `"i"`))
		for i, one := range [][2]string{{"subscribe", "a:1"}, {"subscribe", "b:2"}, {"unsubscribe", "a:1"}} {
			id := fmt.Sprint(i)
			send(fmt.Sprintf(request, id, one[0], one[1]), fmt.Sprintf(done, id))
		}
		send(fmt.Sprintf(request, `3`, "subscribe", "c:3"), `{"jsonrpc":"2.0","id":3,"error":{"code":-32002,"message":"no"}}`)
		kill()
		defer x.serve(s)()
		hub = s.answer()
		hub.want(strings.Replace(initialize, `"i"`, `"toolcrib stdio"`, 1))
		hub.send(fmt.Sprintf(hello, `"toolcrib stdio"`))
		const own = `"toolcrib stdio subscription 0"`
		hub.want(fmt.Sprintf(request, own, "subscribe", "b:2"))
		c.want(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
		c.want(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
		hub.send(fmt.Sprintf(done, own)) // which the client does not get
		const updated = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"b:2"}}`
		hub.send(updated)
		c.want(updated)
	})
}
