package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Durability says what a committed transaction outlives.
type Durability uint8

// The durabilities.
const (
	Process Durability = iota // the end of this process, however it ends
	Disk                      // the loss of power as well
)

// longest is how long a transaction may take before PostgreSQL is given up.
const longest = time.Minute

// Tx runs f in a transaction that writes, which is committed if f returns nil
// and is undone otherwise, also when f panics. In SQLite there is one at a time,
// and f must not begin another.
//
// When ctx ends while others have their turn, or before f is run, nothing is
// done. From then on it ends only what f uses it for: a transaction that f is
// content with is committed. Contexts that cannot end make statements of SQLite
// cheaper.
//
// An error of f is returned as [DB.Err] makes it. After any other error nothing
// was written, with one exception: where the connection to PostgreSQL was lost
// in the commit (store_unavailable), nobody can say. Who must know looks.
func (db *DB) Tx(ctx context.Context, d Durability, f func(*sql.Tx) error) error {
	if db.postgres {
		return db.Err(db.txServer(ctx, d, f))
	}
	select {
	case <-db.turn:
		defer func() { db.turn <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return db.Err(db.txFile(ctx, d, f))
}

func (db *DB) txFile(ctx context.Context, d Durability, f func(*sql.Tx) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	whole := context.WithoutCancel(ctx)
	conn, err := db.writer.Conn(whole)
	if err != nil {
		return fmt.Errorf("connecting to the database: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := db.level.set(whole, conn, d); err != nil {
		return err
	}
	tx, err := conn.BeginTx(whole, nil)
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	return finish(tx, f)
}

func (db *DB) txServer(ctx context.Context, d Durability, f func(*sql.Tx) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// The driver gives a connection up whose context ends; and with it, in the
	// commit, the knowledge whether it was done.
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.longest)
	defer cancel()
	err := db.within(whole, func(conn *sql.Conn) error {
		tx, err := conn.BeginTx(whole, nil)
		if err != nil {
			return err
		}
		return finish(tx, func(tx *sql.Tx) error {
			if d == Process {
				if _, err := tx.ExecContext(whole, "SET LOCAL synchronous_commit = off"); err != nil {
					return fmt.Errorf("setting the durability: %w", err)
				}
			}
			return f(tx)
		})
	})
	if err != nil && whole.Err() != nil {
		return hub.E(message.StoreUnavailable, err, "store", db.name) // not the caller's time that is over
	}
	return err
}

// View runs f in a transaction that reads: all that it sees is of one moment. In
// SQLite others may write meanwhile; but a long one makes the file grow, as
// nothing of what it may see is overwritten. Its errors are as [DB.Err] makes
// them.
func (db *DB) View(ctx context.Context, f func(*sql.Tx) error) error {
	opt := &sql.TxOptions{ReadOnly: true}
	if db.postgres {
		opt.Isolation = sql.LevelRepeatableRead
	}
	tx, err := db.BeginTx(ctx, opt)
	if err != nil {
		return db.Err(fmt.Errorf("beginning to read: %w", err))
	}
	return db.Err(finish(tx, f))
}

// finish ends the transaction in every case.
func finish(tx *sql.Tx, f func(*sql.Tx) error) error {
	committed := false
	defer func() {
		if !committed {
			_ = tx.Rollback() // what f, or the commit, says is the reason
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	committed = true
	return nil
}
