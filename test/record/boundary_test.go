//go:build linux

package record

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// TestKilledInTransactions kills the hub in the midst of each thing that it writes
// of a call into its database: before the row is written, and when the transaction
// is about to be committed. What becomes of the one call is known exactly.
func TestKilledInTransactions(t *testing.T) {
	t.Parallel()
	const long = 1500 // ms: the intent is taken over before there is an outcome
	for _, test := range []struct {
		name, point string
		ms          int
		told        string
		open        int
	}{
		{"intent written", "write insert audit_entry intent 1", long, toldCut, 1},
		{"intent committed", "commit insert audit_entry intent 1", long, toldCut, 1},
		{"outcome written", "write insert audit_entry outcome 1", long, told, 0},
		{"outcome committed", "commit insert audit_entry outcome 1", long, told, 0},
		{"call written", "write insert audit_entry call 1", 0, told, 0},
		{"call committed", "commit insert audit_entry call 1", 0, told, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, store.Options{}, nil)
			p, at := l.startCrashing(test.point)
			if got := l.call(at, false, "far__work", work("deed", test.ms)); got != test.told {
				t.Errorf("the caller was told %s", got)
			}
			<-p.Done()
			open := l.autopsy(true)
			if len(open) != test.open {
				t.Errorf("%d calls were under way, want %d", len(open), test.open)
			}
			// And once more while that is being recovered.
			again, _ := l.startCrashing(test.point)
			<-again.Done()
			if open := l.autopsy(true); len(open) != test.open {
				t.Errorf("after a recovery that was killed %d calls are open, want %d", len(open), test.open)
			}
			l.settle(open)
			if got := l.done()["deed"]; got != 1 {
				t.Errorf("it was done %d times", got)
			}
			if len(l.book.outcomes) != 1 {
				t.Errorf("the record has the outcomes %v", l.book.outcomes)
			}
		})
	}
}

// TestKilledInCheckpoints kills the hub while it signs the chain, which many
// callers wait for.
func TestKilledInCheckpoints(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"write", "commit"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, store.Options{}, nil)
			p, at := l.startCrashing(when + " insert audit_entry checkpoint 1")
			var all sync.WaitGroup
			for c := range callers {
				all.Go(func() {
					for n := 0; ; n++ {
						text, answer := fmt.Sprintf("%d-%d", c, n), ""
						if n%8 == 0 {
							answer = l.call(at, c%2 == 0, "far__work", work(text, 0))
						} else {
							answer, _ = l.ask(context.Background(), at, c%2 == 0, "far__echo", map[string]any{"text": text})
						}
						if answer == toldCut {
							return
						}
					}
				})
			}
			all.Wait()
			<-p.Done()
			open := l.autopsy(true)
			l.settle(open)
			if l.book.kinds["checkpoint"] == 0 || l.book.last < 500 {
				t.Errorf("the record was not signed: %v", l.book.kinds)
			}
		})
	}
}

// settle starts a hub, has it recover, stops it, and verifies the record.
func (l *lab) settle(open []string) {
	l.t.Helper()
	h := l.start()
	l.recovered(open)
	l.command()
	if code := h.Stop(); code != 0 {
		l.t.Errorf("the hub ended with code %d", code)
	}
	l.command()
	l.verify()
	db := l.look()
	defer db.Close()
	l.book.read(l.t, db)
}

// awaitIntent waits until the record has an intent with the text.
func (l *lab) awaitIntent(text string) {
	l.t.Helper()
	rig.Await(l.t, "the intent of "+text+" is recorded", func() bool {
		db := l.look()
		defer db.Close()
		b := newBook()
		b.read(l.t, db)
		for _, of := range b.intents {
			if of == text {
				return true
			}
		}
		return false
	})
}

// TestKilledBeforeItIsTakenOver: another program holds the database, so that what
// the hub has recorded is in its journal only.
func TestKilledBeforeItIsTakenOver(t *testing.T) {
	t.Parallel()
	l := newLab(t, store.Options{}, nil)
	h := l.start()
	if got := l.call(h.URL, false, "far__work", work("before", 0)); got != told {
		t.Fatalf("the caller was told %s", got)
	}
	release := l.hold("BEGIN IMMEDIATE")
	var all, quick sync.WaitGroup
	for c := range callers {
		quick.Go(func() {
			if got := l.call(h.URL, c%2 == 0, "far__work", work(fmt.Sprint("quick-", c), 0)); got != told {
				t.Errorf("caller %d was told %s", c, got)
			}
		})
		all.Go(func() {
			if got := l.call(h.URL, c%2 == 0, "far__work", work(fmt.Sprint("long-", c), 600_000)); got != toldCut {
				t.Errorf("caller %d was told %s", c, got)
			}
		})
	}
	quick.Wait()
	rig.Await(t, "the server is at work", func() bool { return len(l.done()) == 1+2*callers })
	h.Kill()
	all.Wait()
	release()
	open := l.autopsy(true)
	if len(open) != callers {
		t.Errorf("%d calls were under way", len(open))
	}
	l.settle(open)
	if len(l.book.outcomes) != 1+2*callers {
		t.Errorf("the record has %d calls", len(l.book.outcomes))
	}
}

// metric is the value of a metric without labels.
func (l *lab) metric(h *rig.Hub, name string) float64 {
	l.t.Helper()
	resp, err := l.client.Get(h.URL + "/metrics")
	must(l.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(l.t, err)
	for line := range strings.Lines(string(text)) {
		var value float64
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if _, err := fmt.Sscan(rest, &value); err != nil {
				l.t.Fatal(err)
			}
			return value
		}
	}
	l.t.Fatalf("there is no metric %s:\n%s", name, text)
	return 0
}

// hold has another program, as it were, hold the database until release.
func (l *lab) hold(how string) (release func()) {
	l.t.Helper()
	db, err := sql.Open("sqlite", "file:"+l.store.Path+"?_pragma=busy_timeout(20000)")
	must(l.t, err)
	conn, err := db.Conn(l.t.Context())
	must(l.t, err)
	_, err = conn.ExecContext(l.t.Context(), how)
	must(l.t, err)
	return sync.OnceFunc(func() {
		if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			l.t.Error(err)
		}
		if err := conn.Close(); err != nil {
			l.t.Error(err)
		}
		if err := db.Close(); err != nil {
			l.t.Error(err)
		}
	})
}

// TestKilledBeforeSending: the intent is recorded, and the server that the call is
// for has not started yet.
func TestKilledBeforeSending(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(t.TempDir(), "gate")
	must(t, os.WriteFile(gate, nil, 0o600))
	l := newLab(t, store.Options{}, nil)
	l.configure(nil, rig.Stdio("slow", "sh", "-c", `while [ ! -e "$0" ]; do sleep 0.05; done; exec "$@"`, gate, rig.FaultServer(t), "-tally", l.tally))
	h := l.start()
	if got := l.call(h.URL, false, "slow__work", work("first", 0)); got != told { // its tools are known from here on
		t.Fatalf("the caller was told %s", got)
	}
	h.Stop()
	must(t, os.Remove(gate))
	h = l.start()
	var all sync.WaitGroup
	all.Go(func() { l.call(h.URL, false, "slow__work", work("second", 0)) })
	l.awaitIntent("second")
	h.Kill()
	all.Wait()
	if got := l.whatWasTold("second"); got != toldCut {
		t.Errorf("the caller was told %s", got)
	}
	must(t, os.WriteFile(gate, nil, 0o600))
	open := l.autopsy(true)
	if len(open) != 1 {
		t.Errorf("%d calls were under way, want 1", len(open))
	}
	l.settle(open)
	if n := l.done()["second"]; n != 0 {
		t.Errorf("a call that was not sent was done %d times", n)
	}
}

// TestKilledBeforeTheAnswer: the server is at work.
func TestKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"far", "near"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, store.Options{}, nil)
			h := l.start()
			var all sync.WaitGroup
			all.Go(func() { l.call(h.URL, true, server+"__work", work("long", 600_000)) })
			rig.Await(t, "the server is at work", func() bool { return l.done()["long"] == 1 })
			h.Kill()
			all.Wait()
			open := l.autopsy(true)
			if len(open) != 1 {
				t.Errorf("%d calls were under way, want 1", len(open))
			}
			l.settle(open)
			if n := l.done()["long"]; n != 1 {
				t.Errorf("it was done %d times", n)
			}
		})
	}
}

// TestKilledBeforeTheCallerHasIt: the outcome is recorded, and the caller does not
// read its answer, of which most is still in the hub.
func TestKilledBeforeTheCallerHasIt(t *testing.T) {
	t.Parallel()
	const size = 10 << 20 // more than there is room for on the way
	server := sdk.NewServer(&sdk.Implementation{Name: "wordy", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "say"}, func(context.Context, *sdk.CallToolRequest, struct {
		Text string `json:"text"`
	},
	) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", size)}}}, nil, nil
	})
	remote := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(remote.Close)
	l := newLab(t, store.Options{}, nil, rig.HTTP("wordy", remote.URL).With("spill", "off").With("timeout", "5m"))
	h := l.start()
	at, err := url.Parse(h.URL)
	must(t, err)
	conn, err := net.Dial("tcp", at.Host)
	must(t, err)
	defer conn.Close()
	must(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	body := `{"tool":"wordy__say","arguments":{"text":"answered"}}`
	_, err = fmt.Fprintf(conn, "POST /api/v1/calls HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", at.Host, len(body), body)
	must(t, err)
	rig.Await(t, "the outcome is recorded", func() bool {
		l.readOn()
		return len(l.book.outcomes) == 1
	})
	h.Kill()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil {
		var n int64
		n, err = io.Copy(io.Discard, resp.Body)
		t.Logf("the caller got %d bytes", n)
		_ = resp.Body.Close()
	}
	if err == nil {
		t.Error("the caller got its whole answer: this test shows nothing")
	}
	if open := l.autopsy(true); len(open) != 0 {
		t.Errorf("%d calls were open", len(open))
	}
	l.settle(nil)
	for _, end := range l.book.outcomes {
		if end.outcome != "ok" {
			t.Errorf("the record says %+v", end)
		}
	}
}
