package cli

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A hub that was started in a terminal ends when that is closed.
func TestTerminalClosed(t *testing.T) {
	emptyHome(t)
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("NOT RUN: no terminals: %v", err)
	}
	defer master.Close()
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("NOT RUN: no terminals: %v", err)
	}
	// A hub that is started with the signal ignored, as by nohup, is to go on. Whoever
	// runs the tests may have started them so; what is caught is not ignored by children.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, unix.SIGHUP)
	defer signal.Stop(caught)
	cmd := hubProcess(t, func(cmd *exec.Cmd) {
		cmd.Stdin = terminal
		cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true} // of standard input
	})
	terminal.Close()
	master.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended badly: %v", err)
		}
	case <-time.After(time.Minute): // far longer than the hub takes
		t.Error("it goes on")
		_ = cmd.Process.Kill()
		<-ended
	}
}
