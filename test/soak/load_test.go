//go:build linux

package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

const (
	// pace is the time between two calls of one caller: it keeps the machine
	// busy, and leaves something of it to what else runs.
	pace = 10 * time.Millisecond

	// longestWork is how long a call may work, so that some are under way
	// whenever something happens to their server.
	longestWork = 20 * time.Millisecond

	// callLimit is longer than the hub lets any call take.
	callLimit = 60 * time.Second
)

// notSent are the codes by which the hub says that the server did not get the
// call, and unclear those by which it says that it does not know.
func notSent() []string {
	return []string{"server_down", "server_stopped", "server_disabled", "server_unknown", "server_circuit_open", "tool_unknown"}
}

func unclear() []string { return []string{"outcome_unknown", "timeout"} }

// book knows of each call what its caller was told. A call has a number, which
// is its text as well; the server writes it down before it works at it.
type book struct {
	tally string // the servers' file
	read  int64  // of the file so far
	done  map[int64]int

	mu    sync.Mutex
	next  int64
	told  map[int64]string // "ok" or the code; "" while it is under way
	codes map[string]int
}

func newBook(tally string) *book {
	return &book{tally: tally, done: make(map[int64]int), told: make(map[int64]string), codes: make(map[string]int)}
}

func (b *book) open() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	b.told[b.next] = ""
	return b.next
}

func (b *book) close(n int64, outcome string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told[n] = outcome
	b.codes[outcome]++
}

// call makes one call of the server's tool work, by the caller, and notes what
// it is told. The error is of an answer that is none, or not to this call.
func (b *book) call(ctx context.Context, c caller, server string, work time.Duration) (outcome string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	n := b.open()
	text := strconv.FormatInt(n, 10)
	a, err := c.call(ctx, server+"__work", fmt.Sprintf(`{"text":%q,"ms":%d}`, text, work.Milliseconds()))
	if err != nil {
		return "", fmt.Errorf("call %d of %s: %w", n, server, err)
	}
	if got, ok := a.text(); ok && got == text {
		outcome = "ok"
	} else if outcome = a.code(); !slices.Contains(notSent(), outcome) && !slices.Contains(unclear(), outcome) {
		return "", fmt.Errorf("call %d of %s was answered with %v", n, server, a)
	}
	b.close(n, outcome)
	return outcome, nil
}

// check compares what the callers were told with what the servers did. No call
// may be under way. What was compared is forgotten.
func (b *book) check() error {
	if err := b.readTally(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var faults []error
	for n, outcome := range b.told {
		done, want := b.done[n], 1
		switch {
		case outcome == "":
			faults = append(faults, fmt.Errorf("call %d got no answer", n))
			continue
		case slices.Contains(notSent(), outcome):
			want = 0
		case slices.Contains(unclear(), outcome) && done == 0:
			want = 0
		}
		if done != want {
			faults = append(faults, fmt.Errorf("call %d was done %d times, and its caller was told %q", n, done, outcome))
		}
		delete(b.done, n)
	}
	clear(b.told)
	for n, done := range b.done {
		faults = append(faults, fmt.Errorf("call %d was done %d times, which nobody called, or not this late", n, done))
	}
	return errors.Join(faults...)
}

// readTally reads on in the servers' file.
func (b *book) readTally() error {
	f, err := os.Open(b.tally)
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.NewSectionReader(f, b.read, 1<<40))
	if err != nil {
		return err
	}
	b.read += int64(len(raw))
	for line := range bytes.Lines(raw) {
		number, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("work "))
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil {
			return fmt.Errorf("the tally has the line %q", line)
		}
		b.done[n]++
	}
	return nil
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%d calls, answered with %v", b.next, b.codes)
}

// load is callers that call all the time.
type load struct {
	callers []caller
	stop    context.CancelFunc
	work    sync.WaitGroup
	calls   atomic.Int64
}

// dial opens conversations with the hub by each door in each era.
func dial(ctx context.Context, hub *rig.Hub) ([]caller, error) {
	var all []caller
	for _, r := range []revision{legacy, modern} {
		plain, err := dialHTTP(ctx, hub.MCP(), r)
		if err != nil {
			return nil, err
		}
		socket, err := dialSocket(ctx, hub.WebSocket(), r)
		if err != nil {
			return nil, err
		}
		all = append(all, plain, socket)
	}
	return all, nil
}

// begin has several callers call the servers, until end. An answer that is none
// is reported to fail.
func begin(ctx context.Context, hub *rig.Hub, b *book, servers []*server, choices uint64, fail func(error)) (*load, error) {
	callers, err := dial(ctx, hub)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	l := &load{callers: callers, stop: stop}
	for i, c := range callers {
		for j := range 2 { // each of them with two calls at once
			chance := rand.New(rand.NewPCG(choices, uint64(100+10*i+j)))
			l.work.Go(func() {
				if err := l.keepCalling(ctx, b, c, servers, chance); err != nil {
					fail(err)
				}
			})
		}
	}
	return l, nil
}

func (l *load) keepCalling(ctx context.Context, b *book, c caller, servers []*server, chance *rand.Rand) error {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		s := servers[chance.IntN(len(servers))]
		if s.quiet.Load() {
			continue
		}
		// Whoever stops calling waits for the answers that are due.
		_, err := b.call(context.WithoutCancel(ctx), c, s.key, time.Duration(chance.Int64N(int64(longestWork))))
		if err != nil {
			return err
		}
		l.calls.Add(1)
	}
}

// end waits for the answers that are due, and closes every conversation.
func (l *load) end() error {
	l.stop()
	l.work.Wait()
	var errs []error
	for _, c := range l.callers {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
