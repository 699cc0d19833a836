package cli

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached gives a process no console and a group of its own: neither Ctrl-C
// nor the end of this program's console reaches it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP,
	}
}
