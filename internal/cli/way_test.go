package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Commands that run at once share the hub of the first one, and do without it
// when it ends. None of their changes is lost.
func TestManyCommands(t *testing.T) {
	emptyHome(t)
	const many = 8
	var group sync.WaitGroup
	for i := range many {
		group.Go(func() {
			code, out, errs := run(t, message.English, "server", "add", fmt.Sprint("k", i), "--no-test", "--env", "TOKEN=v", "--", "x")
			if code != exitOK {
				t.Errorf("exit code %d: %s%s", code, out, errs)
			}
		})
	}
	group.Wait()
	text, err := os.ReadFile(os.Getenv("TOOLCRIB_CONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range many {
		if !strings.Contains(string(text), fmt.Sprintf("${secret:k%d.env.TOKEN}", i)) {
			t.Errorf("k%d is lost:\n%s", i, text)
		}
	}
}

// A connection leads to the hub that there is at that moment.
func TestHubOfAnotherCommand(t *testing.T) {
	dir := emptyHome(t)
	s, _, _ := newTest(t, message.English, "")
	first, err := (&way{session: s, path: dir}).link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := (&way{session: s, path: dir}).link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !first.own || second.own {
		t.Errorf("own: %v, %v", first.own, second.own)
	}
	for range 2 {
		if _, err := second.Servers(t.Context()); err != nil {
			t.Error(err)
		}
		first.Close()
		if err := first.close(); err != nil {
			t.Error(err)
		}
	}
	second.Close()
	if err := second.close(); err != nil {
		t.Error(err)
	}
	if _, err := second.Servers(t.Context()); err == nil {
		t.Error("a hub was started after the end")
	}
}

// A hub waits for the end of the command that has the data directory.
func TestServeAfterCommand(t *testing.T) {
	dir := emptyHome(t)
	s, _, _ := newTest(t, message.English, "")
	brief, err := (&way{session: s, path: dir}).link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan string, 1)
	go func() {
		var errs bytes.Buffer
		code := Main(ctx, []string{"serve", "--listen", "127.0.0.1:0"}, Env{Stdin: strings.NewReader(""), Stdout: in, Stderr: &errs, Lang: message.English})
		ended <- fmt.Sprintf("exit code %d: %s", code, errs.String())
		in.Close()
	}()
	select {
	case end := <-ended:
		t.Fatalf("it did not wait: %s", end)
	case <-time.After(3 * servePoll): // so that it has looked
	}
	brief.Close()
	if err := brief.close(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	if _, err := io.ReadAtLeast(out, line, len("Toolcrib")); err != nil {
		t.Fatalf("not ready: %s", <-ended)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	cancel()
	if end := <-ended; !strings.HasPrefix(end, "exit code 0") {
		t.Error(end)
	}
}
