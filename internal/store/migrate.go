package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"modernc.org/sqlite"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

//go:embed migrations
var migrations embed.FS

// schema is the steps by which the tables came to be, and the version after the
// last of them.
type schema struct {
	steps  fs.FS
	newest int64
}

// ours is the schema of this program.
func ours() (schema, error) {
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return schema{}, fmt.Errorf("reading the migrations: %w", err)
	}
	return newSchema(steps)
}

func newSchema(steps fs.FS) (schema, error) {
	names, err := fs.Glob(steps, "*.sql")
	if err != nil || len(names) == 0 {
		return schema{steps: steps}, err
	}
	number, _, _ := strings.Cut(path.Base(names[len(names)-1]), "_") // Glob sorts
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return schema{}, fmt.Errorf("migration without a number: %w", err)
	}
	return schema{steps, n}, nil
}

// migrate brings the schema to a version. Where it is that already, as at most
// starts, it costs one question.
func (db *DB) migrate(ctx context.Context, log *slog.Logger, s schema, to int64) error {
	found, err := db.version(ctx)
	switch {
	case err != nil:
		return err
	case found > to:
		return db.newer(found, to)
	case found == to:
		return nil
	}
	provider, err := db.provider(s)
	if err != nil {
		return err
	}
	if _, err := provider.UpTo(ctx, to); err != nil {
		return db.Err(fmt.Errorf("migrating the database: %w", err))
	}
	log.InfoContext(ctx, "database migrated", "database", db.name, "from", found, "to", to)
	return nil
}

func (db *DB) newer(found, known int64) error {
	return hub.E(message.StoreNewer, nil, "store", db.name, "found", strconv.FormatInt(found, 10), "known", strconv.FormatInt(known, 10))
}

func (db *DB) provider(s schema) (*goose.Provider, error) {
	dialect := goose.DialectSQLite3
	opts := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger())}
	if db.postgres {
		locker, err := lock.NewPostgresSessionLocker() // two hubs may start at once
		if err != nil {
			return nil, fmt.Errorf("preparing the migration: %w", err)
		}
		dialect, opts = goose.DialectPostgres, append(opts, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(dialect, db.writer, s.steps, opts...)
	if err != nil {
		return nil, fmt.Errorf("preparing the migration: %w", err)
	}
	return provider, nil
}

// version is the version of the database's schema; 0 for a new one.
func (db *DB) version(ctx context.Context) (int64, error) {
	var v int64
	err := db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&v)
	switch {
	case isNoTable(err):
		return 0, nil
	case err != nil:
		return 0, db.Err(fmt.Errorf("asking for the schema's version: %w", err))
	}
	return v, nil
}

// isNoTable reports whether a statement named a table that is not there.
func isNoTable(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "42P01"
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == 1 && strings.Contains(e.Error(), "no such table") // SQLite has no code of its own for it
}
