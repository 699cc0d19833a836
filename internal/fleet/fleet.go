// Package fleet keeps all servers: it decides when each is started, notices
// when it is lost, brings it back within its budget, starts and stops it as
// operators ask, and hands out live connections. One goroutine a server; none
// ever waits for another.
package fleet

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/proc"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// Dial opens one connection; see [upstream.Dial].
type Dial func(ctx context.Context, opt upstream.Options) (*upstream.Conn, error)

// Options describe a fleet. The functions are called from any goroutine and
// must not call the fleet.
type Options struct {
	Servers    []hub.Server // with unique keys, in the order of the configuration
	Dial       Dial
	Serve      upstream.Serve // for built-in servers and devices
	ClientInfo []byte
	Network    transport.Network
	Processes  *proc.Ledger // in which servers' processes are recorded; nil for none
	Bus        *bus.Bus
	Log        *slog.Logger

	// Resolve fills in the placeholders of a definition, each time it is
	// connected; see [upstream.Options]. Nil leaves it as it is.
	Resolve func(hub.Server) (hub.Server, []string, *hub.Error)

	// Authorize returns the credentials of an owner for a remote server, whose
	// placeholders are filled in; nil for none but those of its definition. The owner
	// is "" for the hub's own connections, by which the server is listed. Nil has
	// none for anybody.
	Authorize func(server hub.Server, owner string) transport.Authorizer
	// Owner names whose credentials a principal uses at a server: "" for the hub's
	// own, which it shares with others. Nil has no others.
	Owner func(server string, p hub.Principal) string

	// Listed is called with a server and what it lists each time it has been
	// asked for that, and before the server is ready. The definition is the one
	// that it was asked by; there may be another one meanwhile. Calls for one
	// server do not overlap; the slices are not changed afterwards.
	Listed func(server hub.Server, lists hub.Lists)

	// Updated is called with a server's notification that a resource has changed,
	// and the callers, by their ids and in the order of these, that have subscribed
	// to it or, if nobody has, to one that it is a part of; there may be none of
	// either. It is also called when a resource may have changed while the server
	// could not tell of it: once it was subscribed to on another connection, and
	// when the stream on which it tells was away.
	// Notifications of one connection come in their order. Updated must not block,
	// nor keep the bytes; the slice is not changed afterwards. Nil tells nobody.
	Updated func(server string, callers []string, raw []byte)

	// Elicited is called with a server's notification that what a person was asked
	// to do at a URL is done; id is that of the elicitation. It must not block, nor keep the
	// bytes. Nil tells nobody.
	Elicited func(server, id string, raw []byte)

	// Known reports whether the tools of a server are known from before, so
	// that a server which is not started with the hub need not be started once
	// to learn them. Nil stands for no.
	Known func(server hub.Server) bool

	// Withhold is called with true when a person has stopped a server, whose
	// tools are then not to be listed, and with false when that is over. Nil
	// tells nobody.
	Withhold func(server string, yes bool)

	// OnDemand has nothing start by itself: every enabled server is idle until
	// a call, Start, Restart or Refresh needs it.
	OnDemand bool

	// Starts is how many processes are being started at once while nobody waits
	// for them; 0 for as many as the machine has processors, and at least 4.
	Starts int

	Budget Budget // zero for the default
}

// Fleet is all servers of the hub. Safe for concurrent use.
type Fleet struct {
	opt   Options
	now   atomic.Pointer[set]
	gate  *gate
	ways  map[way]bool // read only
	epoch time.Time

	mu      sync.Mutex // held through a change of the set
	ctx     context.Context
	all     sync.WaitGroup           // the servers' goroutines, from Run on
	leaving map[string]chan struct{} // by key, of servers that were removed: closed when they are gone
	level   string
	over    bool
}

// set is which servers there are. It is not changed once made.
type set struct {
	byKey map[string]*server
	order []*server
}

// New returns a fleet at rest; Run brings it to life.
func New(opt Options) *Fleet {
	if opt.Budget == (Budget{}) {
		opt.Budget = DefaultBudget()
	}
	starts := opt.Starts
	if starts <= 0 {
		starts = max(runtime.NumCPU(), 4)
	}
	f := &Fleet{opt: opt, gate: newGate(starts), ways: ways(), epoch: time.Now(), leaving: make(map[string]chan struct{})}
	first := newSet(len(opt.Servers))
	for _, def := range opt.Servers {
		first.add(newServer(f, def))
	}
	f.now.Store(first)
	return f
}

func newSet(size int) *set {
	return &set{byKey: make(map[string]*server, size), order: make([]*server, 0, size)}
}

func (s *set) add(one *server) {
	s.byKey[one.key] = one
	s.order = append(s.order, one)
}

// Run keeps the servers until ctx ends, then stops all of them, side by side,
// and returns when the last is gone. It must not run twice.
func (f *Fleet) Run(ctx context.Context) error {
	f.mu.Lock()
	f.ctx = ctx
	for _, s := range f.now.Load().order {
		f.launch(s)
	}
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock()
	f.over = true
	last := f.now.Load().order
	f.mu.Unlock()
	for _, s := range last {
		s.shut()
	}
	f.all.Wait()
	return nil
}

// launch starts the goroutine of a server. The caller holds mu, and Run runs.
func (f *Fleet) launch(s *server) { f.all.Go(func() { s.run(f.ctx) }) }

// Apply puts another set of servers in force, with unique keys and in the
// order of the configuration; also before Run.
//
//   - A server that is reached in the same way as before keeps its connection
//     and the calls under way; what else its definition says holds from now on.
//     That is also when it runs, how many connections it has and how it is
//     watched.
//   - One that is reached otherwise is ended and, if it was running, started
//     again; one that a person has stopped stays so.
//   - One that is new starts as its settings say, once a removed one of the same
//     key is gone.
//   - One that is not in the set any more is ended and forgotten.
//
// list, which may be nil, has the new servers listed, and must not call the
// fleet. It is called when no call gets a connection of before any more, and
// before there is any of a new server: whoever looks a tool up finds the list of
// a server that is on its way, not one of a server that is not.
//
// Apply returns when this is in force. It does not wait until anything has
// started or ended. Calls under way on a connection that is ended have the
// server's time limit to end, 10 s at most; then they get
// [message.OutcomeUnknown]. The servers' goroutines belong to Run, after which
// Apply does nothing.
func (f *Fleet) Apply(servers []hub.Server, list func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return
	}
	old, next := f.now.Load(), newSet(len(servers))
	for _, def := range servers {
		if s := old.byKey[def.Key]; s != nil {
			s.redefine(def)
		}
	}
	if list != nil {
		list()
	}
	var added []*server
	for _, def := range servers {
		s := old.byKey[def.Key]
		if s == nil {
			s = newServer(f, def)
			s.level, s.after = f.level, f.leaving[def.Key]
			added = append(added, s)
		}
		next.add(s)
	}
	f.now.Store(next)
	for _, s := range old.order {
		if next.byKey[s.key] == nil {
			s.remove()
			if f.ctx != nil {
				f.leaving[s.key] = s.gone
			}
		}
	}
	for _, s := range added {
		s.announce()
		if f.ctx != nil {
			f.launch(s)
		}
	}
	for key, gone := range f.leaving {
		select {
		case <-gone:
			delete(f.leaving, key)
		default:
		}
	}
}

// clock is the time since the fleet was made, in nanoseconds. Setting the clock
// of the machine does not change it.
func (f *Fleet) clock() int64 { return int64(time.Since(f.epoch)) }

// find returns a server by its key.
func (f *Fleet) find(key string) (*server, error) {
	if s := f.now.Load().byKey[key]; s != nil {
		return s, nil
	}
	return nil, unknown(key)
}

func unknown(key string) *hub.Error {
	return hub.E(message.ServerUnknown, nil, "server", message.Quote(key))
}

// Server is the definition of a server that is in force now.
func (f *Fleet) Server(key string) (hub.Server, bool) {
	s := f.now.Load().byKey[key]
	if s == nil {
		return hub.Server{}, false
	}
	return s.definition(), true
}

// Status tells about every server, in the order of the configuration.
func (f *Fleet) Status() []hub.Status {
	order := f.now.Load().order
	all := make([]hub.Status, 0, len(order))
	for _, s := range order {
		all = append(all, s.status())
	}
	return all
}

// Log returns the lines of a server's log after the one with the number, oldest
// first, as far as they are kept: the last 500 lines and 64 KiB. The channel is
// closed when there are more. It reports false for a server that is not there.
// No line holds a secret.
func (f *Fleet) Log(key string, after uint64) (lines []hub.LogLine, more <-chan struct{}, ok bool) {
	s := f.now.Load().byKey[key]
	if s == nil {
		return nil, nil, false
	}
	lines, more = s.book.after(after)
	return lines, more, true
}

// SetLevel passes a log level on to every server that is connected, and to
// those that will be. It does not wait for their answers.
func (f *Fleet) SetLevel(level string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.level = level
	for _, s := range f.now.Load().order {
		s.setLevel(level)
	}
}
