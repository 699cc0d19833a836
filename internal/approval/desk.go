package approval

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
)

// Sealer keeps arguments from who can read the database.
type Sealer interface {
	// Recipient is the public half of the own key, for others to seal for.
	Recipient() (string, error)
	// SealFor seals for the own key, and for those of others.
	SealFor(plain []byte, recipients ...string) ([]byte, error)
	// Unseal opens what was sealed for the own key.
	Unseal(sealed []byte) ([]byte, error)
}

// Options is what a [Desk] is made of.
type Options struct {
	DB       *store.DB
	Node     string // which hub this is, among those that share a database
	Seal     Sealer
	Bus      *bus.Bus            // gets a [hub.ApprovalChanged] for each change, also those of other hubs; nil tells nobody
	Log      *slog.Logger        // nil for none
	Settings func() hub.Approval // as they are now; nil for the defaults
	// Made reports whether what was shown, by its id, was made by somebody, directly or
	// not: it counts as theirs. Nil where that is not known.
	Made func(token string, by hub.Principal) bool
}

// Desk keeps the requests and the grants. Safe for concurrent use.
type Desk struct {
	opt  Options
	db   *store.DB
	log  *slog.Logger
	book atomic.Pointer[book] // the grants in force

	counts [len(Statuses)]atomic.Int64 // see Counted

	reading sync.Mutex  // held by who reads the grants
	stale   atomic.Bool // a change of the grants was not read

	mu      sync.Mutex
	waits   map[string]*wait  // by request
	told    map[string]int64  // revisions that were published, by request
	before  map[string]int64  // those of the while before
	turned  time.Time         // when the while began
	heard   time.Time         // what changed before was heard of
	due     time.Time         // when Run looks for what expires; zero if it does not
	tallies map[string]*tally // uses of grants, by grant

	wake chan struct{} // something expires sooner than Run knows
}

// Open returns the desk of a database. Requests expire, and other hubs are heard,
// while [Desk.Run] runs. Its error is a [*hub.Error] of the database.
func Open(ctx context.Context, opt Options) (*Desk, error) {
	if opt.DB == nil || opt.Seal == nil {
		return nil, errors.New("a desk needs a database and a key to seal with")
	}
	if opt.Settings == nil {
		opt.Settings = func() hub.Approval { return hub.Approval{} }
	}
	now := time.Now()
	d := &Desk{
		opt: opt, db: opt.DB, log: cmp.Or(opt.Log, slog.New(slog.DiscardHandler)),
		waits: make(map[string]*wait), told: make(map[string]int64), tallies: make(map[string]*tally),
		turned: now, heard: now, wake: make(chan struct{}, 1),
	}
	for _, step := range [...]func(context.Context) error{d.register, d.skipPast, d.readGrants} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// The channel on which hubs that share a database tell each other of changes: by
// the id of a request, or by this word.
const (
	channel     = "toolcrib_approval"
	grantsWord  = "grants"
	askingOrder = 0x746f6f6c63726962 // of the lock that has requests be made one after another
)

// change carries out a statement that returns one row of requests, and tells other
// hubs of it. It returns nil if there is none.
func (d *Desk) change(ctx context.Context, query string, args ...any) (*row, error) {
	return d.changeWith(ctx, nil, query, args...)
}

// changeWith is change, with something that is done in the same transaction if there
// is a row; nil for nothing.
func (d *Desk) changeWith(ctx context.Context, also func(context.Context, *sql.Tx) error, query string, args ...any) (r *row, err error) {
	err = d.db.Tx(ctx, store.Disk, func(tx *sql.Tx) error {
		whole := context.WithoutCancel(ctx)
		if r, err = d.changeIn(whole, tx, query, args...); err != nil || r == nil || also == nil {
			return err
		}
		return also(whole, tx)
	})
	return r, err
}

// changeIn is change within a transaction.
func (d *Desk) changeIn(ctx context.Context, tx *sql.Tx, query string, args ...any) (*row, error) {
	r, err := scan(tx.QueryRowContext(ctx, query+" RETURNING "+columns, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("changing a request for approval: %w", err)
	}
	return r, d.db.Notify(ctx, tx, channel, r.ID)
}

// now is the time as rows have it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
