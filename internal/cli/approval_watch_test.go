package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Requests are shown as they come: those that are pending already once, and each
// that is asked or decided meanwhile. Completion knows them, as the hub tells them
// to who may decide.
func TestApprovalWatch(t *testing.T) {
	noted(t)
	if code, out, errs := run(t, message.English, "approval", "list", "--watch"); code != exitNoHub {
		t.Errorf("without a hub: exit code %d, %s%s", code, out, errs)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	serving := serveHere(ctx, t)
	before := pendingCall(t, "demo__write_note", "name=a", "text=b")

	watching, quit := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var all sync.WaitGroup
	all.Go(func() {
		defer w.Close()
		var errs bytes.Buffer
		if code := Main(watching, []string{"approval", "list", "--watch"}, Env{Stdin: strings.NewReader(""), Stdout: w, Stderr: &errs, Lang: message.English}); code != exitOK {
			t.Errorf("it ended with %d: %s", code, &errs)
		}
	})
	shown := lines(r)
	if line := <-shown; !strings.Contains(line, "approval.changed") || !strings.Contains(line, "pending") || !strings.Contains(line, before) || !strings.Contains(line, "demo__write_note") {
		t.Errorf("shown is %q", line)
	}
	next := pendingCall(t, "demo__delete_note", "name=a")
	if line := <-shown; !strings.Contains(line, next) || !strings.Contains(line, "critical") {
		t.Errorf("shown is %q", line)
	}
	if code, _, errs := run(t, message.English, "approval", "reject", next); code != exitOK {
		t.Error(errs)
	}
	if line := <-shown; !strings.Contains(line, next) || !strings.Contains(line, "rejected") || !strings.Contains(line, "admin") {
		t.Errorf("shown is %q", line)
	}
	quit()
	for range shown {
	}
	all.Wait()

	if _, out, _ := run(t, message.English, completeWord, "approval", "approve", ""); !strings.HasPrefix(out, before+"\t") {
		t.Errorf("completed with %q", out)
	}
	if code, out, errs := run(t, message.English, "status"); code != exitOK || !strings.Contains(out, "To decide      1") || !strings.Contains(out, "enforce: ") {
		t.Errorf("status: %d, %s%s", code, out, errs)
	}
	stop()
	<-serving
}

// lines are those that are read; it is closed at the end.
func lines(r io.Reader) <-chan string {
	all := make(chan string)
	go func() {
		defer close(all)
		p := newPrompt(r, io.Discard)
		for line := range p.lines {
			all <- line
		}
	}()
	return all
}

// serveHere has a hub serve until ctx ends; what it returns is closed then.
func serveHere(ctx context.Context, t *testing.T) <-chan struct{} {
	t.Helper()
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer in.Close()
		var errs bytes.Buffer
		if code := Main(ctx, []string{"serve", "--listen", "none"}, Env{Stdin: strings.NewReader(""), Stdout: in, Stderr: &errs, Lang: message.English}); code != exitOK {
			t.Errorf("the hub ended with %d: %s", code, &errs)
		}
	}()
	if _, err := io.ReadAtLeast(out, make([]byte, 64), len("Toolcrib")); err != nil {
		t.Fatalf("it is not ready: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return ended
}
