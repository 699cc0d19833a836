package upstream_test

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// notebook keeps what is noted.
type notebook struct {
	mu    sync.Mutex
	lines []string
}

func (n *notebook) note(source hub.LogSource, level hub.LogLevel, line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, strings.TrimSpace(string(source)+" "+string(level))+": "+line)
}

func (n *notebook) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

// What a process writes without being asked is in its server's log, line by
// line and without secrets.
func TestNotes(t *testing.T) {
	s := script(t, `echo "warn: $KEY" >&2
echo "loading $KEY"
read a
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
read b
printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"db","data":"one '$KEY'\ntwo\u001b[31m"}}'
echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":{"a":"'$KEY'"}}}'
echo '{"broken'
read c`)
	s.Env = map[string]string{"KEY": "sk-very-secret"}
	opt := options(s)
	var book notebook
	opt.Note = book.note
	dial(t, opt)
	want := []string{
		"junk: loading ***", "server info: info: db: one ***", "server info: two", `server error: error: {"a":"***"}`, `junk: {"broken`,
		"stderr: warn: ***",
	}
	rig.Await(t, "all is noted", func() bool { return len(book.all()) >= len(want) })
	got := book.all()
	// Standard error comes at any time.
	i := slices.Index(got, "stderr: warn: ***")
	if i >= 0 {
		got = append(slices.Delete(got, i, i+1), "stderr: warn: ***")
	}
	if !slices.Equal(got, want) {
		t.Errorf("noted %q, want %q", got, want)
	}
}

// No line is longer than what fits, and no half of a secret is in it.
func TestNotesAreCut(t *testing.T) {
	key := strings.Repeat("k", 3000)
	s := script(t, `read a; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
read b; printf '%s%s%s\n' "$PAD" "$KEY" "$PAD" >&2; printf '%s%s%s\n' "$PAD" "$KEY" "$PAD"; read c`)
	opt := options(s)
	opt.Resolve = func(s hub.Server) (hub.Server, []string, *hub.Error) {
		s.Env = map[string]string{"KEY": key, "PAD": strings.Repeat("é", 1500)}
		return s, []string{key}, nil
	}
	var book notebook
	opt.Note = book.note
	dial(t, opt)
	rig.Await(t, "both are noted", func() bool { return len(book.all()) > 1 })
	for _, noted := range book.all() {
		_, line, _ := strings.Cut(noted, ": ")
		if len(line) > 4<<10 || strings.Contains(line, "kk") || !strings.Contains(line, "é***é") || strings.ContainsRune(line, '\uFFFD') {
			t.Errorf("%d bytes: %q", len(line), noted)
		}
	}
}

// Placeholders are filled in before anything else, at each connection; what
// came of them is used and not shown.
func TestResolve(t *testing.T) {
	opt := options(hub.Server{Key: "s", Kind: hub.KindBuiltin, Headers: map[string]string{"K": "${env:K}"}})
	var asked hub.Server
	opt.Resolve = func(s hub.Server) (hub.Server, []string, *hub.Error) {
		asked = s
		return s, nil, hub.E(message.PlaceholderUnresolved, nil, "server", s.Key)
	}
	if _, err := upstream.Dial(t.Context(), opt); !hub.IsCode(err, message.PlaceholderUnresolved) || asked.Headers["K"] != "${env:K}" {
		t.Errorf("got %v, asked about %v", err, asked)
	}

	opt.Resolve = func(s hub.Server) (hub.Server, []string, *hub.Error) {
		s.Key = "resolved"
		return s, []string{"the-secret"}, nil
	}
	opt.Serve = func(_ context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
		if key != "resolved" {
			t.Errorf("served as %q", key)
		}
		p := &peer{t: t, in: bufio.NewScanner(r), out: w}
		for {
			n, more := p.next()
			if !more {
				return w.Close()
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"bad key the-secret"}}`, n.ID)
		}
	}
	_, err := upstream.Dial(t.Context(), opt)
	if e := hub.AsError(err); e.Code != message.ServerRefused || strings.Contains(e.Error(), "the-secret") || !strings.Contains(e.Error(), "bad key ***") {
		t.Errorf("got %v", err)
	}
}
