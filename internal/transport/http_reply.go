package transport

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Reply writes the server's answer to one HTTP request of streamable HTTP. It
// is JSON if a response is all there is to say; with the first notification,
// or after a silence, it becomes an event stream, if the client takes one. The
// stream of HTTP with SSE (2024-11-05) is one that is never responded to.
//
// Messages go out in the order of the calls. A client that does not read is
// given up after the write limit; then, and after Detach and Close, nothing is
// written any more. Safe for concurrent use.
type Reply struct {
	opt      ReplyOptions
	w        http.ResponseWriter
	ctl      *http.ResponseController
	detached atomic.Bool
	mu       sync.Mutex
	open     bool // the event stream has begun
	done     bool
	beat     *time.Timer
	fault    error
}

// ReplyOptions describe what the client takes.
type ReplyOptions struct {
	JSON, Events bool          // from its Accept header; one of them is true
	Silence      time.Duration // after so long an event stream begins, and is kept awake; 0 for never
	Begin        time.Duration // the stream begins after so long already; 0 for Silence
	WriteLimit   time.Duration // for one message; 0 for none

	// Record makes the event stream one that can be resumed: it is called with
	// each message before that is written, even if nothing can be written any
	// more, and returns the id of its event. It may keep the bytes. When the
	// stream begins it is called with nil, and returns the id that the client is
	// to resume from before it has got a message; "" for none. Nil for events
	// without ids.
	Record func(p *Reply, raw []byte) (id string)
}

// Retry is how long a client is asked to wait before it resumes a stream.
const Retry = time.Second

// NewReply returns the reply for the request that w answers. Close ends it.
func NewReply(w http.ResponseWriter, opt ReplyOptions) *Reply {
	p := &Reply{opt: opt, w: w, ctl: http.NewResponseController(w)}
	if opt.Events && opt.Silence > 0 {
		p.mu.Lock() // awake reads it
		defer p.mu.Unlock()
		p.beat = time.AfterFunc(cmp.Or(opt.Begin, opt.Silence), p.awake)
	}
	return p
}

// Stream begins the event stream now. It reports an error if what is sent on it
// reaches nobody, now or later: the client does not take one, which is an
// [errors.ErrUnsupported], or was gone before it began, so that it cannot resume
// it.
func (p *Reply) Stream() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.opt.Events:
		return http.ErrNotSupported
	case p.done:
		return errOver
	case p.open && p.opt.Record != nil:
		return nil
	case p.mute():
		return p.fault
	}
	p.begin()
	p.flush()
	return p.fault
}

// Notify sends a message before the response. A client that takes no event
// stream does not get it.
func (p *Reply) Notify(raw []byte) { _ = p.Send(raw) }

// Send is Notify for a message with edits to be made. It returns why the client
// could not be written to, in this call or an earlier one.
func (p *Reply) Send(raw []byte, edits ...wire.Edit) error { return p.send(raw, edits) }

// Announce sends an event that carries no message, but the one line of text.
// The error is that of Send.
func (p *Reply) Announce(event, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mute() {
		p.begin()
		p.event("event: "+event+"\ndata: ", []byte(text), nil)
		p.flush()
	}
	return p.fault
}

// Event sends a message as the event with the id, "" for none, which Record is
// not asked for. Without a message it begins the stream, and tells the client
// that it may resume behind the event with the id. The error is that of Send.
func (p *Reply) Event(id string, raw []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute() {
		return p.fault
	}
	p.header()
	if raw == nil {
		p.prime(id)
	} else {
		p.event(messageHead(id), raw, nil)
	}
	p.flush()
	return p.fault
}

// Detach has the reply write nothing from now on, without waiting for what is
// being written. Messages are recorded as before.
func (p *Reply) Detach() { p.detached.Store(true) }

// errOver is why nothing comes behind the response.
var errOver = errors.New("the response was sent")

// errDetached is why a client cannot be written to that nobody has failed to
// write to.
var errDetached = errors.New("the stream has gone to another connection, or its client has")

// mute reports whether nothing is to be written. mu is held.
func (p *Reply) mute() bool {
	if p.fault == nil && p.detached.Load() {
		p.fault = errDetached
	}
	return p.done || p.fault != nil || !p.opt.Events
}

// messageHead is what comes before the message in its event.
func messageHead(id string) string {
	if id == "" {
		return "event: message\ndata: "
	}
	return "event: message\nid: " + id + "\ndata: "
}

func (p *Reply) send(raw []byte, edits []wire.Edit) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done || !p.opt.Events {
		return p.fault
	}
	p.message(raw, edits)
	return p.fault
}

// message sends an event on the stream, which begins now if it has not.
func (p *Reply) message(raw []byte, edits []wire.Edit) {
	if p.mute() && !p.open {
		return // nobody could resume it
	}
	p.begin()
	id := ""
	if p.opt.Record != nil {
		// A line end would end the event's data.
		raw, edits = wire.OneLine(wire.Splice(raw, edits...)), nil
		id = p.opt.Record(p, raw)
	}
	if p.mute() {
		return
	}
	p.event(messageHead(id), raw, edits)
	p.flush()
}

// Respond sends the response, raw with the edits made, and closes the reply.
// status is used if no event stream has begun.
func (p *Reply) Respond(status int, raw []byte, edits ...wire.Edit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	defer p.finish()
	if p.open || !p.opt.JSON {
		p.message(raw, edits)
		return
	}
	if p.detached.Load() || p.fault != nil {
		return
	}
	h := p.w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(wire.SplicedLen(raw, edits...))}
	p.limit()
	p.w.WriteHeader(status)
	_, p.fault = wire.WriteSplice(p.w, raw, edits...)
}

var (
	jsonType   = []string{protocol.ContentJSON}
	eventsType = []string{protocol.ContentEvents}
)

// Close ends the reply without a response, if it had none.
func (p *Reply) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
}

// Err returns why the client could not be written to, or nil.
func (p *Reply) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

func (p *Reply) finish() {
	p.done = true
	if p.beat != nil {
		p.beat.Stop()
	}
}

// awake sends a comment, so that neither side nor a proxy between takes the
// silence for a broken connection.
func (p *Reply) awake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute() {
		return
	}
	if p.open || p.opt.Begin == 0 {
		p.begin()
		p.limit()
		_, p.fault = p.w.Write([]byte(": \n\n"))
	} else {
		p.begin()
	}
	p.flush()
	p.beat.Reset(p.opt.Silence)
}

// begin begins the event stream if it has not begun.
func (p *Reply) begin() {
	if p.open {
		return
	}
	p.header()
	if p.opt.Record != nil {
		if id := p.opt.Record(p, nil); id != "" {
			p.prime(id)
		}
	}
}

func (p *Reply) header() {
	if p.open {
		return
	}
	p.open = true
	h := p.w.Header()
	h["Content-Type"] = eventsType
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	p.w.WriteHeader(http.StatusOK)
}

// prime gives the client an id to resume from, and says when to (2025-11-25,
// "Sending Messages to the Server").
func (p *Reply) prime(id string) {
	if p.fault != nil || id == "" {
		return
	}
	p.limit()
	_, p.fault = io.WriteString(p.w, "retry: "+strconv.FormatInt(Retry.Milliseconds(), 10)+"\nid: "+id+"\ndata: \n\n")
}

func (p *Reply) event(head string, raw []byte, edits []wire.Edit) {
	if p.fault != nil {
		return
	}
	p.limit()
	if _, p.fault = io.WriteString(p.w, head); p.fault != nil {
		return
	}
	// A line end in the message would end the event's data line. OneLine keeps
	// every offset, so that the edits still fit.
	if _, p.fault = wire.WriteSplice(p.w, wire.OneLine(raw), edits...); p.fault == nil {
		_, p.fault = p.w.Write([]byte("\n\n"))
	}
}

func (p *Reply) flush() {
	if p.fault == nil {
		p.fault = p.ctl.Flush()
	}
}

// limit bounds the next write. Writers that know no deadlines, such as a test
// recorder, do without.
func (p *Reply) limit() {
	if p.opt.WriteLimit > 0 {
		_ = p.ctl.SetWriteDeadline(time.Now().Add(p.opt.WriteLimit))
	}
}
