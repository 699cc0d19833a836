package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/toolcrib/toolcrib/internal/store"
)

// reserveFor is how far ahead of the time ids are reserved: as far those of a
// hub that was killed are passed over.
const reserveFor = time.Minute

// resume finds where the log before this one has ended, and reports whether it
// was killed.
func (l *Log) resume(ctx context.Context) (killed bool, err error) {
	db, node := l.opt.DB, l.opt.Node
	ended := true
	err = db.Tx(ctx, store.Process, func(tx *sql.Tx) error {
		var reserved int64
		err := tx.QueryRowContext(ctx, "SELECT reserved, pruned, pruned_count, ended FROM event_mark WHERE node = $1", node).
			Scan(&reserved, &l.pruned, &l.prunedSeq, &ended)
		if errors.Is(err, sql.ErrNoRows) {
			// Nothing of what a database had that is not there any more is here.
			reserved = time.Now().UnixMicro()
			l.pruned = reserved
		} else if err != nil {
			return fmt.Errorf("reading where the events have ended: %w", err)
		}
		l.seq = l.prunedSeq
		var last int64
		err = tx.QueryRowContext(ctx, "SELECT last, count FROM event_batch WHERE node = $1 ORDER BY first DESC LIMIT 1", node).Scan(&last, &l.seq)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("reading the last events: %w", err)
		}
		l.last = max(reserved, last)
		l.written, l.ring.floor = l.last, l.last
		l.reserved = max(time.Now().UnixMicro(), l.last) + reserveFor.Microseconds()
		_, err = tx.ExecContext(ctx, `INSERT INTO event_mark (node, reserved, pruned, pruned_count, ended) VALUES ($1, $2, $3, $4, 0)
			ON CONFLICT (node) DO UPDATE SET reserved = excluded.reserved, ended = 0`, node, l.reserved, l.pruned, l.prunedSeq)
		if err != nil {
			return fmt.Errorf("reserving the first ids of events: %w", err)
		}
		return nil
	})
	return !ended, err
}

// mark writes down up to where ids may be used.
func (l *Log) mark(ctx context.Context, tx *sql.Tx, reserved int64) error {
	_, err := tx.ExecContext(ctx, "UPDATE event_mark SET reserved = CASE WHEN reserved > $2 THEN reserved ELSE $2 END WHERE node = $1",
		l.opt.Node, reserved)
	if err != nil {
		return fmt.Errorf("reserving ids of events: %w", err)
	}
	return nil
}

// reserve sees to it that the next n ids are reserved. As long as events come they
// are, by what is written with them. If it cannot be done the events go on, and
// their ids could be used again only if the clock also goes back.
func (l *Log) reserve(n int) {
	now := time.Now().UnixMicro()
	l.mu.Lock()
	next := max(now, l.last+1) + int64(n)
	enough := next <= l.reserved || l.opt.DB == nil
	if !enough {
		l.reserved = next + reserveFor.Microseconds()
	}
	reserved := l.reserved
	l.mu.Unlock()
	if enough {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := l.opt.DB.Tx(ctx, store.Process, func(tx *sql.Tx) error { return l.mark(ctx, tx, reserved) })
	if err != nil {
		l.log.Warn("ids of events could not be reserved", "error", err)
	}
}

// write writes what is pending, a while after it came, until done is closed, and
// then the rest, unless ctx ends; and removes what is kept no longer.
func (l *Log) write(ctx context.Context, done <-chan struct{}) {
	prune := time.NewTicker(pruneEvery)
	defer prune.Stop()
	var due <-chan time.Time
	for {
		select {
		case <-l.wrote:
			if due == nil {
				due = time.After(writeEvery)
			}
		case <-due:
			due = nil
			if !l.flush(ctx) {
				due = time.After(4 * writeEvery)
			}
		case <-prune.C:
			l.prune(ctx)
		case <-done:
			l.end(ctx)
			return
		}
	}
}

// end writes what is left, and that this is all.
func (l *Log) end(ctx context.Context) {
	if !l.flush(ctx) {
		return
	}
	err := l.opt.DB.Tx(ctx, store.Process, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE event_mark SET reserved = $2, ended = 1 WHERE node = $1", l.opt.Node, l.last)
		return err
	})
	if err != nil {
		l.log.Warn("the end of the events could not be written", "error", err)
	}
}

// flush writes what is pending, and reports whether it could.
func (l *Log) flush(ctx context.Context) bool {
	for {
		l.mu.Lock()
		pending := l.pending
		l.mu.Unlock()
		if len(pending) == 0 {
			return true
		}
		for latest := latest(pending); len(pending) > 0; {
			b, n := l.maker.batch(pending, latest)
			err := l.insert(ctx, b)
			l.say(err)
			if err != nil {
				return false
			}
			l.done(b, n)
			pending = pending[n:]
		}
	}
}

// say logs that writing has begun to fail, or to succeed.
func (l *Log) say(err error) {
	switch {
	case err != nil && !l.failed:
		l.log.Warn("events could not be written; they are kept in memory only", "error", err)
	case err == nil && l.failed:
		l.log.Info("events can be written again")
	}
	l.failed = err != nil
}

// insert writes a batch, and reserves further ids if there are few left. After an
// error it may have been written all the same: the next try, which has no less
// after the same beginning, then takes its place.
func (l *Log) insert(ctx context.Context, b batch) error {
	l.mu.Lock()
	reserved, reserve := l.reserved, false
	if reserve = b.last+reserveFor.Microseconds()/2 > reserved; reserve {
		reserved = b.last + reserveFor.Microseconds()
	}
	l.mu.Unlock()
	err := l.opt.DB.Tx(ctx, store.Process, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO event_batch (node, first, last, count, size, body) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (node, first) DO UPDATE SET last = excluded.last, count = excluded.count, size = excluded.size, body = excluded.body`,
			l.opt.Node, b.first, b.last, b.seq, len(b.body), b.body)
		if err != nil {
			return fmt.Errorf("writing events: %w", err)
		}
		if reserve {
			return l.mark(ctx, tx, reserved)
		}
		return nil
	})
	if err == nil && reserve {
		l.mu.Lock()
		l.reserved = max(l.reserved, reserved)
		l.mu.Unlock()
	}
	return err
}

// done takes out of what is pending the n events of a batch that was written.
// What was lost meanwhile is told by a gap as soon as there is room again.
func (l *Log) done(b batch, n int) {
	if l.size >= 0 {
		l.size += int64(len(b.body))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.pending[:n] {
		l.bytes -= e.size
	}
	l.written = b.last
	if l.pending = l.pending[n:]; len(l.pending) > 0 {
		return
	}
	l.pending = nil
	if l.lost > 0 {
		e := missing(gapStore, l.lost)
		e.id, e.seq, e.at = l.lostTo, l.seq, time.Now()
		l.pending, l.bytes, l.lost = []*event{e}, e.size, 0
	}
}

// atOnce is how many look into the database at a time, however many have fallen
// behind: its connections are not theirs alone.
const atOnce = 2

// load reads the first batch in the database that has events after the one with
// the id. It returns these, and the id and the number of the last one: alone if
// the batch cannot be understood, and zero if there is none.
func (l *Log) load(ctx context.Context, after int64) (events []*event, last, seq int64, err error) {
	select {
	case l.looks <- struct{}{}:
		defer func() { <-l.looks }()
	case <-ctx.Done():
		return nil, 0, 0, context.Cause(ctx)
	}
	var body string
	err = l.opt.DB.QueryRowContext(ctx, `SELECT last, count, body FROM event_batch WHERE node = $1 AND last > $2
		AND first >= COALESCE((SELECT MAX(first) FROM event_batch WHERE node = $1 AND first <= $2), 0)
		ORDER BY first LIMIT 1`, l.opt.Node, after).Scan(&last, &seq, &body)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, 0, 0, nil
	case err != nil:
		return nil, 0, 0, l.opt.DB.Err(fmt.Errorf("reading events: %w", err))
	}
	if events, err = decode([]byte(body), after, last); err != nil {
		l.log.WarnContext(ctx, "events in the database cannot be understood", "to", last, "error", err)
	}
	return events, last, seq, nil
}
