package store_test

import (
	"context"
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
			return db.Hold(ctx, name, func() { t.Error("it was lost") })
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
	letGo, err := one.Hold(t.Context(), "node", func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer letGo()
	store.HoldPatience(t, 300*time.Millisecond)
	if _, err := two.Hold(t.Context(), "node", func() {}); !errors.Is(err, store.ErrHeld) {
		t.Errorf("%v", err)
	}
}
