package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

// replay opens the journal, and takes over what the database lacks of it: whatever
// a hub had not taken over when it was killed. It may be killed at it, too.
func (l *Log) replay(ctx context.Context, dir string) error {
	j, left, err := openJournal(dir)
	if err != nil {
		return hub.E(message.AuditUnreadable, hub.E(message.StoreUnavailable, err, "store", dir))
	}
	if err = l.takeOver(ctx, left); err == nil {
		if err = j.reset(); err != nil {
			err = journalError(err, j.file())
		}
	}
	if err != nil {
		return errors.Join(err, j.close())
	}
	l.inbox = newInbox(j)
	return nil
}

// takeOver adds to the chain what it does not have yet.
func (l *Log) takeOver(ctx context.Context, left []*op) error {
	ended := make(map[string]bool)
	for _, o := range left {
		ended[o.call] = ended[o.call] || o.kind == kindCall
	}
	x := l.chain.begin()
	for _, o := range left {
		if o.kind == kindIntent && ended[o.call] {
			continue
		}
		there, err := entries(ctx, l.db, "call = $1", o.call)
		if err != nil {
			return unreadable(l.db.Err(err))
		}
		for i := range there {
			if o.kind == kindIntent || there[i].kind != kindIntent {
				o = nil
				break
			}
		}
		if o != nil {
			x.op(l.node, o)
		}
	}
	if len(x.entries) == 0 {
		return nil
	}
	if err := l.chain.commit(ctx, x, store.Disk, nil); err != nil {
		return fmt.Errorf("recording the calls of the journal: %w", err)
	}
	l.log.InfoContext(ctx, "the record of calls has what its journal had", "entries", len(x.entries))
	return nil
}
