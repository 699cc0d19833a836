package proc

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// launcher forks children on one thread.
//
// On Linux a child can be told to get a signal when its parent dies
// (PR_SET_PDEATHSIG), and the parent is the thread that forked it, not the
// process. Go ends and makes threads as it likes, so that a child would lose
// its parent at any moment. The thread of a launcher belongs to one goroutine
// that stays on it for as long as any of its children lives: what is left to
// end the thread is the end of this process.
//
// The zero launcher is ready. Its goroutine comes with the first child and ends
// with the last.
type launcher struct {
	mu       sync.Mutex
	children int         // for which the thread must stay
	forks    chan func() // closed when the last child is gone
}

// fork runs f, which forks a child, on the thread. The thread stays until
// release is called, once for each fork.
func (l *launcher) fork(f func()) {
	l.mu.Lock()
	if l.children == 0 {
		l.forks = make(chan func())
		go serveForks(l.forks)
	}
	l.children++
	forks := l.forks
	l.mu.Unlock()

	done := make(chan struct{})
	forks <- func() {
		defer close(done)
		f()
	}
	<-done
}

// release says that a child for which fork was called is gone, or was never
// born.
func (l *launcher) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.children--
	if l.children == 0 {
		close(l.forks)
	}
}

func serveForks(forks <-chan func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for f := range forks {
		f()
	}
}

// launch starts the leader of the tree, in a group of its own and in the tree's
// cgroup if there is one. With a ledger it is asked to end when this process
// dies.
func (a *account) launch(path string, argv []string, attr *os.ProcAttr) (p *os.Process, err error) {
	attr.Sys = &syscall.SysProcAttr{Setpgid: true}
	if a.ledger == nil {
		return a.start(path, argv, attr)
	}
	attr.Sys.Pdeathsig = syscall.SIGTERM
	a.release = a.system.launcher.release
	a.system.launcher.fork(func() { p, err = a.start(path, argv, attr) })
	return p, err
}

// start starts the leader in the cgroup of the tree, or without it if that
// fails for whatever reason: where another start fails too, it was not the
// cgroup's fault.
func (a *account) start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	if a.cgroup == nil {
		return os.StartProcess(path, argv, attr)
	}
	dir, err := a.cgroup.open()
	if err == nil {
		defer dir.Close()
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(dir.Fd())
		var p *os.Process
		if p, err = os.StartProcess(path, argv, attr); err == nil {
			return p, nil
		}
		attr.Sys.UseCgroupFD = false
	}
	p, again := os.StartProcess(path, argv, attr)
	if again != nil {
		return nil, again
	}
	a.cgroup.remove()
	a.cgroup = nil
	a.notes = unlimited(a.limits, errors.Join(errors.New("the child could not be started in a control group"), err))
	return p, nil
}
