// Package datadir owns the directory in which one hub keeps what outlives it:
// who may use it, which layout it has, and where each file lies.
package datadir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Version is the layout that this program writes and the newest it can read.
const Version = 1

// maxSmallFile bounds what is read of the lock and version files.
const maxSmallFile = 1 << 10

// Dir is an open data directory. While it is open no other process can open
// it. Its methods may be called from any goroutine.
type Dir struct {
	path string

	mu   sync.Mutex
	lock *os.File // nil once closed
}

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

// VersionError says that a newer program has written the directory.
type VersionError struct {
	Path  string // of the directory
	Found int    // the layout that the directory has
}

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("data directory %s has layout %d, but this program knows layouts up to %d: it was written by a newer version",
		e.Path, e.Found, Version)
}

// Open opens the data directory at path, which is made, with its parents and
// for its owner only, if it is not there. The caller closes the Dir.
//
// Errors: a [*LockedError] if the directory is open elsewhere, a
// [*VersionError] if its layout is newer than [Version], and a plain error if
// path is no directory, cannot be used, or (on Unix) may be written by others
// than its owner.
//
// The lock belongs to the process: it ends with it, however the process ends,
// so what a killed hub leaves behind is no obstacle.
func Open(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, fmt.Errorf("looking at the data directory: %w", err)
	}
	if err := checkAccess(abs, info); err != nil {
		return nil, err
	}

	lock, err := takeLock(abs)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: abs, lock: lock}
	// The version is looked at under the lock, so that two hubs that start at
	// once cannot both find a directory without one.
	if err := d.checkVersion(); err != nil {
		_ = d.Close() // err says more than a failure of this could
		return nil, err
	}
	return d, nil
}

// Path is the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// Index is the path of the file in which the catalog keeps what servers offer.
// The file need not exist.
func (d *Dir) Index() string { return filepath.Join(d.path, "index.json") }

// Close gives the directory free. Further calls do nothing and return nil.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil {
		return nil
	}
	lock := d.lock
	d.lock = nil
	// The file stays: removing it would let two processes hold locks on two
	// files of the same name. Emptied, it no longer names a process that may
	// be another one by then; closing it ends the lock.
	if err := errors.Join(lock.Truncate(0), lock.Close()); err != nil {
		return fmt.Errorf("unlocking the data directory: %w", err)
	}
	return nil
}

// takeLock returns the open and locked lock file of the directory, which holds
// the process id and the time of locking.
func takeLock(dir string) (*os.File, error) {
	name := filepath.Join(dir, "lock")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the data directory's lock: %w", err)
	}
	if err := lockAndSign(f, dir); err != nil {
		_ = f.Close() // err says more than a failure of this could
		return nil, err
	}
	return f, nil
}

func lockAndSign(f *os.File, dir string) error {
	switch err := tryLock(f); {
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

// checkVersion refuses a layout that this program does not know, and writes
// the version into a directory that has none.
func (d *Dir) checkVersion() error {
	name := filepath.Join(d.path, "version")
	raw, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return d.writeVersion(name)
	}
	if err != nil {
		return fmt.Errorf("reading the data directory's version: %w", err)
	}
	v, err := strconv.Atoi(string(bytes.TrimSpace(raw[:min(len(raw), maxSmallFile)])))
	if err != nil || v < 1 {
		return fmt.Errorf("the data directory's version file %s does not hold a version number", name)
	}
	if v > Version {
		return &VersionError{Path: d.path, Found: v}
	}
	return nil
}

// writeVersion writes the version file so that it is whole or not there, even
// after a loss of power.
func (d *Dir) writeVersion(name string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing the data directory's version: %w", err)
		}
	}()
	part := name + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(writeAt(f, strconv.Itoa(Version)+"\n"), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, name)
}
