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
	slots    chan struct{} // holds one for each call that is carried out
	news     chan struct{} // holds one if the tools may be others
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
	all    sync.WaitGroup
}

// underWay is one call that is not answered yet.
type underWay struct{ cancel context.CancelCauseFunc }

func newConversation(e *endpoint, conn *websocket.Conn, def *definition, secrets []string) *conversation {
	c := &conversation{
		endpoint: e, conn: conn, def: def, secrets: secrets, out: newOutbox(), slots: make(chan struct{}, def.Concurrency),
		news: make(chan struct{}, 1), calls: make(map[string][]*underWay),
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
	c.all.Go(func() { c.leave(cut) })
	err := c.read(reading)
	c.end(err)
	end := c.ending(context.Cause(c.ctx))
	over(&end)
	c.all.Wait()
	return end
}

// leave closes the connection once the conversation is over, in good order if the
// peer is there for that.
func (c *conversation) leave(cut context.CancelFunc) {
	<-c.ctx.Done()
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
			c.junk("a binary frame")
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
func (c *conversation) junk(what string) {
	n := c.endpoint.tally.junk.Add(1)
	told := n&(n-1) == 0 // ever more rarely: some peers send a lot of it
	if c.device != nil {
		told = c.device.due(what)
	}
	if told {
		c.endpoint.journal.add(hub.LevelWarning, "skipped "+what+", "+number(int(n))+" so far")
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
				err = errUnread
			}
			c.end(err)
			return
		}
	}
}

// ending is what the end of the conversation means.
func (c *conversation) ending(cause error) ending {
	name := c.endpoint.name
	if closed, ok := errors.AsType[websocket.CloseError](cause); ok {
		code, said := int(closed.Code), message.Quote(words.Redact(closed.Reason, c.secrets))
		end := ending{kind: words.OfClose(code, closed.Reason), code: code, said: said}
		if c.device != nil {
			end.kind = c.device.ending(end.kind, code)
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
