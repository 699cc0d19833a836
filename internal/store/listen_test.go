package store_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// What is said in a transaction is heard once it is committed, and never if it is
// not; after an outage it is heard again. Without PostgreSQL there is nobody to hear.
func TestListen(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		said := func(text string, fails error) {
			t.Helper()
			err := db.Tx(t.Context(), store.Process, func(tx *sql.Tx) error {
				return errors.Join(db.Notify(context.Background(), tx, "a channel", text), fails)
			})
			if !errors.Is(err, fails) {
				t.Errorf("%q: %v", text, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		begun, heard, lost, done := make(chan bool, 8), make(chan string, 8), make(chan error, 8), make(chan bool)
		go func() {
			defer close(done)
			db.Listen(ctx, "a channel", func() { begun <- true }, func(text string) { heard <- text }, func(err error) { lost <- err })
		}()
		defer func() {
			cancel()
			<-done
		}()
		if !db.Postgres() {
			said("one", nil)
			return
		}
		<-begun
		said("undone", errors.New("undone"))
		said("one", nil)
		if text := <-heard; text != "one" {
			t.Errorf("heard %q", text)
		}
		resume := storetest.Outage(t, "QUIT")
		wantCode(t, <-lost, "store_unavailable")
		resume()
		<-begun
		for db.Ping() != nil { // connections that were lost are found one by one
			continue
		}
		said("two", nil)
		if text := <-heard; text != "two" {
			t.Errorf("heard %q", text)
		}
	})
}
