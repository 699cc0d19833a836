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
	n := 0
	for n < len(old) && old[n].until < before {
		n++
	}
	if n == 0 {
		return false, w.pruneHours(ctx, before)
	}
	upto := old[n-1].last
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

// pruneHours drops the figures of hours that have nothing left in them.
func (w *writer) pruneHours(ctx context.Context, before int64) error {
	var old int64
	at := floorHour(before)
	err := w.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM audit_hour WHERE node = $1 AND hour < $2", w.node, at).Scan(&old)
	if err != nil {
		return w.db.Err(fmt.Errorf("counting old figures: %w", err))
	}
	if old == 0 {
		return nil
	}
	return w.db.Tx(ctx, store.Process, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM audit_hour WHERE node = $1 AND hour < $2", w.node, at)
		if err != nil {
			return fmt.Errorf("dropping old figures: %w", err)
		}
		return nil
	})
}
