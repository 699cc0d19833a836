package store_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// setting is how durable a transaction will be, in the words of its database.
func setting(t *testing.T, db *store.DB, d store.Durability) (s string) {
	t.Helper()
	query := "PRAGMA synchronous"
	if db.Postgres() {
		query = "SHOW synchronous_commit"
	}
	err := db.Tx(t.Context(), d, func(tx *sql.Tx) error { return tx.QueryRow(query).Scan(&s) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDurability: each transaction is as durable as it was asked for, whatever
// the one before was.
func TestDurability(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		want := map[store.Durability]string{store.Process: "1", store.Disk: "2"} // NORMAL, FULL
		if db.Postgres() {
			want = map[store.Durability]string{store.Process: "off", store.Disk: "on"}
		}
		for _, d := range []store.Durability{store.Process, store.Disk, store.Disk, store.Process, store.Process, store.Disk} {
			if got := setting(t, db, d); got != want[d] {
				t.Errorf("%d: got %s, want %s", d, got, want[d])
			}
		}
	})
}

// TestServerThatIsNotDurable: a server's own setting takes nothing from Disk.
func TestServerThatIsNotDurable(t *testing.T) {
	opt := storetest.PostgreSQL(t)
	_, name, _ := strings.Cut(opt.URL, "@/")
	name, _, _ = strings.Cut(name, "?")
	if _, err := storetest.Open(t, opt).Exec("ALTER DATABASE " + name + " SET synchronous_commit = off"); err != nil {
		t.Fatal(err)
	}
	if got := setting(t, storetest.Open(t, opt), store.Disk); got != "on" {
		t.Errorf("got %s", got)
	}
}

// TestContextEndsInTx: what f was content with is written, though nobody waits
// for it any more; who waits for a turn need not.
func TestContextEndsInTx(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
		ctx, cancel := context.WithCancel(t.Context())
		err := db.Tx(ctx, store.Disk, func(tx *sql.Tx) error {
			defer cancel()
			_, err := tx.Exec("INSERT INTO thing VALUES ('a')")
			return err
		})
		if n := count(t, db, "thing"); err != nil || n != 1 {
			t.Errorf("%d rows, %v", n, err)
		}

		ctx, cancel = context.WithCancel(t.Context())
		err = db.Tx(ctx, store.Disk, func(tx *sql.Tx) error {
			cancel()
			_, err := tx.ExecContext(ctx, "INSERT INTO thing VALUES ('b')")
			return err
		})
		if n := count(t, db, "thing"); !errors.Is(err, context.Canceled) || n != 1 {
			t.Errorf("%d rows, %v", n, err)
		}
		if db.Postgres() {
			return
		}
		err = db.Tx(t.Context(), store.Disk, func(*sql.Tx) error {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() {
				done <- db.Tx(ctx, store.Disk, func(*sql.Tx) error { t.Error("out of turn"); return nil })
			}()
			cancel()
			return <-done
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
