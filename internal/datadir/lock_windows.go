package datadir

import (
	"os"

	"golang.org/x/sys/windows"
)

// errLocked is what tryLock returns when another handle holds the lock in a
// mode that does not go with the one asked for.
const errLocked = windows.ERROR_LOCK_VIOLATION

// tryLock locks one byte far behind the end of the file. Locks are mandatory
// on Windows; on the text itself one would keep others from reading who has it.
func tryLock(f *os.File, m mode) error {
	var how uint32 = windows.LOCKFILE_FAIL_IMMEDIATELY
	if m == exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, lockedByte())
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}

func lockedByte() *windows.Overlapped { return &windows.Overlapped{Offset: 1 << 30} }
