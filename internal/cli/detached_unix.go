//go:build unix

package cli

import "syscall"

// detached puts a process into a session of its own: neither a signal to the
// group of this program nor the end of its terminal reaches it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
