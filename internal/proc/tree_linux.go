package proc

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// limit applies what is no cgroup's, by the limits of each process. What the
// leader has started in the moment before keeps those of this process.
func (t *tree) limit() {
	if t.limits.Files > 0 {
		t.rlimit(unix.RLIMIT_NOFILE, uint64(t.limits.Files), "open files are not limited")
	}
	if data := t.data(); data > 0 && data != t.enclosed {
		t.rlimit(unix.RLIMIT_DATA, uint64(data), "memory is not limited")
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
// They bear the mark of the tree, or are the rest of its cgroup.
func (t *tree) endStrays(grace time.Duration, cut <-chan struct{}) bool {
	find := func() []entry {
		found := slices.Clip(t.system.census.bearers(t.mark))
		for _, e := range t.cgroup.living() {
			if !slices.ContainsFunc(found, func(f entry) bool { return f.pid == e.pid }) {
				found = append(found, e)
			}
		}
		return found
	}
	return hunt{find: find, kill: t.cgroup.kill, grace: grace, cut: cut}.run()
}
