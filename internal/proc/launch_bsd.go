//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
	"time"
)

// launch starts the leader of the tree, in a group of its own.
func (a *account) launch(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	attr.Sys = &syscall.SysProcAttr{Setpgid: true}
	return os.StartProcess(path, argv, attr)
}

// limit applies what is no cgroup's. Here no limit can be set on another
// process.
func (t *tree) limit() {
	if t.limits != (Limits{}) {
		t.notes = append(t.notes, "limits are not applied on this system")
	}
}

// endStrays has nobody to end: the environment of others is not shown here, so
// that what has left the group is not known.
func (t *tree) endStrays(time.Duration, <-chan struct{}) bool { return true }
