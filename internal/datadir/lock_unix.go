//go:build !windows

package datadir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// errLocked is what tryLock returns when another file description holds the
// lock in a mode that does not go with the one asked for.
const errLocked = unix.EWOULDBLOCK

// tryLock takes the whole-file lock of flock(2), which ends when the file is
// closed or the process ends. Unlike the locks of fcntl(2) it also keeps out
// this process's other openings of the file.
func tryLock(f *os.File, m mode) error {
	how := unix.LOCK_EX
	if m == shared {
		how = unix.LOCK_SH
	}
	return flock(f, how|unix.LOCK_NB)
}

func unlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
