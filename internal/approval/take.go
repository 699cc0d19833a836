package approval

import (
	"context"
	"database/sql"
	"time"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

// Take claims an agreement for a call, once over all hubs; again for the same call
// it says the same. Codes: approval_unknown, approval_taken, approval_expired,
// approval_undecided, approval_decided (it was rejected, or ended otherwise).
func (d *Desk) Take(ctx context.Context, id, call string) (Request, error) {
	if call == "" {
		return Request{}, invalid(message.Say("it does not say whose call it is, or with which arguments"))
	}
	at := now()
	r, err := d.change(ctx, `UPDATE approval SET taken = $2, taker = $3, open = 0, changed = $4
		WHERE id = $1 AND status IN ('approved', 'edited') AND taken = '' AND expires > $4`, clean(id), clean(call), d.opt.Node, micros(at))
	if err != nil {
		return Request{}, err
	}
	if r == nil {
		if r, err = d.find(ctx, d.db, id); err != nil {
			return Request{}, err
		}
		if r.Taken != call {
			return Request{}, r.over(at)
		}
	}
	return d.opened(r), nil
}

// Return gives a claim back by which nothing was sent: until the agreement expires
// another call may take it. Code: approval_taken, if it is another call's.
func (d *Desk) Return(ctx context.Context, id, call string) error {
	at := now()
	r, err := d.change(ctx, "UPDATE approval SET taken = '', taker = '', open = 1, changed = $3 WHERE id = $1 AND taken = $2 AND $2 <> ''",
		clean(id), clean(call), micros(at))
	if err != nil {
		return err
	}
	if r != nil {
		d.tell(r)
		return nil
	}
	if r, err = d.find(ctx, d.db, id); err != nil || r.Taken == "" {
		return err
	}
	return r.over(at)
}

// Recover gives claims of this hub back, of the last day, whose calls were never
// sent: it is for the start, before the first call. sent reports whether the intent
// of a call is on record.
func (d *Desk) Recover(ctx context.Context, sent func(ctx context.Context, call string) (bool, error)) error {
	claims := make(map[string]string)
	err := d.each(ctx, "SELECT id, taken FROM approval WHERE changed > $1 AND taker = $2 AND taken <> ''",
		[]any{micros(now().Add(-24 * time.Hour)), d.opt.Node}, func(s scanner) error {
			var id, call string
			err := s.Scan(&id, &call)
			claims[id] = call
			return err
		})
	if err != nil {
		return err
	}
	for id, call := range claims {
		was, err := sent(ctx, call)
		if err == nil && !was {
			err = d.Return(ctx, id, call)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Withdraw says that a call no longer wants what it has asked for. The request ends
// with the last call that asked by it: equal calls have one in common, and one that
// was answered with a ticket may come back. Of a call that is not among those that
// ask nothing is withdrawn. Codes as [Desk.Cancel].
func (d *Desk) Withdraw(ctx context.Context, id, call, why string) error {
	at := now()
	var ended *row
	err := d.db.Tx(ctx, store.Disk, func(tx *sql.Tx) error {
		whole := context.WithoutCancel(ctx)
		ended = nil
		if err := d.inOrder(whole, tx); err != nil {
			return err
		}
		r, err := d.find(whole, tx, id)
		if err != nil {
			return err
		}
		switch {
		case !r.open || !at.Before(r.Expires):
			return r.over(at)
		case !r.withdraw(call):
			return nil
		case len(r.Askers) > 0:
			return r.writeBody(whole, tx)
		}
		if ended, err = d.changeIn(whole, tx, ending, r.ID, string(Cancelled), noted(why), micros(at)); err == nil && ended == nil {
			err = r.over(at)
		}
		return err
	})
	if ended != nil && err == nil {
		d.count(Cancelled)
		d.tell(ended)
	}
	return err
}

// Cancel ends a request that nobody wants any more. Codes: approval_unknown,
// approval_decided, approval_taken, approval_expired.
func (d *Desk) Cancel(ctx context.Context, id, why string) (Request, error) {
	return d.finish(ctx, id, Cancelled, why)
}

// Supersede ends a request whose call would be another one by now: the tool, the
// rules or who may see it have changed. Codes as [Desk.Cancel].
func (d *Desk) Supersede(ctx context.Context, id, why string) (Request, error) {
	return d.finish(ctx, id, Superseded, why)
}

// ending ends a request that is not over.
const ending = `UPDATE approval SET status = $2, note = $3, open = 0, revision = revision + 1, changed = $4
	WHERE id = $1 AND open = 1 AND expires > $4`

// noted is why a request ends, as it is written.
func noted(why string) string {
	why = clean(why)
	return why[:min(len(why), MaxNote)]
}

func (d *Desk) finish(ctx context.Context, id string, as Status, why string) (Request, error) {
	at := now()
	r, err := d.change(ctx, ending, clean(id), string(as), noted(why), micros(at))
	if err != nil {
		return Request{}, err
	}
	if r == nil {
		if r, err = d.find(ctx, d.db, id); err != nil {
			return Request{}, err
		}
		return Request{}, r.over(at)
	}
	d.count(as)
	d.tell(r)
	return d.opened(r), nil
}
