// Package proc runs child processes as trees: what a child starts in turn
// belongs to it, and ends with it.
//
// A tree is a process group on Unix and a job object on Windows. On Linux a
// process that leaves its group on purpose (setsid) still belongs to the tree:
// it is known by its environment ([MarkVariable]), or by the cgroup of the tree
// if that has one. One that also clears that variable and has no cgroup is out
// of reach, as are all that leave their group on other Unixes.
//
// A [Ledger] sees to it that trees end with the hub, however the hub ends: what
// a killed one has left behind is ended by the next.
//
// The package owns the pipes, the environment and the end of a child. It
// knows no protocol, and it returns plain errors.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/sandbox"
)

const (
	defaultGrace = 2 * time.Second

	// killWait bounds the wait for a tree that was killed. Only a process
	// stuck inside the kernel, or one of another user, takes longer.
	killWait = 5 * time.Second

	// Once the tree is gone its pipes are at their end, unless a process that
	// left the tree holds them open. These bound the wait for such a process.
	// Standard output has longer, as its reader may be behind.
	drainStderr = 250 * time.Millisecond
	drainStdout = 5 * time.Second
)

// ErrSurvived is in the error of [Process.Stop] when a process of the tree was
// still there five seconds after it was killed.
var ErrSurvived = errors.New("part of the process tree outlived being killed")

// Spec says what to run and how to end it.
type Spec struct {
	// Command is a file name looked up in the PATH that the child will have,
	// or a path, relative to Dir.
	Command string
	Args    []string

	// Env is added to the clean environment that [Environ] makes.
	Env map[string]string

	// Dir is the working directory; empty means that of this process.
	Dir string

	// StopGrace is how long the child may take to end after its standard
	// input was closed, and KillGrace how long its tree may take after SIGTERM,
	// before it is killed. Zero means two seconds each.
	StopGrace time.Duration
	KillGrace time.Duration

	// Ledger, when set, records the tree for as long as it lives, under Key. On
	// Linux it also sees to it that the child is asked to end, by SIGTERM, when
	// this process dies.
	Ledger *Ledger
	Key    string

	// Limits of the tree. What cannot be applied is in Process.Notes and does
	// not keep the child from running.
	Limits Limits

	// Sandbox, when set, is what the tree may reach; what it starts in turn is
	// bound by it too. Its directory, limits and parent are set from the others
	// here. The child is started through this very program, as package sandbox
	// describes.
	Sandbox *sandbox.Policy

	// OnStderr, when set, is given each line that the child writes to standard
	// error, without its line end and cut at 8 KiB, one at a time and in
	// order. The child may have to wait while it runs.
	OnStderr func(line string)
}

// Process is a running child with everything it has started. It is made by
// [Start] and must be ended by [Process.Stop], also after it ended by itself.
type Process struct {
	process   *os.Process
	tree      *tree
	stopGrace time.Duration
	killGrace time.Duration
	notes     []string

	stdin  *os.File
	stdout *os.File
	tail   Tail

	stop      chan struct{} // closed to ask for the end
	stopOnce  sync.Once
	hurry     chan struct{} // closed to do without the graces
	hurryOnce sync.Once

	drained chan struct{} // closed once standard error is at its end

	exited chan struct{} // closed once the leader was reaped
	exit   string        // written before exited is closed

	done chan struct{} // closed once the whole tree is gone
	err  error         // written before done is closed
}

// Start runs a child process in a tree of its own. An error is a
// [*NotFoundError] or a [*StartError], and nothing runs then.
func Start(spec Spec) (*Process, error) {
	env := Environ(spec.Env)
	dir, err := workingDir(spec)
	if err != nil {
		return nil, err
	}
	path, err := lookup(spec.Command, dir, env)
	if err != nil {
		return nil, err
	}
	in, out, errs, err := openPipes()
	if err != nil {
		return nil, &StartError{Reason: Failed, Command: spec.Command, File: path, Err: err}
	}
	account := spec.Ledger.open(spec)
	child := []*os.File{in.r, out.w, errs.w}
	abandon := func(reason Reason, err error) (*Process, error) {
		account.settle(true)
		closeAll(in.w, out.r, errs.r)
		return nil, &StartError{Reason: reason, Command: spec.Command, File: path, Err: err}
	}
	program, argv, err := account.enclose(spec, path)
	if err != nil {
		closeAll(child...)
		return abandon(NotConfined, err)
	}
	process, err := account.launch(program, argv, &os.ProcAttr{
		Dir: dir, Env: marked(env, account.mark), Files: child,
	})
	closeAll(child...)
	if err != nil {
		return abandon(startReason(err), err)
	}
	account.born(process.Pid)
	t, err := newTree(process, account)
	if err != nil {
		return abandon(Failed, err)
	}
	t.limit()

	p := &Process{
		process:   process,
		tree:      t,
		stopGrace: grace(spec.StopGrace),
		killGrace: grace(spec.KillGrace),
		notes:     t.notes,
		stdin:     in.w,
		stdout:    out.r,
		stop:      make(chan struct{}),
		hurry:     make(chan struct{}),
		drained:   make(chan struct{}),
		exited:    make(chan struct{}),
		done:      make(chan struct{}),
	}
	go p.readStderr(errs.r, spec.OnStderr)
	go p.reap()
	go p.supervise(errs.r)
	return p, nil
}

// PID is the process id of the child, which on Unix is also the id of its
// process group.
func (p *Process) PID() int { return p.process.Pid }

// Stdin is the writing end of the child's standard input. It takes write
// deadlines where the system has them for pipes (not on Windows). Anyone may
// close it; Stop does.
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout is the reading end of the child's standard output. It ends with
// [io.EOF] when the child and all who share its output have ended, when Stop
// returns, and at the latest five seconds after Done.
func (p *Process) Stdout() io.Reader { return output{p.stdout} }

// Stderr is the end of what the child has written to standard error, up to 64
// KiB. After Done nothing is added.
func (p *Process) Stderr() string { return p.tail.String() }

// Notes say, in words for a person, what was asked for and could not be done:
// limits that this system has no way to apply, or a ledger that cannot be
// written. They are known when Start returns.
func (p *Process) Notes() []string { return p.notes }

// Done is closed when no process of the tree is left. A child that exits by
// itself takes the rest of its tree with it: what remains gets the polite
// signal, and is killed after KillGrace.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the child itself ended, such as "exit status 1" or "killed by
// signal 9". It is empty while the child runs, and never so after Done unless
// Stop reports [ErrSurvived].
func (p *Process) Exit() string {
	select {
	case <-p.exited:
		return p.exit
	default:
		return ""
	}
}

// Stop ends the tree and returns once no process of it is left: it closes
// standard input, waits StopGrace, asks the tree to end by SIGTERM, waits
// KillGrace, and kills it. What has left the group of the tree is then asked
// and killed in the same way. Windows has no such signal; there the tree is killed
// after StopGrace. When ctx ends the graces end too and the tree is killed at
// once, so that Stop leaves nothing behind. The error is nil, or holds
// [ErrSurvived].
//
// Stop may be called any number of times, from any goroutine.
func (p *Process) Stop(ctx context.Context) error {
	p.stopOnce.Do(func() { close(p.stop) })
	select {
	case <-p.done:
	case <-ctx.Done():
		p.hurryOnce.Do(func() { close(p.hurry) })
		<-p.done
	}
	p.stdout.Close()
	return p.err
}

// supervise is the one place from which a tree is signalled, so that no signal
// follows the end of the tree, when its ids may belong to somebody else.
func (p *Process) supervise(stderr *os.File) {
	defer close(p.done)

	select {
	case <-p.exited:
	case <-p.stop:
		p.stdin.Close()
		p.awaitLeader(p.stopGrace)
	}
	if !p.ended() && !(p.tree.terminate() && p.awaitTree(p.killGrace, p.hurry)) {
		p.tree.kill()
		if !p.awaitTree(killWait, nil) {
			p.err = fmt.Errorf("stop process %d: %w", p.PID(), ErrSurvived)
		}
	}
	if !p.tree.endStrays(p.killGrace, p.hurry) {
		p.err = fmt.Errorf("stop process %d: %w", p.PID(), ErrSurvived)
	}
	p.tree.close()
	p.tree.settle(p.err == nil)
	p.stdin.Close()

	// Windows knows no deadlines for pipes, nor a process that left its job.
	now := time.Now()
	_ = p.stdout.SetReadDeadline(now.Add(drainStdout))
	_ = stderr.SetReadDeadline(now.Add(drainStderr))
	select {
	case <-p.drained:
	case <-time.After(2 * drainStderr):
		stderr.Close()
	}
}

// reap takes the exit status of the leader. It holds a thread of its own in
// the kernel for as long as the child lives, as every wait of Go does.
func (p *Process) reap() {
	defer close(p.exited)
	state, err := p.process.Wait()
	if err != nil {
		p.exit = "exit status unknown: " + err.Error()
		return
	}
	p.exit = describe(state)
}

// ended reports whether the leader was reaped and nothing is left of the rest.
func (p *Process) ended() bool {
	select {
	case <-p.exited:
		return p.tree.empty()
	default:
		return false
	}
}

func (p *Process) awaitLeader(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
	case <-p.hurry:
	}
}

// awaitTree waits until the tree is gone and reports whether it is; cut ends
// the wait early. There is no event for the end of a group, hence the polls.
func (p *Process) awaitTree(limit time.Duration, cut <-chan struct{}) bool {
	const longestPause = 50 * time.Millisecond

	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		return p.ended()
	case <-cut:
		return p.ended()
	}
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		if p.tree.empty() || pause == longestPause && p.tree.onlyZombies() {
			return true
		}
		select {
		case <-time.After(pause):
		case <-timer.C:
			return p.tree.empty()
		case <-cut:
			return p.tree.empty()
		}
	}
}

func (p *Process) readStderr(r *os.File, sink func(string)) {
	defer close(p.drained)
	defer r.Close()
	lines := lineCutter{sink: sink}
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		_, _ = p.tail.Write(buf[:n])
		lines.write(buf[:n])
		if err != nil {
			lines.flush()
			return
		}
	}
}

// output is the reading end of standard output. Whatever ends it, be it the
// child, a deadline or Stop, is the end of the stream to its reader.
type output struct{ file *os.File }

func (o output) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	if err == io.EOF {
		o.file.Close()
	}
	return n, err
}

// enclose returns what is to be started for the program that was found.
func (a *account) enclose(spec Spec, path string) (program string, argv []string, err error) {
	argv = append([]string{spec.Command}, spec.Args...)
	if spec.Sandbox == nil {
		return path, argv, nil
	}
	a.enclosed = a.data()
	policy := *spec.Sandbox
	policy.Dir, policy.Files, policy.Memory = spec.Dir, a.limits.Files, a.enclosed
	if a.ledger != nil {
		policy.Parent = os.Getpid()
	}
	return sandbox.Command(policy, path, argv)
}

func workingDir(spec Spec) (string, error) {
	if spec.Dir == "" {
		return "", nil
	}
	dir, err := filepath.Abs(spec.Dir)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(dir); err == nil && !info.IsDir() {
			err = errors.New("not a directory")
		}
	}
	if err != nil {
		return "", &StartError{Reason: BadDir, Command: spec.Command, File: spec.Dir, Err: err}
	}
	return dir, nil
}

type pipe struct{ r, w *os.File }

func openPipes() (in, out, errs pipe, err error) {
	for _, p := range []*pipe{&in, &out, &errs} {
		if p.r, p.w, err = os.Pipe(); err != nil {
			closeAll(in.r, in.w, out.r, out.w, errs.r, errs.w)
			return in, out, errs, err
		}
	}
	return in, out, errs, nil
}

// closeAll closes the files that are there.
func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

func grace(d time.Duration) time.Duration {
	if d <= 0 {
		return defaultGrace
	}
	return d
}
