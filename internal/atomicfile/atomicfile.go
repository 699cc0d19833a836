// Package atomicfile writes a file as a whole: whoever reads it, also after a
// crash or a loss of power, finds what was there before or all of what is
// there now.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Write makes what write writes the content of the file at path, with the
// permissions perm, in place of a file that is there. Until then the content
// stands in a file of its own beside it, whose name begins with a dot and which
// only its owner can read. A symbolic link at path is replaced, not followed.
//
// The error is write's or, about path, the file system's. With an error nothing has changed
// and nothing is left, save for what a killed process leaves.
func Write(path string, perm fs.FileMode, write func(io.Writer) error) (err error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	f, err := os.CreateTemp(dir, "."+name+".*") // 0600
	if err != nil {
		return about(path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = write(f)
	if err == nil && runtime.GOOS != "windows" {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return about(path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return about(path, err)
	}
	SyncDir(dir)
	return nil
}

// WriteBytes is [Write] with the content given, for its owner only.
func WriteBytes(path string, content []byte) error {
	return Write(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// about is an error of the file that is being written, told of the path that
// the caller knows. Errors of other files, which write may come upon, stay.
func about(path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok && isPart(path, p.Path) {
		return &fs.PathError{Op: "write", Path: path, Err: p.Err}
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: "replace", Path: path, Err: l.Err}
	}
	return err
}

// isPart reports whether a name is that of the file beside path.
func isPart(path, name string) bool {
	return filepath.Dir(name) == filepath.Dir(path) && strings.HasPrefix(filepath.Base(name), "."+filepath.Base(path)+".")
}

// SyncDir makes what was made or renamed in a directory outlast a loss of power.
// It is in place already, so that a file system which cannot do this is no reason
// to fail; Windows has no such call.
func SyncDir(dir string) {
	if runtime.GOOS == "windows" {
		return
	}
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync() // see above
	_ = d.Close()
}
