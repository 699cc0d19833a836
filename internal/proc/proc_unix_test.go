//go:build unix

package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// never is a grace that a test does not live to see the end of: whoever waits
// for it fails by the deadline of the test.
const never = time.Hour

func child(t *testing.T, mode string, change ...func(*Spec)) *Process {
	t.Helper()
	spec := Spec{
		Command: os.Args[0],
		Env: map[string]string{
			childMode:    mode,
			"GORACE":     "atexit_sleep_ms=0", // else each child takes a second to end
			"GOCOVERDIR": t.TempDir(),         // else it complains on standard error
		},
		StopGrace: never,
		KillGrace: never,
	}
	for _, f := range change {
		f(&spec)
	}
	p, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := p.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}

func graces(stop, kill time.Duration) func(*Spec) {
	return func(s *Spec) { s.StopGrace, s.KillGrace = stop, kill }
}

// ready waits for the first line of a child and returns the pid it may name.
func ready(t *testing.T, p *Process) int {
	t.Helper()
	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if err != nil {
		t.Fatalf("the child said %q: %v; standard error: %s", line, err, p.Stderr())
	}
	_, number, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, _ := strconv.Atoi(number)
	return pid
}

func stop(t *testing.T, p *Process) {
	t.Helper()
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func wantExit(t *testing.T, p *Process, want string) {
	t.Helper()
	select {
	case <-p.Done():
	default:
		t.Error("the process is not done")
	}
	if got := p.Exit(); got != want {
		t.Errorf("exit %q, want %q", got, want)
	}
}

// wantGone checks that a process has ended. A zombie has, too.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if pid <= 0 {
		t.Fatal("no pid")
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil && bytes.Contains(stat, []byte(") Z ")) {
		return
	}
	if err := unix.Kill(pid, 0); err != unix.ESRCH {
		t.Errorf("process %d is still there (%v)", pid, err)
	}
}

func TestExit(t *testing.T) {
	t.Run("status", func(t *testing.T) {
		p := child(t, "exit:3")
		<-p.Done()
		wantExit(t, p, "exit status 3")
		stop(t, p)
	})
	t.Run("signal", func(t *testing.T) {
		p := child(t, "deaf")
		ready(t, p)
		if got := p.Exit(); got != "" {
			t.Errorf("exit %q of a process that runs", got)
		}
		if err := unix.Kill(p.PID(), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		wantExit(t, p, "killed by signal 9")
	})
}

func TestStop(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name       string
		mode       string
		stop, kill time.Duration
		ctx        context.Context
		want       string
	}{
		{"ends with its input", "cat", never, never, t.Context(), "exit status 0"},
		{"ends when asked", "deaf", time.Millisecond, never, t.Context(), "killed by signal 15"},
		{"is killed", "stubborn", time.Millisecond, time.Millisecond, t.Context(), "killed by signal 9"},
		{"is killed as the context has ended", "stubborn", never, never, cancelled, "killed by signal 9"},
		{"takes its child along", "parent", never, time.Millisecond, t.Context(), "exit status 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := child(t, test.mode, graces(test.stop, test.kill))
			pid := ready(t, p)
			if err := p.Stop(test.ctx); err != nil {
				t.Error(err)
			}
			wantExit(t, p, test.want)
			wantGone(t, p.PID())
			if pid != 0 {
				wantGone(t, pid)
			}
			if n, err := p.Stdout().Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("output after the stop: %d bytes, %v", n, err)
			}
			if _, err := p.Stdin().Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
				t.Errorf("input after the stop: %v", err)
			}
		})
	}
}

func TestLeaderLeavesChildBehind(t *testing.T) {
	p := child(t, "runaway", graces(never, time.Millisecond))
	pid := ready(t, p)
	<-p.Done()
	wantExit(t, p, "exit status 3")
	wantGone(t, pid)
}

func TestChildOutsideTheGroupHoldsPipes(t *testing.T) {
	p := child(t, "leave", graces(never, time.Millisecond))
	pid := ready(t, p)
	defer func() { _ = unix.Kill(pid, unix.SIGKILL) }()
	<-p.Done()
	stop(t, p)
	wantExit(t, p, "exit status 4")
	if _, err := p.Stdout().Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("output after the stop: %v", err)
	}
	if err := unix.Kill(pid, 0); err != nil {
		t.Errorf("the process outside the group: %v", err)
	}
}

func TestStopFromManyWhileItExits(t *testing.T) {
	for range 5 {
		p := child(t, "cat")
		ready(t, p)
		var all sync.WaitGroup
		all.Go(func() { _ = p.Stdin().Close() })
		for range 8 {
			all.Go(func() {
				if err := p.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				wantExit(t, p, "exit status 0")
			})
		}
		all.Wait()
	}
}

// The reader gets everything although the child has long ended.
func TestOutputOutlivesTheChild(t *testing.T) {
	const size = 50_000 // fits into the pipe
	p := child(t, "flood:"+strconv.Itoa(size))
	<-p.Done()
	out, err := io.ReadAll(p.Stdout())
	if err != nil || len(out) != size {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if got := p.Stderr(); got != "the last words" {
		t.Errorf("standard error %q", got)
	}
}

func TestStderrLines(t *testing.T) {
	var lines []string
	p := child(t, "say:one\r\n\n"+strings.Repeat("a", maxLine+100)+"\nlast", func(s *Spec) {
		s.OnStderr = func(line string) { lines = append(lines, line) }
	})
	<-p.Done()
	want := []string{"one", "", strings.Repeat("a", maxLine), "last"}
	if !slices.Equal(lines, want) {
		t.Errorf("%d lines %.100q", len(lines), lines)
	}
}

// A listener that hangs must not keep the process from being done.
func TestStderrListenerHangs(t *testing.T) {
	called, release := make(chan struct{}), make(chan struct{})
	p := child(t, "say:hello\n", func(s *Spec) {
		s.OnStderr = func(string) { close(called); <-release }
	})
	<-called
	<-p.Done()
	wantExit(t, p, "exit status 0")
	close(release)
}

func TestStdinTakesDeadlines(t *testing.T) {
	p := child(t, "deaf", graces(time.Millisecond, never))
	if err := p.Stdin().SetWriteDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stdin().Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write to a child that does not read: %v", err)
	}
}

func TestChildSeesOnlyItsEnvironment(t *testing.T) {
	t.Setenv("PROC_TEST_SECRET", "do not tell")
	dir := t.TempDir()
	p, err := Start(Spec{Command: "sh", Args: []string{"-c", "env; pwd"}, Env: map[string]string{"MINE": "a b"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	stop(t, p)
	lines := strings.Split(string(out), "\n")
	if !slices.Contains(lines, "MINE=a b") || !slices.Contains(lines, "PATH="+os.Getenv("PATH")) {
		t.Errorf("missing variables in %q", out)
	}
	if bytes.Contains(out, []byte("SECRET")) {
		t.Errorf("too many variables in %q", out)
	}
	if real, _ := filepath.EvalSymlinks(dir); !slices.Contains(lines, real) {
		t.Errorf("no working directory %s in %q", real, out)
	}
}

func TestNothingLeaks(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc")
	}
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	cycle := func(i int) {
		spec := Spec{Command: "cat"}
		if i%2 == 1 {
			spec = Spec{Command: "false"} // ends by itself
		}
		p, err := Start(spec)
		if err != nil {
			t.Fatal(err)
		}
		if i%4 == 1 {
			<-p.Done()
		}
		stop(t, p)
		wantGone(t, p.PID())
	}
	cycle(0) // opens what the runtime keeps
	before := open()
	for i := range 50 {
		cycle(i)
	}
	if after := open(); after != before {
		t.Errorf("%d open files, %d before", after, before)
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err == nil && bytes.Contains(stat, fmt.Appendf(nil, ") Z %d ", os.Getpid())) {
			t.Errorf("a zombie: %s", stat)
		}
	}
}
