// Package events is the one stream of what happens in the hub: it takes what is
// published on the buses, gives each event an id, and keeps the last ones in
// memory and, in batches, in the database, so that whoever was away can go on
// where he was.
//
// Nobody who listens has a queue: a [Reader] has a place in the stream, and reads
// on from there, in memory or, if it has fallen behind, in the database. So it
// costs nothing to be slow, to others as little as to the hub.
package events

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
)

// What is kept at most, if nothing else is said.
const (
	DefaultRetention = 24 * time.Hour
	DefaultMaxBytes  = 64 << 20 // of the batches in the database
	DefaultRing      = 4 << 20  // bytes in memory
	maxRing          = 1 << 16  // events in memory
	maxPending       = 8 << 20  // bytes that wait to be written
)

// Options is what a [Log] is made of.
type Options struct {
	Buses []*bus.Bus // what is published there, from Open on

	DB   *store.DB // nil keeps events in memory only
	Node string    // whose events they are, among those that share a database
	Log  *slog.Logger

	Retention time.Duration // in the database, see [Log.SetRetention]; 0 for [DefaultRetention]
	MaxBytes  int64         // in the database; 0 for [DefaultMaxBytes]
	Ring      int           // bytes in memory; 0 for [DefaultRing]
}

// Log keeps the events. Safe for concurrent use.
//
// An id is the time in microseconds at which the hub took note of the event, or
// one more than the id before if that is greater: ids grow strictly, and none is
// used twice, also when the hub is killed or its clock goes back. What was not
// written down when it was killed, a quarter of a second at most, is lost; the
// first event of the next life then is a gap.
type Log struct {
	opt  Options
	log  *slog.Logger
	subs []*bus.Subscription

	retention atomic.Int64 // nanoseconds

	mu        sync.Mutex
	ring      ring
	listeners rounds
	news      bool     // there is more to read than when a round began
	last      int64    // id
	seq       int64    // of the last event: how many there were
	reserved  int64    // ids up to here may be used; see reserve
	pruned    int64    // up to this id nothing is kept any more
	prunedSeq int64    // how many events there were by then
	written   int64    // up to this id it is in the database, or is known to be lost to it
	pending   []*event // that are not written
	bytes     int      // of pending
	lost      int64    // events after pending that cannot be written any more, to the last one
	lostTo    int64    // its id
	figures   Figures  // but for what is counted elsewhere

	wrote chan struct{} // there is something to write
	looks chan struct{} // held by those who read in the database

	fresh []*event // of the goroutine that adds: what it has just made

	// Of the goroutine that writes.
	maker  maker
	size   int64 // of what is in the database; -1 if that is not known yet
	failed bool  // the last try
}

// event is one event, of which nobody changes anything any more.
type event struct {
	id      int64
	seq     int64
	at      time.Time
	kind    string
	server  string
	session string
	tenant  string // of whose it is
	subject string // whose it is; "" if everybody may see it who sees the server
	result  []byte // of a call, which only the memory keeps
	said    string // by the server, as its error; the same
	size    int    // that it takes in memory, about

	mu        sync.Mutex
	published hub.Event    // until it is encoded
	gap       api.EventGap // of a gap
	line      string       // see data
}

// Figures are how the stream goes, since Open.
type Figures struct {
	Published int64 // events that were taken note of
	Listeners int   // readers that are not closed
	Missed    int64 // events that a reader was told of as a gap, as far as their number was known
	Waiting   int   // to be written to the database
}

// Figures tells how the stream goes.
func (l *Log) Figures() Figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.figures
	f.Waiting = len(l.pending)
	return f
}

// Open returns the log, which goes on where the one before it has ended. What is
// published from then on is taken note of when [Log.Run] runs. The error is a
// [*hub.Error] of the database.
func Open(ctx context.Context, opt Options) (*Log, error) {
	opt.MaxBytes = cmp.Or(opt.MaxBytes, DefaultMaxBytes)
	l := &Log{
		opt: opt, log: cmp.Or(opt.Log, slog.New(slog.DiscardHandler)),
		wrote: make(chan struct{}, 1), looks: make(chan struct{}, atOnce), size: -1, ring: ring{most: cmp.Or(opt.Ring, DefaultRing)},
	}
	l.SetRetention(opt.Retention)
	killed := false
	if opt.DB == nil {
		l.last = time.Now().UnixMicro()
		l.pruned, l.written, l.ring.floor = l.last, l.last, l.last
	} else {
		var err error
		if killed, err = l.resume(ctx); err != nil {
			return nil, err
		}
	}
	if killed {
		l.add(missing(gapKilled, 0))
	}
	for _, b := range opt.Buses {
		l.subs = append(l.subs, b.Subscribe(queue))
	}
	l.conflate(true)
	return l, nil
}

// listen counts who listens. The caller holds mu.
func (l *Log) listen(n int) {
	before := l.figures.Listeners > 0
	l.figures.Listeners += n
	if now := l.figures.Listeners > 0; now != before {
		l.conflate(!now)
	}
}

// conflate says whether of the states of a session within a moment only the last
// one is needed. While nobody listens it is, as that is what is written down.
func (l *Log) conflate(content bool) {
	for _, s := range l.subs {
		s.Conflate(content)
	}
}

// SetRetention says how long events are kept in the database from now on; 0 for
// [DefaultRetention]. Those that are too old by it go within a minute; those that
// are gone do not come back.
func (l *Log) SetRetention(d time.Duration) { l.retention.Store(int64(cmp.Or(d, DefaultRetention))) }

// add gives events their ids and keeps them. Only one goroutine adds.
func (l *Log) add(events ...*event) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		e.at = now
		e.id, e.seq = max(now.UnixMicro(), l.last+1), l.seq+1
		l.last, l.seq, l.news = e.id, e.seq, true
		l.figures.Published++
		l.figures.Missed += e.gap.Missed
		l.ring.push(e)
		if l.opt.DB == nil {
			l.written = e.id
		} else {
			l.await(e)
		}
	}
	if last := l.ring.trim(l.written); l.opt.DB == nil && last != nil {
		l.pruned, l.prunedSeq = last.id, last.seq
	}
}

// await has an event wait for being written. The caller holds mu.
func (l *Log) await(e *event) {
	if l.lost > 0 || l.bytes+e.size > maxPending {
		l.lost++
		l.lostTo = e.id
		return
	}
	l.pending = append(l.pending, e)
	l.bytes += e.size
	if len(l.pending) > 1 {
		return // whoever writes knows
	}
	select {
	case l.wrote <- struct{}{}:
	default: // it knows
	}
}

// wake goes on with a round of those who listen or, if there is none and there is
// anything to read, begins one. It returns for how long nobody else is to be
// woken; zero if nobody was, and nobody is to be.
func (l *Log) wake() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listeners.left == 0 {
		if !l.news {
			return 0
		}
		l.news = false
		l.listeners.begin()
	}
	return l.listeners.next()
}

// wakeAll wakes all who listen.
func (l *Log) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.listeners.begin(); l.listeners.left > 0; {
		l.listeners.next()
	}
}
