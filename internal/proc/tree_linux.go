package proc

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// limit applies what is no cgroup's, by the limits of each process. What the
// leader has started in the moment before keeps those of this process.
func (t *tree) limit() {
	if t.limits.Files > 0 {
		t.rlimit(unix.RLIMIT_NOFILE, uint64(t.limits.Files), "open files are not limited")
	}
	if t.limits.Memory > 0 && (t.cgroup == nil || !t.cgroup.memory) {
		t.rlimit(unix.RLIMIT_DATA, uint64(t.limits.Memory), "memory is not limited")
	}
}

func (t *tree) rlimit(resource int, value uint64, failure string) {
	var now unix.Rlimit
	err := unix.Prlimit(t.group, resource, nil, &now)
	if err == nil {
		value = min(value, now.Max) // only root may have more
		err = unix.Prlimit(t.group, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
	}
	if err != nil && err != unix.ESRCH {
		t.notes = append(t.notes, fmt.Sprintf("%s: %v", failure, err))
	}
}

// endStrays ends what has left the group, as it did when it began a session of
// its own: asked first, and killed after the grace or when cut is closed. It
// reports whether nothing is left.
//
// They are the rest of the tree's cgroup, or else bear its mark.
func (t *tree) endStrays(grace time.Duration, cut <-chan struct{}) bool {
	h := hunt{
		find:  func() []entry { return t.system.census.bearers(t.mark) },
		grace: grace,
		cut:   cut,
	}
	if t.cgroup != nil {
		h.find, h.kill = t.cgroup.living, t.cgroup.kill
	}
	return h.run()
}
