package transport_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/transport"
)

// sseServer is a server of which a test writes the stream, and answers the
// POSTs.
type sseServer struct {
	*httptest.Server
	posted chan string // the bodies, in order
	header chan http.Header
}

// serveSSE serves /sse, whose stream write fills in, and a POST endpoint.
func serveSSE(t *testing.T, write func(w io.Writer, r *http.Request), answer http.HandlerFunc) *sseServer {
	t.Helper()
	s := &sseServer{posted: make(chan string, 16), header: make(chan http.Header, 16)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			s.posted <- r.URL.String() + " " + string(body)
			s.header <- r.Header
			answer(w, r)
			return
		}
		if got := r.Header.Get("Accept"); got != "text/event-stream" {
			t.Errorf("Accept: %q", got)
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.WriteHeader(http.StatusOK)
		write(flushing{w}, r)
	}))
	t.Cleanup(s.Close)
	return s
}

type flushing struct{ w http.ResponseWriter }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	f.w.(http.Flusher).Flush()
	return n, err
}

// open is a stream that says where messages go, and stays.
func open(w io.Writer, r *http.Request) {
	_, _ = io.WriteString(w, "event: endpoint\ndata: /messages?s=1\n\n")
	<-r.Context().Done()
}

func accepted(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }

func dialSSE(t *testing.T, opt transport.HTTPOptions) *transport.SSE {
	t.Helper()
	s, err := transport.DialSSE(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Whatever the events are called and however they are written, the messages in
// them arrive in order.
func TestSSERead(t *testing.T) {
	for name, tt := range map[string]struct {
		stream string
		want   []string
		junked int64
	}{
		"plain":          {"event: endpoint\ndata: /m\n\nevent: message\ndata: {\"n\":1}\n\n", []string{`{"n":1}`}, 0},
		"any name":       {"event: endpoint\ndata: /m\n\nevent: notification\ndata: {\"n\":1}\n\ndata: {\"n\":2}\n\n", []string{`{"n":1}`, `{"n":2}`}, 0},
		"several lines":  {"event: endpoint\ndata: /m\n\ndata: {\ndata: \"n\":1}\n\n", []string{"{\n\"n\":1}"}, 0},
		"a batch":        {"event: endpoint\ndata: /m\n\ndata: [\ndata: {}]\n\n", []string{"[\n{}]"}, 0},
		"CR LF":          {"event: endpoint\r\ndata: /m\r\n\r\nid: 7\r\nretry: 10\r\ndata: {}\r\n\r\n", []string{"{}"}, 0},
		"CR":             {"event: endpoint\rdata: /m\r\rdata: {}\r\r", []string{"{}"}, 0},
		"byte order":     {"\xef\xbb\xbfevent: endpoint\ndata: /m\n\ndata: {}\n\n", []string{"{}"}, 0},
		"comments":       {": hi\n\nevent: endpoint\ndata: /m\n\n: ping\n\ndata: {}\n: in it\n\n", []string{"{}"}, 0},
		"other events":   {"event: hello\ndata: x\n\nevent: endpoint\ndata: /m\n\nevent: ping\ndata: 12:00\n\ndata: {}\n\n", []string{"{}"}, 2},
		"endpoint twice": {"event: endpoint\ndata: /m\n\nevent: endpoint\ndata: http://elsewhere/\n\ndata: {}\n\n", []string{"{}"}, 0},
		"nothing":        {"event: endpoint\ndata: /m\n\n", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serveSSE(t, func(w io.Writer, _ *http.Request) { _, _ = io.WriteString(w, tt.stream) }, accepted)
			var junk []string
			s := dialSSE(t, transport.HTTPOptions{URL: srv.URL + "/sse", Junk: func(b []byte) { junk = append(junk, string(b)) }})
			for _, want := range tt.want {
				if got, err := s.Read(); err != nil || string(got) != want {
					t.Fatalf("got %q, %v, want %q", got, err, want)
				}
			}
			for range 2 {
				if got, err := s.Read(); err != io.EOF {
					t.Errorf("at the end: %q, %v", got, err)
				}
			}
			if s.Junked() != tt.junked || len(junk) != int(tt.junked) {
				t.Errorf("junk: %d, %q", s.Junked(), junk)
			}
			if err := s.Write(t.Context(), []byte("{}")); !errors.Is(err, transport.ErrNotSent) {
				t.Errorf("a write after the end: %v", err)
			}
		})
	}
}

// A message goes to where the server has said, with the configured headers and
// no more often than once, and what a server says in its answer is taken only
// if it is the answer to the message.
func TestSSEWrite(t *testing.T) {
	answers := func(status int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, tt := range []struct {
		name     string
		endpoint string
		want     string // the URL as the server sees it
		answer   http.HandlerFunc
		read     string // what comes of it, "" for nothing
		status   int    // of the error, 0 for none
	}{
		{"accepted", "/messages?s=1&k=2", "/messages?s=1&k=2", accepted, "", 0},
		{"relative", "messages/?s=1", "/a/messages/?s=1", accepted, "", 0},
		{"of query only", "?s=1", "/a/sse?s=1", accepted, "", 0},
		{"absolute", "http://HOST/x", "/x", accepted, "", 0},
		{"accepted, with words", "/m", "/m", answers(202, "text/plain", "Accepted"), "", 0},
		{"accepted, with the answer", "/m", "/m", answers(202, "application/json", `{"id":1}`), "", 0},
		{"answered", "/m", "/m", answers(200, "application/json; charset=utf-8", `{"id":1}`), `{"id":1}`, 0},
		{"answered in words", "/m", "/m", answers(200, "text/plain", "ok"), "", 0},
		{"answered with other JSON", "/m", "/m", answers(200, "application/json", `"ok"`), "", 0},
		{"unauthorized", "/m", "/m", answers(401, "text/plain", "no"), "", 401},
		{"broken", "/m", "/m", answers(500, "text/plain", "no"), "", 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := serveSSE(t, func(w io.Writer, r *http.Request) {
				fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", strings.Replace(tt.endpoint, "HOST", r.Host, 1))
				<-r.Context().Done()
			}, tt.answer)
			s := dialSSE(t, transport.HTTPOptions{URL: srv.URL + "/a/sse?key=1", Header: map[string]string{"X-Key": "mine", "Accept": "x"}})
			read := make(chan string, 1)
			go func() {
				msg, _ := s.Read()
				read <- string(msg)
			}()
			err := s.Write(t.Context(), []byte(`{"a":1}`))
			if tt.status == 0 && err != nil {
				t.Error(err)
			}
			if bad, ok := errors.AsType[*transport.StatusError](err); tt.status > 0 && (!ok || bad.Status != tt.status || errors.Is(err, transport.ErrNotSent)) {
				t.Errorf("got %v", err)
			}
			if got := <-srv.posted; got != tt.want+` {"a":1}` {
				t.Errorf("posted %q", got)
			}
			if h := <-srv.header; h.Get("X-Key") != "mine" || h.Get("Content-Type") != "application/json" {
				t.Errorf("the header is %v", h)
			}
			if tt.read == "" {
				_ = s.Close()
			}
			if got := <-read; got != tt.read {
				t.Errorf("read %q, want %q", got, tt.read)
			}
			if len(srv.posted) > 0 {
				t.Errorf("also posted %q", <-srv.posted)
			}
		})
	}
}

// Credentials do not go to where a server points.
func TestSSEOtherOrigin(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	defer other.Close()
	for _, endpoint := range []string{other.URL + "/m", "//example.org/m", "https://HOST/m", "http://127.0.0.2:1/m", "http:// bad", "file:///etc/passwd"} {
		srv := serveSSE(t, func(w io.Writer, r *http.Request) {
			fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", strings.Replace(endpoint, "HOST", r.Host, 1))
			<-r.Context().Done()
		}, accepted)
		s, err := transport.DialSSE(t.Context(), transport.HTTPOptions{URL: srv.URL})
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: taken", endpoint)
		}
		if _, ok := errors.AsType[*transport.EndpointError](err); !ok && endpoint != "http:// bad" {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

func TestDialSSEFaults(t *testing.T) {
	stream := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, text)
		}
	}
	hang := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		path  string
		is    func(error) bool
	}{
		"unauthorized": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "/", func(err error) bool {
			bad, ok := errors.AsType[*transport.StatusError](err)
			return ok && bad.Status == 401
		}},
		"a web page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		}, "/", func(err error) bool {
			bad, ok := errors.AsType[*transport.ContentTypeError](err)
			return ok && bad.Type == "text/html"
		}},
		"ends at once":   {stream(""), "/", func(err error) bool { return err == io.EOF }},
		"ends early":     {stream("event: hello\ndata: x\n\nevent: endpoint\ndata: /m\n"), "/", func(err error) bool { return err == io.EOF }},
		"slow to answer": {hang, "/slow", func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"never says":     {hang, "/silent", func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(tt.serve)
			defer srv.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if strings.HasPrefix(tt.path, "/s") {
				ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
			}
			defer cancel()
			s, err := transport.DialSSE(ctx, transport.HTTPOptions{URL: srv.URL + tt.path})
			if err == nil {
				_ = s.Close()
			}
			if !tt.is(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The context of the opening is not that of the stream.
func TestSSEOutlivesDial(t *testing.T) {
	srv := serveSSE(t, open, accepted)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := transport.DialSSE(ctx, transport.HTTPOptions{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	if err := s.Write(t.Context(), []byte("{}")); err != nil {
		t.Error(err)
	}
}

// A stream that brings nothing is given up; any byte keeps it.
func TestSSEIdle(t *testing.T) {
	srv := serveSSE(t, open, accepted)
	s := dialSSE(t, transport.HTTPOptions{URL: srv.URL, StreamIdle: 50 * time.Millisecond})
	if _, err := s.Read(); !errors.Is(err, transport.ErrIdle) {
		t.Errorf("got %v", err)
	}

	const idle = 200 * time.Millisecond
	began := time.Now()
	srv = serveSSE(t, func(w io.Writer, r *http.Request) {
		_, _ = io.WriteString(w, "event: endpoint\ndata: /m\n\n")
		tick := time.NewTicker(idle / 10)
		defer tick.Stop()
		for time.Since(began) < 2*idle {
			_, _ = io.WriteString(w, ":\n")
			<-tick.C
		}
		_, _ = io.WriteString(w, "\ndata: {}\n\n")
	}, accepted)
	s = dialSSE(t, transport.HTTPOptions{URL: srv.URL, StreamIdle: idle})
	if _, err := s.Read(); err != nil {
		t.Errorf("got %v", err)
	}
}

// One event that is too large costs itself alone, and one without an end does
// not keep anybody.
func TestSSETooLarge(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	srv := serveSSE(t, func(w io.Writer, r *http.Request) {
		fmt.Fprintf(w, "event: endpoint\r\ndata: /m\r\n\r\ndata: {%s\r\ndata: %s\r\nid: 1\r\n\r\ndata: {}\r\n\r\ndata: {", big, big)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, big); err != nil {
				return
			}
		}
	}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"big":%q}`, big)
	})
	s := dialSSE(t, transport.HTTPOptions{URL: srv.URL, MaxMessage: 50_000})
	tooLarge := func(err error) {
		t.Helper()
		if big, ok := errors.AsType[*transport.TooLargeError](err); !ok || big.Limit != 50_000 {
			t.Errorf("got %v", err)
		}
	}
	_, err := s.Read()
	tooLarge(err)
	if msg, err := s.Read(); string(msg) != "{}" {
		t.Errorf("the next one is %q, %v", msg, err)
	}
	_, err = s.Read()
	tooLarge(err)
	tooLarge(s.Write(t.Context(), []byte("{}")))
}

// What cannot be sent is known as such, and what was taken is not sent again.
func TestSSENotSent(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var posts atomic.Int32
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				if r.Method == http.MethodPost {
					_, _ = io.Copy(io.Discard, r.Body)
					posts.Add(1)
					return // taken, and not answered
				}
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: /m\n\n")
				_, _ = io.Copy(io.Discard, conn)
			})
		}
	})
	s := dialSSE(t, transport.HTTPOptions{URL: "http://" + ln.Addr().String(), Header: map[string]string{"Idempotency-Key": "k"}})
	if err := s.Write(t.Context(), []byte("{}")); err == nil || errors.Is(err, transport.ErrNotSent) || posts.Load() != 1 {
		t.Errorf("taken %d times: %v", posts.Load(), err)
	}
	_ = ln.Close()
	if err := s.Write(t.Context(), []byte("{}")); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("with nobody there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Write(ctx, []byte("{}")); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("with no time: %v", err)
	}
	_ = s.Close()
	conns.Wait()
}

// Both halves follow a redirect on the same host that keeps the method, and no
// other.
func TestSSERedirect(t *testing.T) {
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect)
		case !strings.HasSuffix(r.URL.Path, "/"):
			http.Redirect(w, r, r.URL.Path+"/", http.StatusTemporaryRedirect)
		case r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: endpoint\ndata: m\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	defer srv.Close()
	s := dialSSE(t, transport.HTTPOptions{URL: srv.URL + "/sse"})
	defer s.Close()
	sent := make(chan error, 1)
	go func() { sent <- s.Write(t.Context(), []byte(`{"a":1}`)) }()
	if got, err := s.Read(); string(got) != `{"a":1}` {
		t.Errorf("got %q, %v", got, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	_, err := transport.DialSSE(t.Context(), transport.HTTPOptions{URL: srv.URL + "/away"})
	if bad, ok := errors.AsType[*transport.StatusError](err); !ok || bad.Status != http.StatusTemporaryRedirect {
		t.Errorf("away: %v", err)
	}
}

// Close ends whatever hangs.
func TestSSEClose(t *testing.T) {
	srv := serveSSE(t, open, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := dialSSE(t, transport.HTTPOptions{URL: srv.URL})
	var all sync.WaitGroup
	all.Go(func() {
		if err := s.Write(t.Context(), []byte("{}")); err == nil || errors.Is(err, transport.ErrNotSent) {
			t.Errorf("the write: %v", err)
		}
	})
	all.Go(func() {
		if _, err := s.Read(); err != io.EOF {
			t.Errorf("the read: %v", err)
		}
	})
	<-srv.posted
	_ = s.Close()
	all.Wait()
	_ = s.Close()
}
