package callstate

import (
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// States are the sessions that are not idle and that may be seen, the one that
// began a call last first; nil stands for all.
func (t *Tracker) States(seen func(*hub.CallState) bool) []hub.CallState {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []hub.CallState
	for e := t.recent.Back(); e != nil; e = e.Prev() {
		if s := e.Value.(*session); seen == nil || seen(&s.shown.state) {
			all = append(all, s.state())
		}
	}
	return all
}

// State is what the session with the name shows; false if it is idle, or there
// is none.
func (t *Tracker) State(session string) (hub.CallState, bool) {
	if t == nil {
		return hub.CallState{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[session]
	if s == nil {
		return hub.CallState{}, false
	}
	return s.state(), true
}

// Clear has a session be idle whose call has ended, or show what else it has
// under way. The error is a [*hub.Error]: state_under_way.
func (t *Tracker) Clear(session string) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[session]
	switch {
	case s == nil:
		return nil
	case !s.shown.over:
		return hub.E(message.StateUnderWay, nil)
	}
	t.reset(s)
	return nil
}

// Retry is a call that is to be made again, by hand. Whoever has got it makes
// the call, with Call as [Beginning.Again], or ends Call.
type Retry struct {
	Request
	MaxRetries int // that the hub has left
	Call       *Call
}

// Retry has a session whose call failed show that it is made again, and returns
// what it takes to do so. All retries of a call count, by the hub or by hand.
// Of two that ask at once, one gets it. The error is a [*hub.Error]:
// state_not_failed, state_retries_exhausted or state_request_not_kept.
func (t *Tracker) Retry(session string) (*Retry, error) {
	if t == nil {
		return nil, hub.E(message.StateNotFailed, nil)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[session]
	switch {
	case s == nil || s.shown.state.Status != hub.CallFailed:
		return nil, hub.E(message.StateNotFailed, nil)
	case !CanRetry(&s.shown.state):
		return nil, hub.E(message.StateExhausted, nil, "count", strconv.Itoa(s.shown.state.Retries))
	case s.again == nil:
		return nil, hub.E(message.StateNotKept, nil)
	}
	old, again := s.shown, *s.again
	c := &Call{t: t, s: s, user: old.user, texts: old.texts, lang: old.lang, request: again, state: old.state}
	c.base = old.state.Retries + 1
	st := &c.state
	st.Status, st.Retries, st.Started, st.Ended, st.Resets = hub.CallCalling, c.base, time.Now(), time.Time{}, time.Time{}
	st.Outcome, st.Code, st.Error, st.Message, st.Result = "", "", "", "", nil
	s.running = append(s.running, c)
	t.show(s, c)
	t.tell(s)
	return &Retry{Request: again, MaxRetries: st.MaxRetries - st.Retries, Call: c}, nil
}

// What a display derives from a state.

// Executing reports whether the call is under way.
func Executing(s *hub.CallState) bool {
	return s.Status == hub.CallCalling || s.Status == hub.CallRetrying
}

// Completed reports whether the call has ended, and its end is shown.
func Completed(s *hub.CallState) bool {
	return s.Status == hub.CallSuccess || s.Status == hub.CallFailed
}

// CanRetry reports whether the call may be made again by hand.
func CanRetry(s *hub.CallState) bool {
	return s.Status == hub.CallFailed && s.Retries < s.MaxRetries
}

// Duration is how long the call took, or has taken by now; 0 if there is none.
func Duration(s *hub.CallState, now time.Time) time.Duration {
	switch {
	case s.Started.IsZero():
		return 0
	case s.Ended.IsZero():
		return max(now.Sub(s.Started), 0)
	}
	return max(s.Ended.Sub(s.Started), 0)
}
