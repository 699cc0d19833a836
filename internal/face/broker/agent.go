package broker

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

const (
	maxAsked   = 256             // requests of a caller that are not answered
	askedLimit = 5 * time.Minute // after which one may be forgotten for another
)

// agent is what one token is for: a tool, if it is here, and those who call it.
type agent struct {
	broker *Broker
	id     string // of the device that the token was made for, in lower case
	key    string // that the server is to have, "" if it is another one's; under the broker's mu, as is uses
	uses   int    // connections

	attaching sync.Mutex // held while the server is attached or detached; taken before mu

	mu       sync.Mutex
	tool     *tool // nil if it is not here
	callers  map[string]*caller
	held     int         // bytes of the calls under way
	attached string      // key of the server that is attached; "" for none
	expiry   *time.Timer // until the server is not listed any more; nil if its tool is here, or it is not listed
}

// tool is one connection of a tool's.
type tool struct {
	socket  *socket
	pending map[string]*question // by the ids that it knows; under the agent's mu, as is what follows
	listed  chan struct{}        // closed when its server is, or could not be
	settled bool                 // listed is closed
	fault   *hub.Error           // why its server cannot be listed; nil if it can
}

// settle says that the tool's server is listed, or why it cannot be. The caller holds the
// agent's mu.
func (t *tool) settle(fault *hub.Error) {
	t.fault = fault
	if !t.settled {
		t.settled = true
		close(t.listed)
	}
}

// unsettle says that the tool's server is to be listed anew. The caller holds the agent's
// mu.
func (t *tool) unsettle() {
	if t.fault = nil; t.settled {
		t.settled, t.listed = false, make(chan struct{})
	}
}

// question is a request of a caller's that is not answered.
type question struct {
	from  *caller
	id    []byte // its own, raw
	times int    // that it is asked at once by the same id
	since time.Time
}

// caller is one who calls the tool.
type caller struct {
	id    string
	send  func(raw []byte) bool // false if it takes nothing any more
	only  *tool                 // the hub's own: the connection that it is for, whose end it learns of by itself; nil for others
	asked int                   // under the agent's mu, as is calls
	calls map[*underWay]bool
	work  sync.WaitGroup // its calls
}

// join has a connection be that of the tool. The one before is closed: it is the newer
// that is alive.
func (a *agent) join(s *socket) *tool {
	t := &tool{socket: s, pending: make(map[string]*question), listed: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.tool
	a.tool = t
	a.stop()
	if old != nil {
		old.socket.close(websocket.StatusNormalClosure, "新连接替换")
		a.fail(old)
	}
	return t
}

// part takes a connection that has ended away, unless the tool has another one by now.
func (a *agent) part(t *tool) {
	keep := a.broker.settings().Keep
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail(t)
	if a.tool != t {
		return
	}
	a.tool = nil
	if a.attached != "" && a.expiry == nil {
		a.expiry = time.AfterFunc(keep, a.expire)
	}
}

// fail tells everybody who waits for a connection of the tool's that it has gone. The
// caller holds mu.
func (a *agent) fail(t *tool) {
	for id, q := range t.pending {
		for range q.times {
			q.from.asked--
			if q.from.only == nil {
				q.from.send(failure(q.id, codeAway, textAway))
			}
		}
		delete(t.pending, id)
	}
}

// stop has the server stay listed. The caller holds mu.
func (a *agent) stop() {
	if a.expiry != nil {
		a.expiry.Stop()
		a.expiry = nil
	}
}

func (a *agent) stay() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
}

// list has the tool's server listed, as it is on the connection.
func (a *agent) list(t *tool) {
	a.broker.vacate(a)
	a.attaching.Lock()
	defer a.attaching.Unlock()
	conf, key := a.broker.settings(), a.broker.keyOf(a)
	taken := func(err error) *hub.Error { // by another one
		return hub.E(message.DeviceAliasTaken, err, "device", a.id, "server", keyFor(conf, a.id))
	}
	a.mu.Lock()
	switch before := a.attached; {
	case a.tool != t || t.socket.ctx.Err() != nil:
		t.settle(nil)
		a.mu.Unlock()
		return
	case t.settled && t.fault == nil && before == key:
		a.mu.Unlock()
		return // it is already
	case before != "" && before != key: // it is called otherwise now
		a.attached = ""
		t.unsettle()
		a.mu.Unlock()
		a.broker.opt.Detach(before, a.id)
		a.mu.Lock()
	}
	if a.tool != t { // it has gone meanwhile
		t.settle(nil)
		a.mu.Unlock()
		return
	}
	if key == "" {
		t.settle(taken(nil))
		a.mu.Unlock()
		return
	}
	t.unsettle()
	a.attached = key
	a.mu.Unlock()
	def := hub.Server{
		Key: key, Name: a.id, Kind: hub.KindDevice, Enabled: true, AutoStart: true,
		Priority: hub.PriorityDevice, Timeout: conf.Timeout, Connection: hub.ConnectionShared,
		Instances: hub.Instances{Min: 1, Max: 1, Queue: 1},
		Tags:      []string{"device"},
	}
	if def.Timeout <= 0 {
		def.Timeout = hub.DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(t.socket.ctx, attachLimit)
	defer cancel()
	err := a.broker.opt.Attach(ctx, def)
	if err != nil && t.socket.ctx.Err() == nil {
		a.broker.opt.Log.Warn("what a tool at its endpoint has is not listed", "server", key, "reason", err)
	}
	var fault *hub.Error
	if hub.IsCode(err, message.ServerExists) {
		a.broker.opt.Detach(key, a.id) // where it stood before a server of the configuration took the key
		fault = taken(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if fault != nil {
		a.attached = ""
	}
	t.settle(fault)
}

// yield has the server not listed any more under a key that it is not to have. Of a tool
// that has gone nothing is left then.
func (a *agent) yield() {
	a.attaching.Lock()
	defer a.attaching.Unlock()
	key := a.broker.keyOf(a)
	a.mu.Lock()
	before := a.attached
	if before == "" || before == key {
		a.mu.Unlock()
		return
	}
	a.attached = ""
	a.stop()
	if a.tool != nil {
		a.tool.unsettle()
	}
	a.mu.Unlock()
	a.broker.opt.Detach(before, a.id)
	a.broker.tidy(a)
}

// holds is the key under which the server is listed; "" for none.
func (a *agent) holds() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.attached
}

// here is the tool, if it is here.
func (a *agent) here() *tool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tool
}

// unlisted reports whether the server of a tool that is here could not be listed.
func (a *agent) unlisted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tool != nil && a.tool.fault != nil
}

// expire has the server not listed any more, unless the tool has come again.
func (a *agent) expire() {
	a.attaching.Lock()
	defer a.attaching.Unlock()
	a.mu.Lock()
	key := a.attached
	if a.expiry == nil || a.tool != nil {
		a.mu.Unlock()
		return
	}
	a.attached, a.expiry = "", nil
	a.mu.Unlock()
	if key != "" { // it was not listed in the end
		a.broker.opt.Detach(key, a.id)
	}
	a.broker.tidy(a)
}

// enter adds a caller; false if there are too many.
func (a *agent) enter(send func([]byte) bool) (*caller, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.callers) >= maxCallers {
		return nil, false
	}
	c := &caller{id: newID(), send: send, calls: make(map[*underWay]bool)}
	a.callers[c.id] = c
	return c, true
}

// leave takes a caller away, whose calls are wanted no more. What the tool answers it
// from then on is nobody's.
func (a *agent) leave(c *caller) {
	defer c.work.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.callers, c.id)
	for u := range c.calls {
		u.cancel(hub.E(message.Cancelled, nil))
	}
	if a.tool == nil {
		return
	}
	for id, q := range a.tool.pending {
		if q.from == c {
			delete(a.tool.pending, id)
		}
	}
}

// fromCaller takes what a caller has sent to the tool. What is no message is ignored, as
// are answers: a caller is asked nothing. A call goes the way of all calls, at whose end
// the hub is a caller itself.
func (a *agent) fromCaller(c *caller, raw []byte) {
	each(raw, func(raw []byte) {
		f, ok := readFrame(raw)
		if !ok || f.method == "" {
			return
		}
		pass := a.ask
		if c.only == nil && (f.method == protocol.MethodToolsCall || a.cancel(c, &f)) {
			if !f.id.Exists() {
				return // it has been done, or is a call that nobody may make
			}
			pass = a.call
		}
		if code, text := pass(c, &f); code != 0 && f.id.Exists() {
			c.send(failure(f.id.Of(raw), code, text))
		}
	})
}

// ask passes a message of a caller's on to the tool, or returns the error to answer it
// with.
func (a *agent) ask(c *caller, f *frame) (code int, text string) {
	raw, id := f.outward(c.id)
	if raw == nil {
		return codeFailed, textFailed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tool
	if t == nil || c.only != nil && c.only != t {
		return codeAway, textAway
	}
	if id != "" && c.asked >= maxAsked && !t.forget(c) {
		return codeFailed, textFailed
	}
	if !t.socket.send(raw) {
		return codeFailed, textFailed
	}
	if id != "" {
		q := t.pending[id]
		if q == nil {
			q = &question{from: c, id: append([]byte(nil), f.id.Of(f.raw)...)}
			t.pending[id] = q
		}
		q.times++
		q.since = time.Now()
		c.asked++
	}
	return 0, ""
}

// forget makes room for a request of a caller's, by one that has waited for long; false
// if there is none. The caller holds the agent's mu.
func (t *tool) forget(c *caller) bool {
	for id, q := range t.pending {
		if q.from == c && time.Since(q.since) > askedLimit {
			c.asked -= q.times
			delete(t.pending, id)
			return true
		}
	}
	return false
}

// fromTool takes what the tool has sent on a connection: an answer goes to whoever asked,
// a report on a call to whose it is, any other notification to every caller. What the
// tool asks itself is answered here, since nobody in particular could: a ping, and
// nothing else.
func (a *agent) fromTool(t *tool, raw []byte) {
	each(raw, func(raw []byte) {
		f, ok := readFrame(raw)
		switch {
		case !ok:
		case f.method == "":
			a.answer(t, &f)
		case !f.id.Exists():
			a.tell(t, &f)
		case f.method == protocol.MethodPing:
			t.socket.send(append(append([]byte(`{"jsonrpc":"2.0","id":`), f.id.Of(raw)...), `,"result":{}}`...))
		default:
			t.socket.send(failure(f.id.Of(raw), codeNoSuch, "method not found"))
		}
	})
}

// answer passes an answer on. One that nobody waits for is ignored.
func (a *agent) answer(t *tool, f *frame) {
	id, _ := wire.String(f.raw, f.id)
	a.mu.Lock()
	defer a.mu.Unlock()
	q := t.pending[id]
	if q == nil {
		return
	}
	if q.times--; q.times == 0 {
		delete(t.pending, id)
	}
	q.from.asked--
	q.from.send(f.withID(q.id))
}

// tell passes a notification on.
func (a *agent) tell(t *tool, f *frame) {
	to, raw := f.reported()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tool != t {
		return
	}
	if c := a.callers[to]; c != nil {
		c.send(raw)
		return
	}
	if strings.HasPrefix(f.method, "notifications/") && to == "" {
		for _, c := range a.callers {
			c.send(f.raw)
		}
	}
}
