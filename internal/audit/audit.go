// Package audit is the record of what was called: append-only, and chained so
// that nobody can change, remove or move an entry of it without that being found.
//
// Each node has one chain. An entry's hash covers the hash of the entry before
// it and every column of its own row; from time to time a checkpoint signs the
// chain so far. What may change something is recorded before it is sent (an
// intent): in a journal, from which it is taken over into the chain with what came
// meanwhile. If its outcome is among that, the two are one entry. Everything else
// is recorded once, when it has ended.
//
// Beside the entries stand two tables that are made from them and make queries
// fast: parts, which say what is to be found among 256 entries, and the figures
// of every hour. [Log.Verify] checks them as well.
package audit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

// DefaultRetention is how long entries are kept where nothing else is said.
const DefaultRetention = 90 * 24 * time.Hour

// DefaultMaxArguments is how many bytes of a call's arguments are kept where
// nothing else is said.
const DefaultMaxArguments = 4 << 10

// Options are what a [Log] needs.
type Options struct {
	DB       *store.DB
	Dir      string // of the journal, which is made if it is not there; no other Log may have it
	Keys     Keys   // of this node; see [LoadKeys]
	Log      *slog.Logger
	Settings Settings
}

// Settings are what may be changed while the hub runs.
type Settings struct {
	Retention     time.Duration // how long entries are kept; 0 for ever
	KeepArguments bool          // redacted, and of MaxArguments at most
	MaxArguments  int           // bytes; 0 for [DefaultMaxArguments]
}

// Log is this node's chain, and the reading side of all chains of the database.
// Safe for concurrent use.
type Log struct {
	db       *store.DB
	keys     Keys
	node     string
	log      *slog.Logger
	settings atomic.Pointer[Settings]

	inbox   *inbox
	asked   chan chan<- *position     // has Run take over what waits
	broken  atomic.Pointer[hub.Error] // why the journal could not be written, the last time
	failed  atomic.Pointer[hub.Error] // why it could not, the last time; nil if it could
	ended   chan struct{}             // closed when Run has ended
	end     sync.Once
	running atomic.Bool  // Run was called
	lost    atomic.Int64 // records that found no room, not told yet
	total   atomic.Int64 // records that were lost so far

	measures measures

	chain   *chain    // Run's alone once it runs
	digests sync.Pool // of keyed hashes
}

// Open returns the record of this node. It takes over what its earlier life left
// in the journal, and closes what that left open: a call that was begun and not
// ended gets the outcome unknown. It fails if the database or the journal cannot be
// read or written.
//
// What is recorded is taken over as soon as Run runs. The caller closes the
// database after Run has ended.
func Open(ctx context.Context, opt Options) (*Log, error) {
	l := &Log{
		db: opt.DB, keys: opt.Keys, node: opt.Keys.Node(), log: opt.Log,
		asked: make(chan chan<- *position), ended: make(chan struct{}),
	}
	l.Set(opt.Settings)
	c, err := resume(ctx, l.db, l.keys)
	if err != nil {
		return nil, unreadable(err)
	}
	l.chain = c
	if err := l.replay(ctx, opt.Dir); err != nil {
		return nil, err
	}
	if err := l.closeUnknown(ctx); err != nil {
		return nil, errors.Join(err, l.inbox.close())
	}
	return l, nil
}

// Close gives back what Open took, for those who will not call Run.
func (l *Log) Close() error { return l.inbox.close() }

// Node is the name of this node's chain. It follows from its key.
func (l *Log) Node() string { return l.node }

// Lost is how many records could not be kept so far, for want of room while the
// database could not be written.
func (l *Log) Lost() int64 { return l.total.Load() }

// Waiting is how many records wait to be written.
func (l *Log) Waiting() int { return l.inbox.len() }

// Set puts other settings in force.
func (l *Log) Set(s Settings) {
	if s.MaxArguments <= 0 {
		s.MaxArguments = DefaultMaxArguments
	}
	l.settings.Store(&s)
}

// unreadable is the error of a query.
func unreadable(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || hub.IsCode(err, message.AuditCursorUnknown) {
		return err
	}
	return hub.E(message.AuditUnreadable, hub.AsError(err))
}
