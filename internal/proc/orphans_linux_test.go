package proc

import (
	"bufio"
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The first process of a container gets the orphans of servers that run on.
func TestReapOrphans(t *testing.T) {
	if err := ReapOrphans(t.Context()); err != nil {
		t.Errorf("nobody's orphans come here: %v", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skip("no subreaper:", err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- reapOrphans(ctx, 20*time.Millisecond) }()

	p := child(t, "", func(s *Spec) {
		s.Command, s.Args = "sh", []string{"-c", "for i in 1 2 3; do (setsid true & echo $!); done; echo end; read line; exit 0"}
	})
	for out := bufio.NewScanner(p.Stdout()); out.Scan() && out.Text() != "end"; {
		pid, err := strconv.Atoi(out.Text())
		if err != nil {
			t.Fatal(err)
		}
		wantReaped(t, pid)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := p.Stdin().Close(); err != nil {
		t.Error(err)
	}
	<-p.Done()
	wantExit(t, p, "exit status 0")
}

// wantReaped waits until there is not even a zombie of this id.
func wantReaped(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		if _, ok := find(pid); !ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d was not reaped", pid)
		}
	}
}
