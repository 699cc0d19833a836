package httpd

import "syscall"

// bornPrivate has nothing to do: the file of a socket inherits the access list
// of the user's profile.
func bornPrivate(_, _ string, _ syscall.RawConn) error { return nil }
