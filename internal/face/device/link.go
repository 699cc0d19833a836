package device

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/internal/xiaozhi"
)

const (
	maxText    = 1 << 20 // bytes of a frame
	maxLinks   = 1024    // devices at once
	maxParams  = 1 << 10 // bytes of a device's audio_params that are repeated to it
	keepBuffer = 64 << 10
	writeLimit = 10 * time.Second
	closeLimit = 3 * time.Second
)

// link is one connection of a device. Its frames are read by the goroutine of the
// request that it began with; everything else may be called from any.
type link struct {
	door    *Door
	dev     *device
	conn    *websocket.Conn
	pace    *paced // that the conn reads from
	id      string // session_id
	pass    pass   // that it came in by
	picture pictures
	relay   *relay // nil if the hub is all the backend that the device has; set before anything is read

	ctx context.Context // ends with the link; the cause says why
	end context.CancelCauseFunc
	bye atomic.Pointer[websocket.CloseError] // how the hub has closed it; nil if it has not

	ready  bool          // its tools are known; under the door's mu, as is listed
	listed bool          // and they are listed, or are being
	failed bool          // they could not be found out; under the door's mu as well
	news   chan struct{} // holds a token while a change is to be told
	heard  atomic.Int64  // frames that came
	greets int           // of the reader alone
	in     bytes.Buffer  // of the reader alone
	noted  map[string]time.Time

	sending chan struct{} // is full while a frame is being made and written

	mu      sync.Mutex
	last    int32 // id that was given out
	waiting map[int32]chan<- frame
}

// socket takes the connection of a device.
func (d *Door) socket(w http.ResponseWriter, r *http.Request) {
	v, fault := identify(r)
	if fault != nil {
		d.refuse(w, r, http.StatusBadRequest, fault)
		return
	}
	by, fault := d.admit(r, v)
	if fault != nil {
		d.refuse(w, r, http.StatusUnauthorized, fault)
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		d.refuse(w, r, http.StatusUpgradeRequired, hub.E(message.UpgradeRequired, nil))
		return
	}
	if !d.enter() {
		d.refuse(w, r, http.StatusServiceUnavailable, hub.E(message.ShuttingDown, nil))
		return
	}
	defer d.leave()
	taken := pacer{ResponseWriter: w}
	conn, err := websocket.Accept(&taken, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // see admit
	if err != nil {
		return // Accept has answered
	}
	conn.SetReadLimit(maxText)
	l := &link{
		door: d, conn: conn, pace: taken.conn, id: newSession(), pass: by, noted: make(map[string]time.Time),
		news: make(chan struct{}, 1), sending: make(chan struct{}, 1), waiting: make(map[int32]chan<- frame),
	}
	l.ctx, l.end = context.WithCancelCause(d.life)
	l.pace.busy = l.awaited
	to := d.onward(v.id)
	d.come(l, v, r.RemoteAddr, to.shown)
	if err = l.join(r, v, to); err == nil {
		d.work.Go(l.tend)
		d.work.Go(l.renew)
		err = l.read()
		l.end(l.ended(err)) // if nobody has before
		l.part(err)
	}
	_ = conn.CloseNow()
	d.gone(l)
}

// enter counts one more connection, if there may be one.
func (d *Door) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over || d.links == maxLinks {
		return false
	}
	d.links++
	d.work.Add(1)
	return true
}

func (d *Door) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.links--
	d.work.Done()
}

// newSession is a random UUID.
func newSession() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // which never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// close ends the link for a reason of the hub's, and tells the device. It does not
// wait for that. The link has been entered as that of its device.
func (l *link) close(code websocket.StatusCode, said string, why *hub.Error) {
	l.bye.CompareAndSwap(nil, &websocket.CloseError{Code: code, Reason: said})
	l.end(why)
	l.door.work.Go(func() { farewell(l.conn, code, said) })
}

// farewell closes a connection, and waits a moment for the other side to do so too.
func farewell(conn *websocket.Conn, code websocket.StatusCode, said string) {
	late := time.AfterFunc(closeLimit, func() { _ = conn.CloseNow() })
	defer late.Stop()
	_ = conn.Close(code, said) // the other side may be gone
}

// ended is why a link has that could not be read any more.
func (l *link) ended(err error) error {
	how := message.Say("it has hung up")
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		how = message.Say("it sent a text of more than %d bytes", maxText)
	case websocket.CloseStatus(err) == -1:
		how = message.Say("the connection broke")
	}
	return hub.E(message.DeviceDropped, err, "device", l.dev.id).With("detail", how)
}

// read takes frames until there are no more. Whoever is to have all frames of a
// device, and not its answers only, stands here.
func (l *link) read() error {
	for {
		// Not under the link's context, which costs memory for each frame: to close
		// the connection ends this as well.
		kind, data, err := l.conn.Reader(context.Background())
		if err != nil {
			return err
		}
		l.heard.Add(1)
		l.pace.calm.Store(false) // in the middle of a frame there is nothing to wait for
		if kind == websocket.MessageBinary {
			err = l.sound(data)
			l.pace.calm.Store(l.relay == nil)
		} else {
			err = l.text(data)
		}
		if err != nil {
			return err
		}
	}
}

// sound takes a binary frame, in which there is nothing for the hub but what goes on.
func (l *link) sound(data io.Reader) error {
	l.dev.audio.Add(1)
	if l.relay != nil {
		l.in.Reset()
		if _, err := l.in.ReadFrom(data); err != nil {
			return err
		}
		l.relay.send(websocket.MessageBinary, l.in.Bytes())
		return nil
	}
	_, err := io.Copy(io.Discard, data)
	return err
}

// text takes a text frame.
func (l *link) text(data io.Reader) error {
	l.in.Reset()
	if _, err := l.in.ReadFrom(data); err != nil {
		return err
	}
	f := readFrame(l.in.Bytes())
	if l.relay != nil {
		l.relay.text(&f)
		return nil
	}
	switch f.kind {
	case "hello":
		l.hello(f.raw)
	case "mcp":
		if l.answer(&f) {
			l.in = bytes.Buffer{} // it is somebody else's now
		}
	case "ping": // of the dialect, which counts as life for some
		l.pong()
	case "":
		l.dev.junk.Add(1)
		l.note(hub.LevelDebug, "what is no message", fmt.Sprintf("ignored %d bytes that are no message", l.in.Len()))
	default:
		l.note(hub.LevelDebug, f.kind, "ignored a message of the type "+message.Quote(f.kind))
	}
	if l.in.Cap() > keepBuffer {
		l.in = bytes.Buffer{}
	}
	return nil
}

// pong is what the dialect says to a ping, and what no device minds.
func (l *link) pong() { l.send([]byte(`{"type":"pong","session_id":"` + l.id + `"}`)) }

// note writes to the device's log of something that may come often: once a minute for
// each kind. What kinds there are the device chooses, so that they are bounded.
func (l *link) note(level hub.LogLevel, kind, text string) {
	kind = message.Quote(kind) // which is short
	now := time.Now()
	if last, ok := l.noted[kind]; ok && now.Sub(last) < time.Minute {
		return
	}
	if len(l.noted) >= 32 {
		clear(l.noted)
	}
	l.noted[kind] = now
	l.dev.book.add(level, text)
}

// answer hands an answer to whoever waits for it, and reports whether somebody does.
func (l *link) answer(f *frame) bool {
	if f.note != "" {
		l.note(hub.LevelDebug, "method "+f.note, "ignored "+message.Quote(f.note)+" of the device")
		return false
	}
	l.mu.Lock()
	to, late := l.waiting[f.id], f.id > 0 && f.id <= l.last
	delete(l.waiting, f.id)
	l.mu.Unlock()
	switch {
	case to != nil:
		to <- *f // which has room
		return true
	case late:
		l.dev.late.Add(1)
		l.note(hub.LevelWarning, "late", "an answer came too late, and is discarded")
	default:
		l.dev.junk.Add(1)
		l.note(hub.LevelWarning, "id", "an answer to nothing that was asked is discarded")
	}
	return false
}

// hello answers the greeting of a device, and has its tools found out if it has any.
func (l *link) hello(raw []byte) {
	whole := wire.Value(raw)
	audio := wire.Lookup(raw, whole, "audio_params").Of(raw)
	if len(audio) == 0 || audio[0] != '{' || len(audio) > maxParams {
		audio = []byte(`{"format":"opus","sample_rate":24000,"channels":1,"frame_duration":60}`)
	}
	l.send(fmt.Appendf(nil, `{"type":"hello","version":1,"transport":"websocket","session_id":"%s","audio_params":%s}`, l.id, audio))
	if l.greets++; l.greets > 1 {
		return // its tools are known, or on their way
	}
	if mcp := wire.Lookup(raw, wire.Lookup(raw, whole, "features"), "mcp").Of(raw); string(mcp) != "true" {
		l.door.without(l)
		return
	}
	l.door.work.Go(l.learn)
}

// send writes a text frame, whole and behind those before it. If that fails the link
// ends.
func (l *link) send(raw []byte) { l.write(websocket.MessageText, raw) }

// write writes a frame, as send does.
func (l *link) write(kind websocket.MessageType, raw []byte) {
	l.sending <- struct{}{}
	defer func() { <-l.sending }()
	l.put(kind, raw)
}

// put writes a frame. The caller holds sending.
func (l *link) put(kind websocket.MessageType, raw []byte) {
	if l.ctx.Err() != nil {
		return
	}
	// Not under the link's context, whose end would cut the connection off in place of
	// a goodbye.
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	if err := l.conn.Write(ctx, kind, raw); err != nil {
		l.end(l.ended(err))
		_ = l.conn.CloseNow()
	}
}

// ask sends a request and waits for its answer. The error is that of ctx, or why the
// link has ended. An answer that comes after that is discarded.
func (l *link) ask(ctx context.Context, method string, params []byte) (frame, error) {
	came := make(chan frame, 1)
	l.sending <- struct{}{}
	id, spent := l.number(came)
	if spent == nil {
		l.pace.wake()
		l.put(websocket.MessageText, l.envelope(method, params, id))
	}
	<-l.sending
	if spent != nil {
		return frame{}, spent
	}
	defer func() {
		l.mu.Lock()
		delete(l.waiting, id)
		l.mu.Unlock()
	}()
	select {
	case f := <-came:
		return f, nil
	case <-ctx.Done():
		return frame{}, context.Cause(ctx)
	case <-l.ctx.Done():
		return frame{}, context.Cause(l.ctx)
	}
}

// awaited reports whether somebody waits for what the device says, or for its end.
func (l *link) awaited() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) > 0 || l.ctx.Err() != nil
}

// number is the next id, larger than that of any other request on the connection, whose
// answer goes to the channel; nil for nowhere. The caller holds sending, so that they
// are sent in their order.
func (l *link) number(to chan<- frame) (int32, *hub.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == math.MaxInt32 {
		spent := hub.E(message.DeviceDropped, nil, "device", l.dev.id).With("detail", message.Say("the ids of the connection are used up"))
		l.close(websocket.StatusServiceRestart, "connect anew", spent)
		return 0, spent
	}
	l.last++
	if to != nil {
		l.waiting[l.last] = to
	}
	return l.last, nil
}

// session is the session_id of what the hub says to the device, as JSON: that of the
// device's own backend, if it has one.
func (l *link) session() []byte {
	if l.relay != nil {
		if own := l.relay.session.Load(); own != nil {
			return *own
		}
	}
	return []byte(`"` + l.id + `"`)
}

// tell sends a notification.
func (l *link) tell(method string) { l.send(l.envelope(method, nil, 0)) }

// envelope is a request, or a notification without an id, as devices get it.
func (l *link) envelope(method string, params []byte, id int32) []byte {
	said := []byte(`{"jsonrpc":"2.0","method":"` + method + `"`)
	if params != nil {
		said = append(append(said, `,"params":`...), params...)
	}
	if id > 0 {
		said = strconv.AppendInt(append(said, `,"id":`...), int64(id), 10)
	}
	return xiaozhi.AppendEnvelope(nil, l.session(), append(said, '}'))
}
