package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

func wantCode(t testing.TB, err error, code message.Code) {
	t.Helper()
	if !hub.IsCode(err, code) {
		t.Errorf("got %v, want %s", err, code)
	}
}

// add is a row in a transaction.
func add(db *store.DB, id string) error {
	return db.Tx(context.Background(), store.Process, func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO thing VALUES ($1)", id)
		return err
	})
}

// TestBusy: another program holds the database for longer than it is waited for.
func TestBusy(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		opt := storetest.SQLite(t)
		db, other := storetest.Open(t, opt), storetest.Open(t, opt)
		write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
		store.Hurry(t, db)
		err := other.Tx(t.Context(), store.Process, func(*sql.Tx) error {
			wantCode(t, add(db, "a"), message.StoreBusy)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if err := add(db, "a"); err != nil {
			t.Errorf("when it is free again: %v", err)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		opt := storetest.PostgreSQL(t)
		other := storetest.Open(t, opt)
		opt.URL += "&lock_timeout=50"
		db := storetest.Open(t, opt)
		write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
		err := other.Tx(t.Context(), store.Process, func(tx *sql.Tx) error {
			if _, err := tx.Exec("LOCK TABLE thing"); err != nil {
				return err
			}
			wantCode(t, add(db, "a"), message.StoreBusy)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestFull: there is no room for what is written. What was written before stays.
func TestFull(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		if db.Postgres() {
			// A full disk of the server's is in TestFullDisk, for who may mount one.
			write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
			err := db.Tx(t.Context(), store.Disk, func(tx *sql.Tx) error {
				_, err := tx.Exec("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END $$")
				return err
			})
			wantCode(t, err, message.StoreFull)
			return
		}
		write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)", "PRAGMA max_page_count = 1")
		wantFull(t, db)
	})
}

// wantFull writes until it fails.
func wantFull(t *testing.T, db *store.DB) {
	t.Helper()
	var err error
	rows := 0
	for ; rows < 10_000 && err == nil; rows++ {
		err = add(db, fmt.Sprintf("%05d %s", rows, strings.Repeat("x", 1000)))
	}
	wantCode(t, err, message.StoreFull)
	if n := count(t, db, "thing"); n != rows-1 {
		t.Errorf("%d rows are there, want %d", n, rows-1)
	}
}

func TestCorrupt(t *testing.T) {
	opt := storetest.SQLite(t)
	if err := os.WriteFile(opt.Path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(t.Context(), opt)
	wantCode(t, err, message.StoreCorrupt)

	opt = storetest.SQLite(t)
	db, err := store.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
	for i := range 100 {
		if err := add(db, fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(opt.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(text) / 2; i < len(text); i++ { // behind the schema, so that it can be opened
		text[i] ^= 0x55
	}
	if err := os.WriteFile(opt.Path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	db = storetest.Open(t, opt)
	err = db.View(t.Context(), func(tx *sql.Tx) error {
		var n int
		return tx.QueryRow("SELECT COUNT(*) FROM thing WHERE id LIKE '%y%'").Scan(&n)
	})
	wantCode(t, err, message.StoreCorrupt)
}

func TestNewer(t *testing.T) {
	for name, fresh := range map[string]func(testing.TB) store.Options{"sqlite": storetest.SQLite, "postgres": storetest.PostgreSQL} {
		t.Run(name, func(t *testing.T) {
			opt := fresh(t)
			db := storetest.Open(t, opt)
			store.MigrateForTest(t, db, 99999, "CREATE TABLE muchlater (id TEXT PRIMARY KEY);")
			_, err := store.Open(t.Context(), opt)
			wantCode(t, err, message.StoreNewer)
			if err == nil || !strings.Contains(err.Error(), "99999") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestUnavailable: the server goes away and comes back, and with it the hub's
// connections.
func TestUnavailable(t *testing.T) {
	_, err := store.Open(t.Context(), store.Options{Path: t.TempDir()})
	wantCode(t, err, message.StoreUnavailable)
	_, err = store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "no", "where")})
	wantCode(t, err, message.StoreUnavailable)

	t.Run("postgres", func(t *testing.T) {
		opt := storetest.PostgreSQL(t)
		w := newWire(t, opt.URL)
		opt.URL = w.url
		db := storetest.Open(t, opt)
		write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
		w.cut()
		for i := range connectionsLost {
			wantCode(t, add(db, "lost"), message.StoreUnavailable)
			_, err := db.Query("SELECT id FROM thing")
			wantCode(t, db.Err(err), message.StoreUnavailable)
			err = db.View(t.Context(), func(*sql.Tx) error { return nil })
			wantCode(t, err, message.StoreUnavailable)
			if i == 0 {
				_, err := store.Open(t.Context(), opt)
				wantCode(t, err, message.StoreUnavailable)
			}
		}
		w.mend(t)
		if err := add(db, "back"); err != nil {
			t.Errorf("when it is back: %v", err)
		}
		if n := count(t, db, "thing"); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}

		// The server's operator ends the connection under a transaction.
		err := db.Tx(t.Context(), store.Disk, func(tx *sql.Tx) error {
			var pid int
			if err := tx.QueryRow("SELECT pg_backend_pid()").Scan(&pid); err != nil {
				return err
			}
			if _, err := db.Exec("SELECT pg_terminate_backend($1)", pid); err != nil {
				return err
			}
			_, err := tx.Exec("INSERT INTO thing VALUES ('ended')")
			return err
		})
		wantCode(t, err, message.StoreUnavailable)
		if err := add(db, "after"); err != nil {
			t.Error(err)
		}
	})
}

// TestSilent: a way to the server that swallows everything, as a firewall may that
// has forgotten a connection, holds nobody for longer than a transaction may take.
func TestSilent(t *testing.T) {
	opt := storetest.PostgreSQL(t)
	w := newWire(t, opt.URL)
	opt.URL = w.url
	db := storetest.Open(t, opt)
	write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
	store.GiveUpAfter(db, 200*time.Millisecond)
	for name, silent := range map[string]func(add func() error) error{
		"in a statement": func(add func() error) error { w.silent.Store(true); return add() },
		"in the commit":  func(add func() error) error { err := add(); w.silent.Store(true); return err },
		"from the start": nil,
	} {
		w.silent.Store(silent == nil)
		done := make(chan error, 1)
		go func() {
			done <- db.Tx(context.Background(), store.Process, func(tx *sql.Tx) error {
				add := func() error { _, err := tx.Exec("INSERT INTO thing VALUES ('a')"); return err }
				if silent == nil {
					return add()
				}
				return silent(add)
			})
		}()
		select {
		case err := <-done:
			wantCode(t, err, message.StoreUnavailable)
		case <-time.After(20 * time.Second):
			t.Errorf("%s: nobody gives up", name)
			w.cut()
			return
		}
	}
	w.silent.Store(false)
	store.GiveUpAfter(db, time.Minute)
	for i := range connectionsLost { // none of them is one of those
		if err := add(db, fmt.Sprint("after", i)); err != nil {
			t.Errorf("when it is back: %v", err)
		}
	}
}

// connectionsLost is more than there are connections to lose.
const connectionsLost = 10

// wire is a way to the server that can be cut.
type wire struct {
	url, socket, address string
	silent               atomic.Bool // nothing comes through

	mu  sync.Mutex
	all []net.Conn
	ln  net.Listener
}

func newWire(t *testing.T, address string) *wire {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{socket: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"), address: "127.0.0.1:0"}
	w.mend(t)
	w.url = "postgres://toolcrib:hunter2@" + w.address + u.Path + "?sslmode=disable"
	t.Cleanup(w.cut)
	return w
}

func (w *wire) mend(t *testing.T) {
	t.Helper()
	ln, err := net.Listen("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ln, w.address = ln, ln.Addr().String()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("unix", w.socket)
			if err != nil {
				_ = c.Close()
				continue
			}
			w.mu.Lock()
			w.all = append(w.all, c, s)
			w.mu.Unlock()
			go w.pipe(c, s)
			go w.pipe(s, c)
		}
	}()
}

func (w *wire) pipe(to, from net.Conn) {
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		if !w.silent.Load() {
			_, _ = to.Write(b[:n])
		}
		if err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.ln.Close()
	for _, c := range w.all {
		_ = c.Close()
	}
	w.all = nil
}

func TestRefused(t *testing.T) {
	address := storetest.PostgreSQL(t).URL
	for _, spoilt := range []string{
		strings.Replace(address, "toolcrib@", "nobody:hunter2@", 1),
		strings.Replace(address, "/test_", "/gone_", 1),
	} {
		_, err := store.Open(t.Context(), store.Options{URL: spoilt})
		wantCode(t, err, message.StoreRefused)
		if err != nil && !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("the reason is missing: %v", err)
		}
	}
	db := storetest.Open(t, store.Options{URL: address})
	write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
	err := db.Tx(t.Context(), store.Disk, func(tx *sql.Tx) error {
		for _, s := range []string{"CREATE ROLE stranger", "SET LOCAL ROLE stranger", "INSERT INTO thing VALUES ('a')"} {
			if _, err := tx.Exec(s); err != nil {
				return err
			}
		}
		return nil
	})
	wantCode(t, err, message.StoreRefused)
}

// TestPasswordIsNotTold: whatever is wrong with an address, no error shows the
// password in it.
func TestPasswordIsNotTold(t *testing.T) {
	for _, test := range []struct {
		url  string
		code message.Code
	}{
		{"postgres://me:hunter2@127.0.0.1:1/db?sslmode=disable", message.StoreUnavailable},
		{"postgres://me:hunter2@nowhere.invalid/db", message.StoreUnavailable},
		{"postgres://me:hunter2%@127.0.0.1/db", message.StoreURLInvalid},
		{"postgres://me:hunter2/@127.0.0.1/db", message.StoreURLInvalid},
		{"postgres://me:hunter2@127.0.0.1:port/db", message.StoreURLInvalid},
		{"postgres://me:hunter2@127.0.0.1/db?sslmode=maybe", message.StoreURLInvalid},
		{"postgres://me:hunter2@127.0.0.1/db?connect_timeout=soon", message.StoreURLInvalid},
		{"mysql://me:hunter2@127.0.0.1/db", message.StoreURLInvalid},
		{"host=127.0.0.1 password=hunter2", message.StoreURLInvalid},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := store.Open(ctx, store.Options{URL: test.url})
		cancel()
		wantCode(t, err, test.code)
		for e := err; e != nil; e = errors.Unwrap(e) {
			if said := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(said, "hunter2") {
				t.Errorf("%s: %s", test.url, said)
			}
		}
	}
}
