package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// endpoint serves one handler and returns a client for it.
func endpoint(t *testing.T, opt transport.HTTPOptions, h http.HandlerFunc) *transport.HTTP {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	opt.URL = srv.URL + "/mcp"
	c, err := transport.NewHTTP(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func collect(into *[]string, last string) func([]byte) bool {
	return func(raw []byte) bool {
		*into = append(*into, string(raw))
		return string(raw) != last
	}
}

// What a [transport.Reply] writes, the client reads, whichever form it takes.
func TestReplyToClient(t *testing.T) {
	const response = "{\"jsonrpc\":\"2.0\",\r\n \"id\":1,\"result\":{}}"
	for _, notes := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(notes, " notifications"), func(t *testing.T) {
			c := endpoint(t, transport.HTTPOptions{}, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if string(body) != "question" {
					t.Errorf("the body is %q", body)
				}
				p := transport.NewReply(w, transport.ReplyOptions{JSON: true, Events: true})
				defer p.Close()
				for i := range notes {
					p.Notify(fmt.Appendf(nil, `{"n":%d}`, i))
				}
				m, err := wire.Scan([]byte(response), wire.Limits{})
				if err != nil {
					t.Error(err)
				}
				p.Respond(http.StatusOK, m.Raw, wire.Replace(m.ID, []byte(`"mine"`)))
				p.Notify([]byte(`{"too":"late"}`))
				want := protocol.ContentJSON
				if notes > 0 {
					want = protocol.ContentEvents
					if got := w.Header().Get("X-Accel-Buffering"); got != "no" {
						t.Errorf("X-Accel-Buffering: %q", got)
					}
				}
				if got := w.Header().Get("Content-Type"); got != want {
					t.Errorf("Content-Type: %q, want %q", got, want)
				}
			})
			var got []string
			if _, err := c.Post(t.Context(), &transport.Outbound{Body: []byte("question")}, collect(&got, "none")); err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range notes {
				want = append(want, fmt.Sprintf(`{"n":%d}`, i))
			}
			end := "{\"jsonrpc\":\"2.0\",\r\n \"id\":\"mine\",\"result\":{}}"
			if notes > 0 {
				end = strings.NewReplacer("\r", " ", "\n", " ").Replace(end)
			}
			if want = append(want, end); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A client that takes only one form gets that.
func TestReplyForms(t *testing.T) {
	for _, tt := range []struct {
		json, events bool
		want         string
	}{{true, false, `{"r":1}`}, {false, true, "event: message\ndata: {\"r\":1}\n\n"}} {
		rec := httptest.NewRecorder()
		p := transport.NewReply(rec, transport.ReplyOptions{JSON: tt.json, Events: tt.events})
		if !tt.events {
			p.Notify([]byte(`{"n":1}`))
			if p.Stream() == nil {
				t.Error("a stream for a client that takes none")
			}
		}
		p.Respond(http.StatusBadRequest, []byte(`{"r":1}`))
		if got := rec.Body.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		if want := map[bool]int{true: http.StatusBadRequest, false: http.StatusOK}[tt.json]; rec.Code != want {
			t.Errorf("status %d, want %d", rec.Code, want)
		}
	}
}

// After a silence the client hears that it has not been forgotten.
func TestReplySilence(t *testing.T) {
	heard := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p := transport.NewReply(w, transport.ReplyOptions{JSON: true, Events: true, Silence: time.Millisecond})
		defer p.Close()
		<-heard
		p.Respond(http.StatusOK, []byte(`{"r":1}`))
	}))
	defer srv.Close()
	res, err := srv.Client().Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var comments [8]byte // two of them
	if _, err := io.ReadFull(res.Body, comments[:]); err != nil || string(comments[:]) != ": \n\n: \n\n" {
		t.Fatalf("%q, %v", comments, err)
	}
	close(heard)
	rest, _ := io.ReadAll(res.Body)
	if !bytes.HasSuffix(rest, []byte("event: message\ndata: {\"r\":1}\n\n")) {
		t.Errorf("then %q", rest)
	}
}

func TestHeaders(t *testing.T) {
	var got http.Header
	c := endpoint(t, transport.HTTPOptions{Header: map[string]string{"x-key": "secret"}}, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.WriteHeader(http.StatusAccepted)
	})
	never := func([]byte) bool { t.Error("a message out of nothing"); return false }
	out := &transport.Outbound{
		Body: []byte("{}"), Session: "s", Revision: protocol.Rev20251125, Method: "tools/call", Name: "n",
		Params: []transport.Param{{Name: "Region", Value: "世"}},
	}
	if _, err := c.Post(t.Context(), out, never); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"X-Key": "secret", "Mcp-Session-Id": "s", "Mcp-Protocol-Version": "2025-11-25", "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Method": "", "Mcp-Name": "", "Mcp-Param-Region": "",
	} {
		if v := got.Get(name); v != want {
			t.Errorf("legacy: %s: %q, want %q", name, v, want)
		}
	}
	out.Revision, out.Session, out.Name = protocol.Rev20260728, "", " 世界"
	if _, err := c.Post(t.Context(), out, never); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": protocol.EncodeHeader(" 世界"),
		"Mcp-Param-Region": protocol.EncodeHeader("世"), "Mcp-Session-Id": "",
	} {
		if v := got.Get(name); v != want {
			t.Errorf("modern: %s: %q, want %q", name, v, want)
		}
	}
}

// Credentials in headers stay with the host they are for.
func TestRedirects(t *testing.T) {
	var elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("X-Key"))
	}))
	defer other.Close()
	var bodies []string
	c := endpoint(t, transport.HTTPOptions{Header: map[string]string{"X-Key": "secret"}}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.URL.Path+" "+string(body)+" "+r.Header.Get("X-Key"))
		switch {
		case r.URL.Path != "/mcp":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"r":1}`))
		case string(body) == "away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		default:
			http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
		}
	})
	var got []string
	if _, err := c.Post(t.Context(), &transport.Outbound{Body: []byte("here")}, collect(&got, `{"r":1}`)); err != nil || len(got) != 1 {
		t.Errorf("redirected to the same host: %q, %v", got, err)
	}
	if want := "/moved here secret"; bodies[len(bodies)-1] != want {
		t.Errorf("got %q, want %q", bodies, want)
	}
	_, err := c.Post(t.Context(), &transport.Outbound{Body: []byte("away")}, collect(&got, ""))
	if bad, ok := errors.AsType[*transport.StatusError](err); !ok || bad.Status != http.StatusTemporaryRedirect {
		t.Errorf("redirected to another host: %v", err)
	}
	if len(elsewhere) > 0 {
		t.Errorf("the other host was sent %q", elsewhere)
	}
}

// ErrNotSent is said only of what provably never left (design D6).
func TestNotSent(t *testing.T) {
	c, err := transport.NewHTTP(transport.HTTPOptions{URL: "http://" + net.JoinHostPort("127.0.0.1", rig.DeadPort(t))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	out := &transport.Outbound{Body: []byte("{}")}
	if _, err := c.Post(t.Context(), out, nil); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("nobody listens: %v", err)
	}

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}()
	d, err := transport.NewHTTP(transport.HTTPOptions{URL: "http://" + ln.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Post(t.Context(), out, nil); err == nil || errors.Is(err, transport.ErrNotSent) {
		t.Errorf("a server that read and hung up: %v", err)
	}
}

func TestBadAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		ok    func(error) bool
	}{
		"status": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) }, func(err error) bool {
			bad, ok := errors.AsType[*transport.StatusError](err)
			return ok && bad.Status == http.StatusBadGateway && string(bad.Body) == "no\n"
		}},
		"type": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, func(err error) bool {
			bad, ok := errors.AsType[*transport.ContentTypeError](err)
			return ok && strings.HasPrefix(bad.Type, "text/html")
		}},
		"too large, said": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "5000")
			_, _ = w.Write(make([]byte, 5000))
		}, isTooLarge},
		"too large, not said": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(make([]byte, 5000))
		}, isTooLarge},
		"too large, event": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: " + strings.Repeat("x", 5000) + "\n\n"))
		}, isTooLarge},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
		}, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
	} {
		t.Run(name, func(t *testing.T) {
			c := endpoint(t, transport.HTTPOptions{MaxMessage: 1000}, tt.serve)
			_, err := c.Post(t.Context(), &transport.Outbound{Body: []byte("{}")}, func([]byte) bool { return false })
			if !tt.ok(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*transport.TooLargeError](err)
	return ok
}

// A stream that says nothing for too long is given up; one that does keeps
// going, however slowly.
func TestStreamIdle(t *testing.T) {
	c := endpoint(t, transport.HTTPOptions{StreamIdle: 30 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {}\n\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	var got []string
	if _, err := c.Listen(t.Context(), "", "", "", collect(&got, "")); !errors.Is(err, transport.ErrIdle) || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

// Once the response is there, a server that leaves the stream open holds
// nobody up, and Close ends what is still open.
func TestOpenStreamAfterTheResponse(t *testing.T) {
	var open sync.WaitGroup
	c := endpoint(t, transport.HTTPOptions{}, func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("id: 7\nretry: 20\ndata: {\"r\":1}\n\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var got []string
	s, err := c.Post(ctx, &transport.Outbound{Body: []byte("{}")}, collect(&got, `{"r":1}`))
	if err != nil || len(got) != 1 || s.LastID != "7" || s.Retry != 20*time.Millisecond {
		t.Errorf("%q, %+v, %v", got, s, err)
	}
	c.Close()
	open.Wait()
}
