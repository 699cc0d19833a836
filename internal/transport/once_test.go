package transport_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolcrib/toolcrib/internal/transport"
)

// A message that a server has taken is not sent again by net/http, which would
// do so on a connection used before if there is a header that says it may.
func TestTakenOnce(t *testing.T) {
	for _, header := range []map[string]string{nil, {"Idempotency-Key": "k"}, {"X-Idempotency-Key": "k"}} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var taken atomic.Int64
		var conns sync.WaitGroup
		conns.Go(func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				conns.Go(func() {
					defer conn.Close()
					in := bufio.NewReader(conn)
					for {
						r, err := http.ReadRequest(in)
						if err != nil {
							return
						}
						if _, err := io.Copy(io.Discard, r.Body); err != nil {
							return
						}
						if taken.Add(1) > 1 {
							return // taken, and not answered
						}
						_, _ = fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
					}
				})
			}
		})
		c, err := transport.NewHTTP(transport.HTTPOptions{URL: "http://" + ln.Addr().String(), Header: header})
		if err != nil {
			t.Fatal(err)
		}
		out := &transport.Outbound{Body: []byte("{}")}
		if _, err := c.Post(t.Context(), out, func([]byte) bool { return false }); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Post(t.Context(), out, func([]byte) bool { return false }); err == nil {
			t.Errorf("%v: no error for a message without an answer", header)
		}
		if n := taken.Load(); n != 2 {
			t.Errorf("%v: two messages were taken %d times", header, n)
		}
		c.Close()
		_ = ln.Close()
		conns.Wait()
	}
}

// What a configuration says cannot take the place of the protocol's headers.
func TestOwnHeaders(t *testing.T) {
	c := endpoint(t, transport.HTTPOptions{Header: map[string]string{
		"mcp-session-id": "evil", "MCP-Protocol-Version": "1", "Mcp-Param-X": "1", "accept": "x", "Authorization": "mine",
	}}, func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Param-X"} {
			if v := r.Header.Get(name); v != "" {
				t.Errorf("%s: %q", name, v)
			}
		}
		if v := r.Header.Get("Authorization"); v != "mine" {
			t.Errorf("Authorization: %q", v)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	if _, err := c.Post(t.Context(), &transport.Outbound{Body: []byte("{}")}, nil); err != nil {
		t.Fatal(err)
	}
}

// Close and the ends of answers may come at the same time.
func TestCloseDuringTails(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "data: {}\n\n")
	}))
	defer srv.Close()
	for range 20 {
		c, err := transport.NewHTTP(transport.HTTPOptions{URL: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		one := make(chan struct{}, 100)
		var posts sync.WaitGroup
		for range 8 {
			posts.Go(func() {
				for range 5 {
					_, _ = c.Post(t.Context(), &transport.Outbound{Body: []byte("{}")}, func([]byte) bool { return false })
					one <- struct{}{}
				}
			})
		}
		<-one
		c.Close()
		posts.Wait()
		c.Close()
	}
}
