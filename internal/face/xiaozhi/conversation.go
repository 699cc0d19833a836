package xiaozhi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

const (
	goodbyeLimit = 2 * time.Second  // for the peer to close as well
	writeLimit   = 15 * time.Second // for a message to be taken
)

// Why a conversation is ended from here.
var (
	errStopped  = errors.New("the endpoint is stopped")
	errAsked    = errors.New("somebody asked for another connection")
	errRefresh  = errors.New("the tools have changed")
	errSilent   = errors.New("the peer does not answer")
	errUnread   = errors.New("the peer does not read")
	errTooLarge = errors.New("the peer sent too large a message")
)

// conversation is what is said on one connection, with however many callers there
// are behind it. One goroutine reads and one writes; each call has its own.
type conversation struct {
	endpoint *endpoint
	conn     *websocket.Conn
	def      *definition // as it was when the connection was made
	secrets  []string
	out      *outbox
	slots    *slots        // of calls that are carried out
	news     chan struct{} // holds one if the tools may be others
	changed  chan struct{} // holds one if the definition may be another
	device   *deviceSide   // nil unless the hub is a device here

	ctx context.Context //nolint:containedctx // of the conversation; its cause says why that ends
	end context.CancelCauseFunc

	heard   atomic.Int64 // when the peer sent something last, or else when the connection was made
	callers atomic.Int64
	size    atomic.Int64 // of a message that was too large

	mu     sync.Mutex
	calls  map[string][]*underWay // by the raw id
	count  int                    // of the calls that were taken and are not answered
	listed uint64                 // the sum of the list that was given last
	since  time.Time              // when it could be used first; zero before
	all    sync.WaitGroup
}

// underWay is one call that is not answered yet.
type underWay struct{ cancel context.CancelCauseFunc }

func newConversation(e *endpoint, conn *websocket.Conn, def *definition, secrets []string) *conversation {
	c := &conversation{
		endpoint: e, conn: conn, def: def, secrets: secrets, out: newOutbox(),
		slots: &slots{limit: func() int { return e.def.Load().Concurrency }},
		news:  make(chan struct{}, 1), changed: make(chan struct{}, 1), calls: make(map[string][]*underWay),
	}
	if def.device != nil {
		c.device = newDeviceSide()
	}
	c.ctx, c.end = context.WithCancelCause(context.Background())
	c.heard.Store(time.Now().UnixNano())
	if o, err := e.offer(); err == nil {
		c.listed = o.sum
	}
	return c
}

// run converses until the connection ends, by either side, or ctx does. Over is
// called as soon as that is known; run returns when the connection is closed and
// nothing of it is left.
func (c *conversation) run(ctx context.Context, over func(*ending)) ending {
	reading, cut := context.WithCancel(context.Background())
	defer cut()
	defer context.AfterFunc(ctx, func() { c.end(errStopped) })()
	c.all.Go(func() { c.write(reading) })
	c.all.Go(c.beat)
	c.all.Go(c.watch)
	if c.device != nil {
		c.all.Go(c.greet)
	}
	var end ending
	c.all.Go(func() {
		<-c.ctx.Done()
		end = c.ending(context.Cause(c.ctx))
		over(&end)
		c.leave(cut)
	})
	c.end(c.read(reading))
	c.all.Wait()
	return end
}

// connected notes that the conversation can be used from now on.
func (c *conversation) connected() {
	c.mu.Lock()
	c.since = time.Now()
	c.mu.Unlock()
	c.endpoint.connected(c)
}

// lasted is for how long the conversation could be used.
func (c *conversation) lasted() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return 0
	}
	return time.Since(c.since)
}

// follow has the conversation follow another definition of the endpoint.
func (c *conversation) follow() {
	c.slots.advance()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// leave closes the connection of a conversation that is over, in good order if the
// peer is there for that.
func (c *conversation) leave(cut context.CancelFunc) {
	code, reason := websocket.StatusNormalClosure, ""
	switch cause := context.Cause(c.ctx); {
	case errors.Is(cause, errSilent), errors.Is(cause, errUnread):
		cut()
	case errors.Is(cause, errTooLarge):
		code, reason = websocket.StatusMessageTooBig, "the message is too large"
	case errors.Is(cause, errStopped):
		code = websocket.StatusGoingAway
	}
	late := time.AfterFunc(goodbyeLimit, cut)
	_ = c.conn.Close(code, reason) // the peer may be gone
	late.Stop()
	cut()
}

// read takes messages until the connection ends.
func (c *conversation) read(ctx context.Context) error {
	var buffer bytes.Buffer
	for {
		kind, frame, err := c.conn.Reader(ctx)
		if err != nil {
			return err
		}
		now := time.Now().UnixNano()
		c.heard.Store(now)
		c.endpoint.tally.heard.Store(now)
		if kind != websocket.MessageText {
			if _, err := io.Copy(io.Discard, frame); err != nil {
				return err
			}
			if c.device != nil {
				c.ignore("a binary frame") // sound
			} else {
				c.junk("a binary frame")
			}
			continue
		}
		limit := c.endpoint.def.Load().MaxMessage
		buffer.Reset()
		n, err := buffer.ReadFrom(io.LimitReader(frame, int64(limit)+1))
		if err != nil {
			return err
		}
		if n > int64(limit) {
			rest, _ := io.Copy(io.Discard, io.LimitReader(frame, 16*int64(limit)))
			c.size.Store(n + rest)
			return errTooLarge
		}
		c.take(bytes.Clone(buffer.Bytes()), limit)
		if buffer.Cap() > 64<<10 {
			buffer = bytes.Buffer{}
		}
	}
}

// take takes what came in one frame: a message, or several.
func (c *conversation) take(raw []byte, limit int) {
	if c.device != nil {
		c.open(raw, limit)
		return
	}
	parts, several, err := wire.Batch(raw, wire.Limits{MaxBytes: limit})
	switch {
	case err != nil:
		c.junk("no message")
	case several:
		for _, part := range parts {
			c.one(part, nil, limit)
		}
	default:
		c.one(raw, nil, limit)
	}
}

// asked is a message of the peer's, and the raw session_id that its answer goes with;
// nil for none.
type asked struct {
	wire.Message
	session []byte
}

// one takes one message.
func (c *conversation) one(raw, session []byte, limit int) {
	scanned, err := words.Scan(raw, limit)
	m := asked{scanned, session}
	if m.ID.Len() > words.MaxID {
		c.junk("a message with too long an id")
		return
	}
	switch {
	case err != nil:
		c.junk("no message")
		if m.ID.Exists() && m.Method.Exists() {
			c.refuse(&m, hub.E(message.MessageInvalid, nil).With("detail", message.Term(err.Error())))
		}
	case m.Kind == wire.Request:
		c.request(&m)
	case m.Kind == wire.Notification:
		c.notification(&m)
	}
}

// junk counts what is no message.
func (c *conversation) junk(what string) { c.skip(&c.endpoint.tally.junk, hub.LevelWarning, what) }

// ignore counts what a backend says to its device that is none of the hub's business:
// what was understood, sound, what is to be shown.
func (c *conversation) ignore(what string) { c.skip(&c.endpoint.tally.ignored, hub.LevelInfo, what) }

func (c *conversation) skip(count *atomic.Int64, level hub.LogLevel, what string) {
	n := count.Add(1)
	told := n&(n-1) == 0 // ever more rarely: some peers send a lot of it
	if c.device != nil {
		told = c.device.due(what)
	}
	if told {
		c.endpoint.journal.add(level, "skipped "+what+", "+number(int(n))+" so far")
	}
}

// send sends a message that answers none.
func (c *conversation) send(raw []byte) { c.put(c.framed(raw, nil)) }

// reply sends the answer to a request.
func (c *conversation) reply(m *asked, raw []byte) { c.put(c.framed(raw, m.session)) }

// put sends a frame, whose bytes are not changed any more.
func (c *conversation) put(raw []byte) {
	if c.ctx.Err() == nil && !c.out.put(raw) {
		c.end(errUnread)
	}
}

// write writes what is to be sent.
func (c *conversation) write(ctx context.Context) {
	for {
		raw, ok := c.out.take()
		if !ok {
			select {
			case <-c.out.wake:
				continue
			case <-c.ctx.Done():
				return
			}
		}
		limited, cancel := context.WithTimeout(ctx, writeLimit)
		err := c.conn.Write(limited, websocket.MessageText, raw)
		late := limited.Err() != nil
		cancel()
		if err != nil {
			if late && ctx.Err() == nil {
				c.end(errUnread)
				return
			}
			c.broken(err)
			return
		}
	}
}

// broken notes that the connection was found closed, or broken, in some way that does
// not say by whom. Reading tells, at once: of a close its code, which counts.
func (c *conversation) broken(err error) {
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	select {
	case <-c.ctx.Done():
	case <-limit.C:
		c.end(err)
	}
}

// ending is what the end of the conversation means.
func (c *conversation) ending(cause error) ending {
	lasted := c.lasted()
	end := c.meaning(cause, lasted)
	end.lasted = lasted
	return end
}

func (c *conversation) meaning(cause error, lasted time.Duration) ending {
	name := c.endpoint.name
	if closed, ok := errors.AsType[websocket.CloseError](cause); ok {
		code, said := int(closed.Code), message.Quote(words.Redact(closed.Reason, c.secrets))
		end := ending{kind: words.OfClose(code, closed.Reason), code: code, said: said}
		if c.device != nil {
			end.kind = c.device.ending(end.kind, code, lasted)
		}
		switch end.kind {
		case words.EndingAuth:
			end.reason = c.def.refused()
		case words.EndingReplaced:
			end.reason = hub.E(message.EndpointReplacedBy, nil, "endpoint", name)
		case words.EndingFailed:
			end.reason = hub.E(message.EndpointFailing, nil, "endpoint", name)
		case words.EndingLost, words.EndingClean:
			note := message.Verbatim("")
			if said != "" {
				note = message.Say(": %s", message.Verbatim(said))
			}
			end.reason = hub.E(message.EndpointClosed, nil, "endpoint", name, "code", number(code)).With("note", note)
		}
		return end
	}
	abnormal := int(websocket.StatusAbnormalClosure)
	switch {
	case errors.Is(cause, errAsked), errors.Is(cause, errRefresh):
		return ending{again: true}
	case errors.Is(cause, errStopped):
		return ending{}
	case errors.Is(cause, errUngreeted):
		return ending{reason: hub.E(message.BackendNoHello, nil, "backend", name, "time", greetLimit.String())}
	case errors.Is(cause, errSilent), errors.Is(cause, errUnread), errors.Is(cause, net.ErrClosed):
		// The library closes it here without a word when the peer takes nothing.
		quiet := time.Since(time.Unix(0, c.heard.Load())).Round(time.Second)
		return ending{code: abnormal, reason: hub.E(message.EndpointSilent, nil, "endpoint", name, "time", quiet.String())}
	case errors.Is(cause, errTooLarge):
		e := hub.E(message.EndpointTooBig, nil, "endpoint", name, "size", number(int(c.size.Load())), "limit", number(c.endpoint.def.Load().MaxMessage))
		return ending{code: int(websocket.StatusMessageTooBig), reason: e}
	}
	return ending{code: abnormal, reason: hub.E(message.EndpointLost, nil, "endpoint", name).With("detail", causeOf(innermost(cause), c.secrets))}
}

// innermost is the error at the bottom: those around it speak of the library.
func innermost(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// contained does what a message asks for. A panic is answered as an error of the
// hub's own, and is no other message's.
func (c *conversation) contained(m *asked, do func()) {
	defer func() {
		if p := recover(); p != nil {
			c.endpoint.set.opt.Log.Error("a message of an endpoint made the hub panic", "endpoint", c.endpoint.name, "panic", p, "stack", string(debug.Stack()))
			c.refuse(m, hub.E(message.Internal, nil))
		}
	}()
	do()
}

// running is how many calls are not answered yet.
func (c *conversation) running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}
