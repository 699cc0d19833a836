package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// File is a file that is read and written as a whole. Its methods may be
// called by several goroutines at once; writers through one File take turns.
type File struct {
	path string

	mu   sync.Mutex
	text []byte
	etag string // "" if there is no file
}

// OpenFile reads the file. One that is missing is an empty text without an
// ETag. The error is a [message.ConfigUnreadable].
func OpenFile(path string) (*File, error) {
	text, etag, err := readTagged(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, text: text, etag: etag}, nil
}

// readTagged reads a file, and names its content.
func readTagged(path string) (text []byte, etag string, err error) {
	text, err = read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	}
	return text, ETag(text), nil
}

// ETag is the strong validator of a text (RFC 9110, section 8.8.3), with its
// quotes. Equal texts have equal ETags, and others have others.
func ETag(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// Path is the path as it was given.
func (f *File) Path() string { return f.path }

// Text is a copy of the text that was read or written last.
func (f *File) Text() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return bytes.Clone(f.text)
}

// ETag names the text that was read or written last; it is "" as long as there
// is no file.
func (f *File) ETag() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.etag
}

// Exists reports whether there was a file when it was read or written last.
func (f *File) Exists() bool { return f.ETag() != "" }

// Write makes text the whole content of the file, and returns its ETag. It
// refuses, with a [message.ConfigStale], if ifMatch is not the ETag of what was
// read or written last, or if the file is another one by now.
//
// Whoever reads the file meanwhile sees the old content or the new one. A
// symbolic link stays: its target is written. The mode of the file stays; a
// new file, and the directories that it needs, are for their owner alone. If
// the file cannot be written, the error is a [message.ConfigUnwritable], and
// the file is as it was.
//
// Between the look at the file and its replacement another program could still
// write to it; no file system has a way to prevent that.
func (f *File) Write(text []byte, ifMatch string) (etag string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ifMatch != f.etag {
		return "", hub.E(message.ConfigStale, nil, "path", f.path)
	}
	_, now, err := readTagged(f.path)
	if err != nil {
		return "", err
	}
	if now != f.etag {
		return "", hub.E(message.ConfigStale, nil, "path", f.path)
	}
	if err := replace(f.path, text); err != nil {
		return "", hub.E(message.ConfigUnwritable, err, "path", f.path).With("detail", unwritable(err))
	}
	f.text, f.etag = bytes.Clone(text), ETag(text)
	return f.etag, nil
}

var errReadOnly = errors.New("it is read-only")

// unwritable is err without the paths of a renaming, one of which means
// nothing to anybody.
func unwritable(err error) message.Phrase {
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return message.Cause(l.Err)
	}
	return reason(err)
}

// replace writes a file beside the one at path, and puts it in its place.
func replace(path string, text []byte) (err error) {
	target, err := follow(path)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	switch info, err := os.Stat(target); {
	case err == nil && info.Mode().Perm()&0o200 == 0:
		// The renaming would succeed, but not be what its owner has asked for.
		return errReadOnly
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	dir := filepath.Dir(target)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(target, mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// follow is the path that a chain of symbolic links ends at, whether there is
// a file or not.
func follow(path string) (string, error) {
	const maxLinks = 40 // as many as Linux follows
	for range maxLinks {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		link, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return "", errors.New("too many symbolic links")
}
