package storetest

import "os/exec"

// asServerUser is not reached: see programs.
func asServerUser(*exec.Cmd, string) error { return errAbsent }
