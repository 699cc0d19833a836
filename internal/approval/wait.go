package approval

import (
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// wait is for those who wait for one request.
type wait struct {
	news chan struct{} // closed when there is something to read
	n    int           // of those who wait
}

// Await returns a request when it is no longer pending, or when ctx ends, as it
// was last seen with the cause of that. It has no goroutine of its own, and waits
// on while the database is away.
func (d *Desk) Await(ctx context.Context, id string) (Request, error) {
	var last Request
	for {
		w := d.join(id)
		r, err := d.find(ctx, d.db, id)
		away := hub.IsCode(err, message.StoreUnavailable) || hub.IsCode(err, message.StoreBusy)
		if err != nil && !away && ctx.Err() == nil || err == nil && r.Status != Pending {
			d.leave(id, w)
			return d.openedOr(r, err)
		}
		var retry <-chan time.Time
		if away {
			retry = time.After(again)
		} else if err == nil {
			last = r.Request
		}
		select {
		case <-w.news:
			continue
		case <-retry:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		d.leave(id, w)
		if ctx.Err() != nil {
			return last, err
		}
	}
}

func (d *Desk) join(id string) *wait {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.waits[id]
	if w == nil {
		w = &wait{news: make(chan struct{})}
		d.waits[id] = w
	}
	w.n++
	return w
}

func (d *Desk) leave(id string, w *wait) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.n--; w.n == 0 && d.waits[id] == w {
		delete(d.waits, id)
	}
}

// tell publishes how a request stands, unless that was done, and has those who wait
// for it look.
func (d *Desk) tell(r *row) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.open {
		d.lookAt(r.Expires)
	}
	if r.revision <= max(d.told[r.ID], d.before[r.ID]) {
		return
	}
	d.told[r.ID] = r.revision
	if d.opt.Bus != nil {
		d.opt.Bus.Publish(r.event())
	}
	if w := d.waits[r.ID]; w != nil {
		close(w.news)
		delete(d.waits, r.ID)
	}
}

// turn forgets what was published long ago: no hub tells of it any more.
func (d *Desk) turn(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.Sub(d.turned) > 10*slack {
		d.before, d.told, d.turned = d.told, make(map[string]int64), at
	}
}

// lookAt has Run look for what expires at a time, if it would not before. The caller
// holds mu.
func (d *Desk) lookAt(at time.Time) {
	if d.due.IsZero() || at.Before(d.due) {
		d.due = at
		select {
		case d.wake <- struct{}{}:
		default: // it will look
		}
	}
}
