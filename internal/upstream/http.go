package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// httpLink is the link over streamable HTTP: an exchange of its own for each
// request, in the goroutine of the request, so that order is kept and there
// is nothing to share but the session id.
type httpLink struct {
	conn  *Conn
	http  *transport.HTTP
	stray atomic.Int64

	mu      sync.Mutex
	session string
	calls   map[*desk]time.Time // under way, and when they were left without an answer
}

// Waits between attempts to open a stream again that had ended.
const (
	resumeWait  = time.Second
	resumeLimit = 30 * time.Second
	resumeTries = 5
)

// errNoReply is for an answer that ended without the response.
var errNoReply = errors.New("the answer ended without a response")

func (l *httpLink) outbound(raw []byte, method, name string, params []transport.Param) *transport.Outbound {
	l.mu.Lock()
	session := l.session
	l.mu.Unlock()
	return &transport.Outbound{
		Body: raw, Session: session, Revision: l.conn.leg.Revision,
		Method: method, Name: name, Params: params,
	}
}

func (l *httpLink) roundTrip(ctx context.Context, out *outbound, on func(*wire.Message)) (*Reply, error) {
	if l.conn.ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", transport.ErrNotSent, context.Cause(l.conn.ctx))
	}
	var reply *Reply
	if out.desk != nil {
		l.begin(out.desk)
		defer func() { l.finish(out.desk, reply == nil && ctx.Err() != nil) }()
	} else {
		// A call may still be answered when the connection is given up; what
		// the hub asks for itself is of no use then.
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(l.conn.ctx, func() { cancel(context.Cause(l.conn.ctx)) })()
	}
	var broken error
	take := func(raw []byte) bool {
		more, err := l.sort(raw, out.id, &reply, on)
		broken = err
		return more && err == nil
	}
	post := l.outbound(out.raw, out.method, out.name, out.params)
	got, err := l.http.Post(ctx, post, take)
	cut := got.Ended && got.LastID != "" && !isTooLarge(err) && l.conn.Era() == protocol.Legacy
	if cut && broken == nil && reply == nil {
		err = l.resume(ctx, post, got, func() bool { return broken != nil || reply != nil }, take)
	}
	if err == nil && broken == nil && reply == nil {
		err = errNoReply
	}
	switch {
	case reply != nil:
		if out.method == protocol.MethodInitialize && got.Session != "" {
			l.mu.Lock()
			l.session = got.Session
			l.mu.Unlock()
		}
		return reply, nil
	case broken != nil:
		return nil, broken
	case ctx.Err() != nil && l.conn.ctx.Err() == nil:
		l.cancel(ctx, out)
		return nil, context.Cause(ctx)
	case errors.Is(err, errNoReply):
		return nil, err
	}
	return l.refused(out, post.Session, err)
}

// resume asks for the rest of an answer whose stream has ended too early, until
// done: a legacy server may end a stream whenever it likes, say how long to wait,
// and have it resumed, and one that was cut off is resumed as well (2025-11-25,
// "Resumability and Redelivery"). It is given up after a few times in a row that
// bring nothing. The error is an errNoReply, whatever is behind it: the request
// was taken, so that nothing that happens now is a reason to send it again.
func (l *httpLink) resume(ctx context.Context, post *transport.Outbound, got transport.Stream, done func() bool, take func([]byte) bool) error {
	last, wait := got.LastID, got.Retry
	for try := 0; try < resumeTries; try++ {
		if err := l.pause(ctx, max(wait, resumeWait/10)); err != nil {
			return fmt.Errorf("%w: %v", errNoReply, err) //nolint:errorlint // see above
		}
		got, err := l.http.Listen(ctx, post.Session, post.Revision, last, take)
		if done() {
			return nil
		}
		if err != nil && (!got.Ended || isTooLarge(err)) {
			return fmt.Errorf("%w, and could not be resumed: %v", errNoReply, err) //nolint:errorlint // see above
		}
		if got.LastID != "" && got.LastID != last {
			last, try = got.LastID, -1
		}
		wait = got.Retry
	}
	return errNoReply
}

// isBatch reports whether several messages came in the place of one (2025-03-26,
// "Batching": receiving is a must).
func isBatch(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '['
}

// sort takes what came of the answer to the request id, and reports whether there
// is to be more.
func (l *httpLink) sort(raw []byte, id uint64, reply **Reply, on func(*wire.Message)) (more bool, err error) {
	if !isBatch(raw) {
		return l.one(raw, id, reply, on)
	}
	parts, _, err := wire.Batch(raw, wire.Limits{})
	if err != nil {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	more = true
	for _, part := range parts {
		next, err := l.one(part, id, reply, on)
		if err != nil {
			return false, err
		}
		more = more && next
	}
	return more, nil
}

// one takes one message of the answer to the request id.
func (l *httpLink) one(raw []byte, id uint64, reply **Reply, on func(*wire.Message)) (more bool, err error) {
	got := &Reply{Era: l.conn.Era()}
	m := &got.Message
	if *m, err = wire.Scan(raw, wire.Limits{}); err != nil {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	l.conn.hear()
	if m.Kind == wire.Request && !l.conn.asks(m) {
		return true, nil
	}
	if m.Kind == wire.Request || m.Kind == wire.Notification {
		on(m)
		return true, nil
	}
	if string(m.ID.Of(raw)) != strconv.FormatUint(id, 10) {
		l.stray.Add(1)
		return true, nil
	}
	*reply = got
	return false, nil
}

// refused makes sense of an answer that is no success. A JSON-RPC error for
// this very request is an answer like any other. That a session is not known
// is said with 404 (2025-11-25, "Session Management"). Servers built like the
// examples of the official TypeScript SDK say 400 instead, with no id and the
// code -32000, which they have for nothing else; a message that is at fault
// itself gets another code, and must not be sent again.
func (l *httpLink) refused(out *outbound, session string, err error) (*Reply, error) {
	if e, ok := unadmitted(err); ok {
		l.conn.shutOut(e)
		return nil, err
	}
	bad, ok := errors.AsType[*transport.StatusError](err)
	if !ok {
		if errors.Is(err, transport.ErrNotSent) {
			l.conn.fail(l.conn.Explain(err))
		}
		return nil, err
	}
	m, isMessage := bad.Message()
	id := string(m.ID.Of(m.Raw))
	if isMessage && id == strconv.FormatUint(out.id, 10) && (session == "" || bad.Status != http.StatusNotFound) {
		return &Reply{Message: m, Era: l.conn.Era()}, nil
	}
	code := string(wire.Lookup(m.Raw, m.Error, "code").Of(m.Raw))
	unread := bad.Status == http.StatusBadRequest && isMessage && (id == "" || id == "null") && code == strconv.Itoa(protocol.CodeUnavailable)
	if session != "" && (bad.Status == http.StatusNotFound || unread) {
		lost := hub.E(message.SessionLost, err)
		l.conn.fail(lost)
		return nil, fmt.Errorf("%w: %w", transport.ErrNotSent, lost)
	}
	return nil, err
}

// cancel tells a legacy server that nobody waits any more; for a modern one
// the end of the connection says so (2026-07-28, "Cancellation").
func (l *httpLink) cancel(ctx context.Context, out *outbound) {
	if l.conn.Era() == protocol.Modern || out.method == protocol.MethodInitialize {
		return
	}
	raw := cancelled(ctx, out.id)
	l.conn.aside(func() { l.conn.send(l.conn.ctx, protocol.NotificationCancelled, raw) })
}

func (l *httpLink) notify(ctx context.Context, method string, raw []byte) error {
	_, err := l.http.Post(ctx, l.outbound(raw, method, "", nil), func([]byte) bool { return false })
	return err
}

// shut says goodbye to a legacy session, so that the server need not keep it.
func (l *httpLink) shut(ctx context.Context) {
	if l.conn.Err() != nil {
		// The session is gone, or nobody can be reached for new requests; those
		// which the server has taken may be answered yet.
		l.http.Retire()
		return
	}
	l.mu.Lock()
	session := l.session
	l.mu.Unlock()
	if session != "" {
		ctx, cancel := context.WithTimeout(ctx, courtesy)
		defer cancel()
		if err := l.http.Delete(ctx, session, l.conn.leg.Revision); err != nil {
			l.conn.log.Debug("the session was not ended", "error", l.conn.hide(err))
		}
	}
	l.http.Close()
}

func (l *httpLink) state() Health { return Health{Stray: l.stray.Load()} }

// pause waits, or returns the cause for which ctx or the connection ended.
func (l *httpLink) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.conn.ctx.Done():
		return context.Cause(l.conn.ctx)
	}
}
