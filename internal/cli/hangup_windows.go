package cli

import "os"

// hangup is nothing on Windows, where no signal asks a program to read its
// configuration again.
type hangup struct{ signals chan os.Signal }

func newHangup() *hangup   { return &hangup{} }
func (*hangup) stop()      {}
func (*hangup) ends() bool { return false }
