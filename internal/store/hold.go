package store

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrHeld says that somebody else holds a name.
var ErrHeld = errors.New("another process holds it")

// Times of Hold.
var ( //nolint:gochecknoglobals // tests have less
	holdPatience = 5 * time.Second // for one who has just ended
	holdLook     = lookEvery       // between two looks whether it is held
	holdGrace    = time.Minute     // for the server to see that a connection is lost
)

// How often is tried to hold what somebody else holds: while waiting at first, and
// after a loss.
const (
	holdRetry = 200 * time.Millisecond
	holdAgain = time.Second
)

// Hold holds a name that only one process of all that share the database may hold,
// until it lets go or ends, however it ends. It waits a little for one that is about
// to, and then returns [ErrHeld]. If the connection is lost the name is held again
// as soon as that can be. If somebody else has it meanwhile, and for longer than the
// server may take to see the loss, changed is told false; and true once the name is
// held again. Without PostgreSQL nobody else has the database.
func (db *DB) Hold(ctx context.Context, name string, changed func(held bool)) (letGo func(), err error) {
	if !db.postgres {
		return func() {}, nil
	}
	key := holdKey(name)
	conn, err := db.holdSoon(ctx, key)
	if err != nil {
		return nil, err
	}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	var kept sync.WaitGroup
	kept.Go(func() { db.keepHold(keeping, conn, key, changed) })
	return func() {
		stop()
		kept.Wait()
	}, nil
}

func holdKey(name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("toolcrib hold " + name)) // never fails
	return int64(h.Sum64())                         //nolint:gosec // any number will do
}

// holdSoon is hold, once whoever is about to end has ended.
func (db *DB) holdSoon(ctx context.Context, key int64) (*pgx.Conn, error) {
	for end := time.Now().Add(holdPatience); ; {
		conn, err := db.hold(ctx, key)
		if !errors.Is(err, ErrHeld) || time.Now().After(end) {
			return conn, db.Err(err)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(holdRetry):
		}
	}
}

// hold makes a connection that holds the name.
func (db *DB) hold(ctx context.Context, key int64) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, db.server.Copy())
	if err != nil {
		return nil, err
	}
	// A machine that is gone does not say so, and would hold for hours; where there is
	// no TCP, or the server may not, that is as it is.
	for _, set := range [...]string{"tcp_keepalives_idle = 15", "tcp_keepalives_interval = 5", "tcp_keepalives_count = 3"} {
		_, _ = conn.Exec(ctx, "SET "+set)
	}
	var got bool
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", key).Scan(&got)
	if err == nil && !got {
		err = ErrHeld
	}
	if err != nil {
		hangUp(ctx, conn)
		return nil, fmt.Errorf("holding a name: %w", err)
	}
	return conn, nil
}

// keepHold looks after the connection until ctx ends. After a loss the server may keep
// the session that was lost for a while, which looks as if somebody else had the name.
func (db *DB) keepHold(ctx context.Context, conn *pgx.Conn, key int64, changed func(held bool)) {
	var lost time.Time // when the connection was
	held := true       // as changed was told
	for pause := holdLook; ; {
		select {
		case <-ctx.Done():
			if conn != nil {
				hangUp(ctx, conn)
			}
			return
		case <-time.After(pause):
		}
		if conn != nil {
			if _, err := within(ctx, lookTime, func(ctx context.Context) (any, error) { return nil, conn.Ping(ctx) }); err == nil || ctx.Err() != nil {
				continue
			}
			hangUp(ctx, conn)
			lost = time.Now()
		}
		var err error
		conn, err = within(ctx, lookTime, func(ctx context.Context) (*pgx.Conn, error) { return db.hold(ctx, key) })
		pause = holdLook
		switch {
		case err == nil && !held:
			held = true
			changed(true)
		case err == nil:
		case errors.Is(err, ErrHeld) && held && time.Since(lost) >= holdGrace:
			held = false
			changed(false)
		case held: // else it is looked at as seldom as before
			pause = min(holdAgain, holdLook)
		}
	}
}

// hangUp ends a connection, and with it what it holds. It may be lost.
func hangUp(ctx context.Context, conn *pgx.Conn) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(last)
}
