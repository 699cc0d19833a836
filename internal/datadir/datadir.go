// Package datadir owns the directory in which one hub keeps what outlives it:
// who may use it, which layout it has, where each file lies, and how others
// find the hub that holds it.
package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Dir is an open data directory. While it is open no other process can open
// it. Its methods may be called from any goroutine.
type Dir struct {
	Layout

	mu   sync.Mutex
	lock *os.File // nil once closed
}

// Open opens the data directory at path, which is made, with its parents and
// for its owner only, if it is not there. A directory of an older layout is
// brought to [Version]. The caller closes the Dir.
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
	if err := checkAccess(abs); err != nil {
		return nil, err
	}
	lock, err := takeLock(Layout(abs))
	if err != nil {
		return nil, err
	}
	d := &Dir{Layout: Layout(abs), lock: lock}
	if err := d.prepare(); err != nil {
		_ = d.Close() // err says more than a failure of this could
		return nil, err
	}
	return d, nil
}

// prepare puts the files in order. It is done under the lock: two hubs that
// start at once cannot both do it.
func (d *Dir) prepare() error {
	if err := upgrade(d.Layout); err != nil {
		return err
	}
	// As long as it is empty, programs that save the directory may leave it out.
	if err := makePrivate(d.join("keys")); err != nil {
		return fmt.Errorf("making the directory of the keys: %w", err)
	}
	return d.RemoveHub() // of a hub that was killed
}

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
