package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolcrib/toolcrib/internal/wire"
)

const (
	// giveUp is how long the hub is looked for once it was lost.
	giveUp = 30 * time.Second
	// calm is how long a connection has to last for the next loss to be one of
	// its own.
	calm = 5 * time.Second
)

// ownID is the id of a request of the bridge's own, or the beginning of it.
const ownID = "toolcrib stdio"

// outage is a time in which the hub is lost, also if it comes back in between
// for a moment.
type outage struct {
	connected time.Time // when the last connection began
	since     time.Time // zero if there is none
	attempts  int
}

// begin says that a connection begins.
func (o *outage) begin() { o.connected = time.Now() }

// pause is how long to wait before the next attempt.
func (o *outage) pause() time.Duration {
	pauses := [...]time.Duration{200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second}
	o.attempts++
	return pauses[min(o.attempts, len(pauses))-1]
}

// reconnect connects to the hub again and takes up the conversation.
func (b *bridge) reconnect(ctx context.Context, out *outage) (*Conn, error) {
	if now := time.Now(); out.since.IsZero() || now.Sub(out.connected) >= calm {
		out.since, out.attempts = now, 0
	}
	ctx, cancel := context.WithDeadline(ctx, out.since.Add(giveUp))
	defer cancel()
	last := context.DeadlineExceeded
	for {
		select {
		case <-time.After(out.pause()):
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("the hub was lost and did not come back within %s: %w", giveUp, last)
		}
		conn, err := b.opt.Dial(ctx)
		if err == nil {
			if err = b.resume(ctx, conn); err == nil {
				return conn, nil
			}
			conn.drop()
			if gone := b.cancelQuestions(ctx); gone != nil {
				return nil, gone
			}
		}
		if errors.Is(err, errClientGone) {
			return nil, err
		}
		last = err
		b.opt.Log.Debug("the hub is not back yet", "error", err)
	}
}

// resume brings a new connection to where the old one was.
func (b *bridge) resume(ctx context.Context, conn *Conn) error {
	b.book.mu.Lock()
	b.book.questions.next()
	hello, initialized, level, announces := b.book.hello, b.book.initialized, b.book.level, b.book.announces
	topics := b.book.topics.again()
	b.book.mu.Unlock()
	if hello != nil {
		if err := b.ask(ctx, conn, hello); err != nil {
			return fmt.Errorf("repeat initialize: %w", err)
		}
		if initialized != nil {
			if err := conn.write(ctx, initialized); err != nil {
				return fmt.Errorf("repeat the notification that the client is ready: %w", err)
			}
		}
		if level != nil {
			if err := b.ask(ctx, conn, level); err != nil {
				return fmt.Errorf("repeat the log level: %w", err)
			}
		}
	}
	// Their answers come when they come: a server may have to be started first.
	for _, raw := range topics {
		if err := conn.write(ctx, raw); err != nil {
			return fmt.Errorf("repeat a subscription: %w", err)
		}
	}
	for _, q := range b.book.repeated() {
		if err := conn.write(ctx, q.again); err != nil {
			return fmt.Errorf("repeat a request: %w", err)
		}
	}
	b.book.connected(conn)
	for _, method := range announces {
		if err := b.write(ctx, []byte(`{"jsonrpc":"2.0","method":"`+method+`"}`)); err != nil {
			return err
		}
	}
	return nil
}

// ask sends a request of the client's once more, under an id of the bridge's
// own, and waits for the answer, of which the client hears nothing. What else
// comes is passed on.
func (b *bridge) ask(ctx context.Context, conn *Conn, raw []byte) error {
	id := string(wire.AppendString(nil, ownID)) // only one of these is under way at a time
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil {
		return err
	}
	if err := conn.write(ctx, wire.Splice(raw, wire.Replace(m.ID, []byte(id)))); err != nil {
		return err
	}
	for {
		raw, err := conn.read(ctx)
		if err != nil {
			return err
		}
		m, err := wire.Scan(raw, wire.Limits{})
		if err == nil && string(m.ID.Of(raw)) == id {
			if m.Kind == wire.Failure {
				return fmt.Errorf("the hub refused it: %s", wire.Lookup(raw, m.Error, "message").Of(raw))
			}
			return nil
		}
		if err := b.pass(ctx, raw); err != nil {
			return err
		}
	}
}
