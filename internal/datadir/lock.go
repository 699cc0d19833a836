package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// LockedError says that another Dir, in this or another process, has the
// directory open.
type LockedError struct {
	Path string // of the directory
	PID  int    // of the holder; 0 if it is not known
}

// Error implements error.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("data directory %s is in use", e.Path)
	}
	return fmt.Sprintf("data directory %s is in use by process %d", e.Path, e.PID)
}

// Peek reports whether a [Dir] has the directory at path open, in this or
// another process, and which process that is; 0 if it is not known. It neither
// changes anything nor keeps anybody from opening the directory. A directory
// that is not there is held by nobody.
func Peek(path string) (held bool, pid int, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false, 0, fmt.Errorf("data directory %s: %w", path, err)
	}
	f, err := os.Open(Layout(abs).lockFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, fmt.Errorf("opening the data directory's lock: %w", err)
	}
	defer f.Close() // and with it the lock, if it was free
	switch err := tryLock(f, shared); {
	case errors.Is(err, errLocked):
		return true, holder(f), nil
	case err != nil:
		return false, 0, fmt.Errorf("looking at the data directory's lock: %w", err)
	}
	return false, 0, nil
}

// mode is how a lock is held: by one, or by any number of those that look.
type mode bool

const (
	exclusive mode = false
	shared    mode = true
)

// takeLock returns the open and locked lock file of the directory, which holds
// the process id and the time of locking.
func takeLock(l Layout) (*os.File, error) {
	f, err := os.OpenFile(l.lockFile(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the data directory's lock: %w", err)
	}
	if err := lockAndSign(f, l.Path()); err != nil {
		_ = f.Close() // err says more than a failure of this could
		return nil, err
	}
	return f, nil
}

func lockAndSign(f *os.File, dir string) error {
	switch err := lockForGood(f); {
	case errors.Is(err, errLocked):
		return &LockedError{Path: dir, PID: holder(f)}
	case err != nil:
		return fmt.Errorf("locking the data directory: %w", err)
	}
	text := fmt.Sprintf("pid %d\nsince %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	if err := errors.Join(f.Truncate(0), writeAt(f, text)); err != nil {
		return fmt.Errorf("writing the data directory's lock: %w", err)
	}
	return nil
}

// lockForGood takes the lock for one. Those that look whether it is free
// (Peek) hold it for an instant, which is waited for; any other holder is not.
func lockForGood(f *os.File) error {
	const tries = 100
	var err error
	for range tries {
		if err = tryLock(f, exclusive); !errors.Is(err, errLocked) {
			return err
		}
		if err := tryLock(f, shared); err != nil {
			return err
		}
		if err := unlock(f); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// holder reads the process id from a lock file, 0 if there is none. The file
// of a lock taken this moment may not have it yet.
func holder(f *os.File) int {
	buf := make([]byte, maxSmallFile)
	n, _ := f.ReadAt(buf, 0) // whatever was read is looked at; an error says nothing more
	for line := range strings.Lines(string(buf[:n])) {
		if rest, ok := strings.CutPrefix(line, "pid "); ok {
			if pid, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil && pid > 0 {
				return pid
			}
		}
	}
	return 0
}
