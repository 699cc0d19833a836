package rig

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Bounds of waiting for a program. They only matter when something is wrong,
// so that they are generous: the machine may be busy.
const (
	startLimit = 60 * time.Second
	stopLimit  = 40 * time.Second
)

// AtOnce is the environment in which programs with the race detector end at
// once; otherwise they wait for a second first.
const AtOnce = "GORACE=atexit_sleep_ms=0"

// Process is a program that runs for a test.
type Process struct {
	tb     testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string // of standard output
	stderr safeBuffer
	done   chan struct{} // closed when the program has ended
	err    error         // of Wait; to be read after done
}

// Spawn starts a program. It is ended with the test, which fails if it does
// not end when it is told to, and logs its standard error if the test fails.
func Spawn(tb testing.TB, env []string, name string, args ...string) *Process {
	tb.Helper()
	// Not the test's own context: that would kill the program before it has
	// been asked to stop.
	p := &Process{
		tb: tb, cmd: exec.CommandContext(context.WithoutCancel(tb.Context()), name, args...),
		lines: make(chan string, 64), done: make(chan struct{}),
	}
	p.cmd.Env = append(append(os.Environ(), AtOnce), env...)
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(p.done)
		scan := bufio.NewScanner(out)
		for scan.Scan() {
			select {
			case p.lines <- scan.Text():
			default: // nobody reads that many
			}
		}
		close(p.lines)
		_, _ = io.Copy(io.Discard, out)
		p.err = p.cmd.Wait()
	}()
	tb.Cleanup(func() {
		p.Stop()
		if tb.Failed() {
			tb.Logf("standard error of %s:\n%s", name, tail(p.stderr.String()))
		}
		if strings.Contains(p.stderr.String(), "WARNING: DATA RACE") {
			tb.Errorf("%s has a data race:\n%s", name, p.stderr.String())
		}
	})
	return p
}

// Line returns the next line of standard output; false if the program has
// closed it.
func (p *Process) Line() (string, bool) {
	p.tb.Helper()
	t := time.NewTimer(startLimit)
	defer t.Stop()
	select {
	case line, ok := <-p.lines:
		return line, ok
	case <-t.C:
		p.tb.Fatalf("%s printed nothing for %v; its standard error:\n%s", p.cmd.Path, startLimit, tail(p.stderr.String()))
		return "", false
	}
}

// Send writes a line to standard input.
func (p *Process) Send(line string) {
	p.tb.Helper()
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.tb.Fatalf("write to %s: %v; its standard error:\n%s", p.cmd.Path, err, tail(p.stderr.String()))
	}
}

// CloseInput ends standard input, by which many programs are told to end.
func (p *Process) CloseInput() { _ = p.stdin.Close() }

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr is what the program has written to standard error so far.
func (p *Process) Stderr() string { return p.stderr.String() }

// Terminate asks the program to stop, and does not wait.
func (p *Process) Terminate() {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.tb.Errorf("terminate %s: %v", p.cmd.Path, err)
	}
}

// Kill ends the program at once, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop asks the program to stop, waits for its end, and returns its exit code.
// It may be called more than once.
func (p *Process) Stop() int {
	p.tb.Helper()
	p.Terminate()
	return p.Wait()
}

// Wait waits for the program to end by itself and returns its exit code, -1 if
// a signal ended it.
func (p *Process) Wait() int {
	p.tb.Helper()
	t := time.NewTimer(stopLimit)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		p.tb.Errorf("%s did not end within %v", p.cmd.Path, stopLimit)
		p.Kill()
	}
	return p.cmd.ProcessState.ExitCode()
}

// FreePort is a TCP port of 127.0.0.1 that nobody listens on at the moment.
func FreePort(tb testing.TB) string {
	tb.Helper()
	ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	return port
}

// DeadPort is a TCP port of 127.0.0.1 on which nobody listens, and nobody can
// as long as the test runs: it is that of a connection.
func DeadPort(tb testing.TB) string {
	tb.Helper()
	ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer ln.Close()
	conn, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", ln.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	_, port, err := net.SplitHostPort(conn.LocalAddr().String())
	if err != nil {
		tb.Fatal(err)
	}
	return port
}

// Await calls ok, at intervals, until it holds. The test fails if that takes
// longer than a minute; what is awaited then stands in the message.
func Await(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			tb.Fatalf("after %v still not: %s", startLimit, what)
		}
	}
}

// tail is the end of a long text.
func tail(s string) string {
	const limit = 8 << 10
	if len(s) <= limit {
		return s
	}
	return "[...]" + s[len(s)-limit:]
}

// safeBuffer is a buffer that is read while it is written.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
