// Package fleet keeps all servers: it decides when each is started, notices
// when it is lost, brings it back within its budget, and hands out live
// connections. One goroutine a server; none ever waits for another.
package fleet

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// Dial opens one connection; see [upstream.Dial].
type Dial func(ctx context.Context, opt upstream.Options) (*upstream.Conn, error)

// Options describe a fleet.
type Options struct {
	Servers    []hub.Server
	Dial       Dial
	Serve      upstream.Serve // for built-in servers
	ClientInfo []byte
	Bus        *bus.Bus
	Log        *slog.Logger

	// Listed is called with the tools of a server, byte for byte and in its
	// order, each time they have been asked for. Calls for one server do not
	// overlap; the slices are not changed afterwards.
	Listed func(server string, tools [][]byte)

	// Known reports whether the tools of a server are known from before, so
	// that a server which is not started with the hub need not be started to
	// learn them.
	Known func(server string) bool

	Budget Budget // zero for the default
}

// Fleet is all servers of the hub. Safe for concurrent use.
type Fleet struct {
	opt     Options
	servers map[string]*server
	order   []*server
}

// New returns a fleet at rest; Run brings it to life.
func New(opt Options) *Fleet {
	if opt.Budget == (Budget{}) {
		opt.Budget = DefaultBudget()
	}
	f := &Fleet{opt: opt, servers: make(map[string]*server, len(opt.Servers))}
	for _, def := range opt.Servers {
		s := newServer(f, def)
		f.servers[def.Key] = s
		f.order = append(f.order, s)
	}
	return f
}

// Run keeps the servers until ctx ends, then stops all of them, side by side,
// and returns when the last is gone.
func (f *Fleet) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, s := range f.order {
		all.Go(func() { s.run(ctx) })
	}
	all.Wait()
	return nil
}

// Conn returns a live connection to the server. It starts a server that is
// idle, and waits, within ctx, for one that is on its way: for the outcome of
// the attempt under way or, if it is between two attempts, of the next one,
// which for a remote server is brought forward. A server that is given up is
// an error at once, and one whose attempt fails is one then: a [*hub.Error]
// with the reason.
//
// The connection may end at any time; the fleet owns and closes it.
func (f *Fleet) Conn(ctx context.Context, key string) (*upstream.Conn, error) {
	s, ok := f.servers[key]
	if !ok {
		return nil, hub.E(message.ServerDown, nil, "server", key, "reason", "it is not in the configuration any more.")
	}
	if c := s.conn(); c != nil {
		return c, nil
	}
	return s.await(ctx)
}

// Status tells about every server, in the order of the configuration.
func (f *Fleet) Status() []hub.Status {
	all := make([]hub.Status, 0, len(f.order))
	for _, s := range f.order {
		all = append(all, s.status())
	}
	return all
}

// SetLevel passes a log level on to every server that is connected. It does
// not wait for their answers.
func (f *Fleet) SetLevel(level string) {
	for _, s := range f.order {
		s.setLevel(level)
	}
}

// Budget says how often a server is tried, and for how long (design D9).
type Budget struct {
	// A local server, a process, is started again Pause after its end; at the
	// Ends-th end within Window it is given up.
	Pause  time.Duration
	Ends   int
	Window time.Duration
	// A remote server is tried after Backoff, then after twice as long each
	// time, to at most Ceiling, with jitter; it is never given up.
	Backoff, Ceiling time.Duration
	// Healthy is how long a connection must have held for the count to start
	// anew.
	Healthy time.Duration
	// Spacing is the least time between a failed attempt and the next one that
	// a call brings about.
	Spacing time.Duration
	// Handshake bounds opening a connection, List asking for the tools. Zero
	// stands for the default of [upstream.Dial] and of [DefaultBudget].
	Handshake, List time.Duration
}

// DefaultBudget returns the budget of design D9: processes 5 s apart, the
// sixth end within 2 minutes is the last; remote servers after 2, 4, 6 s, then
// doubling to 60 s.
func DefaultBudget() Budget {
	return Budget{
		Pause: 5 * time.Second, Ends: 6, Window: 2 * time.Minute,
		Backoff: 2 * time.Second, Ceiling: time.Minute,
		Healthy: time.Minute, Spacing: time.Second, List: 30 * time.Second,
	}
}
