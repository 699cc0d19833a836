package approval

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

const mostNodes = 32 // for which arguments are sealed

// register says for which key arguments are to be sealed so that this hub can show
// them. Only hubs that share a database need it.
func (d *Desk) register(ctx context.Context) error {
	if !d.db.Postgres() {
		return nil
	}
	own, err := d.opt.Seal.Recipient()
	if err != nil {
		return hub.E(message.Internal, fmt.Errorf("reading the key to seal with: %w", err))
	}
	return d.db.Tx(ctx, store.Process, func(tx *sql.Tx) error {
		whole := context.WithoutCancel(ctx)
		at := time.Now()
		_, err := tx.ExecContext(whole, `INSERT INTO approval_node (node, recipient, seen) VALUES ($1, $2, $3)
			ON CONFLICT (node) DO UPDATE SET recipient = excluded.recipient, seen = excluded.seen`, d.opt.Node, own, micros(at))
		if err == nil {
			_, err = tx.ExecContext(whole, "DELETE FROM approval_node WHERE seen < $1", micros(at.Add(-keptNodes)))
		}
		if err != nil {
			return fmt.Errorf("writing for which key to seal: %w", err)
		}
		return nil
	})
}

// skipPast has what was changed before this hub was there not be published by it.
func (d *Desk) skipPast(ctx context.Context) error {
	if !d.db.Postgres() {
		return nil
	}
	return d.each(ctx, "SELECT id, revision FROM approval WHERE changed > $1", []any{micros(d.heard.Add(-2 * slack))}, func(s scanner) error {
		var id string
		var revision int64
		err := s.Scan(&id, &revision)
		d.told[id] = revision
		return err
	})
}

// recipients are the keys of the other hubs that share the database.
func (d *Desk) recipients(ctx context.Context) ([]string, error) {
	if !d.db.Postgres() {
		return nil, nil
	}
	var all []string
	err := d.each(ctx, "SELECT recipient FROM approval_node WHERE seen > $1 AND node <> $2 ORDER BY seen DESC LIMIT $3",
		[]any{micros(time.Now().Add(-nodeLasts)), d.opt.Node, mostNodes}, func(s scanner) error {
			var one string
			err := s.Scan(&one)
			all = append(all, one)
			return err
		})
	return all, err
}
