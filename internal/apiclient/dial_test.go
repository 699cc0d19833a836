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

// A request that changes nothing outlives the end of a hub, since the next
// connection leads to another one; any other is made once.
func TestAnotherHub(t *testing.T) {
	dials := 0
	dial := func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		dials++
		goes := dials == 1 // the first hub ends before it answers
		go func() {
			defer far.Close()
			req, err := http.ReadRequest(bufio.NewReader(far))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			if !goes {
				fmt.Fprint(far, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
			}
		}()
		return near, nil
	}
	for _, test := range []struct {
		name string
		do   func(*Client) error
		want int // connections
	}{
		{"look", func(c *Client) error { _, err := c.Servers(t.Context()); return err }, 2},
		{"test", func(c *Client) error { _, err := c.Test(t.Context(), api.Test{Key: "a"}); return err }, 2},
		{"preview", func(c *Client) error { _, err := c.Import(t.Context(), api.Import{Text: "{}"}, true); return err }, 2},
		{"import", func(c *Client) error { _, err := c.Import(t.Context(), api.Import{Text: "{}"}, false); return err }, 1},
		{"call", func(c *Client) error { _, err := c.Call(t.Context(), api.Call{Tool: "x"}); return err }, 1},
		{"remove", func(c *Client) error { return c.RemoveServer(t.Context(), "a") }, 1},
	} {
		dials = 0
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
