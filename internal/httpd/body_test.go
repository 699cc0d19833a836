package httpd_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/httpd"
)

// A client that does not send the body it has announced gets an answer and is
// cut off, whether its request was refused, the door read nothing or wanted
// all, and also if the door has limits of its own for reading.
func TestLateBody(t *testing.T) {
	const limit = 50 * time.Millisecond
	for name, door := range map[string]http.HandlerFunc{
		"not read": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
		"read": func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				w.WriteHeader(http.StatusTeapot)
			}
		},
		"long answer": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, strings.Repeat("x", 64<<10))
		},
		"limit of its own": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
			w.WriteHeader(http.StatusTeapot)
		},
	} {
		for _, framing := range []string{"Content-Length: 10\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"} {
			t.Run(name+", "+framing[:14], func(t *testing.T) {
				srv := httptest.NewServer(httpd.InLimit(door, limit))
				defer srv.Close()
				c, err := net.Dial("tcp", srv.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\n%s", framing)
				r := bufio.NewReader(c)
				res, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusTeapot {
					t.Errorf("got %s, %v", res.Status, err)
				}
				if _, err := r.ReadByte(); err != io.EOF {
					t.Errorf("the connection is not closed: %v", err)
				}
			})
		}
	}
}

// A request whose body has come may last as long as it likes, and its
// connection serves the next one.
func TestBodyInTime(t *testing.T) {
	const limit = 50 * time.Millisecond
	srv := httptest.NewServer(httpd.InLimit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		select {
		case <-r.Context().Done():
			t.Error("the request was ended")
		case <-time.After(3 * limit):
		}
		_, _ = io.WriteString(w, r.RemoteAddr)
	}), limit))
	defer srv.Close()
	before := ""
	for range 2 {
		res, err := srv.Client().Post(srv.URL, "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		from, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || before != "" && string(from) != before {
			t.Errorf("from %s, then from %s, %v", before, from, err)
		}
		before = string(from)
	}
}
