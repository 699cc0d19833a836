package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
)

// record appends a line to the file, in one write, so that the lines of several
// processes do not mix; "" is no file.
func record(file, line string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600) //nolint:gosec // the file that who started it named
	if err != nil {
		return fmt.Errorf("open the tally: %w", err)
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		return fmt.Errorf("write the tally: %w", err)
	}
	return nil
}

// work is a deed with a mark: each time it is begun there is one more line.
func work(ctx context.Context, s *server, c call) (json.RawMessage, *rpcError) {
	if err := record(s.opt.tally, "work "+c.args.Text); err != nil {
		return nil, &rpcError{Code: codeInternal, Message: err.Error()}
	}
	if c.args.MS > 0 {
		wait(ctx, time.Duration(c.args.MS)*time.Millisecond)
	}
	return textResult(c.args.Text), nil
}

// maxRead is how much of a file the reach tool answers.
const maxRead = 64 << 10

// reach does what a sandbox may refuse.
func reach(ctx context.Context, _ *server, c call) (json.RawMessage, *rpcError) {
	var (
		got []byte
		err error
	)
	switch c.args.How {
	case "read":
		got, err = os.ReadFile(c.args.Text)
	case "write":
		err = os.WriteFile(c.args.Text, []byte("written\n"), 0o600)
	case "connect":
		var conn net.Conn
		if conn, err = (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", c.args.Text); err == nil {
			err = conn.Close()
		}
	default:
		return nil, &rpcError{Code: codeBadParams, Message: "reach: how is read, write or connect"}
	}
	if err != nil {
		return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":true}`, encode(err.Error())), nil
	}
	return textResult(string(got[:min(len(got), maxRead)])), nil
}

// beget starts one grandchild in this process's group, and one in a session of
// its own where there are such. They hold the standard streams.
func beget() error {
	for _, apart := range []bool{false, true} {
		cmd, err := grandchild()
		if err != nil {
			return err
		}
		if apart {
			leaveGroup(cmd)
		}
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start a grandchild: %w", err)
		}
		go func() { _ = cmd.Wait() }()
	}
	return nil
}

// grandchild is a process that nothing but KILL ends, not yet started.
func grandchild() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(context.Background(), self, "-grandchild") // it outlives who starts it
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd, nil
}

// wasListed reports whether the tools were listed before, and that they are now.
func (s *server) wasListed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.listed
	s.listed = true
	return before
}
