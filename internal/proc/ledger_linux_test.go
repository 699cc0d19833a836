package proc

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLedgerKeepsWhatRuns(t *testing.T) {
	dir := t.TempDir()
	l := openLedger(t, dir)
	p := child(t, "deaf", graces(time.Millisecond, never), func(s *Spec) { s.Ledger, s.Key = l, "some" })
	ready(t, p)
	files, err := filepath.Glob(filepath.Join(dir, "*"+recordSuffix))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseRecord(strings.TrimSuffix(filepath.Base(files[0]), recordSuffix), data)
	if err != nil || r.Key != "some" || r.PID != p.PID() || r.Command != filepath.Base(os.Args[0]) {
		t.Errorf("%+v, %v", r, err)
	}
	stop(t, p)
	wantExit(t, p, "killed by signal 15")
	wantFiles(t, dir, 0)

	if _, err := Start(Spec{Command: dir + "/none", Ledger: l}); err == nil {
		t.Error("started")
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/none\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Spec{Command: script, Ledger: l}); err == nil {
		t.Error("started")
	}
	wantFiles(t, dir, 0)
}

// A ledger that cannot be written keeps no server from running.
func TestLedgerOnAFullDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLedger(filepath.Join(file, "processes"))
	if err == nil {
		t.Fatal("no error")
	}
	p := child(t, "cat", func(s *Spec) { s.Ledger = l })
	ready(t, p)
	if notes := p.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "not recorded") {
		t.Errorf("%q", notes)
	}
	stop(t, p)
	wantExit(t, p, "exit status 0")
}

// Go ends threads whenever it likes. Nobody's child may end with them.
func TestChildOutlivesTheThread(t *testing.T) {
	l := openLedger(t, t.TempDir())
	var p *Process
	done := make(chan int)
	var start func()
	start = func() {
		runtime.LockOSThread() // so that the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() {
			go start() // the first thread does not end; another is found while it is locked
			return
		}
		p = child(t, "cat", func(s *Spec) { s.Ledger = l })
		done <- unix.Gettid()
	}
	go start()
	tid := <-done
	for unix.Tgkill(os.Getpid(), tid, 0) != unix.ESRCH {
		runtime.Gosched()
	}
	ready(t, p)
	if _, err := p.Stdin().Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := p.Stdout().Read(make([]byte, 1)); err != nil {
		t.Errorf("%v, %s", err, p.Exit())
	}
	stop(t, p)
	wantExit(t, p, "exit status 0")
}

// A hub that is killed takes along whoever does not refuse.
func TestChildEndsWithTheHub(t *testing.T) {
	dir := t.TempDir()
	pids := killedHub(t, dir)
	deadline := time.Now().Add(10 * time.Second)
	l := openLedger(t, dir)
	deaf := func() (left int) {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if r, err := l.read(file); err != nil {
				t.Error(err)
			} else if e, ok := find(r.PID); ok && !e.zombie && r.Key == "deaf" {
				left++
			}
		}
		return left
	}
	for deaf() > 0 {
		if time.Now().After(deadline) {
			t.Fatal("the child lives on")
		}
		runtime.Gosched()
	}
	if _, err := l.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		wantGone(t, pid)
	}
}

// What has left the group of its tree ends with the tree all the same.
func TestStraysEnd(t *testing.T) {
	for _, with := range []struct {
		name   string
		ledger *Ledger
	}{{"alone", nil}, {"ledger", openLedger(t, t.TempDir())}} {
		t.Run(with.name, func(t *testing.T) {
			p := child(t, "escape", graces(never, time.Millisecond), func(s *Spec) { s.Ledger = with.ledger })
			pid := ready(t, p)
			<-p.Done()
			wantExit(t, p, "exit status 4")
			wantGone(t, pid)
			stop(t, p)
		})
	}
}

// One that was asked to end is not lost sight of when it runs another program,
// without its mark.
func TestStrayChangesItsMark(t *testing.T) {
	const stray = `trap 'exec env -u TOOLCRIB_TREE sleep 600' TERM; echo ready $$; while :; do sleep 0.01; done`
	p, err := Start(Spec{
		Command: "sh", Args: []string{"-c", `setsid sh -c "$0" & read line`, stray}, Ledger: openLedger(t, t.TempDir()),
		StopGrace: never, KillGrace: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	pid := ready(t, p)
	stop(t, p)
	wantGone(t, pid)
}

func TestStraysAreReaped(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skip("no subreaper:", err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	p := child(t, "escape", graces(never, time.Millisecond))
	pid := ready(t, p)
	<-p.Done()
	if e, ok := find(pid); ok {
		t.Errorf("the stray was not reaped: %+v", e)
	}
}

// Trees that end at the same time share a look at the processes; none may be
// given one that was begun before it asked.
func TestCensusIsShared(t *testing.T) {
	l := openLedger(t, t.TempDir())
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			p, err := Start(Spec{Command: "sh", Args: []string{"-c", "setsid sleep 600 <&- >&- 2>&- & echo $!; exit"}, Ledger: l, KillGrace: never})
			if err != nil {
				t.Error(err)
				return
			}
			<-p.Done()
			if left := l.system.census.bearers(p.tree.mark); len(left) > 0 {
				t.Errorf("left: %+v", left)
			}
			stop(t, p)
		})
	}
	all.Wait()
}
