package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"modernc.org/sqlite"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Pragmas of every connection. What is deleted is overwritten; names in double
// quotes are never strings, as in PostgreSQL.
const (
	pragmas = "_dqs=0&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)&_pragma=cache_size(-8000)"
	forTx   = "&_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(67108864)"
	forView = "&_pragma=query_only(1)"
)

// readers are the connections that read at once; more wait for one.
const readers = 4

// openFile opens an SQLite database.
func openFile(ctx context.Context, opt Options) (*DB, error) {
	path, err := filepath.Abs(opt.Path)
	if err != nil {
		return nil, hub.E(message.StoreUnavailable, err, "store", opt.Path)
	}
	if err := protect(path); err != nil {
		return nil, hub.E(message.StoreUnavailable, err, "store", path)
	}
	db := &DB{name: path, turn: make(chan struct{}, 1), level: &level{}}
	if db.writer, err = connect(path, pragmas+forTx); err != nil {
		return nil, hub.E(message.StoreUnavailable, err, "store", path)
	}
	if db.DB, err = connect(path, pragmas+forView); err != nil {
		return nil, hub.E(message.StoreUnavailable, errors.Join(err, db.writer.Close()), "store", path)
	}
	db.writer.SetMaxOpenConns(1)
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	db.turn <- struct{}{}
	// The one that writes comes first: it makes the log that readers need.
	if err := db.writer.PingContext(ctx); err != nil {
		return nil, errors.Join(db.Err(fmt.Errorf("opening the database: %w", err)), db.Close())
	}
	return db, nil
}

func connect(path, query string) (*sql.DB, error) {
	inner, err := sqlite.NewConnector(fileURL(path) + "?" + query)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	return sql.OpenDB(connector{inner}), nil
}

// fileURL is the path, which may hold any character, as SQLite reads it.
func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/...
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath()
}

// protect makes the file, or sees to it that only its owner can read the one
// that is there: what callers asked for is in it. SQLite gives the files beside
// it the same rights.
func protect(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("opening the database's file: %w", err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("looking at the database's file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", path)
	}
	if runtime.GOOS == "windows" {
		return nil // the access list of the data directory counts, not these bits
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return fmt.Errorf("looking at the database's file: %w", err)
		case info.Mode().Perm()&0o077 == 0:
			continue
		}
		if err := os.Chmod(name, 0o600); err != nil {
			return fmt.Errorf("making the database's file private: %w", err)
		}
	}
	return nil
}

// level is how durable the commits of a connection are, which is a matter of
// the connection and not of the transaction.
type level struct {
	conn any // whose it is: another one begins anew
	now  Durability
}

func (l *level) set(ctx context.Context, conn *sql.Conn, d Durability) error {
	var same bool
	err := conn.Raw(func(c any) error {
		same = l.conn == c
		l.conn = c
		return nil
	})
	if err != nil {
		return fmt.Errorf("connecting to the database: %w", err)
	}
	if same && l.now == d {
		return nil
	}
	// In a write-ahead log, NORMAL leaves it to the system when the log gets to
	// the disk; FULL waits for it. What was committed before goes along.
	pragma := "PRAGMA synchronous = NORMAL"
	if d == Disk {
		pragma = "PRAGMA synchronous = FULL"
	}
	if _, err := conn.ExecContext(ctx, pragma); err != nil {
		l.conn = nil
		return fmt.Errorf("setting the durability: %w", err)
	}
	l.now = d
	return nil
}
