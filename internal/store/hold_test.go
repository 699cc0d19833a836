package store_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// A name is held by one at a time, is free as soon as it is let go, and others are
// others.
func TestHold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		hold := func(name string, patience time.Duration) (func(), error) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			return db.Hold(ctx, name, func(held bool) { t.Errorf("told that it is held: %v", held) })
		}
		letGo, err := hold("node a", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		other, err := hold("node b", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		other()
		again, err := hold("node a", time.Second)
		switch {
		case !db.Postgres():
			if err != nil { // the data directory has one hub
				t.Error(err)
			}
		case !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("held twice: %v", err)
		}
		if again != nil {
			again()
		}
		go func() {
			time.Sleep(300 * time.Millisecond) // as a hub that is about to end
			letGo()
		}()
		again, err = hold("node a", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		again()
	})
}

// Who waits in vain is told that somebody else holds the name.
func TestHeld(t *testing.T) {
	opt := storetest.PostgreSQL(t)
	one, two := storetest.Open(t, opt), storetest.Open(t, opt)
	letGo, err := one.Hold(t.Context(), "node", func(bool) {})
	if err != nil {
		t.Fatal(err)
	}
	defer letGo()
	store.HoldPatience(t, 300*time.Millisecond)
	if _, err := two.Hold(t.Context(), "node", func(bool) {}); !errors.Is(err, store.ErrHeld) {
		t.Errorf("%v", err)
	}
}

// A name whose session was ended is held again: without a word if it was free, or
// somebody else had it for no longer than the session of a lost connection may; and
// is told of, and held as soon as that can be, if somebody else has it for longer.
func TestHoldIsKept(t *testing.T) {
	const every, grace = 500 * time.Millisecond, 1500 * time.Millisecond
	for name, test := range map[string]struct {
		taken time.Duration // by somebody else
		told  bool
	}{
		"free":               {0, false},
		"taken for a moment": {every + 300*time.Millisecond, false},
		"taken":              {every + 2*grace, true},
	} {
		t.Run(name, func(t *testing.T) {
			store.HoldLooks(t, every, grace)
			opt := storetest.PostgreSQL(t)
			one, two := storetest.Open(t, opt), storetest.Open(t, opt)
			told := make(chan bool, 8)
			letGo, err := one.Hold(t.Context(), "node", func(held bool) { told <- held })
			if err != nil {
				t.Fatal(err)
			}
			defer letGo()
			store.HoldPatience(t, 50*time.Millisecond)
			endSessions(t, two)
			if test.taken > 0 {
				free, err := two.Hold(t.Context(), "node", func(bool) {})
				if err != nil {
					t.Fatal(err)
				}
				if test.told {
					select {
					case held := <-told:
						if held {
							t.Error("told that it is held while somebody else has it")
						}
					case <-time.After(test.taken + 10*time.Second):
						t.Error("nobody was told")
					}
				} else {
					time.Sleep(test.taken)
				}
				free()
			}
			if test.told {
				select {
				case held := <-told:
					if !held {
						t.Error("told twice that it is lost")
					}
				case <-time.After(10 * time.Second):
					t.Error("nobody was told that it is held again")
				}
			}
			for end := time.Now().Add(10 * time.Second); ; { // until it is held again
				time.Sleep(every)
				other, err := two.Hold(t.Context(), "node", func(bool) {})
				if errors.Is(err, store.ErrHeld) {
					break
				}
				if err != nil || time.Now().After(end) {
					t.Fatalf("it is not held any more: %v", err)
				}
				other()
			}
			if len(told) > 0 {
				t.Errorf("told that it is held: %v", <-told)
			}
		})
	}
}

// endSessions ends the sessions that hold names in the database.
func endSessions(t *testing.T, db *store.DB) {
	t.Helper()
	var ended int
	if err := db.Tx(t.Context(), store.Process, func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory'
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&ended)
	}); err != nil {
		t.Fatal(err)
	}
	if ended != 1 {
		t.Fatalf("%d sessions hold names", ended)
	}
}
