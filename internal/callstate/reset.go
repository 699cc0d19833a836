package callstate

import (
	"container/list"
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// What there is to do for many sessions is done together: late is how much later
// than it should an end may be reset, and tellAfter how long a change may wait for
// being told if nobody wants each of them.
const (
	late      = 50 * time.Millisecond
	tellAfter = 20 * time.Millisecond
)

// Run resets what has been shown for long enough, and publishes what has waited
// for that, until ctx ends. It returns nil.
func (t *Tracker) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			t.mu.Lock()
			defer t.mu.Unlock()
			t.catchUp()
			return nil
		case <-timer.C:
		case <-t.wake:
		}
		if wait := t.sweep(time.Now()); wait > 0 {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
	}
}

// rest has the session wait for its reset. The caller holds mu.
func (t *Tracker) rest(s *session, now time.Time) {
	st := &s.shown.state
	st.Resets = now.Add(ShowFailure)
	if st.Status == hub.CallSuccess {
		st.Resets = now.Add(ShowSuccess)
	}
	s.rest = t.queue(st.Status).PushBack(s)
	t.lookAt(st.Resets)
}

// lookAt has Run look for what there is to do at a time, if it would not before.
// The caller holds mu.
func (t *Tracker) lookAt(at time.Time) {
	if t.due.IsZero() || at.Before(t.due) {
		t.due = at
		select {
		case t.wake <- struct{}{}:
		default: // it will look
		}
	}
}

// sweep resets and tells what is due, and returns how long there is nothing to do;
// 0 for as long as nothing happens.
func (t *Tracker) sweep(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.due = time.Time{}
	if !t.telling.After(now) {
		t.catchUp()
	}
	for _, q := range [...]*list.List{&t.good, &t.bad} {
		for e := q.Front(); e != nil; e = q.Front() {
			s := e.Value.(*session)
			if at := s.shown.state.Resets; at.After(now) {
				if t.due.IsZero() || at.Before(t.due) {
					t.due = at
				}
				break
			}
			t.reset(s)
		}
	}
	if t.due.IsZero() && len(t.untold) == 0 {
		return 0
	}
	if soonest := now.Add(late); !t.due.IsZero() && t.due.Before(soonest) {
		t.due = soonest
	}
	if len(t.untold) > 0 && (t.due.IsZero() || t.telling.Before(t.due)) {
		t.due = t.telling
	}
	return t.due.Sub(now)
}
