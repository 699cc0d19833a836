package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxSmallFile bounds what is read of the files that this package reads.
const maxSmallFile = 16 << 10

// readSmall reads the beginning of a file, maxSmallFile at most.
func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSmallFile))
}

// makePrivate makes a directory for its owner only, and refuses one that is
// there if it is anything else. A symbolic link is no directory here: where it
// leads can be changed by whoever made it.
func makePrivate(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory", path)
	}
	return checkPrivate(path, info)
}
