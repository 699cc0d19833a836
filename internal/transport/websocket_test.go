package transport

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// patient waits longer than any test.
var patient = pace{ping: time.Hour, pong: time.Hour, write: time.Hour, close: 10 * time.Second}

// serveWS serves WebSockets by talk, one for each connection, and returns its
// URL. The server ends with the test.
func serveWS(t *testing.T, opt *websocket.AcceptOptions, talk func(ctx context.Context, c *websocket.Conn)) string {
	t.Helper()
	var talks sync.WaitGroup
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		talks.Add(1)
		defer talks.Done()
		c, err := websocket.Accept(w, r, opt)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(-1)
		talk(t.Context(), c)
	}))
	t.Cleanup(func() { srv.Close(); talks.Wait() })
	return "ws" + strings.TrimPrefix(srv.URL, "http")
}

func dialWS(t *testing.T, opt HTTPOptions, p pace) *WebSocket {
	t.Helper()
	w, err := dialWebSocket(t.Context(), opt, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// until reads to the end, beside the test, and gives what ended it.
func until(w *WebSocket) <-chan error {
	end := make(chan error, 1)
	go func() {
		for {
			if _, err := w.Read(); err != nil {
				end <- err
				return
			}
		}
	}()
	return end
}

// Each frame is a message, in either direction; what is none is counted.
func TestWebSocket(t *testing.T) {
	for _, subprotocols := range [][]string{nil, {Subprotocol}} {
		url := serveWS(t, &websocket.AcceptOptions{Subprotocols: subprotocols}, func(ctx context.Context, c *websocket.Conn) {
			for _, frame := range []string{"", "hello", `"x"`, `{"n":1}`, " \n[{}]", "\x00\x01", `{"n":2}`} {
				kind := websocket.MessageText
				if frame == `{"n":2}` {
					kind = websocket.MessageBinary
				}
				if err := c.Write(ctx, kind, []byte(frame)); err != nil {
					t.Error(err)
				}
			}
			kind, got, err := c.Read(ctx)
			if kind != websocket.MessageText || string(got) != "{\n\"a\":1}" {
				t.Errorf("the server got %v %q, %v", kind, got, err)
			}
			if _, _, err := c.Read(ctx); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Errorf("the goodbye is %v", err)
			}
		})
		url = strings.Replace(url, "ws:", "http:", 1) // is taken as well
		var junk []string
		w := dialWS(t, HTTPOptions{
			URL: url + "/ws?key=1", Header: map[string]string{"X-Key": "mine", "Sec-WebSocket-Extensions": "permessage-deflate"},
			Junk: func(b []byte) { junk = append(junk, string(b)) },
		}, patient)
		for _, want := range []string{`{"n":1}`, "[{}]", `{"n":2}`} {
			if got, err := w.Read(); err != nil || string(got) != want {
				t.Fatalf("got %q, %v, want %q", got, err, want)
			}
		}
		if w.Junked() != 4 || strings.Join(junk, ";") != ";hello;\"x\";\x00\x01" {
			t.Errorf("junk: %d, %q", w.Junked(), junk)
		}
		if err := w.Write(t.Context(), []byte("{\n\"a\":1}")); err != nil {
			t.Error(err)
		}
		end := until(w)
		_ = w.Close()
		if err := <-end; err != io.EOF {
			t.Errorf("it ended with %v", err)
		}
		if err := w.Write(t.Context(), []byte("{}")); !errors.Is(err, ErrNotSent) {
			t.Errorf("a write after the end: %v", err)
		}
		_ = w.Close()
	}
}

// The opening request has what was configured, and nothing that breaks it.
func TestWebSocketOpening(t *testing.T) {
	seen := make(chan *http.Request, 1)
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		_, _, _ = c.Read(context.WithoutCancel(t.Context()))
	}))
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	w := dialWS(t, HTTPOptions{
		URL: "wss" + strings.TrimPrefix(srv.URL, "https") + "/ws?key=1", Network: Network{RootCAs: roots},
		Header: map[string]string{"X-Key": "mine", "Upgrade": "x", "Sec-WebSocket-Key": "x"},
	}, patient)
	defer w.Close()
	r := <-seen
	if r.URL.RawQuery != "key=1" || r.Header.Get("X-Key") != "mine" || r.Header.Get("Sec-WebSocket-Protocol") != "mcp" || r.Header.Get("Sec-WebSocket-Extensions") != "" {
		t.Errorf("asked %s, %v", r.URL, r.Header)
	}
}

func TestDialWebSocketFaults(t *testing.T) {
	status := func(code int) func(error) bool {
		return func(err error) bool {
			bad, ok := errors.AsType[*StatusError](err)
			return ok && bad.Status == code
		}
	}
	answer := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		is    func(error) bool
	}{
		"unauthorized":  {answer(401), status(401)},
		"forbidden":     {answer(403), status(403)},
		"goes away":     {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusTemporaryRedirect) }, status(307)},
		"a web page":    {answer(200), status(200)},
		"no WebSocket":  {upgrade(""), func(err error) bool { return errors.Is(err, ErrUpgrade) }},
		"silent":        {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"other subprot": {upgrade("Sec-WebSocket-Protocol: other\r\n"), func(err error) bool { return errors.Is(err, ErrUpgrade) }},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(tt.serve)
			defer srv.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if name == "silent" {
				ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
			}
			defer cancel()
			w, err := DialWebSocket(ctx, HTTPOptions{URL: srv.URL + "?key=secret"})
			if err == nil {
				_ = w.Close()
			}
			if !tt.is(err) || strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// upgrade answers as if a WebSocket began.
func upgrade(header string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n%s\r\n", header)
	}
}

// Why the peer ended it is told.
func TestWebSocketClosed(t *testing.T) {
	for _, tt := range []struct {
		code   websocket.StatusCode
		reason string
		want   string
	}{
		{1000, "", "EOF"},
		{1001, "", "EOF"},
		{1000, "enough", "closed with the code 1000: enough"},
		{1008, "", "closed with the code 1008"},
		{4001, "token expired", "closed with the code 4001: token expired"},
	} {
		url := serveWS(t, nil, func(_ context.Context, c *websocket.Conn) { _ = c.Close(tt.code, tt.reason) })
		w := dialWS(t, HTTPOptions{URL: url}, patient)
		_, err := w.Read()
		if _, closed := errors.AsType[*ClosedError](err); err == nil || err.Error() != tt.want || closed != (tt.want != "EOF") {
			t.Errorf("%d %q: %v", tt.code, tt.reason, err)
		}
		if err := w.Write(t.Context(), []byte("{}")); !errors.Is(err, ErrNotSent) {
			t.Errorf("a write after that: %v", err)
		}
	}
	url := serveWS(t, nil, func(_ context.Context, c *websocket.Conn) { _ = c.CloseNow() })
	if _, err := dialWS(t, HTTPOptions{URL: url}, patient).Read(); err != io.EOF {
		t.Errorf("without a word: %v", err)
	}
}

// One message that is too large costs itself alone.
func TestWebSocketTooLarge(t *testing.T) {
	url := serveWS(t, nil, func(ctx context.Context, c *websocket.Conn) {
		_ = c.Write(ctx, websocket.MessageText, []byte("{"+strings.Repeat("x", 100_000)+"}"))
		_ = c.Write(ctx, websocket.MessageText, []byte("{}"))
		_, _, _ = c.Read(ctx)
	})
	w := dialWS(t, HTTPOptions{URL: url, MaxMessage: 50_000}, patient)
	_, err := w.Read()
	if big, ok := errors.AsType[*TooLargeError](err); !ok || big.Limit != 50_000 {
		t.Errorf("got %v", err)
	}
	if msg, err := w.Read(); string(msg) != "{}" {
		t.Errorf("the next one is %q, %v", msg, err)
	}
	_ = w.Close()
}

// A peer that answers pings stays, and one that does not is given up.
func TestWebSocketPing(t *testing.T) {
	quick := patient
	quick.ping, quick.pong = 10*time.Millisecond, 10*time.Second
	pings := make(chan struct{}, 3)
	url := serveWS(t, &websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool {
		select {
		case pings <- struct{}{}:
		default:
		}
		return true
	}}, func(ctx context.Context, c *websocket.Conn) { _, _, _ = c.Read(ctx) })
	w := dialWS(t, HTTPOptions{URL: url}, quick)
	end := until(w)
	for range cap(pings) {
		<-pings
	}
	_ = w.Close()
	if err := <-end; err != io.EOF {
		t.Errorf("it ended with %v", err)
	}

	quick.pong = 50 * time.Millisecond
	url = serveWS(t, &websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool { return false }},
		func(ctx context.Context, c *websocket.Conn) { _, _, _ = c.Read(ctx) })
	if err := <-until(dialWS(t, HTTPOptions{URL: url}, quick)); !errors.Is(err, ErrIdle) {
		t.Errorf("without pongs: %v", err)
	}
}

// A peer that does not read delays only whoever writes to it, and nobody's
// leaving breaks a message or the stream.
func TestWebSocketSlowReader(t *testing.T) {
	const size = 16 << 20
	begun, read := make(chan struct{}, 2), make(chan struct{})
	got := make(chan int, 2)
	url := serveWS(t, nil, func(ctx context.Context, c *websocket.Conn) {
		for range 2 {
			_, r, err := c.Reader(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			begun <- struct{}{}
			<-read
			msg, err := io.ReadAll(r)
			if err != nil {
				t.Error(err)
			}
			got <- len(msg)
		}
		_, _, _ = c.Read(ctx)
	})
	w := dialWS(t, HTTPOptions{URL: url}, patient)
	end := until(w)
	ctx, leave := context.WithCancel(t.Context())
	sent := make(chan error, 1)
	go func() { sent <- w.Write(ctx, make([]byte, size)) }()
	<-begun
	leave()
	if err := <-sent; err == nil || errors.Is(err, ErrNotSent) {
		t.Errorf("a message that was begun: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := w.Write(ctx, []byte("{}")); !errors.Is(err, ErrNotSent) {
		t.Errorf("a message that had to wait: %v", err)
	}
	close(read)
	if err := w.Write(t.Context(), []byte("{}")); err != nil {
		t.Errorf("after that: %v", err)
	}
	if a, b := <-got, <-got; a != size || b != 2 {
		t.Errorf("the server got %d and %d bytes", a, b)
	}
	_ = w.Close()
	<-end
}

// A peer that takes nothing, and does not say goodbye, keeps nobody.
func TestWebSocketDeafPeer(t *testing.T) {
	quick := patient
	quick.close = 20 * time.Millisecond
	deaf := make(chan struct{})
	url := serveWS(t, nil, func(context.Context, *websocket.Conn) { <-deaf })
	w := dialWS(t, HTTPOptions{URL: url}, quick)
	end := until(w)
	written := make(chan error, 1)
	go func() { written <- w.Write(t.Context(), make([]byte, 16<<20)) }()
	for len(w.turn) == 0 { // until it is being written
		select {
		case err := <-written:
			t.Fatalf("it was written: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	_ = w.Close()
	if err := <-written; err == nil || errors.Is(err, ErrNotSent) {
		t.Errorf("the write: %v", err)
	}
	if err := <-end; err != io.EOF {
		t.Errorf("it ended with %v", err)
	}

	quick.write, quick.close = 20*time.Millisecond, 10*time.Second
	w = dialWS(t, HTTPOptions{URL: url}, quick)
	end = until(w)
	if err := w.Write(t.Context(), make([]byte, 16<<20)); err == nil || errors.Is(err, ErrNotSent) {
		t.Errorf("the write without an end: %v", err)
	}
	if err := <-end; !errors.Is(err, ErrIdle) {
		t.Errorf("it ended with %v", err)
	}
	close(deaf)
}
