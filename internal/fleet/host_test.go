package fleet_test

import (
	"bufio"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// host is a server with one tool, of which there may be many connections. The
// test says what becomes of them.
type host struct {
	dialer

	mu     sync.Mutex
	guests []io.Closer // the connections, in their order

	lists, pings atomic.Int32 // that were asked for
	deaf         atomic.Bool  // it answers nothing
	announces    bool         // it says that it tells of changed tools
}

func newHost() *host {
	h := &host{}
	h.began, h.serve = time.Now(), h.talk
	return h
}

func (h *host) talk(_ context.Context, _ string, r io.ReadCloser, w io.WriteCloser) error {
	defer w.Close()
	h.mu.Lock()
	h.guests = append(h.guests, w)
	h.mu.Unlock()
	p := &peer{in: bufio.NewScanner(r), out: w}
	for {
		n, ok := p.next()
		if !ok {
			return nil
		}
		switch n.Method {
		case "ping":
			h.pings.Add(1)
		case "tools/list":
			h.lists.Add(1)
		}
		if n.ID == nil || h.deaf.Load() {
			continue
		}
		switch n.Method {
		case "initialize":
			changes := ""
			if h.announces {
				changes = `"listChanged":true`
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{%s}},"serverInfo":{"name":"s","version":"1"}}}`, n.ID, changes)
		case "tools/list":
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`, n.ID)
		default:
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, n.ID)
		}
	}
}

// hangUp ends the n-th connection.
func (h *host) hangUp(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.guests[n].Close()
}

// waiting is a server of which every call knows its tools, and which nobody has
// called yet.
func waiting() hub.Server {
	s := local()
	s.AutoStart, s.IdleStop = false, 5*time.Minute
	return s
}

func familiar(hub.Server) bool { return true }
