//go:build !unix

package main

import "os/exec"

// leaveGroup does nothing: there are no sessions here.
func leaveGroup(*exec.Cmd) {}
