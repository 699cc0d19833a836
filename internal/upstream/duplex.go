package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// stream is a duplex carrier of messages: [transport.Lines] of a child process
// or of a server in this process, [transport.SSE], or [transport.WebSocket].
// After a [*transport.TooLargeError] Read goes on; every other error of it is
// the last.
type stream interface {
	Read() ([]byte, error)
	Write(ctx context.Context, msg []byte) error
	Junked() int64
}

// duplex is the link over one stream that all requests share. One goroutine
// reads it and sorts what comes by request; each request has an inbox which
// its own goroutine empties, so that a slow caller holds up nobody else.
type duplex struct {
	conn   *Conn
	stream stream
	posts  bool          // a write may last as long as the request, and may be refused by itself
	beat   time.Duration // between pings, if they are what keeps the stream open
	close  func(ctx context.Context)
	health func() Health
	ended  func(err error) error // says why the stream ended
	stray  atomic.Int64

	mu      sync.Mutex
	flights map[uint64]*inbox
}

// start begins to read.
func (d *duplex) start() {
	d.flights = make(map[uint64]*inbox)
	d.conn.work.Go(d.read)
}

// errClosed is why a stream that ended without an error of its own did so.
var errClosed = errors.New("the server closed the connection")

func (d *duplex) read() {
	for {
		line, err := d.stream.Read()
		if err != nil {
			if isTooLarge(err) {
				d.tooLarge(err)
				continue
			}
			if errors.Is(err, io.EOF) {
				err = errClosed
			}
			d.conn.fail(d.ended(err))
			return
		}
		d.sort(line)
	}
}

func (d *duplex) sort(line []byte) {
	if line[0] == '[' { // 2025-03-26, "Batching": receiving is a must
		parts, _, err := wire.Batch(line, wire.Limits{})
		if err != nil {
			d.stray.Add(1)
			return
		}
		for _, part := range parts {
			d.one(part)
		}
		return
	}
	d.one(line)
}

func (d *duplex) one(line []byte) {
	m, err := wire.Scan(line, wire.Limits{})
	if err != nil {
		d.stray.Add(1)
		d.conn.junk(line)
		return
	}
	d.conn.hear()
	switch m.Kind {
	case wire.Response, wire.Failure:
		if box := d.take(m.ID.Of(line)); box != nil {
			box.put(m, nil)
			return
		}
		d.stray.Add(1)
	case wire.Notification:
		d.told(&m)
	case wire.Request:
		if !d.conn.asks(&m) {
			return
		}
		if box := d.only(); box == nil || !box.put(m, nil) {
			d.conn.unasked(&m)
		}
	}
}

// told finds out whose a notification is.
func (d *duplex) told(m *wire.Message) {
	switch m.MethodName() {
	case protocol.NotificationProgress:
		// A token that is no number of ours is nobody's.
		if box := d.find(m.Member(protocol.MetaProgressToken).Of(m.Raw)); box != nil {
			box.put(*m, nil)
		}
	case protocol.NotificationCancelled:
		// The question that it names may wait in any inbox still, and is to be
		// asked before it is withdrawn.
		for _, box := range d.calls() {
			box.put(*m, nil)
		}
		d.conn.unasked(m)
	case protocol.NotificationListenAck:
		meta := m.Member("_meta")
		if !meta.Exists() {
			return
		}
		if box := d.find(wire.Lookup(m.Raw, meta, protocol.MetaSubscriptionID).Of(m.Raw)); box != nil && box.news {
			box.put(*m, nil)
		}
	default:
		// A log line, or what nobody here knows.
		if !isNews(m.MethodName()) {
			if box := d.only(); box != nil && box.put(*m, nil) {
				return
			}
		}
		d.conn.unasked(m)
	}
}

// calls returns the inboxes of the calls under way.
func (d *duplex) calls() []*inbox {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*inbox
	for _, box := range d.flights {
		if !box.own {
			all = append(all, box)
		}
	}
	return all
}

// only returns the inbox of the one call under way; nil if there is none or
// more than one, since then nobody can tell whose a message is (design D3).
// Requests of the hub's own are not calls: nobody hears what they bring. A call
// whose caller has left counts as long as the server may be at work on it, since
// what it says then must not reach somebody else.
func (d *duplex) only() *inbox {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
	var one *inbox
	for _, box := range d.flights {
		if box.own {
			continue
		}
		if one != nil {
			return nil
		}
		one = box
	}
	return one
}

// lingers is how long a server may be at work on a request that was cancelled.
const lingers = time.Minute

// forget drops the requests that were left long ago. The caller holds mu.
func (d *duplex) forget() {
	for id, box := range d.flights {
		if since := box.leftAt(); !since.IsZero() && time.Since(since) > lingers {
			delete(d.flights, id)
		}
	}
}

func (d *duplex) find(id []byte) *inbox {
	n, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.flights[n]
}

func (d *duplex) take(id []byte) *inbox {
	n, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	box := d.flights[n]
	delete(d.flights, n)
	return box
}

// tooLarge tells the one request under way that its answer was too large. With
// more than one, also of the hub's own, nobody knows whose answer it was; one
// that listens waits for none.
func (d *duplex) tooLarge(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
	var one *inbox
	for _, box := range d.flights {
		if box.news {
			continue
		}
		if one != nil {
			return
		}
		one = box
	}
	if one != nil {
		one.put(wire.Message{}, err)
	}
}

func (d *duplex) roundTrip(ctx context.Context, out *outbound, on func(*wire.Message)) (*Reply, error) {
	if d.conn.ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", transport.ErrNotSent, context.Cause(d.conn.ctx))
	}
	box := newInbox()
	box.own, box.news = out.desk == nil, out.method == protocol.MethodListen
	d.mu.Lock()
	if len(d.flights) > 1000 {
		d.forget()
	}
	d.flights[out.id] = box
	d.mu.Unlock()
	left := false
	defer func() { d.leave(out.id, box, left) }()

	var posted <-chan error
	if d.posts {
		var done func()
		posted, done = d.post(ctx, out.raw)
		defer done()
	} else if err := d.stream.Write(ctx, out.raw); err != nil {
		left, err = d.unwritten(ctx, out, err)
		return nil, err
	}
	for {
		var unwritten error
		ended := false
		select {
		case <-box.ready:
		case unwritten = <-posted:
			posted = nil
		case <-ctx.Done():
			left = true
			d.cancel(ctx, out)
			return nil, context.Cause(ctx)
		case <-d.conn.ctx.Done():
			ended = true // what came before the end still counts
		}
		for {
			m, err, ok := box.get()
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			if m.Kind == wire.Response || m.Kind == wire.Failure {
				return &Reply{Message: m, Era: d.conn.Era()}, nil
			}
			told := m // or each answer would be on the heap twice
			on(&told)
		}
		if unwritten != nil {
			var err error
			left, err = d.unwritten(ctx, out, unwritten)
			return nil, err
		}
		if ended {
			// Why it ended says nothing of this request, so that it is told and
			// not wrapped.
			return nil, fmt.Errorf("the connection ended: %v", context.Cause(d.conn.ctx)) //nolint:errorlint // see above
		}
	}
}

// leave has nothing put into the inbox of a request any more, and answers the
// questions in it that were put to nobody: the server waits for that. If the
// request is one that the server may be at work on, it still counts.
func (d *duplex) leave(id uint64, box *inbox, counts bool) {
	asked := box.leave()
	d.mu.Lock()
	if !counts {
		delete(d.flights, id)
	}
	d.mu.Unlock()
	for _, m := range asked {
		d.conn.refuse(&m, hub.E(message.Cancelled, nil))
	}
}

// unwritten makes sense of the error of a write. It reports whether the server
// may be at work on the request.
func (d *duplex) unwritten(ctx context.Context, out *outbound, err error) (left bool, _ error) {
	if ctx.Err() != nil {
		if left = !errors.Is(err, transport.ErrNotSent); left {
			d.cancel(ctx, out)
		}
		return left, err
	}
	if !d.posts {
		return false, d.broken(ctx, err)
	}
	return false, d.refused(err)
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*transport.TooLargeError](err)
	return ok
}

// broken is for a stream that cannot be written to any more: it ends the
// connection, and adds to the error of the write why it came to that. A process
// that has ended is known to have a moment after its pipe has broken, and the
// reason for which a WebSocket was closed may still be on its way.
func (d *duplex) broken(ctx context.Context, err error) error {
	t := time.NewTimer(exitDelay)
	defer t.Stop()
	select {
	case <-d.conn.ctx.Done():
	case <-t.C:
		d.conn.fail(errClosed)
	case <-ctx.Done():
		return err
	}
	return fmt.Errorf("%w: %w", err, context.Cause(d.conn.ctx))
}

// cancel tells the server, beside the way of the call, that nobody waits for
// the request any more. initialize must not be cancelled (2025-11-25,
// "Cancellation").
func (d *duplex) cancel(ctx context.Context, out *outbound) {
	if out.method == protocol.MethodInitialize {
		return
	}
	raw := cancelled(ctx, out.id)
	d.conn.aside(func() { d.conn.send(d.conn.ctx, protocol.NotificationCancelled, raw) })
}

func (d *duplex) notify(ctx context.Context, _ string, raw []byte) error {
	return d.stream.Write(ctx, raw)
}

// watch has nothing to open: news come on the same stream as all else.
func (d *duplex) watch() {
	if d.beat > 0 {
		d.conn.work.Go(d.keepAlive)
	}
}

func (d *duplex) listen(ctx context.Context, out *outbound, on func(*wire.Message)) error {
	reply, err := d.roundTrip(ctx, out, on)
	if err == nil && reply.Message.Kind == wire.Failure {
		return d.conn.refusedBy(out.method, reply.Message)
	}
	return err
}

func (d *duplex) shut(ctx context.Context) { d.close(ctx) }

func (d *duplex) state() Health {
	h := d.health()
	h.Junk, h.Stray = d.stream.Junked(), d.stray.Load()
	return h
}
