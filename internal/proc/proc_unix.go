//go:build unix

package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is a process group. Its id stays taken for as long as one process of
// the group is left, also when the leader was reaped. It is signalled only
// when it was found non-empty a moment before, so that the id could have
// become another group's only by running through all process ids in between.
//
// What has left the group is found by other means, see strays.
type tree struct {
	*account
	group int
}

func newTree(leader *os.Process, a *account) (*tree, error) {
	return &tree{account: a, group: leader.Pid}, nil
}

// terminate asks every process of the group to end, and reports that there is
// a way to ask. An error would mean that nobody is left to be asked, which the
// caller finds out by itself.
func (t *tree) terminate() bool {
	_ = unix.Kill(-t.group, unix.SIGTERM)
	return true
}

func (t *tree) kill() {
	_ = unix.Kill(-t.group, unix.SIGKILL)
	t.cgroup.kill()
}

// empty reports whether no process of the group is left. It must not be called
// before the leader was reaped, whose status it would take.
func (t *tree) empty() bool {
	// Orphans become children of init, or of this process where it is the
	// init of a container or a subreaper: then nobody else reaps them.
	for {
		pid, err := unix.Wait4(-t.group, nil, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			break
		}
	}
	err := unix.Kill(-t.group, 0)
	if err == unix.EPERM {
		// Darwin says so of a group of zombies, others of a group of some
		// other user's processes.
		return runtime.GOOS == "darwin"
	}
	return err == unix.ESRCH
}

// onlyZombies reports whether all that is left of the group are zombies, which
// stay where a container's init does not reap.
func (t *tree) onlyZombies() bool {
	all, err := processes()
	if err != nil {
		return false
	}
	found := false
	for _, e := range all {
		if e.group == t.group {
			if !e.zombie {
				return false
			}
			found = true
		}
	}
	return found
}

func (t *tree) close() {}

func startReason(err error) Reason {
	switch {
	case errors.Is(err, unix.ENOEXEC), errors.Is(err, fs.ErrNotExist):
		// The file was there a moment ago; what is missing is the interpreter
		// that it names.
		return BadFormat
	case errors.Is(err, fs.ErrPermission):
		return PermissionDenied
	default:
		return Failed
	}
}

// executable returns file if it is a program.
func executable(file string, _ []string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", errNotExecutable
	}
	return file, nil
}

func describe(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("killed by signal %d", status.Signal())
	}
	return fmt.Sprintf("exit status %d", state.ExitCode())
}
