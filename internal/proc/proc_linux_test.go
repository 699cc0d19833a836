package proc

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Where this process is the init of a container, or a subreaper as here,
// orphans of a tree become its children and nobody else reaps them.
func TestOrphansAreReaped(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skip("no subreaper:", err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	p := child(t, "runaway", graces(never, time.Millisecond))
	pid := ready(t, p)
	<-p.Done()
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); !os.IsNotExist(err) {
		t.Errorf("the orphan was not reaped: %v", err)
	}
}

// Where the init of a container does not reap, zombies stay for ever; they must
// not count as survivors.
func TestZombiesAreGone(t *testing.T) {
	p, err := os.StartProcess(os.Args[0], os.Args[:1], &os.ProcAttr{
		Env: []string{childMode + "=deaf"},
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	group := &tree{account: new(account), group: p.Pid}
	if group.onlyZombies() {
		t.Error("a living process is taken for a zombie")
	}
	group.kill()
	if err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if !group.onlyZombies() {
		t.Error("a zombie is taken for a living process")
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if group.onlyZombies() {
		t.Error("an empty group is taken for one of zombies")
	}
}
