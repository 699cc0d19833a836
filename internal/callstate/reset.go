package callstate

import (
	"container/list"
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// late is how much later than it should an end may be reset, so that the resets
// of many sessions are done together.
const late = 50 * time.Millisecond

// Run resets what has been shown for long enough, until ctx ends. It returns nil.
func (t *Tracker) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
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
	if t.due.IsZero() || st.Resets.Before(t.due) {
		t.due = st.Resets
		select {
		case t.wake <- struct{}{}:
		default: // it will look
		}
	}
}

// sweep resets what is due, and returns how long there is nothing to do; 0 for
// as long as no end comes.
func (t *Tracker) sweep(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.due = time.Time{}
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
	if t.due.IsZero() {
		return 0
	}
	wait := max(t.due.Sub(now), late)
	t.due = now.Add(wait)
	return wait
}
