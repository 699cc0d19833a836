package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// How a connection that listens is kept: it is looked at when nothing was heard
// for some time, as a network can be lost without a word.
const (
	lookEvery   = 30 * time.Second
	lookTime    = 10 * time.Second
	retryFirst  = 250 * time.Millisecond
	retryLatest = 10 * time.Second
)

// Notify has whoever listens to the channel, in any hub that shares the database,
// hear the text when the transaction is committed. Without PostgreSQL there is
// nobody else.
func (db *DB) Notify(ctx context.Context, tx *sql.Tx, channel, text string) error {
	if !db.postgres {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, text); err != nil {
		return fmt.Errorf("telling other hubs: %w", err)
	}
	return nil
}

// Listen calls heard with what is said on the channel, also by this hub, until ctx
// ends; on a connection of its own, which it makes again if it is lost. Each time
// before it hears the first of it calls begins, and when it cannot hear, lost with
// the reason, once until it can again: what is said meanwhile is not heard. It
// calls them one after another. Without PostgreSQL it only waits for the end.
func (db *DB) Listen(ctx context.Context, channel string, begins func(), heard func(text string), lost func(error)) {
	if !db.postgres {
		<-ctx.Done()
		return
	}
	said := false
	for pause := retryFirst; ctx.Err() == nil; pause = min(2*pause, retryLatest) {
		err := db.listen(ctx, channel, func() {
			pause, said = retryFirst, false
			begins()
		}, heard)
		if ctx.Err() != nil {
			return
		}
		if !said {
			said = true
			lost(db.Err(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// listen is Listen for as long as the connection holds.
func (db *DB) listen(ctx context.Context, channel string, begins func(), heard func(string)) error {
	conn, err := pgx.ConnectConfig(ctx, db.server.Copy())
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(last) // it may be lost
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	begins()
	for {
		n, err := within(ctx, lookEvery, conn.WaitForNotification)
		switch {
		case err == nil:
			heard(n.Payload)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded) && !conn.IsClosed():
			_, err := within(ctx, lookTime, func(ctx context.Context) (any, error) { return nil, conn.Ping(ctx) })
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// within calls f with a context that ends after some time.
func within[T any](ctx context.Context, d time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}
