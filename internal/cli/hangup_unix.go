//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// hangup is what SIGHUP means to a hub: as for every service, to read its
// configuration again; but if the terminal that it was started in is closed, to
// end, as for every program in a terminal.
type hangup struct {
	signals  chan os.Signal
	terminal bool // it ends with its terminal
}

// newHangup receives the signal from now on, until stop.
func newHangup() *hangup {
	h := &hangup{make(chan os.Signal, 1), !signal.Ignored(syscall.SIGHUP) && hasTerminal()} // nohup has it ignored
	signal.Notify(h.signals, syscall.SIGHUP)
	return h
}

func (h *hangup) stop() { signal.Stop(h.signals) }

// ends reports whether a signal that came says that the hub is to end.
func (h *hangup) ends() bool { return h.terminal && !hasTerminal() }

// hasTerminal reports whether this process has a terminal that is there (POSIX,
// "The Controlling Terminal").
func hasTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	return tty.Close() == nil
}
