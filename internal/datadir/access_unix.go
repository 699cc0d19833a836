//go:build !windows

package datadir

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkAccess refuses a data directory into which others could put files that
// the hub would then trust.
func checkAccess(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("looking at the data directory: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("data directory %s may be written by others than its owner (mode %04o); run: chmod go-w %[1]s", path, mode)
	}
	return nil
}

// checkPrivate refuses a directory that is not for this user alone.
func checkPrivate(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("others than its owner may use %s (mode %04o); run: chmod go= %[1]s", path, mode)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (%d)", path, stat.Uid)
	}
	return nil
}
