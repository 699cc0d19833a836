// Package store is the database in which everything lives that outlives the
// process: SQLite in the data directory or, by one setting, PostgreSQL. It opens
// and migrates it, and runs transactions; each noun keeps its own SQL, which is
// the same for both (placeholders $1, RETURNING, ON CONFLICT; times as
// microseconds, JSON as text).
package store

import (
	"context"
	"database/sql"
	"log/slog"
)

// Options say where the database is.
type Options struct {
	Path string // of the SQLite file
	URL  string // of a PostgreSQL database instead; "" for SQLite. It may hold a password
	Log  *slog.Logger
}

// DB is an open database. Safe for concurrent use. Errors of its methods are
// [*hub.Error]s with a code of package message's store.go where the database is
// at fault: full, busy, away or broken.
type DB struct {
	*sql.DB // for reading; any number at once
}

// Durability says what a committed transaction outlives.
type Durability uint8

// The durabilities.
const (
	Process Durability = iota // the end of this process, however it ends
	Disk                      // the loss of power as well
)

// Open opens the database, which is made if it is not there, and brings it to
// the schema of this program. The caller closes it.
func Open(ctx context.Context, opt Options) (*DB, error) { panic("not yet") }

// Tx runs f in a transaction that writes. There is one at a time in SQLite.
func (db *DB) Tx(ctx context.Context, d Durability, f func(*sql.Tx) error) error { panic("not yet") }

// Postgres reports whether it is PostgreSQL.
func (db *DB) Postgres() bool { panic("not yet") }

// Close closes it.
func (db *DB) Close() error { panic("not yet") }
