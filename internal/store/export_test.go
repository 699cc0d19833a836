package store

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/fstest"
	"time"
)

// Hurry has an SQLite database wait no more than a moment for others.
func Hurry(t testing.TB, db *DB) {
	t.Helper()
	if _, err := db.writer.Exec("PRAGMA busy_timeout = 20"); err != nil {
		t.Fatal(err)
	}
}

// GiveUpAfter has transactions with PostgreSQL take no longer than d.
func GiveUpAfter(db *DB, d time.Duration) { db.longest = d }

// MigrateForTest brings a database to a version that a program after this one may
// have.
func MigrateForTest(t testing.TB, db *DB, version int64, statements string) {
	t.Helper()
	steps := fstest.MapFS{}
	now, err := db.version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for v := int64(1); v <= now; v++ {
		steps[fmt.Sprintf("%05d_was.sql", v)] = &fstest.MapFile{Data: []byte("-- +goose Up\nSELECT 1;\n")}
	}
	steps[fmt.Sprintf("%05d_test.sql", version)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + statements + "\n")}
	s := schema{steps, version}
	if err := db.migrate(t.Context(), slog.New(slog.DiscardHandler), s, version); err != nil {
		t.Fatal(err)
	}
}

// Schema is a schema that is not this program's: a step for each text.
func Schema(t testing.TB, steps ...string) schema {
	t.Helper()
	all := fstest.MapFS{}
	for i, text := range steps {
		all[fmt.Sprintf("%05d_step.sql", i+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + text + "\n")}
	}
	s, err := newSchema(all)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Open is [Open] with this schema.
func (s schema) Open(t testing.TB, opt Options) *DB {
	t.Helper()
	db, err := connectTo(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.migrate(t.Context(), slog.New(slog.DiscardHandler), s, s.newest); err != nil {
		t.Fatal(err)
	}
	return db
}

// Save is [Save] with this schema.
func (s schema) Save(ctx context.Context, opt Options, w io.Writer) (int64, error) {
	return s.save(ctx, opt, w)
}

// Load is [Load] with this schema.
func (s schema) Load(ctx context.Context, opt Options, r io.ReadSeeker, replace bool) (int64, error) {
	return s.load(ctx, opt, r, replace)
}

// Check reads a copy as [Load] does before it changes anything.
func (s schema) Check(ctx context.Context, r io.Reader) error {
	_, err := s.check(ctx, r)
	return err
}

// ReadRows reads the lines of a copy below the first, of a table with these columns.
func ReadRows(r io.Reader, name string, columns ...string) ([][]any, error) {
	c := &copied{tables: []table{{name: name, columns: columns, key: columns[:1]}}}
	var all [][]any
	_, err := c.read(bufio.NewReader(r), func(_ *table, values []any) error {
		all = append(all, values)
		return nil
	})
	return all, err
}

// Saved is how a copy has a row.
func Saved(values []any) (string, error) {
	row := make([]any, len(values))
	for i, v := range values {
		var err error
		if row[i], err = saved(v); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(row)
	return string(text), err
}

// HoldPatience has Hold wait no longer than d during the test.
func HoldPatience(t testing.TB, d time.Duration) { set(t, &holdPatience, d) }

// HoldLooks has Hold look every so often during the test whether it still holds, and
// take for passing, for the grace, that somebody else does after a loss.
func HoldLooks(t testing.TB, every, grace time.Duration) {
	set(t, &holdLook, every)
	set(t, &holdGrace, grace)
}

func set(t testing.TB, to *time.Duration, d time.Duration) {
	t.Helper()
	usual := *to
	*to = d
	t.Cleanup(func() { *to = usual })
}
