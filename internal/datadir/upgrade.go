package datadir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
)

// Version is the layout that this program writes and the newest it can read.
//
//	1  lock, version, index.json
//	2  and admin.token, caller.token, keys/age.key, secrets.json, calls.jsonl, hub.json, hub.sock
const Version = 2

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

// steps returns the ways from each layout to the next one, the first from 1
// to 2. A step that was interrupted is taken again from its beginning, so it
// has to cope with its own traces. An empty directory takes all of them.
func steps() []func(Layout) error {
	return []func(Layout) error{
		func(l Layout) error { return makePrivate(l.join("keys")) },
	}
}

// upgrade brings the directory to [Version]. The version file names the layout
// that the directory has for certain: it is written after each step.
func upgrade(l Layout) error {
	found, err := readVersion(l)
	if err != nil {
		return err
	}
	if found > Version {
		return &VersionError{Path: l.Path(), Found: found}
	}
	for v := found; v < Version; v++ {
		if err := steps()[v-1](l); err != nil {
			return fmt.Errorf("bringing data directory %s from layout %d to %d: %w", l, v, v+1, err)
		}
		if err := atomicfile.WriteBytes(l.versionFile(), []byte(strconv.Itoa(v+1)+"\n")); err != nil {
			return fmt.Errorf("writing the data directory's version: %w", err)
		}
	}
	return nil
}

// readVersion returns the layout of the directory. One that has none yet has
// nothing in it, which is layout 1.
func readVersion(l Layout) (int, error) {
	raw, err := readSmall(l.versionFile())
	if errors.Is(err, fs.ErrNotExist) {
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the data directory's version: %w", err)
	}
	v, err := strconv.Atoi(string(bytes.TrimSpace(raw)))
	if err != nil || v < 1 {
		return 0, fmt.Errorf("the data directory's version file %s does not hold a version number", l.versionFile())
	}
	return v, nil
}
