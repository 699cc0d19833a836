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

	"github.com/coder/websocket"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// events is a client of HTTP with SSE that is spoken by hand.
type events struct {
	tb       testing.TB
	h        *house
	who      string
	endpoint string
	in       *bufio.Scanner
	close    func() error
}

func (h *house) listen(t testing.TB, who string) *events {
	t.Helper()
	return h.listenAt(t, "/sse", who)
}

func (h *house) listenAt(t testing.TB, path, who string) *events {
	t.Helper()
	e := &events{tb: t, h: h, who: who}
	res := e.do(http.MethodGet, path, "")
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream begins with %s, %s", res.Status, res.Header)
	}
	t.Cleanup(func() { res.Body.Close() })
	e.in, e.close = bufio.NewScanner(res.Body), res.Body.Close
	name, data := e.next()
	if name != "endpoint" || !strings.HasPrefix(data, "/messages?sessionId=") {
		t.Fatalf("the first event is %q: %s", name, data)
	}
	e.endpoint = data
	return e
}

func (e *events) do(method, path, body string) *http.Response {
	e.tb.Helper()
	req, err := http.NewRequestWithContext(e.tb.Context(), method, e.h.URL+path, strings.NewReader(body))
	if err != nil {
		e.tb.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Header.Set("Accept", "text/event-stream")
	}
	req.Header.Set("who", e.who)
	res, err := e.h.client.Do(req)
	if err != nil {
		e.tb.Fatal(err)
	}
	return res
}

// post sends a message and returns the status.
func (e *events) post(body string) int {
	e.tb.Helper()
	res := e.do(http.MethodPost, e.endpoint, body)
	defer res.Body.Close()
	return res.StatusCode
}

// next returns the next event that does not tell of changed lists.
func (e *events) next() (name, data string) {
	e.tb.Helper()
	for e.in.Scan() {
		line := e.in.Text()
		if after, ok := strings.CutPrefix(line, "event: "); ok {
			name = after
		} else if after, ok := strings.CutPrefix(line, "data: "); ok {
			data = after
		} else if line == "" && name != "" && !strings.Contains(data, listChanged) {
			return name, data
		}
	}
	e.tb.Fatal("the event stream has ended")
	return "", ""
}

// HTTP with SSE: messages are accepted, answered on the stream, and are those
// of who has opened it.
func TestSSE(t *testing.T) {
	h := open(t)
	e := h.listen(t, "")
	for _, tt := range []struct{ body, want string }{
		{initialize, `"protocolVersion":"2025-06-18"`},
		{fmt.Sprintf(ping, "7\n"), `{"jsonrpc":"2.0","id":7,"result":{}}`},
		{"{", `"code":"message_malformed"`},
		{fmt.Sprintf(add, 1, 41), `42`},
		{`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modern + `}}`, `"supportedVersions"`},
	} {
		if status := e.post(tt.body); status != http.StatusAccepted {
			t.Errorf("%s: status %d", tt.body, status)
		}
		if name, data := e.next(); name != "message" || !strings.Contains(data, tt.want) {
			t.Errorf("%s is answered with %s: %s", tt.body, name, data)
		}
	}

	mallory := &events{tb: t, h: h, who: "mallory", endpoint: e.endpoint}
	if status := mallory.post(fmt.Sprintf(ping, "1")); status != http.StatusNotFound {
		t.Errorf("a message of somebody else: status %d", status)
	}
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{http.MethodPost, "/sse", http.StatusMethodNotAllowed},
		{http.MethodGet, "/messages", http.StatusMethodNotAllowed},
		{http.MethodPost, "/messages", http.StatusNotFound},
		{http.MethodPost, "/messages?sessionId=", http.StatusNotFound},
		{http.MethodPost, "/messages?sessionId=x", http.StatusNotFound},
		{http.MethodPost, "/ws/mcp", http.StatusMethodNotAllowed},
		{http.MethodGet, "/ws/mcp", http.StatusUpgradeRequired},
	} {
		res := e.do(tt.method, tt.path, "{}")
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != tt.status || code(string(body)) == "" {
			t.Errorf("%s %s: %s, %s", tt.method, tt.path, res.Status, body)
		}
	}
	res, err := h.client.Post(h.URL+e.endpoint, "text/plain", strings.NewReader("{}"))
	if err != nil || res.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("text/plain: %v, %v", res, err)
	}
	res.Body.Close()

	// The end of the stream ends its calls.
	e.post(fmt.Sprintf(hold, "1"))
	<-h.began
	_ = e.close()
	if err := <-h.ended; err == nil {
		t.Error("the call outlived its stream")
	}
	for e.post(fmt.Sprintf(ping, "1")) != http.StatusNotFound {
		// The hub hears of the end after the client.
	}
}

// The stop of the hub ends event streams once their calls are answered.
func TestStopSSE(t *testing.T) {
	h := open(t)
	e := h.listen(t, "")
	e.post(initialize)
	e.next()
	e.post(fmt.Sprintf(hold, "1"))
	<-h.began
	stopped := make(chan struct{})
	go func() {
		_ = h.door.Close(context.Background())
		close(stopped)
	}()
	close(h.release)
	if _, data := e.next(); !strings.Contains(data, `"id":1,"result"`) {
		t.Errorf("the call is answered with %s", data)
	}
	<-stopped
	if e.in.Scan() && e.in.Text() != "" {
		t.Errorf("behind the last answer came %q", e.in.Text())
	}
}

// A stream that is silent is kept awake, and a client that does not answer to
// that is given up.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openAt(t, rig.NewListener(net.Pipe))
		s := h.dial(t, "").greet()
		asked := s.ask(ping, "1") // greet is over
		e := h.listen(t, "")
		comments := make(chan string)
		go func() {
			defer close(comments)
			for e.in.Scan() {
				if e.in.Text() != "" {
					comments <- e.in.Text()
				}
			}
		}()
		began := time.Now()
		for n := 1; n <= 4; n++ {
			if got := <-comments; !strings.HasPrefix(got, ":") || time.Since(began) != time.Duration(n)*15*time.Second {
				t.Errorf("after %s came %q", time.Since(began), got)
			}
		}
		_ = e.close()
		for range comments {
		}

		// So far nobody has read what the hub sent over the WebSocket, and the
		// connection is lost. One that reads stays.
		if _, _, err := s.conn.Read(t.Context()); err == nil {
			t.Errorf("the connection that heard nothing since %s is there", asked)
		}
		s = h.dial(t, "").greet()
		heard := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _, err := s.conn.Read(ctx)
			heard <- err
		}()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(heard) > 0 {
			t.Errorf("the connection ended: %v", <-heard)
		}
		cancel()
		<-heard
	})
}

// Who asks for a revision that is not spoken is told which ones are.
func TestUnknownRevision(t *testing.T) {
	h := open(t)
	for _, tt := range []struct{ header, body, code string }{
		{"2099-01-01", fmt.Sprintf(ping, "1"), "version_unsupported"},
		{"tomorrow", fmt.Sprintf(ping, "1"), "version_unsupported"},
		{"2099-01-01", initialized, "version_unsupported"},
		{"2099-01-01", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modern + `}}`, "header_mismatch"},
		{"2026-07-28", fmt.Sprintf(ping, "1"), "meta_missing"},
		{"", fmt.Sprintf(ping, "1"), "session_missing"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/mcp", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Mcp-Protocol-Version", tt.header)
		res, err := h.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if got := code(string(body)); got != tt.code || res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s, %s: %s, %s", tt.header, tt.body, res.Status, body)
		}
		if tt.code == "version_unsupported" && !strings.Contains(string(body), `"2026-07-28"`) {
			t.Errorf("%s: the known revisions are not told: %s", tt.header, body)
		}
	}
}

// A page of another origin that the listener let in is let in here, too.
func TestOrigin(t *testing.T) {
	h := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, h.ws(""), &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"http://localhost:6274"}}})
	if err != nil {
		t.Fatal(err)
	}
	conn.CloseNow()
}
