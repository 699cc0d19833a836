//go:build linux

package soak

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// figures count what happened, keep the worst of what was timed, and tell of faults.
type figures struct {
	t    *testing.T
	seed uint64

	mu     sync.Mutex
	counts map[string]int
	worst  map[string]time.Duration
	faults int
}

func newFigures(t *testing.T, seed uint64) *figures {
	return &figures{t: t, seed: seed, counts: make(map[string]int), worst: make(map[string]time.Duration)}
}

func (f *figures) add(what string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[what] += n
}

func (f *figures) count(what string) { f.add(what, 1) }

func (f *figures) took(what string, time time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[what+": number"]++
	f.worst[what+": worst"] = max(f.worst[what+": worst"], time)
}

// maxFaults is how many are told of; more say nothing new.
const maxFaults = 30

// fault fails the test.
func (f *figures) fault(format string, args ...any) {
	f.mu.Lock()
	f.faults++
	n := f.faults
	f.mu.Unlock()
	if n <= maxFaults {
		f.t.Errorf("SOAK_SEED=%d: %s", f.seed, fmt.Sprintf(format, args...))
	}
}

// table is everything, a line each.
func (f *figures) table() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines := make(map[string]string)
	for what, n := range f.counts {
		lines[what] = fmt.Sprint(n)
	}
	for what, d := range f.worst {
		lines[what] = d.Round(10 * time.Microsecond).String()
	}
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "  %-52s %s\n", what, lines[what])
	}
	return b.String()
}

// machine measures how long this machine takes for next to nothing, a byte to another
// process and back, and how long the hub and this test are ready to run and may not.
// How long anything takes is judged by both, as the machine may be busy with other
// things. On a quiet one they come to a few milliseconds.
type machine struct {
	in   io.WriteCloser
	cmd  *exec.Cmd
	work sync.WaitGroup

	mu    sync.Mutex
	slow  []stall // newest last
	under *time.Time
	pid   int    // of the hub
	held  []hold // newest last
}

type stall struct{ from, to time.Time }

// hold is how long processes have waited for a processor until a time, all in all.
type hold struct {
	at     time.Time
	waited time.Duration
}

// follow begins to measure how long a process, and this one, wait for a processor,
// until the test ends.
func (m *machine) follow(t *testing.T, pid int) {
	t.Helper()
	stop := make(chan struct{})
	m.mu.Lock()
	m.pid = pid
	m.mu.Unlock()
	m.work.Go(func() {
		const each, kept = 50 * time.Millisecond, 4096
		tick := time.NewTicker(each)
		defer tick.Stop()
		for {
			now := hold{time.Now(), waited(pid) + waited(os.Getpid())}
			m.mu.Lock()
			if m.held = append(m.held, now); len(m.held) > kept {
				m.held = slices.Clone(m.held[kept/2:])
			}
			m.mu.Unlock()
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	t.Cleanup(func() { close(stop) })
}

// waited is how long the threads of a process have been ready to run and did not
// (schedstat of Linux).
func waited(pid int) time.Duration {
	var sum time.Duration
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is right
	for _, path := range threads {
		var ran, delay int64
		if raw, err := os.ReadFile(path); err == nil { // else it has ended
			if _, err := fmt.Sscan(string(raw), &ran, &delay); err == nil {
				sum += time.Duration(delay)
			}
		}
	}
	return sum
}

// waitedSince is how long the processes that are followed have waited since a time.
func (m *machine) waitedSince(since time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := waited(m.pid) + waited(os.Getpid())
	for _, h := range slices.Backward(m.held) {
		if h.at.Before(since) {
			return max(0, now-h.waited)
		}
	}
	return 0
}

// newMachine begins to measure, until the test ends.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{cmd: exec.CommandContext(t.Context(), "cat")}
	var err error
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.work.Go(func() { m.measure(out) })
	t.Cleanup(func() {
		_ = m.in.Close()
		m.work.Wait()
		_ = m.cmd.Wait() // it is killed with the test, if it has not ended yet
	})
	return m
}

func (m *machine) measure(out io.Reader) {
	const pause, noticed, kept = 5 * time.Millisecond, 2 * time.Millisecond, 4096
	one := []byte{'\n'}
	for next := time.Now(); ; next = time.Now().Add(pause) {
		time.Sleep(time.Until(next))
		m.mu.Lock()
		m.under = &next
		m.mu.Unlock()
		if _, err := m.in.Write(one); err != nil {
			return
		}
		if _, err := io.ReadFull(out, one); err != nil {
			return
		}
		m.mu.Lock()
		if now := time.Now(); now.Sub(next) > noticed {
			if m.slow = append(m.slow, stall{next, now}); len(m.slow) > kept {
				m.slow = slices.Clone(m.slow[kept/2:])
			}
		}
		m.under = nil
		m.mu.Unlock()
	}
}

// worst is the longest that it took since a time.
func (m *machine) worst(since time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	var most time.Duration
	if m.under != nil {
		most = time.Since(*m.under)
	}
	for _, s := range slices.Backward(m.slow) {
		if s.to.Before(since) {
			break
		}
		most = max(most, s.to.Sub(s.from))
	}
	return most
}

// room is how much longer than in a quiet machine something may have taken that began
// at a time: it goes there and back between more than two threads. To ask costs
// something itself.
func (m *machine) room(since time.Time) time.Duration {
	return 3*m.worst(since) + m.waitedSince(since)
}

// cpuTime is the time of processors that a process has used.
func cpuTime(pid int) (time.Duration, error) {
	const tick = 10 * time.Millisecond // of proc(5), on every Linux
	fields, _, ok := readStat(pid)
	if !ok {
		return 0, fmt.Errorf("process %d has ended", pid)
	}
	var ticks [2]int64
	for i, field := range fields[11:13] { // utime, stime
		if _, err := fmt.Sscan(field, &ticks[i]); err != nil {
			return 0, err
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * tick, nil
}

// lasting is how long a run is to last.
func lasting(tb testing.TB) time.Duration {
	tb.Helper()
	usual := 90 * time.Second
	if whole() {
		usual = 30 * time.Minute
	}
	text := os.Getenv("SOAK_TIME")
	d, err := time.ParseDuration(cmp.Or(text, usual.String()))
	if err != nil {
		tb.Fatalf("SOAK_TIME: %v", err)
	}
	return d
}
