package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func unreadable(path string, err error) error {
	return hub.E(message.FileUnreadable, err, "path", path).With("detail", message.Cause(withoutPath(err)))
}

func unwritable(path string, err error) error {
	return hub.E(message.FileUnwritable, err, "path", path).With("detail", message.Cause(withoutPath(err)))
}

// withoutPath is what went wrong, without the path that the text around it
// names.
func withoutPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// writeNew writes a file for its owner only, which is whole or not there. The
// file may be there already only if replace is set.
func writeNew(path string, replace bool, write func(io.Writer) error) error {
	if _, e := os.Lstat(path); e == nil && !replace {
		return unwritable(path, fs.ErrExist)
	}
	if err := atomicfile.Write(path, 0o600, write); err != nil {
		return unwritable(path, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
