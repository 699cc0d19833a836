package proc

import (
	"context"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReapOrphans takes leave of processes that have become children of this one
// since their parents ended, until ctx ends; its error is then that of ctx.
// Where orphans go to another process it returns nil at once: they come to this
// one if it is the first of a container, or a subreaper. Without it those of a
// server that runs on would stay as zombies.
func ReapOrphans(ctx context.Context) error { return reapOrphans(ctx, orphanPause) }

// orphanPause is the time between two looks.
const orphanPause = 10 * time.Second

// reapOrphans reaps who was found dead twice in a row. For a child that this
// process has started itself somebody waits all the time, so that it is never
// seen like that.
func reapOrphans(ctx context.Context, pause time.Duration) error {
	if !adopts() {
		return nil
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var before map[identity]bool
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		now := make(map[identity]bool)
		for _, id := range deadChildren() {
			if before[id] {
				id.reap()
			} else {
				now[id] = true
			}
		}
		before = now
	}
}

// adopts reports whether orphans become children of this process.
func adopts() bool {
	var subreaper int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0, 0, 0)
	return os.Getpid() == 1 || err == nil && subreaper != 0
}

// deadChildren returns the children of this process that are zombies.
func deadChildren() []identity {
	var fs procfs
	var dead []identity
	self := os.Getpid()
	_ = fs.each(func(pid int) { // without /proc none is known
		if s, ok := fs.stat(pid); ok && s.zombie && s.parent == self {
			dead = append(dead, s.identity())
		}
	})
	return dead
}
