//go:build !windows

package auth

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// exposure says why others than the user of this process can read or change
// the file; "" if they cannot.
func exposure(info fs.FileInfo) string { return exposureTo(os.Geteuid(), info) }

// exposureTo says why others than a user can read or change the file. The
// superuser can do so with every file, and is not one of the others.
func exposureTo(user int, info fs.FileInfo) string {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Sprintf("mode %04o", mode)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && user != 0 && stat.Uid != 0 && int(stat.Uid) != user {
		return fmt.Sprintf("owner %d", stat.Uid)
	}
	return ""
}
