package audit

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/toolcrib/toolcrib/internal/store"
)

const (
	// pruneParts is how many parts go at once: other records wait meanwhile.
	pruneParts = 8
	// pruneRounds is how often that is done in a row.
	pruneRounds = 50
)

// prune drops what is older than it is to be kept: whole parts, from the
// beginning of the chain. The entry that says so, signed, takes the place of
// what it replaces as that from which the chain is proved.
func (w *writer) prune(ctx context.Context, now time.Time) error {
	keep := w.settings.Load().Retention
	if keep <= 0 {
		return nil
	}
	before := now.Add(-keep).UnixMicro()
	for range pruneRounds {
		more, err := w.pruneSome(ctx, before, now)
		if err != nil || !more {
			return err
		}
		// Who waits for the record comes in between, and so does what is much.
		select {
		case asked := <-w.asked:
			w.waiting = append(w.waiting, asked)
			w.write(ctx)
		default:
			if w.inbox.len() >= batchSize {
				w.write(ctx)
			}
		}
	}
	return nil
}

func (w *writer) pruneSome(ctx context.Context, before int64, now time.Time) (more bool, err error) {
	c := w.chain
	done, err := c.settle(ctx)
	if err != nil {
		return false, err
	}
	if done != nil {
		w.drop(done.ops)
	}
	old, err := parts(ctx, c.db, "node = $1 ORDER BY first LIMIT $2", c.node, pruneParts)
	if err != nil {
		return false, c.db.Err(err)
	}
	n, until := 0, -farEnd
	for n < len(old) && old[n].until < before {
		until = max(until, old[n].until)
		n++
	}
	if n == 0 {
		return false, w.pruneHours(ctx, before)
	}
	// The figures of an hour stay until all of it is too old. They can be told to
	// be of what was dropped as long as no part is the first that ends before them,
	// so what a clock wrote that was set back goes at once with what is before it.
	var upto int64
	err = c.db.QueryRowContext(ctx, `SELECT COALESCE((SELECT MIN(first) - 1 FROM audit_part WHERE node = $1 AND first > $2 AND until >= $3),
		(SELECT MAX(last) FROM audit_part WHERE node = $1))`, c.node, old[n-1].first, until).Scan(&upto)
	if err != nil {
		return false, c.db.Err(fmt.Errorf("reading how far the parts go that are too old: %w", err))
	}
	var hash string
	if err := c.db.QueryRowContext(ctx, "SELECT hash FROM audit_entry WHERE node = $1 AND seq = $2", c.node, upto).Scan(&hash); err != nil {
		return false, c.db.Err(fmt.Errorf("reading the last entry that goes: %w", err))
	}
	body, err := statement(c.keys, claim{what: "pruned", node: c.node, seq: upto, hash: hash, at: now.UnixMicro()})
	if err != nil {
		return false, err
	}
	x := c.begin()
	x.add(c.node, now.UnixMicro(), kindPruned, "", body)
	err = c.commit(ctx, x, store.Process, func(tx *sql.Tx) error {
		for _, statement := range []string{
			"DELETE FROM audit_entry WHERE node = $1 AND seq <= $2",
			"DELETE FROM audit_part WHERE node = $1 AND first <= $2",
		} {
			if _, err := tx.ExecContext(ctx, statement, c.node, upto); err != nil {
				return fmt.Errorf("dropping old entries: %w", err)
			}
		}
		return nil
	})
	return err == nil, err
}

// hoursWithout are the hours before one of a chain that no part has a time around.
const hoursWithout = ` FROM audit_hour WHERE node = $1 AND hour < $2 AND NOT EXISTS
	(SELECT 1 FROM audit_part p WHERE p.node = audit_hour.node AND p.until >= audit_hour.hour AND p.since < audit_hour.hour + $3)`

// pruneHours drops the figures of hours that have nothing left in them. Those of
// entries that are kept are kept, too: parts go only from the beginning of the
// chain, and one whose clock was ahead keeps for long what comes after it.
func (w *writer) pruneHours(ctx context.Context, before int64) error {
	var old int64
	at := floorHour(before)
	err := w.db.QueryRowContext(ctx, "SELECT COUNT(*)"+hoursWithout, w.node, at, hour).Scan(&old)
	if err != nil {
		return w.db.Err(fmt.Errorf("counting old figures: %w", err))
	}
	if old == 0 {
		return nil
	}
	return w.db.Tx(ctx, store.Process, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE"+hoursWithout, w.node, at, hour)
		if err != nil {
			return fmt.Errorf("dropping old figures: %w", err)
		}
		return nil
	})
}
