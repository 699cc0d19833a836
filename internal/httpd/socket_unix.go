//go:build !windows

package httpd

import "syscall"

// bornPrivate has a socket be for its owner only from its first moment, before
// its mode can be set by its path. Linux takes the mode of the file that it
// makes from the socket; where the system does not, that is no failure.
func bornPrivate(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
}
