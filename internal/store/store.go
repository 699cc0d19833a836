// Package store is the database in which everything lives that outlives the
// process: SQLite in the data directory or, by one setting, PostgreSQL. It opens
// and migrates it, runs transactions, and copies it; each noun keeps its own
// SQL, which is the same for both (placeholders $1, RETURNING, ON CONFLICT;
// times as microseconds, JSON as text).
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options say where the database is.
type Options struct {
	Path string // of the SQLite file
	URL  string // of a PostgreSQL database instead; "" for SQLite. It may hold a password, which stands in no error and no log
	Log  *slog.Logger
}

// DB is an open database. Safe for concurrent use.
//
// The embedded [sql.DB] is for reading, any number at once; in SQLite it cannot
// write. Its errors are the driver's: [DB.Err] makes of them what a person is
// told.
type DB struct {
	*sql.DB

	name     string // for people: the file, or the server and the database in it
	postgres bool
	server   *pgx.ConnConfig // of PostgreSQL: how it is reached
	longest  time.Duration   // of PostgreSQL: a transaction
	writer   *sql.DB         // of SQLite: its one connection that writes; of PostgreSQL: the same as DB
	turn     chan struct{}   // of SQLite: a token, whose holder may use the writer
	level    *level          // of SQLite: how durable the writer is; the holder's of the token
}

// Open opens the database, which is made if it is not there, and brings it to
// the schema of this program. The caller closes it.
//
// A file is for its owner only from then on. The process must be the only one
// that has it open for writing: who holds the data directory is.
func Open(ctx context.Context, opt Options) (*DB, error) {
	s, err := ours()
	if err != nil {
		return nil, err
	}
	db, err := connectTo(ctx, opt)
	if err != nil {
		return nil, err
	}
	if err := db.migrate(ctx, cmp.Or(opt.Log, slog.New(slog.DiscardHandler)), s, s.newest); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// OpenAsIs opens a database to be read as it is, also while a hub uses it: it is
// not migrated, and one with a schema that is newer than this program's is
// refused. The file has to be there. The caller closes it.
func OpenAsIs(ctx context.Context, opt Options) (*DB, error) {
	s, err := ours()
	if err != nil {
		return nil, err
	}
	db, err := connectTo(ctx, opt)
	if err != nil {
		return nil, err
	}
	version, err := db.version(ctx)
	if err == nil && version > s.newest {
		err = db.newer(version, s.newest)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// connectTo opens a database whatever schema it has.
func connectTo(ctx context.Context, opt Options) (*DB, error) {
	if opt.URL != "" {
		return openServer(ctx, opt)
	}
	return openFile(ctx, opt)
}

// Postgres reports whether it is PostgreSQL.
func (db *DB) Postgres() bool { return db.postgres }

// Name says which database it is, in messages for people; without a password.
func (db *DB) Name() string { return db.name }

// Close ends its connections. It waits for transactions that are under way.
func (db *DB) Close() error {
	err := db.DB.Close()
	if db.writer != db.DB {
		err = errors.Join(err, db.writer.Close()) // last: it takes what is in the log into the file
	}
	if err != nil {
		return fmt.Errorf("closing the database: %w", err)
	}
	return nil
}
