//go:build !windows

package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// errLocked is what tryLock returns when the lock is held by another file
// description.
const errLocked = unix.EWOULDBLOCK

// tryLock takes the whole-file lock of flock(2), which ends when the file is
// closed or the process ends. Unlike the locks of fcntl(2) it also keeps out
// this process's other openings of the file.
func tryLock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// checkAccess refuses a directory into which others could put files that the
// hub would then trust.
func checkAccess(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("data directory %s may be written by others than its owner (mode %04o); run: chmod go-w %[1]s", path, mode)
	}
	return nil
}
