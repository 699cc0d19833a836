package apiclient

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// A request outlives the end of a hub, since the next connection leads to
// another one: if it changes nothing, or was not taken. What may have been done
// is not done again.
func TestAnotherHub(t *testing.T) {
	dials, reads := 0, false
	dial := func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		dials++
		go func(first bool) {
			defer far.Close()
			req, err := http.ReadRequest(bufio.NewReader(far))
			if err != nil || first && !reads {
				return // the first hub ends before it does anything
			}
			if req.Header.Get("Expect") != "" {
				fmt.Fprint(far, "HTTP/1.1 100 Continue\r\n\r\n")
			}
			if _, err = io.Copy(io.Discard, req.Body); err != nil || first {
				return // or after it has done it
			}
			fmt.Fprint(far, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
		}(dials == 1)
		return near, nil
	}
	for _, test := range []struct {
		name  string
		do    func(*Client) error
		reads bool // the first hub
		want  int  // connections
	}{
		{"look", func(c *Client) error { _, err := c.Servers(t.Context()); return err }, true, 2},
		{"test", func(c *Client) error { _, err := c.Test(t.Context(), api.Test{Key: "a"}); return err }, true, 2},
		{"preview", func(c *Client) error { _, err := c.Import(t.Context(), api.Import{Text: "{}"}, true); return err }, true, 2},
		{"import", func(c *Client) error { _, err := c.Import(t.Context(), api.Import{Text: "{}"}, false); return err }, true, 1},
		{"import that was not taken", func(c *Client) error { _, err := c.Import(t.Context(), api.Import{Text: "{}"}, false); return err }, false, 2},
		{"call", func(c *Client) error { _, err := c.Call(t.Context(), api.Call{Tool: "x"}); return err }, true, 1},
		{"call that was not taken", func(c *Client) error { _, err := c.Call(t.Context(), api.Call{Tool: "x"}); return err }, false, 2},
		{"remove", func(c *Client) error { return c.RemoveServer(t.Context(), "a") }, true, 1},
	} {
		dials, reads = 0, test.reads
		c, err := New(Options{Socket: "s", Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		err = test.do(c)
		c.Close()
		if dials != test.want || (err == nil) != (test.want > 1) {
			t.Errorf("%s: %d connections, %v", test.name, dials, err)
		}
	}
}

// What kept a connection from being made is told as it is.
func TestDialError(t *testing.T) {
	c, err := New(Options{Socket: "s", Dial: func(context.Context) (net.Conn, error) {
		return nil, hub.E(message.DataDirTaken, nil)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Call(t.Context(), api.Call{Tool: "x"}); !hub.IsCode(err, message.DataDirTaken) {
		t.Errorf("got %v", err)
	}
}
