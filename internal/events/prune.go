package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/toolcrib/toolcrib/internal/store"
)

// pruneAtOnce is how many batches are removed in one transaction.
const pruneAtOnce = 100

// prune removes the oldest batches, as many as are too old or too much.
func (l *Log) prune(ctx context.Context) {
	if err := l.measure(ctx); err != nil {
		l.log.Warn("the events in the database could not be measured", "error", err)
		return
	}
	for {
		n, err := l.pruneSome(ctx, time.Now().Add(-time.Duration(l.retention.Load())).UnixMicro())
		if err != nil {
			l.log.Warn("old events could not be removed", "error", err)
		}
		if err != nil || n < pruneAtOnce {
			return
		}
	}
}

// measure finds how much there is in the database, unless that is known.
func (l *Log) measure(ctx context.Context) error {
	if l.size >= 0 {
		return nil
	}
	var size int64
	err := l.opt.DB.QueryRowContext(ctx, "SELECT COALESCE(SUM(size), 0) FROM event_batch WHERE node = $1", l.opt.Node).Scan(&size)
	if err != nil {
		return l.opt.DB.Err(fmt.Errorf("measuring events: %w", err))
	}
	l.size = size
	return nil
}

// pruneSome removes some batches, and returns how many.
func (l *Log) pruneSome(ctx context.Context, oldest int64) (n int, err error) {
	size, first, pruned, seq := l.size, int64(-1), int64(0), int64(0)
	err = l.opt.DB.Tx(ctx, store.Process, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT first, last, count, size FROM event_batch WHERE node = $1 ORDER BY first LIMIT $2",
			l.opt.Node, pruneAtOnce)
		if err != nil {
			return fmt.Errorf("looking for old events: %w", err)
		}
		for rows.Next() {
			var at, last, count, weight int64
			if err := rows.Scan(&at, &last, &count, &weight); err != nil {
				return errors.Join(fmt.Errorf("reading old events: %w", err), rows.Close())
			}
			if last >= oldest && size <= l.opt.MaxBytes {
				break
			}
			first, pruned, seq = at, last, count
			size -= weight
			n++
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || n == 0 {
			return err
		}
		if _, err = tx.ExecContext(ctx, "DELETE FROM event_batch WHERE node = $1 AND first <= $2", l.opt.Node, first); err != nil {
			return fmt.Errorf("removing old events: %w", err)
		}
		_, err = tx.ExecContext(ctx, "UPDATE event_mark SET pruned = $2, pruned_count = $3 WHERE node = $1", l.opt.Node, pruned, seq)
		if err != nil {
			return fmt.Errorf("writing what was removed: %w", err)
		}
		// Whoever finds that they are gone is to find out why.
		l.forget(pruned, seq)
		return nil
	})
	if err != nil {
		return 0, err
	}
	l.size = size
	return n, nil
}

// forget notes that nothing is kept up to the event with the id, the seq-th.
func (l *Log) forget(id, seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pruned, l.prunedSeq = id, seq
}
