package upstream

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// Probe asks the server whether it is still there, and returns nil if it
// answered before ctx ended. A legacy server is pinged (2025-11-25, "Ping"); a
// modern one has no ping, and is asked for the first page of its tools, which is
// not looked at. Any answer to that will do, also one that is an error of the
// server's. A remote server for which a path is given is sent a GET of that on
// its host instead, with its headers, which has to be answered with a status of
// success; the path begins with a slash.
//
// Probe never shakes hands, and a probe that is not answered ends nothing; only
// that the server provably cannot be reached, or has forgotten the session, ends
// the connection, as it would after any request. The error is a [*hub.Error].
func (c *Conn) Probe(ctx context.Context, path string) error {
	began := time.Now()
	asked := protocol.MethodPing
	var err error
	switch {
	case path != "" && c.opt.Server.Kind.Remote():
		asked = http.MethodGet
		err = c.check(ctx, path)
	case c.Era() == protocol.Modern:
		asked = protocol.MethodToolsList
		_, err = c.own(ctx, asked, c.leg.Params(nil))
	default:
		_, err = c.own(ctx, asked, []byte("{}"))
	}
	switch {
	case err == nil:
		return nil
	case c.ctx.Err() != nil:
		return c.Explain(err)
	case asked != http.MethodGet && isAnswer(err):
		return nil
	case ctx.Err() == nil:
		return c.Explain(err)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return hub.E(message.ServerSilent, c.hide(err), "method", asked,
			"limit", time.Since(began).Round(time.Millisecond).String()).
			With("stderr", stderrTail(c.link.state().Stderr))
	}
	return hub.E(message.Cancelled, context.Cause(ctx))
}

// isAnswer reports whether an error shows that the server is there: it is a
// JSON-RPC error, or one that only this request is to blame for. A gateway says
// with a status from 500 on that it does not reach the server, and who is not
// let in is not helped by its being there.
func isAnswer(err error) bool {
	if _, ok := errors.AsType[*RefusedError](err); ok || isTooLarge(err) {
		return true
	}
	bad, ok := errors.AsType[*transport.StatusError](err)
	return ok && bad.Status < http.StatusInternalServerError && !unauthorized(err)
}

// check asks for a path on the server's host.
func (c *Conn) check(ctx context.Context, path string) error {
	client, err := c.checker()
	if err != nil {
		return err
	}
	return client.Check(ctx, path)
}

// checker returns the client for checks, which has connections of its own: those
// of a WebSocket or an event stream cannot carry a GET.
func (c *Conn) checker() (*transport.HTTP, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil, transport.ErrNotSent
	}
	if c.checks == nil {
		at := c.endpoint()
		if rest, ok := strings.CutPrefix(at.URL, "ws"); ok { // as is wss
			at.URL = "http" + rest
		}
		client, err := transport.NewHTTP(at)
		if err != nil {
			return nil, err
		}
		c.checks = client
	}
	return c.checks, nil
}

// Heard returns when the server's last message came, of whatever kind. Bytes
// that are no message do not count. It costs next to nothing.
func (c *Conn) Heard() time.Time { return c.began.Add(time.Duration(c.heard.Load())) }

// hear is called with each message that comes.
func (c *Conn) hear() { c.heard.Store(int64(time.Since(c.began))) }

// Announces reports whether the server tells of changes of its tools: it has
// declared so, and has not refused the stream on which it would.
func (c *Conn) Announces() bool { return c.hello.Capabilities.ToolsListChanged && !c.mute.Load() }
