//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// stopPatience is how long a process group has to end by itself before it is killed.
const stopPatience = 10 * time.Second

// child is a process that the runner started, leading a process group of its own.
type child struct {
	name    string
	pid     int
	started time.Time
	log     string        // file with what it wrote
	ended   chan struct{} // closed when it was reaped
	failure error         // how it ended; to be read after ended is closed

	stopping sync.Once
}

// errEnded stands for how a process ended that ended well.
var errEnded = errors.New("without an error")

// startChild starts argv with its output going to the file log. The caller ends it with stop.
func startChild(ctx context.Context, name, log string, argv []string) (*child, error) {
	output, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	// The child is ended by stop, gently at first, also when ctx ends: a hub must get the chance to end its own children.
	command := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	command.Stdout, command.Stderr = output, output
	// The signal at our death is for the case that we are killed and cannot stop anything.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := time.Now()
	if err := command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), output.Close())
	}
	c := &child{name: name, pid: command.Process.Pid, started: started, log: log, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.failure = errors.Join(command.Wait(), output.Close())
	}()
	return c, nil
}

// stop ends the process group and returns when the process was reaped. It may be called again.
func (c *child) stop() {
	c.stopping.Do(func() {
		c.signal(syscall.SIGTERM)
		patience := time.NewTimer(stopPatience)
		defer patience.Stop()
		select {
		case <-c.ended:
		case <-patience.C:
		}
		c.signal(syscall.SIGKILL) // Also for those of the group that outlived its leader.
		<-c.ended
	})
}

// signal reaches the whole group; that nobody is left in it is no error.
func (c *child) signal(signal syscall.Signal) { _ = syscall.Kill(-c.pid, signal) }

// complain adds the end of what the child wrote to an error about it.
func (c *child) complain(err error) error {
	select {
	case <-c.ended:
		err = fmt.Errorf("%w; the process has ended: %w", err, cmp.Or(c.failure, errEnded))
	default:
	}
	written, readErr := os.ReadFile(c.log)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	written = bytes.TrimSpace(written)
	return fmt.Errorf("%s: %w; its last words: %s", c.name, err, written[max(0, len(written)-2000):])
}
