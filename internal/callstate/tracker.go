// Package callstate keeps what each caller's session shows of its calls: a state
// machine of idle, calling, retrying, success and failed, from which a display
// can be driven. It follows the calls and decides nothing about them.
package callstate

import (
	"container/list"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// How long an end is shown.
const (
	ShowSuccess = 3 * time.Second
	ShowFailure = 5 * time.Second
)

// What is kept at most.
const (
	MaxSessions = 10_000   // that are not idle; beyond them, the one that called longest ago is forgotten
	MaxResult   = 16 << 10 // bytes of a result
	MaxRequest  = 64 << 10 // bytes of a request that can be made again
	maxKept     = 64 << 20 // bytes of all results and requests together
)

// Options is what a [Tracker] is made of.
type Options struct {
	// Bus gets a [hub.CallStateChanged] for each change, in the order of the
	// changes; nil tells nobody. If it conflates, then of the changes of a session
	// within a moment it gets only the last one, at the end of that.
	Bus *bus.Bus
}

// Tracker keeps the states of all sessions. A nil Tracker keeps none. Safe for
// concurrent use.
//
// A session shows the call that it began last, and its end until that is reset.
// Calls begun before it are counted only; the last of them that is still under
// way is shown after the reset.
type Tracker struct {
	bus  *bus.Bus
	wake chan struct{} // there is something to reset sooner than Run knows

	mu       sync.Mutex
	sessions map[string]*session // those that are not idle
	recent   list.List           // of *session, by their last beginning
	good     list.List           // of *session that show success, by their end
	bad      list.List           // of *session that show failure, by their end
	due      time.Time           // when Run looks for what is to be reset or told; zero if it does not
	kept     int                 // bytes of results and requests
	untold   []*session          // whose last change is not published, by their first one
	telling  time.Time           // when those are told
}

// session is what is known of a session that is not idle.
type session struct {
	name    string
	shown   *Call
	running []*Call       // under way, by their beginning
	again   *Request      // of the shown call, which failed; nil if it cannot be made again
	seat    *list.Element // in recent
	rest    *list.Element // in good or bad; nil while the shown call is under way
	gone    bool          // it is forgotten, though it may have calls under way
	untold  bool          // its last change is not published
}

// New returns a tracker. Unless [Tracker.Run] runs, no end is ever reset, and
// nothing is published on a bus that conflates.
func New(opt Options) *Tracker {
	return &Tracker{bus: opt.Bus, wake: make(chan struct{}, 1), sessions: make(map[string]*session)}
}

// Session names a caller's session where its state is kept: ref, which is by
// [hub.SessionRef] or, for a caller that has none, its door and subject.
func Session(p hub.Principal, ref string) string {
	switch {
	case ref != "":
		return ref
	case p.Tenant != "":
		return string(p.Door) + "@" + p.Tenant + ":" + p.Subject
	}
	return string(p.Door) + ":" + p.Subject
}

// Named is what [hub.SessionRef] is for a conversation that a caller has given a
// name of its own, as callers without sessions may. Equal names of two subjects
// are two conversations, and so are those of equal subjects of two tenants.
func Named(p hub.Principal, name string) string {
	switch {
	case name == "":
		return ""
	case p.Tenant != "":
		return hub.SessionRef("named by a tenant\x00" + p.Tenant + "\x00" + p.Subject + "\x00" + name)
	}
	return hub.SessionRef("named\x00" + p.Subject + "\x00" + name)
}

// session returns the session with the name, as the one that began a call last.
// The caller holds mu.
func (t *Tracker) session(name string) *session {
	s := t.sessions[name]
	if s != nil {
		t.recent.MoveToBack(s.seat)
		return s
	}
	if len(t.sessions) >= MaxSessions {
		t.forget(t.recent.Front().Value.(*session))
	}
	s = &session{name: name}
	s.seat = t.recent.PushBack(s)
	t.sessions[name] = s
	return s
}

// show has the session show a call. The caller holds mu.
func (t *Tracker) show(s *session, c *Call) {
	t.drop(s)
	s.shown = c
}

// drop gives back what is kept of the shown call's end. The caller holds mu.
func (t *Tracker) drop(s *session) {
	if s.rest != nil {
		t.queue(s.shown.state.Status).Remove(s.rest)
		s.rest = nil
	}
	if s.again != nil {
		t.kept -= len(s.again.Raw)
		s.again = nil
	}
	if s.shown != nil {
		t.kept -= len(s.shown.state.Result)
		s.shown.state.Result = nil
	}
}

// queue is where sessions wait for their reset that show a status.
func (t *Tracker) queue(status hub.CallStatus) *list.List {
	if status == hub.CallSuccess {
		return &t.good
	}
	return &t.bad
}

// reset ends what the session shows: it is idle, or shows another call that is
// still under way. The caller holds mu.
func (t *Tracker) reset(s *session) {
	if n := len(s.running); n > 0 {
		t.show(s, s.running[n-1])
		t.tell(s)
		return
	}
	t.forget(s)
}

// forget has the session be idle, which is what every session is that is not
// known. The caller holds mu.
func (t *Tracker) forget(s *session) {
	t.drop(s)
	t.recent.Remove(s.seat)
	delete(t.sessions, s.name)
	s.gone = true
	if t.bus != nil {
		t.bus.Publish(hub.CallStateChanged{State: hub.CallState{
			Session: s.name, Tenant: s.shown.state.Tenant, Subject: s.shown.state.Subject, Status: hub.CallIdle,
		}})
	}
}

// tell publishes what the session shows: now or, if nobody wants each change, with
// what else there is in a moment. Most states are over by then, and those cost
// more than the calls themselves. The caller holds mu.
func (t *Tracker) tell(s *session) {
	switch {
	case t.bus == nil:
	case !t.bus.Conflates():
		t.publish(s)
	case !s.untold:
		s.untold = true
		if t.untold = append(t.untold, s); len(t.untold) == 1 {
			t.telling = time.Now().Add(tellAfter)
			t.lookAt(t.telling)
		}
	}
}

// publish publishes what the session shows. The caller holds mu.
func (t *Tracker) publish(s *session) {
	s.untold = false
	t.bus.Publish(hub.CallStateChanged{State: s.state()})
}

// catchUp publishes what was not told yet. The caller holds mu.
func (t *Tracker) catchUp() {
	for _, s := range t.untold {
		if s.untold && !s.gone { // that it is gone was told
			t.publish(s)
		}
	}
	clear(t.untold)
	t.untold = t.untold[:0]
}

// state is what the session shows.
func (s *session) state() hub.CallState {
	state := s.shown.state
	state.Message, state.Others = s.shown.message(), len(s.running)
	if !s.shown.over {
		state.Others--
	}
	return state
}

// keep reports whether n more bytes may be kept, and counts them. The caller
// holds mu.
func (t *Tracker) keep(n, most int) bool {
	if n > most || t.kept+n > maxKept {
		return false
	}
	t.kept += n
	return true
}
