package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/store"
)

// replay opens the journal, and takes over what the database lacks of it: whatever
// a hub had not taken over when it was killed. It may be killed at it, too.
func (l *Log) replay(ctx context.Context, dir string) error {
	j, left, err := openJournal(dir)
	if err != nil {
		return journalError(err, dir)
	}
	if err = l.takeOver(ctx, left); err == nil {
		if err = j.reset(); err != nil {
			err = journalError(err, dir)
		}
	}
	if err != nil {
		return errors.Join(err, j.close())
	}
	l.inbox = newInbox(j)
	return nil
}

// replayed is how many records of a journal are taken over at once.
const replayed = 1000

// takeOver adds to the chain what it does not have yet.
func (l *Log) takeOver(ctx context.Context, left []*op) error {
	ended := make(map[string]bool)
	for _, o := range left {
		ended[o.call] = ended[o.call] || !o.kind.begins()
	}
	left = slices.DeleteFunc(left, func(o *op) bool { return o.kind.begins() && ended[o.call] })
	added := 0
	for some := range slices.Chunk(left, replayed) {
		there, err := l.known(ctx, some)
		if err != nil {
			return err
		}
		x := l.chain.begin()
		for _, o := range some {
			if k, is := there[o.call]; !is || k.begins() && !o.kind.begins() {
				x.op(l.node, o)
			}
		}
		if len(x.entries) == 0 {
			continue
		}
		if err := l.chain.commit(ctx, x, store.Disk, nil); err != nil {
			return fmt.Errorf("recording the calls of the journal: %w", err)
		}
		added += len(x.entries)
	}
	if added > 0 {
		l.log.InfoContext(ctx, "the record of calls has what its journal had", "entries", added)
	}
	return nil
}

// known is of which calls the database has entries: the kind of the last one.
func (l *Log) known(ctx context.Context, ops []*op) (map[string]kind, error) {
	there := make(map[string]kind)
	for some := range slices.Chunk(ops, 100) {
		args := make([]any, len(some))
		marks := make([]string, len(some))
		for i, o := range some {
			args[i], marks[i] = o.call, "$"+strconv.Itoa(i+1)
		}
		// Only what says that no call is "" may use the index of calls.
		err := eachRow(ctx, l.db, "entries", func(scan func(...any) error) error {
			var call string
			var k kind
			err := scan(&call, &k)
			there[call] = k
			return err
		}, "SELECT call, kind FROM audit_entry WHERE call <> '' AND call IN ("+strings.Join(marks, ", ")+") ORDER BY node, seq", args...)
		if err != nil {
			return nil, unreadable(l.db.Err(err))
		}
	}
	return there, nil
}
