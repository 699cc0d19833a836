package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// The log of a server tells its story, goes on over its lives, and wakes who
// waits for more.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := steps(exited())
		dial := func(ctx context.Context, opt upstream.Options) (*upstream.Conn, error) {
			opt.Note(hub.LogStderr, "", "hello")
			return d.dial(ctx, opt)
		}
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: dial})
		synctest.Wait() // it is away, for five seconds
		_, more, _ := f.Log("s", 0)
		time.Sleep(time.Minute)
		select {
		case <-more:
		default:
			t.Error("nobody was woken")
		}
		if err := f.Stop(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		lines, more, ok := f.Log("s", 0)
		var got []string
		for i, l := range lines {
			if l.Seq != uint64(i+1) || l.Time.IsZero() {
				t.Errorf("line %d: %+v", i, l)
			}
			got = append(got, string(l.Source)+": "+l.Text)
		}
		want := []string{
			"hub: starting", "stderr: hello",
			"hub: crashed: The process ended (exit status 1). Run the command by hand to see more. Tried again in 5s.",
			"hub: starting", "stderr: hello", "hub: ready, 0 tools", "hub: stopping",
			`hub: stopped: The server "s" was stopped by an operator. Start it with "toolcrib server start s".`,
		}
		if !ok || !slices.Equal(got, want) {
			t.Errorf("got\n%s", strings.Join(got, "\n"))
		}
		select {
		case <-more:
			t.Error("woken for nothing")
		default:
		}
		if rest, _, _ := f.Log("s", 7); len(rest) != 1 || rest[0].Seq != 8 {
			t.Errorf("after 7: %+v", rest)
		}
		if rest, _, _ := f.Log("s", 8); len(rest) != 0 {
			t.Errorf("after the last: %+v", rest)
		}
		if rest, _, _ := f.Log("s", 1000); len(rest) != 8 {
			t.Errorf("after a line of another log: %d lines", len(rest))
		}
		if _, _, ok := f.Log("none", 0); ok {
			t.Error("there is a log of no server")
		}
	})
}

// Who waits for more of a log hears of it when the server is removed, in
// whatever state that is.
func TestLogOfTheRemoved(t *testing.T) {
	for _, stop := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: steps().dial})
			synctest.Wait()
			if stop {
				if err := f.Stop(t.Context(), "s"); err != nil {
					t.Fatal(err)
				}
			}
			_, more, _ := f.Log("s", 0)
			f.Apply(nil, nil)
			select {
			case <-more:
			default:
				t.Errorf("stop %t: nobody was woken", stop)
			}
		})
	}
}

// What the last process wrote is told in every state, and also of one that never
// became ready; what one before it wrote is in the log only.
func TestStatusTellsWhatWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		d := steps(exited())
		dial := func(ctx context.Context, opt upstream.Options) (*upstream.Conn, error) {
			n++
			opt.Note(hub.LogStderr, "", fmt.Sprintf("hello %d", n))
			for range n {
				opt.Note(hub.LogJunk, "", "junk")
			}
			opt.Note(hub.LogStderr, "", "bye")
			return d.dial(ctx, opt)
		}
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: dial})
		for i, state := range []hub.State{hub.StateCrashed, hub.StateReady, hub.StateStopped} {
			synctest.Wait()
			switch state {
			case hub.StateReady:
				time.Sleep(time.Minute)
			case hub.StateStopped:
				if err := f.Stop(t.Context(), "s"); err != nil {
					t.Fatal(err)
				}
			}
			attempt := min(i+1, 2)
			st := f.Status()[0]
			if st.State != state || st.Stderr != fmt.Sprintf("hello %d\nbye\n", attempt) || st.Junk != int64(attempt) {
				t.Errorf("%s, want %s: %q, %d lines of junk", st.State, state, st.Stderr, st.Junk)
			}
		}
	})
}

// A status has the last lines of what was written, whole, and no more of it than
// hundreds of servers can be asked for at once.
func TestStatusTellsTheLastLines(t *testing.T) {
	for size, want := range map[int]int{40: 4 << 10, 4096: 4097, 10_000: 10_001} {
		dial := func(ctx context.Context, opt upstream.Options) (*upstream.Conn, error) {
			for n := range 200 {
				opt.Note(hub.LogStderr, "", fmt.Sprintf("%0*d", size, n))
			}
			return nil, exited()
		}
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: dial})
		await(t, f, hub.StateCrashed)
		got := f.Status()[0].Stderr
		lines := strings.SplitAfter(strings.TrimSuffix(got, "\n"), "\n")
		if len(got) > want || len(got) <= want-size-1 || lines[len(lines)-1] != fmt.Sprintf("%0*d", size, 199) || len(lines[0]) < size {
			t.Errorf("lines of %d: %d bytes in %d lines", size, len(got), len(lines))
		}
	}
}

// A log is bounded, in lines and in bytes; its numbers go on.
func TestLogIsBounded(t *testing.T) {
	for size, least := range map[int]int{10: 500, 1000: 64} {
		d := &dialer{began: time.Now()}
		dial := func(ctx context.Context, opt upstream.Options) (*upstream.Conn, error) {
			for n := range 2000 {
				opt.Note(hub.LogStderr, "", fmt.Sprintf("%0*d", size, n))
			}
			return d.dial(ctx, opt)
		}
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: dial})
		if _, err := connect(t.Context(), f, "s"); err != nil {
			t.Fatal(err)
		}
		lines, _, _ := f.Log("s", 0)
		bytes := 0
		for _, l := range lines {
			bytes += len(l.Text)
		}
		if last := lines[len(lines)-1]; len(lines) > 500 || len(lines) < least || bytes > 64<<10 || last.Seq != 2002 || last.Text != "ready, 0 tools" {
			t.Errorf("%d lines of %d bytes, the last is %+v", len(lines), bytes, last)
		}
		for i, l := range lines[1:] {
			if l.Seq != lines[i].Seq+1 {
				t.Fatalf("%d comes after %d", l.Seq, lines[i].Seq)
			}
		}
	}
}
