package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// open makes the link. ctx bounds that only.
func (c *Conn) open(ctx context.Context) error {
	switch c.opt.Server.Kind {
	case hub.KindHTTP:
		client, err := transport.NewHTTP(c.endpoint())
		if err != nil {
			return hub.E(message.ServerUnreachable, err).
				With("url", message.Say("the server")).With("detail", message.Say("its URL cannot be read"))
		}
		c.link = &httpLink{conn: c, http: client}
		return nil
	case hub.KindSSE:
		return c.openSSE(ctx)
	case hub.KindWebSocket:
		ws, err := transport.DialWebSocket(ctx, c.endpoint())
		if err != nil {
			return err
		}
		c.carry(&duplex{stream: ws, ended: c.lost, close: func(context.Context) { _ = ws.Close() }})
		return nil
	case hub.KindBuiltin, hub.KindDevice:
		c.serve()
		return nil
	default:
		return c.spawn()
	}
}

// endpoint describes a remote server.
func (c *Conn) endpoint() transport.HTTPOptions {
	opt := transport.HTTPOptions{
		URL: c.opt.Server.URL, Header: c.opt.Server.Headers, Network: c.opt.Network, StreamIdle: c.opt.Idle,
		Junk: c.junk,
	}
	if c.credentials != nil {
		opt.Authorize = c.credentials
	}
	return opt
}

// carry makes a stream the link.
func (c *Conn) carry(d *duplex) {
	d.conn = c
	if d.health == nil {
		d.health = func() Health { return Health{} }
	}
	if d.ended == nil {
		d.ended = func(err error) error { return err }
	}
	d.start()
	c.link = d
}

func (c *Conn) openSSE(ctx context.Context) error {
	sse, err := transport.DialSSE(ctx, c.endpoint())
	if err != nil {
		return err
	}
	c.carry(&duplex{
		stream: sse, posts: true, beat: c.opt.Idle / 3, ended: c.lost,
		close: func(context.Context) { _ = sse.Close() },
	})
	return nil
}

// takesNoPost reports whether an endpoint may be one of HTTP with server-sent
// events, as it does not take what streamable HTTP is to take (2025-11-25,
// "Transports", "Backwards Compatibility"). What answers in JSON-RPC does.
func takesNoPost(err error) bool {
	bad, ok := errors.AsType[*transport.StatusError](err)
	if !ok {
		return false
	}
	switch bad.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		_, speaks := bad.Message()
		return !speaks
	}
	return false
}

// fallBack goes on with HTTP with server-sent events on the same URL. If the
// URL has no such stream either, first is what was wrong with it.
func (c *Conn) fallBack(ctx context.Context, first error) error {
	limited, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	post := c.link
	if err := c.openSSE(limited); err != nil {
		_, elsewhere := errors.AsType[*transport.EndpointError](err)
		if elsewhere || unauthorized(err) {
			return &fallbackError{first: first, then: err}
		}
		return fmt.Errorf("%w; nor is there an event stream: %v", first, err) //nolint:errorlint // the first one counts
	}
	post.shut(ctx)
	c.opt.Server.Kind = hub.KindSSE
	if err := c.initialize(ctx); err != nil {
		return &fallbackError{first: first, then: err}
	}
	return nil
}

// fallbackError says why an endpoint that takes no POST could not be used as
// one of HTTP with server-sent events either.
type fallbackError struct{ first, then error }

func (e *fallbackError) Error() string { return fmt.Sprintf("%v; before that: %v", e.then, e.first) }

func (e *fallbackError) Unwrap() error { return e.then }

// serve runs a server of this process. If it says why it has ended, by a
// [*hub.Error], that is why the connection has.
func (c *Conn) serve() {
	near, farR, farW := transport.Pipe(transport.LinesOptions{Junk: c.junk})
	ctx, cancel := context.WithCancel(hub.WithEnviron(c.ctx, c.opt.Server.Env))
	var why *hub.Error
	over := make(chan struct{})
	c.work.Go(func() {
		defer cancel()
		err := c.opt.Serve(ctx, c.opt.Server.Key, farR, farW)
		if said, ok := errors.AsType[*hub.Error](err); ok {
			why = said
		} else if err != nil && ctx.Err() == nil {
			c.log.Error("a built-in server ended", "error", err)
		}
		close(over) // before its output ends, which is when it is asked why
		_ = farW.Close()
	})
	c.carry(&duplex{
		stream: near, close: func(context.Context) { _ = near.Close(); cancel() },
		ended: func(err error) error {
			select {
			case <-over:
				if why != nil {
					return why
				}
			default:
			}
			return err
		},
	})
}

// spawn starts the server's process.
func (c *Conn) spawn() error {
	child, err := transport.StartStdio(c.spec(), transport.LinesOptions{Junk: c.junk})
	if err != nil {
		return c.startFault(err)
	}
	p := child.Process()
	for _, note := range p.Notes() {
		c.note(hub.LogHub, note)
	}
	c.carry(&duplex{
		stream: child,
		close: func(ctx context.Context) {
			if err := child.Close(ctx); err != nil {
				c.log.Warn("the process was not stopped cleanly", "error", err)
			}
		},
		health: func() Health { return Health{PID: p.PID(), Stderr: c.secrets.Redact(p.Stderr())} },
		ended: func(err error) error {
			// The output of a process ends a moment before the process.
			select {
			case <-p.Done():
				return c.exited(p)
			case <-time.After(exitDelay):
				return err
			case <-c.ctx.Done():
				return err
			}
		},
	})
	// The end of its output tells of the end of a process, once all is read
	// that it wrote before. Who holds the output open after that is no part of
	// the server.
	c.work.Go(func() {
		select {
		case <-p.Done():
		case <-c.ctx.Done():
			return
		}
		select {
		case <-time.After(exitDelay):
			c.fail(c.exited(p))
		case <-c.ctx.Done():
		}
	})
	return nil
}

// exitDelay is how long a process may take from the end of its output to its
// own.
const exitDelay = time.Second
