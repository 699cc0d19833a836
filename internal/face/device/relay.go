package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/internal/xiaozhi"
)

const (
	relayDial = 5 * time.Second // less than the 10 s that devices wait for a greeting
	maxAsked  = 256             // requests of a backend that the device has not answered
)

// relay is the way on of a link whose device has a backend of its own, which it speaks
// with: a frame goes on as it came, in both directions. What is said of the device's
// tools is the exception, since the hub uses them as well: requests of the backend
// get ids from the same sequence as the hub's, and their answers have the backend's
// own put back, to the byte. Answers to the hub do not go on.
type relay struct {
	link    *link
	conn    *websocket.Conn
	heard   atomic.Int64
	session atomic.Pointer[[]byte] // session_id of the backend, as JSON; nil until it has greeted

	done chan struct{} // closed when nothing more comes from it, and the link is closed for it

	mu       sync.Mutex
	tools    bool             // the device has greeted, and said that it has some
	welcomed bool             // the backend has greeted
	begun    bool             // both have, and the tools are being found out
	asked    map[int32]*asked // what the backend has asked and the device has not answered, by the ids that it knows
}

// asked is a request of a backend's.
type asked struct {
	id  []byte                                            // the backend's own, raw
	end func(outcome hub.Outcome, e *hub.Error, size int) // puts on record how it has ended; nil for what is no call
}

// onward is where a device's frames go on to; the zero value for nowhere.
type onward struct {
	address string
	secrets []string // what was filled into it that is not to be shown
	fault   error    // why it could not be filled in
	shown   string   // the address without its secrets
}

// onward is where the frames of a device go on to, by what the placeholders of the
// address stand for now.
func (d *Door) onward(id string) onward {
	text := relayOf(d.settings(), id)
	if text == "" {
		return onward{}
	}
	filled, secrets, err := d.opt.Resolve(text)
	if err != nil {
		return onward{address: text, fault: err, shown: xiaozhi.Mask(text)}
	}
	to := onward{address: strings.TrimSpace(filled), secrets: secrets}
	to.shown = xiaozhi.Mask(to.address, secrets...)
	return to
}

// relayOf is the address that the settings give a device's backend; "" for none.
func relayOf(conf hub.Devices, id string) string {
	for _, known := range slices.Sorted(maps.Keys(conf.Relay)) {
		if strings.EqualFold(known, id) {
			return conf.Relay[known]
		}
	}
	return conf.Relay["*"]
}

// dialler is a client that follows no redirect: what devices say of themselves goes to
// the address in the settings and nowhere else.
func dialler(client *http.Client) *http.Client {
	own := http.Client{}
	if client != nil {
		own = *client
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// join connects the link to the backend of its device, if there is one. If that fails the link is closed: a device is an assistant in the first place, and
// tries again where it is told that nobody is there.
func (l *link) join(r *http.Request, v visitor, to onward) error {
	if to.address == "" {
		return nil
	}
	address, header, err := outward(r, v, to.address, l.pass.listed)
	if to.fault != nil {
		err = to.fault
	}
	var conn *websocket.Conn
	if err == nil {
		ctx, cancel := context.WithTimeout(l.ctx, relayDial)
		defer cancel()
		var res *http.Response
		conn, res, err = websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: l.door.opt.Client, HTTPHeader: header}) //nolint:bodyclose // the library closes it
		switch {
		case err == nil:
		case res != nil && res.StatusCode >= 300:
			err = fmt.Errorf("HTTP status %d", res.StatusCode)
		case ctx.Err() != nil && l.ctx.Err() == nil:
			err = errors.New("no answer in time")
		}
	}
	if err != nil {
		why := hub.E(message.RelayUnreachable, nil, "device", l.dev.id).With("detail", causeOf(err, xiaozhi.Secrets(address, to.secrets...)))
		l.door.opt.Log.Warn("the backend of a device was not reached", "device", l.dev.id, "reason", why)
		l.close(websocket.StatusTryAgainLater, "the backend was not reached", why)
		for { // until it has said goodbye as well
			_, data, err := l.conn.Reader(context.Background())
			if err == nil {
				_, err = io.Copy(io.Discard, data)
			}
			if err != nil {
				return why
			}
		}
	}
	conn.SetReadLimit(maxText)
	l.relay = &relay{link: l, conn: conn, done: make(chan struct{}), asked: make(map[int32]*asked)}
	l.dev.book.add(hub.LevelInfo, "its frames go on to "+to.shown)
	l.door.work.Go(l.relay.run)
	l.door.work.Go(l.relay.watch)
	return nil
}

// outward is the address of a backend, and the headers to it, with what the device has
// said of itself in the way that it has: in headers, or in the query. A token of the
// hub's is nobody else's business, so that one goes on only if the device was let in
// without.
func outward(r *http.Request, v visitor, to string, trusted bool) (string, http.Header, error) {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return to, nil, errors.New("the address does not begin with ws:// or wss://")
	}
	header, query, given := http.Header{}, r.URL.Query(), u.Query()
	pass := func(name, value string) {
		key := strings.ToLower(name)
		switch {
		case value == "" || given.Has(key): // what the settings say counts
		case r.Header.Get(name) != "":
			header.Set(name, value)
		default:
			if u.RawQuery != "" {
				u.RawQuery += "&"
			}
			u.RawQuery += key + "=" + url.QueryEscape(value)
		}
	}
	read := func(name string) string {
		if value := r.Header.Get(name); value != "" {
			return value
		}
		return query.Get(strings.ToLower(name))
	}
	// A device that needs no token may show an old one of the hub's all the same.
	if own := read("Authorization"); trusted && !madeHere(own) {
		pass("Authorization", own)
	}
	pass("Protocol-Version", read("Protocol-Version"))
	pass("Device-Id", v.id)
	pass("Client-Id", v.client)
	return u.String(), header, nil
}

// causeOf is what an error of a dialler says, without the address that was dialled.
func causeOf(err error, secrets []string) message.Phrase {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	text := err.Error()
	if plain := xiaozhi.Redact(text, secrets); plain != text {
		return message.Verbatim(message.Quote(plain))
	}
	return message.Cause(err)
}

// part closes the backend's connection as the device's was closed: by the code of the
// hub or the device, or without a word. It does not wait for that.
func (l *link) part(err error) {
	r := l.relay
	if r == nil {
		return
	}
	bye := l.bye.Load()
	if closed, ok := errors.AsType[websocket.CloseError](err); bye == nil && ok {
		bye = &closed
	}
	if bye == nil && errors.Is(err, websocket.ErrMessageTooBig) {
		bye = &websocket.CloseError{Code: websocket.StatusMessageTooBig}
	}
	if bye == nil {
		_ = r.conn.CloseNow()
		return
	}
	l.door.work.Go(func() { farewell(r.conn, bye.Code, bye.Reason) })
}

// run carries the backend's frames to the device until there are no more, and then
// closes the device's connection in the same way.
func (r *relay) run() {
	defer close(r.done)
	err := r.read()
	defer func() { // an answer may come still, and finds nobody to go to
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, q := range r.asked {
			r.lost(q)
		}
	}()
	l := r.link
	how := message.Say("its backend's connection broke")
	closed, ok := errors.AsType[websocket.CloseError](err)
	switch {
	case ok:
		how = message.Say("its backend closed the connection (code %d)", int(closed.Code))
	case errors.Is(err, websocket.ErrMessageTooBig):
		closed.Code, ok = websocket.StatusMessageTooBig, true
		how = message.Say("its backend sent a frame of more than %d bytes", maxText)
	}
	why := hub.E(message.DeviceDropped, nil, "device", l.dev.id).With("detail", how)
	if l.ctx.Err() != nil {
		return // the link has ended before; see part
	}
	if ok {
		l.close(closed.Code, closed.Reason, why)
		return
	}
	l.end(why)
	_ = l.conn.CloseNow()
}

// read takes the backend's frames. Each is held once, and written whole: a firmware
// may know of no frames in pieces.
func (r *relay) read() error {
	var in bytes.Buffer
	for {
		kind, data, err := r.conn.Reader(context.Background()) // see link.read
		if err != nil {
			return err
		}
		in.Reset()
		if _, err = in.ReadFrom(data); err != nil {
			return err
		}
		r.heard.Add(1)
		if kind == websocket.MessageBinary {
			r.link.write(kind, in.Bytes())
		} else {
			r.inward(in.Bytes())
		}
		if in.Cap() > keepBuffer {
			in = bytes.Buffer{}
		}
	}
}

// inward passes a text of the backend's on to the device.
func (r *relay) inward(raw []byte) {
	l := r.link
	e, ok := xiaozhi.ParseEnvelope(raw, maxText)
	if doubtful(&e, ok, raw) {
		l.dev.junk.Add(1)
		l.note(hub.LevelWarning, "doubtful", "a text of its backend that the device may take for another one is discarded")
		return
	}
	switch {
	case ok && e.Type == "mcp" && e.Payload != nil:
		l.sending <- struct{}{}
		defer func() { <-l.sending }()
		if raw = r.ask(raw); raw != nil {
			l.put(websocket.MessageText, raw)
		}
	case ok && e.Type == "hello":
		if e.Session != nil && len(e.Session) <= maxID {
			own := bytes.Clone(e.Session)
			r.session.CompareAndSwap(nil, &own)
		}
		l.send(raw)
		r.meet(&r.welcomed)
	default:
		l.send(raw)
	}
}

// doubtful reports whether firmware may take a text of the backend's for something else
// than the hub does: it reads JSON that is none, takes keys without regard to case and
// of several the first, and ends a string at a NUL. What it might run so would not be on
// record, and its answer go to somebody else. What is no object it does not read.
func doubtful(e *xiaozhi.Envelope, ok bool, raw []byte) bool {
	if !ok {
		rest := bytes.TrimLeftFunc(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")), func(c rune) bool { return c <= ' ' })
		return len(rest) > 0 && rest[0] == '{'
	}
	all := wire.Value(raw)
	if xiaozhi.Ambiguous(raw, all, "type", "payload", "session_id") || strings.ContainsRune(e.Type, 0) {
		return true
	}
	if e.Type != "mcp" {
		return strings.EqualFold(e.Type, "mcp")
	}
	payload := wire.Lookup(raw, all, "payload")
	params := wire.Lookup(raw, payload, "params")
	if wire.Valid(raw, wire.Limits{MaxBytes: maxText, UniqueKeys: true}) != nil ||
		xiaozhi.Ambiguous(raw, payload, "jsonrpc", "id", "method", "params", "result", "error") || xiaozhi.Ambiguous(raw, params, "name", "arguments", "requestId") {
		return true
	}
	method, _ := wire.String(raw, wire.Lookup(raw, payload, "method"))
	name, _ := wire.String(raw, wire.Lookup(raw, params, "name"))
	id := wire.Lookup(raw, payload, "id")
	unanswered := !id.Exists() || raw[id.Start] == 'n' // which makes it no call to the hub
	return strings.ContainsRune(method, 0) || strings.ContainsRune(name, 0) || method == protocol.MethodToolsCall && unanswered
}

// ask is an MCP message of the backend's as the device gets it, whose id is another one
// if it is a request; nil if the device is not to have it. The caller holds the link's sending.
func (r *relay) ask(raw []byte) []byte {
	l := r.link
	payload := wire.Lookup(raw, wire.Value(raw), "payload")
	method, _ := wire.String(raw, wire.Lookup(raw, payload, "method"))
	id := wire.Lookup(raw, payload, "id")
	if method == protocol.NotificationCancelled && !id.Exists() {
		at := wire.Lookup(raw, wire.Lookup(raw, payload, "params"), "requestId")
		if n := r.known(at.Of(raw)); n > 0 {
			return wire.Splice(raw, wire.Replace(at, strconv.AppendInt(nil, int64(n), 10)))
		}
		return raw
	}
	if method == "" || !id.Exists() || raw[id.Start] == 'n' {
		return raw
	}
	if id.Len() > xiaozhi.MaxID {
		l.dev.junk.Add(1)
		return nil
	}
	n, spent := l.number(nil)
	if spent != nil {
		return nil
	}
	q := &asked{id: bytes.Clone(id.Of(raw))}
	if method == protocol.MethodToolsCall {
		params := wire.Lookup(raw, payload, "params")
		name, _ := wire.String(raw, wire.Lookup(raw, params, "name"))
		q.end = r.witness(name, wire.Lookup(raw, params, "arguments").Of(raw))
	}
	r.mu.Lock()
	var old *asked
	if len(r.asked) >= maxAsked { // a device that leaves out answers; the oldest is not waited for any more
		oldest := slices.Min(slices.Collect(maps.Keys(r.asked)))
		old = r.asked[oldest]
		delete(r.asked, oldest)
	}
	r.asked[n] = q
	r.mu.Unlock()
	r.lost(old)
	return wire.Splice(raw, wire.Replace(id, strconv.AppendInt(nil, int64(n), 10)))
}

// witness begins to put a call of the backend's on record, which holds it up no longer
// than it takes to write its arguments down. A backend may make names up, so that only
// those of tools that the device has are names of its tools there.
func (r *relay) witness(tool string, arguments []byte) (end func(hub.Outcome, *hub.Error, int)) {
	l := r.link
	d := l.door
	c := hub.CallRecord{
		Method: protocol.MethodToolsCall, Subject: "relay:" + strings.ToLower(l.dev.id), Door: hub.DoorDevice, Session: hub.SessionRef("relay " + l.id),
		Name: tool,
	}
	d.mu.Lock()
	if l.dev.offer.has(tool) {
		c.Server, c.Tool = l.dev.key, tool
	}
	d.mu.Unlock()
	return d.opt.Witness(c, arguments)
}

// ended puts on record how a request has ended, if it is a call. It counts once, and is
// no business of who carries frames.
func (r *relay) ended(q *asked, outcome hub.Outcome, e *hub.Error, size int) {
	if q != nil && q.end != nil {
		r.link.door.work.Go(func() { q.end(outcome, e, size) })
	}
}

// lost puts on record of a request that there is no answer to it, if it is a call.
func (r *relay) lost(q *asked) {
	r.ended(q, hub.OutcomeUnknown, hub.E(message.DeviceDropped, nil, "device", r.link.dev.id).With("detail", message.Say("it does not answer any more")), 0)
}

// known is the id that the device knows the backend's request by; 0 for none. Of
// several with one id of the backend's it is the last.
func (r *relay) known(id []byte) int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var last int32
	for n, q := range r.asked {
		if len(id) > 0 && bytes.Equal(q.id, id) {
			last = max(last, n)
		}
	}
	return last
}

// text passes a text of the device's on to the backend, unless it answers the hub. It
// is in the link's buffer.
func (r *relay) text(f *frame) {
	l := r.link
	raw := l.in.Bytes()
	defer func() {
		if l.in.Cap() > keepBuffer {
			l.in = bytes.Buffer{}
		}
	}()
	switch {
	case f.kind == "hello":
		r.greeted(f.raw)
	case f.kind == "mcp" && f.note == "" && (f.id != 0 || f.result != nil || f.fault != nil):
		r.mu.Lock()
		q := r.asked[f.id]
		delete(r.asked, f.id)
		r.mu.Unlock()
		if q == nil {
			if l.answer(f) {
				l.in = bytes.Buffer{} // it is somebody else's now
			}
			return
		}
		outcome := hub.OutcomeOK
		if f.fault != nil || string(wire.Lookup(f.result, wire.Value(f.result), "isError").Of(f.result)) == "true" {
			outcome = hub.OutcomeToolError
		}
		raw = answered(f, q.id, l.session())
		r.ended(q, outcome, nil, len(raw))
	}
	r.send(websocket.MessageText, raw)
}

// answered is an answer of the device's with the backend's own id. One that is no JSON,
// as firmware writes errors, is mended on the way.
func answered(f *frame, id, session []byte) []byte {
	if f.raw == nil {
		return xiaozhi.AppendEnvelope(nil, session, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, f.fault))
	}
	at := wire.Lookup(f.raw, wire.Lookup(f.raw, wire.Value(f.raw), "payload"), "id")
	return wire.Splice(f.raw, wire.Replace(at, id))
}

// greeted notes whether a device that greets its backend has tools.
func (r *relay) greeted(raw []byte) {
	if mcp := wire.Lookup(raw, wire.Lookup(raw, wire.Value(raw), "features"), "mcp").Of(raw); string(mcp) == "true" {
		r.meet(&r.tools)
	} else {
		r.link.door.without(r.link)
	}
}

// meet notes that one has greeted, and has the tools found out once both have: what is
// said to a device before it is greeted may be lost on it.
func (r *relay) meet(who *bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*who = true
	if r.tools && r.welcomed && !r.begun {
		r.begun = true
		r.link.door.work.Go(r.link.learn)
	}
}

// send writes a frame to the backend, whole and behind those before it. It is for the
// goroutine that reads from the device. If it fails the link is closed as the backend
// has closed its connection; until the device has heard that, there is nobody to send
// to.
func (r *relay) send(kind websocket.MessageType, raw []byte) {
	if r.link.ctx.Err() != nil {
		return
	}
	// Not under the link's context, whose end would cut the connection off in place of
	// a goodbye.
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	if r.conn.Write(ctx, kind, raw) == nil {
		return
	}
	late := time.AfterFunc(closeLimit, func() { _ = r.conn.CloseNow() })
	defer late.Stop()
	<-r.done
}

// watch gives a backend up that does not answer the WebSocket's pings, and says nothing
// else either: the hub keeps the device's connection alive, which would wait for ever.
func (r *relay) watch() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for misses := 0; misses < maxMisses; {
		select {
		case <-tick.C:
		case <-r.link.ctx.Done():
			return
		}
		before := r.heard.Load()
		if misses++; ping(r.conn) == nil || r.heard.Load() != before {
			misses = 0
		}
	}
	_ = r.conn.CloseNow() // which ends read, and that the link
}
