package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

// resume reads where the chain of the key ends. Only it is read that the
// database keeps open: the last part, and what came after it.
func resume(ctx context.Context, db *store.DB, keys Keys) (*chain, error) {
	c := &chain{db: db, keys: keys, node: keys.Node(), open: make(map[string]int64), at: time.Now()}
	c.seq, c.hash = 0, origin(c.node)
	t, err := readTail(ctx, db, c.node)
	if err != nil {
		return nil, db.Err(err)
	}
	c.tail, c.open = t.entries, t.open
	switch n := len(t.entries); {
	case n > 0:
		c.seq, c.hash = t.entries[n-1].seq, t.entries[n-1].hash
	case t.sealed > 0:
		if c.seq, c.hash, err = c.head(ctx); err != nil {
			return nil, db.Err(err)
		}
	}
	c.signed = c.seq
	for i := range slices.Backward(c.tail) {
		if c.tail[i].kind == kindCheckpoint {
			break
		}
		c.signed = c.tail[i].seq - 1
	}
	return c, nil
}

// tail is the end of a chain.
type tail struct {
	sealed  int64            // seq of the last entry that is in a part
	entries []entry          // those after it
	open    map[string]int64 // intents without an outcome, by call, wherever they are
}

// readTail reads the end of a chain.
func readTail(ctx context.Context, q reader, node string) (*tail, error) {
	t := &tail{open: make(map[string]int64)}
	last, err := parts(ctx, q, "node = $1 ORDER BY first DESC LIMIT 1", node)
	if err != nil {
		return nil, err
	}
	if len(last) > 0 {
		t.sealed = last[0].last
		for _, seq := range splitSeqs(last[0].pending) {
			var call string
			err := q.QueryRowContext(ctx, "SELECT call FROM audit_entry WHERE node = $1 AND seq = $2", node, seq).Scan(&call)
			switch {
			case errors.Is(err, sql.ErrNoRows): // it was dropped for its age
			case err != nil:
				return nil, fmt.Errorf("reading an intent: %w", err)
			default:
				t.open[call] = seq
			}
		}
	}
	if t.entries, err = entries(ctx, q, "node = $1 AND seq > $2 ORDER BY seq", node, t.sealed); err != nil {
		return nil, err
	}
	for i := range t.entries {
		follow(t.open, &t.entries[i])
	}
	return t, nil
}

// follow keeps up which intents, and which acts, are open.
func follow(open map[string]int64, e *entry) {
	switch e.kind {
	case kindIntent, kindBegun:
		open[e.call] = e.seq
	case kindOutcome, kindAct:
		delete(open, e.call)
	}
}

// closeUnknown gives the calls and acts of an earlier life that have none an
// outcome.
func (l *Log) closeUnknown(ctx context.Context) error {
	c := l.chain
	if len(c.open) == 0 {
		return nil
	}
	x := c.begin()
	for _, seq := range slices.Sorted(maps.Values(c.open)) {
		list, err := entries(ctx, l.db, "node = $1 AND seq = $2", l.node, seq)
		if err != nil {
			return unreadable(l.db.Err(err))
		}
		for i := range list {
			var r hub.CallRecord
			decode(list[i].body, &r)
			r.ID = list[i].call
			r.Outcome, r.Code = hub.OutcomeUnknown, string(message.OutcomeUnknown)
			r.Reason = message.For(message.English, message.HubLost, nil).What // the server was not lost
			k := kindCall
			if list[i].kind.isAct() {
				k = kindAct
			}
			o := newOp(k, &r)
			if k == kindAct {
				var a Act
				a.read(list[i].body)
				o.head = a.append(o.head)
			}
			x.op(l.node, o)
		}
	}
	if err := c.commit(ctx, x, store.Process, nil); err != nil {
		return fmt.Errorf("recording the calls that were cut off: %w", err)
	}
	l.log.WarnContext(ctx, "calls were under way when the hub ended; whether they took effect is not known", "calls", len(x.entries))
	return nil
}
