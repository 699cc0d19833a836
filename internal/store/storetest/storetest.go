// Package storetest gives tests fresh databases of both kinds, so that what a
// noun does with its tables is proved on both. It is for tests only.
//
// PostgreSQL is a real server from the programs of the distribution, started
// with the first test that wants it and ended with the process, however that
// ends. It listens on a socket that only this user can reach.
package storetest

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/store"
)

// Each runs f as a subtest on a fresh SQLite database and on a fresh PostgreSQL
// database, both migrated and empty. They are closed and removed at the end of
// the subtest, after what f has cleaned up. f may close them itself.
//
// Without the programs of PostgreSQL its subtest is skipped, or fails where the
// environment says TOOLCRIB_TEST_POSTGRES=required.
func Each(t *testing.T, f func(t *testing.T, db *store.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, Open(t, SQLite(t))) })
	t.Run("postgres", func(t *testing.T) { f(t, Open(t, PostgreSQL(t))) })
}

// SQLite says where a fresh SQLite database can be, as [store.Open] wants it.
func SQLite(t testing.TB) store.Options {
	t.Helper()
	return store.Options{Path: filepath.Join(t.TempDir(), "toolcrib.db")}
}

// PostgreSQL makes a fresh PostgreSQL database, for tests that open it
// themselves, twice or in another process. It is removed at the end of the
// test, whoever is connected.
func PostgreSQL(t testing.TB) store.Options {
	t.Helper()
	return store.Options{URL: running(t).fresh(t)}
}

// Open opens a database, and closes it at the end of the test.
func Open(t testing.TB, opt store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Outage ends the PostgreSQL server of this process by a signal: INT, with which
// it undoes what is under way and writes down what was committed, or QUIT, with
// which it goes as if it crashed. resume starts it again and waits until it is
// there; the end of the test does so as well. No other test may use the server
// meanwhile.
func Outage(t testing.TB, signal string) (resume func()) {
	t.Helper()
	s := running(t)
	if err := s.order(signal, "ended"); err != nil {
		t.Fatal(err)
	}
	resume = sync.OnceFunc(func() {
		if err := s.order("start", "started"); err != nil {
			t.Error(err)
		} else if err := s.wait(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(resume)
	return resume
}
