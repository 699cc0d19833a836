package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// This is what is different with HTTP and server-sent events, where each
// message is posted by itself and the stream has to be kept open.

// post writes a message on a goroutine of its own, and gives the outcome to
// the channel: the server may answer the POST only after the message, which it
// may even ask back about before. done is to be called when nobody waits for
// the outcome any more; the POST then has a moment to end, so that its
// connection can be used again.
func (d *duplex) post(ctx context.Context, raw []byte) (outcome <-chan error, done func()) {
	result := make(chan error, 1)
	alone, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	bound := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	d.conn.aside(func() {
		defer cancel(nil)
		result <- d.stream.Write(alone, raw)
	})
	return result, func() {
		if bound() {
			time.AfterFunc(postDelay, func() { cancel(nil) })
		}
	}
}

// postDelay is how long a POST may go on after the answer to its message came.
const postDelay = time.Second

// refused makes sense of the error of a POST. An answer is about its message
// alone; a server that cannot be reached is lost.
func (d *duplex) refused(err error) error {
	if e, ok := unadmitted(err); ok {
		d.conn.shutOut(e)
		return err
	}
	if bad, ok := errors.AsType[*transport.StatusError](err); ok {
		if bad.Status == http.StatusNotFound && d.conn.leg.Revision != "" {
			lost := hub.E(message.SessionLost, err)
			d.conn.fail(lost)
			return fmt.Errorf("%w: %w", transport.ErrNotSent, lost)
		}
		return err
	}
	if !isTooLarge(err) {
		d.conn.fail(d.conn.Explain(err))
	}
	return err
}

// keepAlive has something come on the stream now and then: a server that says
// nothing, since nothing happens, would be taken for one that is lost.
func (d *duplex) keepAlive() {
	tick := time.NewTicker(d.beat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-d.conn.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(d.conn.ctx, d.beat)
		_, _ = d.conn.own(ctx, protocol.MethodPing, []byte("{}")) // any answer will do; without one the stream is silent
		cancel()
	}
}
