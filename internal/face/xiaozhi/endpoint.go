package xiaozhi

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// healthy is how long a connection has to last for the next pauses to be short
// again.
const healthy = time.Minute

// endpoint is one endpoint: it is dialled, conversed with, and dialled again, for as
// long as it is in the configuration.
type endpoint struct {
	set     *Endpoints
	name    string
	address string // as it is configured
	twin    string // the endpoint with the same address that is dialled in its place; "" for none
	def     atomic.Pointer[definition]
	offers  atomic.Pointer[offer]
	journal *journal
	tally   *tally
	kick    chan struct{} // holds one while it is to be dialled at once
	need    need

	mu        sync.Mutex
	now       hub.EndpointStatus // what changes with the state
	talk      *conversation      // nil while it is not connected
	peer      string             // what the last one called itself
	refreshed time.Time          // when it was last dialled anew because of the tools
	warned    warned
	quit      context.CancelFunc // nil if it was not started
	gone      bool               // it was stopped, and is not started any more
	done      chan struct{}
}

// tally counts what happened at an endpoint since the hub's start, and has when the
// peer was heard last, and its last ping.
type tally struct {
	connects, calls, truncated, late, junk atomic.Int64
	ignored                                atomic.Int64 // frames that are for a device, and none of them junk
	heard, pinged                          atomic.Int64 // in nanoseconds since 1970
}

func newEndpoint(set *Endpoints, def definition, twin string) *endpoint {
	e := &endpoint{
		set: set, name: def.Name, address: def.URL, twin: twin, journal: &journal{}, tally: &tally{},
		kick: make(chan struct{}, 1), done: make(chan struct{}),
	}
	e.def.Store(&def)
	e.now = hub.EndpointStatus{State: hub.EndpointDisabled, Since: time.Now()}
	switch {
	case twin != "":
		e.now.Reason = hub.E(message.EndpointDuplicate, nil, "endpoint", def.Name, "other", twin)
		e.set.opt.Log.Warn("an endpoint has the same address as another, and is not connected", "endpoint", def.Name, "other", twin)
		e.journal.add(hub.LevelWarning, e.now.Reason.In(message.English))
	case def.Enabled:
		e.now.State = hub.EndpointStopped // until it is started
	}
	return e
}

// follows takes another definition of the endpoint that is reached in the same way;
// else it reports false, and nothing changes.
func (e *endpoint) follows(def definition, twin string) bool {
	if !def.reachedAs(e.def.Load()) || e.twin != twin {
		return false
	}
	e.def.Store(&def)
	e.mu.Lock()
	talk := e.talk
	e.mu.Unlock()
	if talk != nil {
		talk.follow()
		talk.toolsChanged()
	}
	e.hold()
	return true
}

// inherit takes over what is told of the endpoint before it had another address.
func (e *endpoint) inherit(old *endpoint) {
	e.journal, e.tally = old.journal, old.tally
	old.mu.Lock()
	e.warned = old.warned
	old.mu.Unlock()
	if e.now.Reason != nil {
		e.journal.add(hub.LevelWarning, e.now.Reason.In(message.English))
	}
}

// start has the endpoint dialled, if it is to be: not one that was stopped, as may
// have been done meanwhile.
func (e *endpoint) start(life context.Context) {
	if e.twin != "" || !e.def.Load().Enabled {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return
	}
	ctx, quit := context.WithCancel(life)
	e.quit = quit
	e.now.State = hub.EndpointConnecting
	go e.run(ctx)
}

// stop closes the endpoint for good, and returns when that is done.
func (e *endpoint) stop(as hub.EndpointState) {
	e.mu.Lock()
	e.gone = true
	quit := e.quit
	e.mu.Unlock()
	e.become(hub.EndpointStatus{State: as})
	if quit == nil {
		return
	}
	quit()
	<-e.done
	e.mu.Lock()
	other := e.now.State != as // which it came to before it knew
	e.mu.Unlock()
	if other {
		e.become(hub.EndpointStatus{State: as})
	}
}

// reconnect has the endpoint dialled at once.
func (e *endpoint) reconnect() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.quit == nil {
		return false
	}
	if e.talk != nil {
		e.talk.end(errAsked)
		return true
	}
	select {
	case e.kick <- struct{}{}:
	default:
	}
	return true
}

// toolsChanged says that what the endpoint is offered may be another list than
// before.
func (e *endpoint) toolsChanged() {
	e.mu.Lock()
	talk := e.talk
	e.mu.Unlock()
	if talk != nil {
		talk.toolsChanged()
	}
	e.hold()
}

// ending is how a connection has ended, or was not made.
type ending struct {
	kind   words.Ending
	reason *hub.Error
	code   int // of the close; 0 for none
	said   string
	again  bool          // it was ended here, to be dialled anew at once
	lasted time.Duration // for which the connection could be used
}

// run keeps the endpoint connected until ctx ends.
func (e *endpoint) run(ctx context.Context) {
	defer close(e.done)
	var pause words.Backoff
	var wait time.Duration
	for e.rest(ctx, wait) {
		def := e.def.Load()
		pause.Delay, pause.Max, pause.Even = def.Delay, def.MaxDelay, def.device != nil
		e.become(hub.EndpointStatus{State: hub.EndpointConnecting})
		end := e.once(ctx, def)
		if ctx.Err() != nil {
			return
		}
		if end.lasted >= healthy {
			pause.Reset()
		}
		if wait = 0; end.again {
			continue
		}
		wait = pause.Next(end.kind, rand.Float64()) //nolint:gosec // chance, and no secret
		e.lost(&end, wait)
	}
}

// rest waits until the endpoint is to be dialled; false if that is never.
func (e *endpoint) rest(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.kick:
	case <-ctx.Done():
		return false
	}
	return true
}

// once dials the endpoint, and converses with it until that ends.
func (e *endpoint) once(ctx context.Context, def *definition) ending {
	conn, secrets, end := e.dial(ctx, def)
	if conn == nil {
		return end
	}
	e.tally.connects.Add(1)
	talk := newConversation(e, conn, def, secrets)
	e.mu.Lock()
	e.talk = talk
	select { // who asked for this connection has it
	case <-e.kick:
	default:
	}
	e.mu.Unlock()
	if talk.device == nil { // a backend has to greet first
		talk.connected()
	}
	return talk.run(ctx, func(end *ending) {
		e.mu.Lock()
		e.talk = nil
		e.mu.Unlock()
		e.letGo()
		if ctx.Err() != nil {
			return // whoever stops it says what it is then
		}
		e.become(hub.EndpointStatus{State: stateAfter(end), Reason: end.reason, CloseCode: end.code, CloseReason: end.said})
	})
}

// connected notes that the endpoint can be used by a conversation, unless that is over
// by now.
func (e *endpoint) connected(talk *conversation) {
	e.mu.Lock()
	if e.talk != talk || e.gone {
		e.mu.Unlock()
		return
	}
	e.put(hub.EndpointStatus{State: hub.EndpointConnected})
	e.mu.Unlock()
	e.tell()
	e.journal.add(hub.LevelInfo, "connected")
	e.hold()
	e.set.opt.Log.Info("an endpoint is connected", "endpoint", e.name)
}

// stateAfter is the state in which an endpoint is after an ending.
func stateAfter(end *ending) hub.EndpointState {
	switch {
	case end.again:
		return hub.EndpointConnecting
	case end.kind == words.EndingAuth:
		return hub.EndpointAuthFailed
	case end.kind == words.EndingReplaced:
		return hub.EndpointReplaced
	}
	return hub.EndpointWaiting
}

// lost tells that the endpoint is dialled anew after a while.
func (e *endpoint) lost(end *ending, wait time.Duration) {
	e.become(hub.EndpointStatus{
		State: stateAfter(end), Reason: end.reason, Retry: time.Now().Add(wait), CloseCode: end.code, CloseReason: end.said,
	})
	text := ""
	if end.reason != nil {
		text = end.reason.Text(message.English).What
	}
	e.journal.add(end.severity(), text+" Next try in "+wait.Round(100*time.Millisecond).String()+".")
	e.set.opt.Log.Info("an endpoint is not connected", "endpoint", e.name, "code", end.code, "reason", text, "retry", wait.Round(time.Millisecond))
}

// become says how the endpoint stands from now on: its state and what goes with it.
// How it was closed last stays known.
func (e *endpoint) become(next hub.EndpointStatus) {
	e.mu.Lock()
	e.put(next)
	e.mu.Unlock()
	e.tell()
}

// put is become without telling of it. The caller holds mu.
func (e *endpoint) put(next hub.EndpointStatus) {
	if next.CloseCode == 0 {
		next.CloseCode, next.CloseReason = e.now.CloseCode, e.now.CloseReason
	}
	if next.Since = time.Now(); next.State == e.now.State {
		next.Since = e.now.Since
	}
	e.now = next
}

// tell publishes how the endpoint stands.
func (e *endpoint) tell() {
	if e.set.opt.Bus != nil {
		e.set.opt.Bus.Publish(hub.EndpointChanged{Status: e.status(), Device: e.set.identities != nil})
	}
}

// status is how the endpoint stands.
func (e *endpoint) status() hub.EndpointStatus {
	e.mu.Lock()
	s, talk := e.now, e.talk
	s.Peer = e.peer
	e.mu.Unlock()
	def := e.def.Load()
	s.Name = e.name
	if def.device == nil {
		s.Profile = def.Profile
	}
	s.URL, s.TokenExpires = e.set.shown(def)
	count := func(n *atomic.Int64) int { return int(n.Load()) }
	s.LastHeard, s.LastPing = moment(&e.tally.heard), moment(&e.tally.pinged)
	s.Connects, s.Calls, s.Truncated, s.TimedOut, s.Junk = count(&e.tally.connects), count(&e.tally.calls), count(&e.tally.truncated), count(&e.tally.late), count(&e.tally.junk)
	if talk != nil {
		s.Callers, s.Running = count(&talk.callers), talk.running()
	}
	if o, err := e.offer(); err != nil {
		s.Warnings = append(s.Warnings, hub.AsError(err))
	} else {
		s.Tools, s.ListSize = len(o.tools), o.size
		s.Warnings = append(s.Warnings, o.warnings...)
	}
	if names := e.unmet(); len(names) > 0 {
		s.Warnings = append(s.Warnings, e.lacks(names))
	}
	if w := e.ends(s.TokenExpires); w != nil {
		s.Warnings = append(s.Warnings, w)
	}
	return s
}

// moment is a time that is kept as nanoseconds since 1970; zero for 0.
func moment(at *atomic.Int64) time.Time {
	if n := at.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// principal is who calls by the endpoint.
func (e *endpoint) principal() hub.Principal {
	return hub.Principal{Subject: "xiaozhi:" + e.name, Door: hub.DoorXiaoZhi, Role: hub.RoleCaller}
}

// viewer is through which view the endpoint looks.
func (e *endpoint) viewer() hub.Viewer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return hub.Viewer{Group: e.def.Load().Group, Client: e.peer}
}

// language is that in which the endpoint is told things.
func (e *endpoint) language() message.Lang {
	if lang := e.def.Load().Language; lang != "" {
		return lang
	}
	return e.set.opt.Language()
}

func number(n int) string { return strconv.Itoa(n) }
