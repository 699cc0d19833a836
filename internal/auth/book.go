package auth

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/store"
)

// Times of the book.
const (
	pollEvery  = 2 * time.Second // for what other hubs on the same database have changed
	writeEvery = time.Minute     // when tokens and sessions were used
	pruneEvery = time.Hour
	keepOld    = 90 * 24 * time.Hour // tokens that are good no more are listed so long
)

// BookOptions are what a [Book] is made of.
type BookOptions struct {
	DB  *store.DB
	Log *slog.Logger
}

// Book is the API tokens, the tenants and the login sessions, which are rows of
// the database. All of what is good is in memory as well, so that a request costs
// no question. Its methods may be called from any goroutine.
//
// What one hub changes another on the same database knows within seconds.
type Book struct {
	db  *store.DB
	log *slog.Logger

	now    atomic.Pointer[page]
	turn   sync.Mutex // of reading the rows anew
	useMu  sync.Mutex
	used   map[string]time.Time // since it was last written, by id of the token or session
	missed counter
	key    atomic.Pointer[[]byte] // see flowKey

	watchMu  sync.Mutex
	watchers map[*watcher]struct{}
}

// page is what the rows say. It is not changed once it is there.
type page struct {
	version  int64
	tokens   map[[sha256.Size]byte]*Token
	byID     map[string]*Token // the same
	sessions map[[sha256.Size]byte]*session
	tenants  map[string]bool
	founded  map[string]int64 // when each was
}

// OpenBook reads the book. The error is as [store.DB.Err] makes it. [Book.Run]
// keeps it.
func OpenBook(ctx context.Context, opt BookOptions) (*Book, error) {
	b := &Book{db: opt.DB, log: opt.Log, used: make(map[string]time.Time), watchers: make(map[*watcher]struct{})}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if err := b.read(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Run keeps the book until ctx ends: it reads what others have changed, writes
// when tokens were used, and forgets what is long over.
func (b *Book) Run(ctx context.Context) error {
	poll, write, prune := time.NewTicker(pollEvery), time.NewTicker(writeEvery), time.NewTicker(pruneEvery)
	defer poll.Stop()
	defer write.Stop()
	defer prune.Stop()
	if !b.db.Postgres() {
		poll.Stop() // nobody else writes
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			if err := b.writeUses(context.WithoutCancel(ctx)); err != nil {
				b.log.WarnContext(ctx, "when tokens were last used is not written", "error", err)
			}
			return ctx.Err()
		case <-poll.C:
			err = b.poll(ctx)
		case <-write.C:
			err = b.writeUses(ctx)
		case <-prune.C:
			err = b.prune(ctx)
		}
		if err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "the tokens in the database cannot be kept; what is known of them stays", "error", err)
		}
	}
}

// poll reads the rows anew if somebody has changed them.
func (b *Book) poll(ctx context.Context) error {
	var version int64
	err := b.db.QueryRowContext(ctx, "SELECT version FROM identity_mark WHERE name = 'identity'").Scan(&version)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return b.db.Err(fmt.Errorf("reading the version of the tokens: %w", err))
	}
	if version == b.now.Load().version {
		return nil
	}
	return b.read(ctx)
}

// change makes a change, which waits for all others, and puts it in force here.
func (b *Book) change(ctx context.Context, f func(*sql.Tx) error) error {
	err := b.db.Tx(ctx, store.Disk, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO identity_mark (name, version) VALUES ('identity', 1)
			ON CONFLICT (name) DO UPDATE SET version = identity_mark.version + 1`)
		if err != nil {
			return fmt.Errorf("raising the version of the tokens: %w", err)
		}
		return f(tx)
	})
	if err != nil {
		return err
	}
	return b.read(ctx)
}

// read reads the rows.
func (b *Book) read(ctx context.Context) error {
	b.turn.Lock()
	defer b.turn.Unlock()
	p := &page{tokens: make(map[[sha256.Size]byte]*Token), byID: make(map[string]*Token), sessions: make(map[[sha256.Size]byte]*session), tenants: make(map[string]bool), founded: make(map[string]int64)}
	err := b.db.View(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT version FROM identity_mark WHERE name = 'identity'").Scan(&p.version)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("reading the version of the tokens: %w", err)
		}
		if err := each(ctx, tx, "SELECT name, created FROM tenant", nil, func(scan func(...any) error) error {
			var name string
			var created int64
			err := scan(&name, &created)
			p.tenants[name], p.founded[name] = true, created
			return err
		}); err != nil {
			return err
		}
		if err := eachToken(ctx, tx, "", nil, func(digest [sha256.Size]byte, t Token) { p.tokens[digest], p.byID[t.ID] = &t, &t }); err != nil {
			return err
		}
		return eachSession(ctx, tx, "WHERE expires > $1", []any{micro(time.Now())}, func(digest [sha256.Size]byte, s session) { p.sessions[digest] = &s })
	})
	if err != nil {
		return err
	}
	b.now.Store(p)
	b.tellWatchers(p, time.Now())
	return nil
}

// HasTenant reports whether there is a tenant of the name; "" always is.
func (b *Book) HasTenant(name string) bool { return name == "" || b.now.Load().tenants[name] }

// touch notes that a token or session was used.
func (b *Book) touch(id string, at time.Time) {
	b.useMu.Lock()
	b.used[id] = at
	b.useMu.Unlock()
}

// lastUse is when it was used last, as far as that is not written yet.
func (b *Book) lastUse(id string, written time.Time) time.Time {
	b.useMu.Lock()
	defer b.useMu.Unlock()
	if at := b.used[id]; at.After(written) {
		return at
	}
	return written
}

// writeUses writes when tokens and sessions were used. Another hub may know of a
// later use.
func (b *Book) writeUses(ctx context.Context) error {
	b.useMu.Lock()
	used := b.used
	b.used = make(map[string]time.Time, len(used))
	b.useMu.Unlock()
	if len(used) == 0 {
		return nil
	}
	err := b.db.Tx(ctx, store.Process, func(tx *sql.Tx) error {
		for id, at := range used {
			query := "UPDATE api_token SET used = $1 WHERE id = $2 AND used < $1"
			if isSessionID(id) {
				query = "UPDATE login_session SET seen = $1 WHERE id = $2 AND seen < $1"
			}
			if _, err := tx.ExecContext(ctx, query, micro(at), id); err != nil {
				return fmt.Errorf("writing when a token was used: %w", err)
			}
		}
		return nil
	})
	if err == nil {
		return b.read(ctx) // sessions go by what is written
	}
	b.useMu.Lock()
	defer b.useMu.Unlock()
	for id, at := range used { // for the next time
		if b.used[id].Before(at) {
			b.used[id] = at
		}
	}
	return err
}

// prune forgets sessions that are over, and tokens that have been for long.
func (b *Book) prune(ctx context.Context) error {
	now := time.Now()
	return b.db.Tx(ctx, store.Process, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM login_session WHERE expires < $1", micro(now)); err != nil {
			return fmt.Errorf("forgetting login sessions: %w", err)
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM api_token WHERE (revoked > 0 AND revoked < $1) OR (expires > 0 AND expires < $1)", micro(now.Add(-keepOld)))
		if err != nil {
			return fmt.Errorf("forgetting tokens: %w", err)
		}
		return nil
	})
}

// querier is a transaction or the database.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls f for every row.
func each(ctx context.Context, q querier, query string, args []any, f func(scan func(...any) error) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("reading the tokens: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return fmt.Errorf("reading the tokens: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading the tokens: %w", err)
	}
	return nil
}

// micro is a time as it is in the database, 0 for none.
func micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicro(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// digestOf is by what a token or a cookie is found. Looking it up may take as long
// as it likes: it says something about the digest only, which nobody can choose.
func digestOf(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

func hexOf(digest [sha256.Size]byte) string { return hex.EncodeToString(digest[:]) }

func fromHex(text string) (digest [sha256.Size]byte, err error) {
	raw, err := hex.DecodeString(text)
	if err == nil && len(raw) != len(digest) {
		err = errors.New("a digest of another length")
	}
	copy(digest[:], raw)
	return digest, err
}

// counter bounds how often something is done within a second. The zero value is
// ready.
type counter struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

func (c *counter) allow(now time.Time, most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.since) >= time.Second {
		c.since, c.n = now, 0
	}
	c.n++
	return c.n <= most
}
