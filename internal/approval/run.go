package approval

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/toolcrib/toolcrib/internal/store"
)

const (
	beat        = 5 * time.Second // between two looks at what was not heard of, and two countings of grants' uses
	slack       = time.Minute     // by which the clocks of hubs may differ
	again       = time.Second     // after which expiring is tried again that failed
	pruneEvery  = time.Hour
	pruneAtOnce = 500             // rows in one transaction
	nodeLasts   = 48 * time.Hour  // a hub that was not seen for so long is not sealed for
	lastLimit   = 5 * time.Second // for what is written at the end
	keptNodes   = 30 * 24 * time.Hour
)

// Run has requests expire, hears of what other hubs decide, and drops what is old,
// until ctx ends. It returns nil.
func (d *Desk) Run(ctx context.Context) error {
	var listener sync.WaitGroup
	if d.db.Postgres() {
		listener.Go(func() { d.listen(ctx) })
	}
	d.keep(ctx)
	listener.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLimit)
	defer cancel()
	d.countUses(last)
	return nil
}

// listen hears of what other hubs change.
func (d *Desk) listen(ctx context.Context) {
	d.db.Listen(ctx, channel, func() { d.catchUp(ctx) }, func(text string) { d.hear(ctx, text) }, func(err error) {
		d.log.WarnContext(ctx, "decisions of other hubs are heard of later", "error", err)
	})
}

// hear looks at what was changed.
func (d *Desk) hear(ctx context.Context, text string) {
	var err error
	if text == grantsWord {
		err = d.readGrants(ctx)
	} else if uuid.Validate(text) == nil {
		var r *row
		if r, err = d.find(ctx, d.db, text); err == nil {
			d.tell(r)
		}
	}
	if err != nil && ctx.Err() == nil {
		d.log.DebugContext(ctx, "what another hub has changed could not be read", "error", err)
	}
}

// keep has requests expire, and does what is to be done from time to time.
func (d *Desk) keep(ctx context.Context) {
	expiry, steady, prune := time.NewTimer(0), time.NewTicker(beat), time.NewTicker(pruneEvery)
	defer expiry.Stop()
	defer steady.Stop()
	defer prune.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-steady.C:
			d.catchUp(ctx)
			d.countUses(ctx)
			continue
		case <-prune.C:
			d.prune(ctx)
			continue
		case <-d.wake:
		case <-expiry.C:
		}
		due, err := d.expire(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			d.log.WarnContext(ctx, "requests for approval could not expire", "error", err)
		}
		if failing = err != nil; failing {
			due = time.Now().Add(again)
		}
		if due.IsZero() {
			expiry.Stop()
			continue
		}
		expiry.Reset(min(time.Until(due), slack)) // the clock may be set
	}
}

// expire ends what nobody has decided or taken in time, and returns when there is
// more to end; zero if there is nothing.
func (d *Desk) expire(ctx context.Context) (time.Time, error) {
	d.mu.Lock()
	d.due = time.Time{} // what is added from now on wakes
	d.mu.Unlock()
	for {
		ended, err := d.expireSome(ctx, now())
		if err != nil {
			return time.Time{}, err
		}
		for _, r := range ended {
			d.count(Expired)
			d.tell(r)
		}
		if len(ended) < pruneAtOnce {
			break
		}
	}
	var next sql.NullInt64
	if err := d.db.QueryRowContext(ctx, "SELECT MIN(expires) FROM approval WHERE open = 1").Scan(&next); err != nil {
		return time.Time{}, d.db.Err(fmt.Errorf("looking for what expires next: %w", err))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := moment(next.Int64); next.Valid && (d.due.IsZero() || at.Before(d.due)) {
		d.due = at
	}
	return d.due, nil
}

func (d *Desk) expireSome(ctx context.Context, at time.Time) (ended []*row, err error) {
	var found bool
	err = d.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM approval WHERE open = 1 AND expires <= $1)", micros(at)).Scan(&found)
	if err != nil || !found {
		return nil, d.db.Err(err)
	}
	err = d.db.Tx(ctx, store.Disk, func(tx *sql.Tx) error {
		whole := context.WithoutCancel(ctx)
		rows, err := tx.QueryContext(whole, `UPDATE approval SET status = 'expired', open = 0, revision = revision + 1, changed = $1
			WHERE open = 1 AND expires <= $1 AND id IN (SELECT id FROM approval WHERE open = 1 AND expires <= $1 ORDER BY id LIMIT $2)
			RETURNING `+columns, micros(at), pruneAtOnce)
		if err != nil {
			return fmt.Errorf("having requests for approval expire: %w", err)
		}
		ended = nil
		err = gather(rows, func(s scanner) error {
			r, err := scan(s)
			ended = append(ended, r)
			return err
		})
		if err != nil {
			return fmt.Errorf("having requests for approval expire: %w", err)
		}
		for _, r := range ended {
			if err := d.db.Notify(whole, tx, channel, r.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ended, nil
}

// catchUp looks at what was changed since it was looked at last, which is what was
// not heard, and at what is waited for.
func (d *Desk) catchUp(ctx context.Context) {
	at := time.Now()
	if d.db.Postgres() || d.stale.Load() {
		if d.renewGrants(ctx) != nil {
			return // there is a next time
		}
	}
	if d.db.Postgres() {
		d.mu.Lock()
		since := d.heard.Add(-slack)
		ids := make([]string, 0, len(d.waits))
		for id := range d.waits {
			ids = append(ids, id)
		}
		d.mu.Unlock()
		var changed []*row
		err := d.each(ctx, "SELECT "+columns+" FROM approval WHERE changed > $1 OR id = ANY($2) AND status <> 'pending' ORDER BY changed",
			[]any{micros(since), ids}, func(s scanner) error {
				r, err := scan(s)
				changed = append(changed, r)
				return err
			})
		if err != nil {
			return // there is a next time
		}
		for _, r := range changed {
			d.tell(r)
		}
		d.mu.Lock()
		d.heard = at
		d.mu.Unlock()
	}
	d.turn(at)
}

// prune drops what is over since long ago, and says that this hub is there.
func (d *Desk) prune(ctx context.Context) {
	err := d.register(ctx)
	for _, statement := range [...]string{
		"DELETE FROM approval WHERE id IN (SELECT id FROM approval WHERE open = 0 AND changed < $1 ORDER BY changed LIMIT $2)",
		"DELETE FROM approval_grant WHERE id IN (SELECT id FROM approval_grant WHERE expires < $1 ORDER BY expires LIMIT $2)",
	} {
		for n := int64(pruneAtOnce); err == nil && n == pruneAtOnce; {
			err = d.db.Tx(ctx, store.Process, func(tx *sql.Tx) error {
				done, err := tx.ExecContext(context.WithoutCancel(ctx), statement, micros(now().Add(-Retention)), pruneAtOnce)
				if err == nil {
					n, err = done.RowsAffected()
				}
				return err
			})
		}
	}
	if err != nil && ctx.Err() == nil {
		d.log.WarnContext(ctx, "old requests for approval could not be dropped", "error", err)
	}
}
