package store_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// write runs statements in a transaction.
func write(t testing.TB, db *store.DB, d store.Durability, statements ...string) {
	t.Helper()
	err := db.Tx(context.Background(), d, func(tx *sql.Tx) error {
		for _, s := range statements {
			if _, err := tx.Exec(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func count(t testing.TB, db *store.DB, table string) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTx(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY, n BIGINT)")
		write(t, db, store.Process, "INSERT INTO thing VALUES ('a', 1)")
		write(t, db, store.Disk, "INSERT INTO thing VALUES ('b', 2)")

		broken := errors.New("no")
		err := db.Tx(t.Context(), store.Disk, func(tx *sql.Tx) error {
			if _, err := tx.Exec("INSERT INTO thing VALUES ('c', $1)", 3); err != nil {
				return err
			}
			return broken
		})
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = db.Tx(t.Context(), store.Disk, func(tx *sql.Tx) error {
				if _, err := tx.Exec("INSERT INTO thing VALUES ('d', 4)"); err != nil {
					t.Error(err)
				}
				panic("f")
			})
		}()
		if n := count(t, db, "thing"); n != 2 {
			t.Errorf("%d rows, want 2: what fails or panics is undone", n)
		}
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(broken)
		err = db.Tx(ended, store.Disk, func(*sql.Tx) error { t.Error("run"); return nil })
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
}
