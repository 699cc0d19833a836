//go:build linux

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

const (
	operators = 4
	perOne    = 4 // servers of each operator; the last of the first one's is remote, and every other one may idle
	rounds    = 5 // after each, everything is looked at
)

// TestCycles does a thousand deeds to servers while they are called, and looks
// in between whether everything is where it was: each call answered once, and
// rightly, and done once at most; no process, zombie, descriptor or goroutine
// left over; memory that does not grow.
func TestCycles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.warm()
	before := w.rest("before the first deed", nil)
	var first stock
	for round := range rounds {
		w.live(times(1000, 10_000) / rounds)
		if t.Failed() {
			return
		}
		now := w.rest(fmt.Sprintf("after round %d", round+1), &before)
		if round == 0 {
			first = now
		} else if limit := first.memory*13/10 + 24<<10; now.memory > limit {
			t.Errorf("after round %d the hub has %d KiB, after the first it had %d", round+1, now.memory, first.memory)
		}
	}
	if code := w.hub.Stop(); code != 0 {
		t.Errorf("the hub ended with code %d", code)
	}
}

// world is a hub with servers, and all who do something to them.
type world struct {
	t         *testing.T
	seed      uint64
	round     uint64
	program   string
	hub       *rig.Hub
	api       *apiclient.Client
	file      *configFile
	book      *book
	servers   []*server
	operators []*operator
}

func newWorld(t *testing.T) *world {
	t.Helper()
	program := serverProgram(t)
	tally := filepath.Join(t.TempDir(), "tally")
	if err := os.WriteFile(tally, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, seed: seed(t), program: program, book: newBook(tally)}
	t.Logf("SOAK_SEED=%d", w.seed)
	var entries []rig.Server
	for i := range operators * perOne {
		s := &server{key: fmt.Sprintf("s%02d", i), program: program, tally: tally, idles: i%2 == 1}
		if i == perOne-1 {
			r, err := newRemote(context.WithoutCancel(t.Context()), program, tally)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.kill() })
			s.remote = r
		}
		w.servers = append(w.servers, s)
		entries = append(entries, s.rig())
	}
	w.file = &configFile{path: rig.WriteConfig(t, entries...)}
	// The collector is to run often, so that memory which grows is memory in use.
	w.hub = rig.Serve(t, []string{"GOGC=50"}, "--config", w.file.path, "--listen", "127.0.0.1:0",
		"--data-dir", t.TempDir(), "--log-level", "error")
	w.api = w.hub.API()
	for i := range operators {
		w.operators = append(w.operators, &operator{
			hub: w.hub, api: w.api, file: w.file, book: w.book,
			servers: w.servers[i*perOne : (i+1)*perOne],
			chance:  rand.New(rand.NewPCG(w.seed, uint64(i))),
		})
	}
	return w
}

// warm has each server run once, and the hub do everything once that it keeps
// something of.
func (w *world) warm() {
	w.t.Helper()
	w.each("start", func(s *server) error { return w.act(s, api.ActionStart) })
	w.live(len(w.servers))
	rig.Await(w.t, "the hub writes its calls down", func() bool {
		open, err := descriptors(w.hub.PID())
		return err != nil || slices.Contains(open, filepath.Join(w.hub.DataDir, "toolcrib.db"))
	})
}

// live has the operators do so many deeds between them, while callers call.
func (w *world) live(n int) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	w.round++
	l, err := begin(ctx, w.hub, w.book, w.servers, w.seed+w.round, func(err error) {
		if ctx.Err() == nil {
			w.t.Error(err)
		}
		cancel()
	})
	if err != nil {
		w.t.Fatal(err)
	}
	callers, err := dial(ctx, w.hub)
	if err != nil {
		w.t.Fatal(err)
	}
	var work sync.WaitGroup
	for i, o := range w.operators {
		o.caller = callers[i%len(callers)]
		work.Go(func() {
			if err := o.work(ctx, n/len(w.operators)); err != nil {
				if ctx.Err() == nil {
					w.t.Errorf("SOAK_SEED=%d, operator %d: %v\nits last deeds:\n%s", w.seed, i, err, strings.Join(o.done, "\n"))
				}
				cancel()
			}
		})
	}
	work.Wait()
	if err := l.end(); err != nil {
		w.t.Error(err)
	}
	for _, c := range callers {
		if err := c.close(); err != nil {
			w.t.Error(err)
		}
	}
	if l.calls.Load() == 0 {
		w.t.Error("nobody called")
	}
	w.t.Log(w.book)
}

// each does the same to all servers at once.
func (w *world) each(what string, do func(s *server) error) {
	w.t.Helper()
	var work sync.WaitGroup
	for _, s := range w.servers {
		work.Go(func() {
			if err := do(s); err != nil {
				w.t.Errorf("%s %s: %v", what, s.key, err)
			}
		})
	}
	work.Wait()
}

func (w *world) act(s *server, action string) error {
	_, err := w.api.ServerAction(w.t.Context(), s.key, action)
	return err
}

// rest stops every server, looks at what is left, which may be no more than
// there was before, and starts them again.
func (w *world) rest(when string, before *stock) stock {
	w.t.Helper()
	w.each("stop", func(s *server) error { return w.act(s, api.ActionStop) })
	if err := w.book.check(); err != nil {
		w.t.Errorf("%s: SOAK_SEED=%d: %v", when, w.seed, err)
	}
	if left := children(w.hub.PID()); len(left) != 0 {
		w.t.Errorf("%s the hub has the children %q", when, left)
	}
	var beside []rig.Proc
	for _, s := range w.servers {
		if s.remote != nil {
			beside = append(beside, rig.Find(w.t, s.remote.cmd.Process.Pid))
		}
	}
	awaitGone(w.t, w.program, beside...)
	w.api.Close() // its idle connections are the hub's as well
	now := w.settle(before)
	w.t.Logf("%s: %v", when, now)
	w.each("start", func(s *server) error { return w.act(s, api.ActionStart) })
	return now
}

// settle waits until the hub has no more than it had before or, if there is no
// before, until it has the same for a while. The memory is that of the end.
func (w *world) settle(before *stock) stock {
	w.t.Helper()
	const looks = 10 // at the same thing
	var now, last stock
	same := 0
	err := eventually(w.t.Context(), "the hub has no more than it had", func() (bool, error) {
		var err error
		now, err = takeStock(w.hub)
		if same++; !now.within(last) || !last.within(now) {
			same = 0
		}
		last = now
		return same >= looks && (before == nil || now.within(*before)), err
	})
	if err != nil && before != nil {
		w.t.Errorf("SOAK_SEED=%d: %v: before it had %v, %q;\nnow it has %v, %q", w.seed, err, before, before.files, now, now.files)
	} else if err != nil {
		w.t.Fatal(err)
	}
	return now
}
