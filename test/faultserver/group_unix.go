//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// leaveGroup has the process lead a session, and so a group, of its own.
func leaveGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
