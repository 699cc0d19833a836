package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// eras are a revision of each era.
func eras() []string { return []string{latestLegacy, modernRevision} }

// faultServers starts the fault server in each form in which it can be behind
// the hub, without any fault.
func faultServers(t *testing.T) []rig.Server {
	t.Helper()
	_, legacyURL := rig.StartFaultServer(t, "127.0.0.1:0")
	_, eventsURL := rig.StartFaultServer(t, "127.0.0.1:0", "-sse")
	_, modernURL := rig.StartFaultServer(t, "127.0.0.1:0", "-fault", "modernonly")
	return []rig.Server{
		rig.Stdio("stdio", rig.FaultServer(t)),
		rig.Stdio("modernstdio", rig.FaultServer(t), "-fault", "modernonly"),
		rig.HTTP("legacy", legacyURL),
		rig.HTTP("events", eventsURL),
		rig.HTTP("modern", modernURL),
	}
}

// matrix runs a test for every pair of a caller's era and a server.
func matrix(t *testing.T, hub rig.Door, servers []rig.Server, test func(t *testing.T, c *caller, server string)) {
	t.Helper()
	for _, revision := range eras() {
		for _, s := range servers {
			t.Run(revision+" to "+s.Key, func(t *testing.T) {
				test(t, connect(t, hub.MCP(), revision), s.Key)
			})
		}
	}
}

// TestResults has every kind of result come through, between all eras and
// transports.
func TestResults(t *testing.T) {
	t.Parallel()
	servers := faultServers(t)
	hub := rig.StartHub(t, servers...)
	hub.AwaitReady()
	matrix(t, hub.Door, servers, func(t *testing.T, c *caller, server string) {
		if got := c.text(server+"__echo", map[string]any{"text": "Grüße\n世界 \u0000"}); got != "Grüße\n世界 \u0000" {
			t.Errorf("echo answered %q", got)
		}
		m := c.call(server+"__fail", nil)
		if m.Error != nil || !strings.Contains(string(m.Result), `"isError":true`) {
			t.Errorf("a tool's own error came as %s", m)
		}
		m = c.call(server+"__rpcerror", nil)
		const data = `{"reason":"asked for","big":9007199254740993,"nested":{"list":[0,false,null,"",{}]}}`
		if m.Error == nil || m.Error.Code != 1234 || m.Error.Message != "refused on request" || string(m.Error.Data) != data {
			t.Errorf("a server's JSON-RPC error came as %s", m)
		}
		// Between eras only what the era has differs.
		complete := strings.Contains(string(c.call(server+"__echo", map[string]any{"text": ""}).Result), `"resultType":"complete"`)
		if complete != c.modern() {
			t.Errorf("to a caller of %s a result has resultType: %v", c.revision, complete)
		}
	})
}

// TestLarge has large results of different sizes under way at the same time,
// and no byte of one may end up in another.
func TestLarge(t *testing.T) {
	t.Parallel()
	servers := faultServers(t)
	hub := rig.StartHub(t, servers...)
	hub.AwaitReady()
	callers := []*caller{connect(t, hub.MCP(), latestLegacy), connect(t, hub.MCP(), modernRevision)}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for n := range 150 {
		c, server, kib := callers[n%2], servers[n%len(servers)].Key, n%5*97+n
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, callLimit)
			defer cancel()
			a, err := c.try(ctx, n+1000, "tools/call", map[string]any{
				"name": server + "__big", "arguments": map[string]any{"kib": kib},
			}, nil)
			if err != nil {
				return err
			}
			list, err := a.all()
			if err != nil || len(list) != 1 {
				return fmt.Errorf("%d messages (%w), want one", len(list), err)
			}
			var result struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			}
			if err := json.Unmarshal(list[0].Result, &result); err != nil {
				return fmt.Errorf("%s: %w", list[0], err)
			}
			if string(list[0].ID) != fmt.Sprint(n+1000) || len(result.Content) != 1 || result.Content[0].Text != filler(kib<<10) {
				return fmt.Errorf("call %d to %s: the %d KiB are not those that were sent", n, server, kib)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// filler is the text that the fault server's tool big sends.
func filler(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + (i/7+i%7)%26)
	}
	return string(b)
}

// sleepers are two calls that a server is working on: the first for longer than
// any call may take, the second for a moment.
type sleepers struct {
	t             *testing.T
	c             *caller
	server        string
	first, second <-chan message     // closed without a message if the call has none
	hangUp        context.CancelFunc // breaks the connection of the first
}

// startSleepers makes both calls, and returns when the server has them.
func startSleepers(t *testing.T, c *caller, server string) *sleepers {
	t.Helper()
	ctx, hangUp := context.WithCancel(t.Context())
	t.Cleanup(hangUp)
	s := &sleepers{t: t, c: c, server: server, hangUp: hangUp}
	s.first = s.sleep(ctx, "first", 120_000)
	rig.Await(t, "the first call has reached the server", func() bool { return s.sleeping() == 1 })
	s.second = s.sleep(t.Context(), "second", 700)
	rig.Await(t, "the second call has reached the server", func() bool { return s.sleeping() == 2 })
	return s
}

func (s *sleepers) sleep(ctx context.Context, id string, ms int) <-chan message {
	done := make(chan message, 1)
	go func() {
		defer close(done)
		a, err := s.c.try(ctx, id, "tools/call", map[string]any{"name": s.server + "__sleep", "arguments": map[string]any{"ms": ms}}, nil)
		if err != nil {
			return
		}
		if list, err := a.all(); err == nil && len(list) == 1 {
			done <- list[0]
		}
	}()
	return done
}

// sleeping is how many calls have reached the server.
func (s *sleepers) sleeping() int {
	s.t.Helper()
	var count map[string]int
	s.c.structured(s.server+"__calls_count", nil, &count)
	return count["sleep"]
}

// cancelled is how many of them the server has stopped.
func (s *sleepers) cancelled() int {
	s.t.Helper()
	var count struct {
		Cancelled int `json:"cancelled"`
	}
	s.c.structured(s.server+"__cancelled_count", nil, &count)
	return count.Cancelled
}

// tell ends the first call by a notification.
func (s *sleepers) tell() {
	s.t.Helper()
	s.c.notify(s.t.Context(), "notifications/cancelled", map[string]any{"requestId": "first", "reason": "enough"})
}

// awaitSecond waits for the second call, which nobody has cancelled, and for
// the server to have stopped just as many calls as it should.
func (s *sleepers) awaitSecond(stopped int) {
	s.t.Helper()
	if m, ok := <-s.second; !ok || m.Result == nil || resultText(s.t, "sleep", m.Result) != "slept" {
		s.t.Errorf("the call that nobody cancelled was answered with %s", m)
	}
	if n := s.cancelled(); n != stopped {
		s.t.Errorf("the server stopped %d calls, want %d", n, stopped)
	}
}

// awaitFirst waits until the server has stopped a call, and for the answer to
// the first.
func (s *sleepers) awaitFirst() {
	s.t.Helper()
	rig.Await(s.t, "the server has stopped a call", func() bool { return s.cancelled() == 1 })
	if m, ok := <-s.first; ok && m.Error.reason() != "cancelled" {
		s.t.Errorf("the cancelled call was answered with %s", m)
	}
}

// TestCancel ends one of two calls that a server is working on, in each way in
// which a caller can, and looks which one the server stopped.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name, revision string
		test           func(*sleepers)
	}{
		{"by notification", latestLegacy, func(s *sleepers) {
			s.tell()
			s.awaitFirst()
			s.awaitSecond(1)
		}},
		{"by disconnect", modernRevision, func(s *sleepers) {
			s.hangUp()
			s.awaitFirst()
			s.awaitSecond(1)
		}},
		// In the legacy era a caller who goes away ends nothing (2025-11-25,
		// "Sending Messages to the Server"). The time of the second call is
		// enough for the hub to see that its caller has gone.
		{"not by disconnect", latestLegacy, func(s *sleepers) {
			s.hangUp()
			s.awaitSecond(0)
			s.tell()
			s.awaitFirst()
		}},
	} {
		t.Run(way.revision+" "+way.name, func(t *testing.T) {
			t.Parallel()
			servers := faultServers(t)
			hub := rig.StartHub(t, servers...)
			hub.AwaitReady()
			for _, s := range servers {
				t.Run(s.Key, func(t *testing.T) {
					way.test(startSleepers(t, connect(t, hub.MCP(), way.revision), s.Key))
				})
			}
		})
	}
}

// TestListChanged has each server change its tools, and every caller who listens
// learn it.
func TestListChanged(t *testing.T) {
	t.Parallel()
	servers := faultServers(t)
	hub := rig.StartHub(t, servers...)
	hub.AwaitReady()
	for _, s := range servers {
		t.Run(s.Key, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			var all []listener
			for _, revision := range eras() {
				all = append(all, newListener(ctx, t, connect(t, hub.MCP(), revision)))
			}
			// Twice, by callers of both eras: the first news must not be the last.
			for n, by := range all {
				n += 3
				by.c.text(s.Key+"__set_tools", map[string]any{"n": n})
				for _, l := range all {
					l.hear(t, fmt.Sprintf("%s__filler_%d", s.Key, n))
				}
			}
			for _, l := range all {
				if got := l.c.text(s.Key+"__filler_1", nil); got != "filler_1" {
					t.Errorf("the new tool answered %q", got)
				}
			}
		})
	}
}

// listener is a caller who is told of changed lists.
type listener struct {
	c    *caller
	news *answer
}

// newListener has the caller listen, until ctx ends.
func newListener(ctx context.Context, t *testing.T, c *caller) listener {
	t.Helper()
	var news *answer
	var err error
	if c.modern() {
		news = c.sendAs(ctx, "subscription", "subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}}, nil)
		ack, err := news.next()
		if err != nil || ack.Method != "notifications/subscriptions/acknowledged" {
			t.Fatalf("the subscription began with %s (%v)", ack, err)
		}
	} else if news, err = c.do(ctx, http.MethodGet, nil, nil); err != nil || news.status != http.StatusOK {
		t.Fatalf("the stream was answered with %+v, %v", news, err)
	}
	t.Cleanup(func() { _ = news.body.Close() })
	return listener{c, news}
}

// hear waits for the next news, after which the tool is in the list.
func (l listener) hear(t *testing.T, tool string) {
	t.Helper()
	m, err := l.news.next()
	if err != nil || m.Method != "notifications/tools/list_changed" {
		t.Fatalf("the change was told as %s (%v)", m, err)
	}
	if tagged := strings.Contains(string(m.Params), `"io.modelcontextprotocol/subscriptionId":"subscription"`); tagged != l.c.modern() {
		t.Errorf("to a caller of %s the change was told as %s", l.c.revision, m)
	}
	if names := l.c.tools(); !slices.Contains(names, tool) {
		t.Errorf("after the news the list is %q", names)
	}
}
