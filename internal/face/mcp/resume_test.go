package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// poster is a client of streamable HTTP that is spoken by hand.
type poster struct {
	tb      testing.TB
	h       *house
	path    string
	session string
}

// enter opens a session of the revision.
func (h *house) enter(t testing.TB, revision string) *poster {
	t.Helper()
	p := &poster{tb: t, h: h, path: "/mcp"}
	res := p.do(t.Context(), http.MethodPost, strings.Replace(initialize, "2025-06-18", revision, 1), "")
	body := p.body(res)
	if p.session = res.Header.Get("Mcp-Session-Id"); p.session == "" || !strings.Contains(body, revision) {
		t.Fatalf("initialize was answered with %s", body)
	}
	return p
}

func (p *poster) do(ctx context.Context, method, body, last string) *http.Response {
	p.tb.Helper()
	req, err := http.NewRequestWithContext(ctx, method, p.h.URL+p.path, strings.NewReader(body))
	if err != nil {
		p.tb.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.session != "" {
		req.Header.Set("Mcp-Session-Id", p.session)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := p.h.client.Do(req)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.tb.Cleanup(func() { res.Body.Close() })
	return res
}

func (p *poster) body(res *http.Response) string {
	p.tb.Helper()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		p.tb.Fatal(err)
	}
	res.Body.Close()
	return string(raw)
}

// sent is an event as it is on the wire.
type sent struct{ id, data, retry string }

// feed reads the events of a response.
type feed struct {
	tb   testing.TB
	in   *bufio.Scanner
	stop func()
}

// stream begins a request whose answer is an event stream.
func (p *poster) stream(method, body, last string) *feed {
	p.tb.Helper()
	ctx, stop := context.WithCancel(p.tb.Context())
	p.tb.Cleanup(stop)
	res := p.do(ctx, method, body, last)
	if res.Header.Get("Content-Type") != "text/event-stream" {
		p.tb.Fatalf("%s is answered with %s: %s", method, res.Status, p.body(res))
	}
	return &feed{p.tb, bufio.NewScanner(res.Body), stop}
}

// next returns the next event; the zero one at the end.
func (f *feed) next() sent {
	f.tb.Helper()
	var e sent
	seen := false
	for f.in.Scan() {
		name, value, _ := strings.Cut(f.in.Text(), ": ")
		switch name {
		case "id":
			e.id, seen = value, true
		case "data":
			e.data, seen = value, true
		case "retry":
			e.retry = value
		case "":
			if seen {
				return e
			}
		}
	}
	return sent{}
}

func (f *feed) want(want sent) {
	f.tb.Helper()
	if got := f.next(); got != want {
		f.tb.Errorf("got %+v, want %+v", got, want)
	}
}

const stepsCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"lab__steps","arguments":{"steps":%d},"_meta":{"progressToken":1}}}`

// A client that is lost in the middle of a call comes back for the rest: for
// what was sent after the event that it has got, and for what follows, up to
// the response, and nothing of any other stream. Another session has no part in
// it.
func TestResume(t *testing.T) {
	h := open(t)
	p := h.enter(t, "2025-11-25")
	f := p.stream(http.MethodPost, fmt.Sprintf(hold, "5"), "")
	f.want(sent{id: "1-0", retry: "1000"})
	<-h.began
	f.stop()

	// Meanwhile another request of the session has a stream of its own.
	g := p.stream(http.MethodPost, fmt.Sprintf(stepsCall, 6, 2), "")
	g.want(sent{id: "2-0", retry: "1000"})
	for n := 1; n <= 2; n++ {
		if e := g.next(); e.id != fmt.Sprintf("2-%d", n) || !strings.Contains(e.data, fmt.Sprintf(`"progress":%d`, n)) {
			t.Errorf("event %d is %+v", n, e)
		}
	}
	if e := g.next(); e.id != "2-3" || !strings.Contains(e.data, `"id":6,"result"`) {
		t.Errorf("the response is %+v", e)
	}
	g.want(sent{})

	early, late := p.stream(http.MethodGet, "", "1-0"), (*feed)(nil)
	early.want(sent{id: "1-0", retry: "1000"})
	late = p.stream(http.MethodGet, "", "1-0") // takes over
	late.want(sent{id: "1-0", retry: "1000"})
	early.want(sent{})
	close(h.release)
	if err := <-h.ended; err != nil {
		t.Errorf("the end of the connection has ended the call: %v", err)
	}
	if e := late.next(); e.id != "1-1" || !strings.Contains(e.data, `"id":5,"result"`) {
		t.Errorf("the response is %+v", e)
	}
	late.want(sent{})

	again := p.stream(http.MethodGet, "", "2-1")
	again.want(sent{id: "2-1", retry: "1000"})
	if a, b := again.next(), again.next(); a.id != "2-2" || b.id != "2-3" || again.next() != (sent{}) {
		t.Errorf("resumed, the other stream has %+v and %+v", a, b)
	}

	for _, tt := range []struct {
		who *poster
		id  string
	}{{p, "3-0"}, {p, "1-9"}, {p, "x"}, {h.enter(t, "2025-11-25"), "1-0"}} {
		res := tt.who.do(t.Context(), http.MethodGet, "", tt.id)
		if body := p.body(res); res.StatusCode != http.StatusBadRequest || code(body) != "event_unknown" {
			t.Errorf("behind %q: %s, %s", tt.id, res.Status, body)
		}
	}
	p.body(p.do(t.Context(), http.MethodDelete, "", ""))
	if res := p.do(t.Context(), http.MethodGet, "", "1-0"); res.StatusCode != http.StatusNotFound {
		t.Errorf("an ended session: %s", res.Status)
	}
}

// Clients of earlier revisions are sent ids, and no event without data. An
// answer that comes at once is JSON.
func TestEarlierRevisions(t *testing.T) {
	h := open(t)
	for _, revision := range []string{"2025-06-18", "2025-03-26", "2025-11-25"} {
		p := h.enter(t, revision)
		if body := p.body(p.do(t.Context(), http.MethodPost, fmt.Sprintf(ping, "1"), "")); body != fmt.Sprintf(pong, "1") {
			t.Errorf("%s: ping is answered with %s", revision, body)
		}
		if revision == "2025-11-25" {
			continue
		}
		f := p.stream(http.MethodPost, fmt.Sprintf(stepsCall, 6, 1), "")
		if e := f.next(); e.id != "1-1" || e.retry != "" || !strings.Contains(e.data, "progress") {
			t.Errorf("%s: the first event is %+v", revision, e)
		}
		f.next()
		f.want(sent{})
		f = p.stream(http.MethodGet, "", "1-1")
		if e := f.next(); e.id != "1-2" || !strings.Contains(e.data, `"id":6,"result"`) {
			t.Errorf("%s: resumed with %+v", revision, e)
		}
	}
}

// change gives the lab another list of tools.
func (h *house) change(name string) {
	h.catalog.Replace(h.lab, hub.Offer{Tools: []hub.Tool{{Name: name, Raw: []byte(`{"name":"n","inputSchema":{"type":"object"}}`)}}})
}

// What is told outside of requests waits for a stream, once however often it
// was told; a stream takes over from the one before; one that is resumed goes on
// where the client has lost it.
func TestStanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openAt(t, rig.NewListener(net.Pipe))
		synctest.Wait()
		p := h.enter(t, "2025-11-25")
		for i := range 5 {
			h.change(fmt.Sprint("a", i))
			synctest.Wait()
		}
		first := p.stream(http.MethodGet, "", "")
		first.want(sent{id: "0-0", retry: "1000"})
		changed := `{"jsonrpc":"2.0",` + toolsChanged + `}`
		first.want(sent{id: "0-1", data: changed})
		second := p.stream(http.MethodGet, "", "")
		second.want(sent{id: "0-1", retry: "1000"})
		first.want(sent{})
		h.change("b")
		second.want(sent{id: "0-2", data: changed})
		second.stop()
		synctest.Wait()
		h.change("c")
		synctest.Wait()
		third := p.stream(http.MethodGet, "", "0-0")
		third.want(sent{id: "0-0", retry: "1000"})
		for n := 1; n <= 3; n++ {
			third.want(sent{id: fmt.Sprintf("0-%d", n), data: changed})
		}
		p.do(t.Context(), http.MethodDelete, "", "")
		third.want(sent{})
	})
}

// A call whose client has gone goes on, even if nobody can come back for its
// answer, until there are too many of them, or the session ends.
func TestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openAt(t, rig.NewListener(net.Pipe))
		p := h.enter(t, "2025-11-25")
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan struct{})
		for i := range 70 {
			go func() {
				defer func() { gone <- struct{}{} }()
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+"/mcp", strings.NewReader(fmt.Sprintf(hold, fmt.Sprint(i))))
				req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "Mcp-Session-Id": {p.session}}
				if res, err := h.client.Do(req); err == nil {
					res.Body.Close()
				}
			}()
		}
		for range 70 {
			<-h.began
		}
		leave()
		for range 70 {
			<-gone
		}
		synctest.Wait()
		if n := len(h.ended); n != 6 {
			t.Errorf("%d calls were cancelled, want 6 of 70", n)
		}
		p.do(t.Context(), http.MethodDelete, "", "")
		for range 70 {
			if err := <-h.ended; err == nil {
				t.Error("a call was not cancelled")
			}
		}
	})
}

// The official client gets the answer of a call although its connection breaks
// in the middle.
func TestSDKResumes(t *testing.T) {
	h := open(t)
	tr := &http.Transport{}
	breaker := &breaking{next: tr, cut: make(chan struct{})}
	t.Cleanup(tr.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, nil)
	session, err := c.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: h.URL + "/mcp", HTTPClient: &http.Client{Transport: breaker},
	}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error)
	go func() {
		_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "lab__hold"})
		answered <- err
	}()
	<-h.began
	<-breaker.cut
	close(h.release)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// breaking cuts the first event stream that answers a POST behind its first
// event.
type breaking struct {
	next http.RoundTripper
	done bool
	cut  chan struct{}
}

func (b *breaking) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && res.Header.Get("Content-Type") == "text/event-stream" && !b.done {
		b.done = true
		res.Body = &cutBody{res.Body, b}
	}
	return res, err
}

type cutBody struct {
	io.ReadCloser
	of *breaking
}

func (c *cutBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err == nil && strings.Contains(string(p[:n]), "data:") {
		c.Close()
		close(c.of.cut)
	}
	return n, err
}

// shutdown, of clients from before MCP's first revision, is answered; then the
// calls of the session end, and so does it.
func TestShutdown(t *testing.T) {
	h := open(t)
	const shutdown = `{"jsonrpc":"2.0","id":"s","method":"shutdown"}`
	p := h.enter(t, "2025-06-18")
	if body := p.body(p.do(t.Context(), http.MethodPost, shutdown, "")); body != fmt.Sprintf(pong, `"s"`) {
		t.Errorf("shutdown is answered with %s", body)
	}
	if res := p.do(t.Context(), http.MethodPost, fmt.Sprintf(ping, "1"), ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("the session that was shut down: %s", res.Status)
	}
	// Also a call that is answered on a stream of its own is answered.
	p = h.enter(t, "2025-11-25")
	f := p.stream(http.MethodPost, fmt.Sprintf(hold, "1"), "")
	<-h.began
	f.want(sent{id: "1-0", retry: "1000"})
	p.body(p.do(t.Context(), http.MethodPost, shutdown, ""))
	<-h.ended
	if e := f.next(); code(e.data) != "cancelled" {
		t.Errorf("the call on a stream is answered with %+v", e)
	}
	f.want(sent{})

	s := h.dial(t, "").greet()
	s.send(hold, "1")
	<-h.began
	s.send(shutdown)
	s.want(fmt.Sprintf(pong, `"s"`))
	if err := <-h.ended; err == nil {
		t.Error("the call was not cancelled")
	}
	if got := s.next(); code(got) != "cancelled" {
		t.Errorf("the call is answered with %s", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if _, _, err := s.conn.Read(ctx); !strings.Contains(err.Error(), "StatusNormalClosure") {
		t.Errorf("the stream ended with %v", err)
	}
}

// A client that does not read its standing stream delays nobody, and what waits
// for it is bounded.
func TestDeafStanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openAt(t, rig.NewListener(net.Pipe)) // which buffers nothing
		deaf, well := h.enter(t, "2025-11-25"), h.enter(t, "2025-11-25")
		d, w := deaf.stream(http.MethodGet, "", ""), well.stream(http.MethodGet, "", "")
		d.next()
		w.next()
		began := time.Now()
		for i := range 20 {
			h.change(fmt.Sprint("x", i))
			e := w.next()
			for i == 0 && strings.Contains(e.data, "resources/list_changed") {
				e = w.next() // the server's first lists may come after the stream has begun
			}
			if !strings.Contains(e.data, toolsChanged) {
				t.Errorf("got %+v", e)
			}
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the other client waited for %s", waited)
		}
	})
}
