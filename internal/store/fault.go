package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Err returns err as a [*hub.Error] with a code of package message's store.go
// where the database is at fault: full, busy, away, broken. An error that has a
// code already and any other, such as [sql.ErrNoRows], the end of a context or
// a broken constraint, is returned as it is.
func (db *DB) Err(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*hub.Error](err); ok {
		return err
	}
	code, reason := fault(err)
	if code == "" {
		return err
	}
	e := hub.E(code, err, "store", db.name)
	if reason != "" {
		e = e.With("reason", message.Verbatim(reason))
	}
	return e
}

// fault is the code for an error of a driver, and what the server says where
// that is a person's to mend; "" for an error that is not the database's.
func fault(err error) (message.Code, string) {
	if errors.Is(err, context.Canceled) || errors.Is(err, sql.ErrNoRows) || errors.Is(err, sql.ErrTxDone) {
		return "", ""
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return fileFault(e.Code()), ""
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return serverFault(e)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return message.StoreUnavailable, ""
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "", ""
	}
	_, network := errors.AsType[net.Error](err)
	if network || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		pgconn.SafeToRetry(err) {
		return message.StoreUnavailable, ""
	}
	return "", ""
}

// fileFault is the code for a result code of SQLite.
func fileFault(code int) message.Code {
	if code == sqlite3.SQLITE_IOERR_SHMSIZE {
		return message.StoreFull // the file of shared memory could not grow
	}
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return message.StoreFull
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return message.StoreBusy
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return message.StoreCorrupt
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return message.StoreUnavailable
	}
	return ""
}

// serverFault is the code for an error that PostgreSQL told (appendix A of its
// manual).
func serverFault(e *pgconn.PgError) (message.Code, string) {
	switch e.Code {
	case "53100", "53200": // disk full, out of memory
		return message.StoreFull, ""
	case "55P03", "40001", "40P01": // no lock in time, or two in each other's way
		return message.StoreBusy, ""
	case "3D000", "42501": // no such database, no right
		return message.StoreRefused, e.Message
	case "XX001", "XX002":
		return message.StoreCorrupt, ""
	case "25006": // a replica that reads only
		return message.StoreUnavailable, ""
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "28":
		return message.StoreRefused, e.Message
	case "08", "53", "57", "58": // connection, resources, the operator, the system
		if strings.HasPrefix(e.Code, "57014") {
			return "", "" // a statement that was cancelled: its context says why
		}
		return message.StoreUnavailable, ""
	}
	return "", ""
}
