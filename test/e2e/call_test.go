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

// TestCancel ends one of two calls that a server is working on, in each way in
// which a caller can, and looks which one the server stopped.
func TestCancel(t *testing.T) {
	t.Parallel()
	byNotification := func(c *caller, _ context.CancelFunc) {
		c.notify(c.tb.Context(), "notifications/cancelled", map[string]any{"requestId": "first", "reason": "enough"})
	}
	byDisconnect := func(_ *caller, hangUp context.CancelFunc) { hangUp() }
	ways := []struct {
		name, revision string
		end            func(*caller, context.CancelFunc)
	}{
		{"notification", latestLegacy, byNotification},
		{"disconnect", latestLegacy, byDisconnect},
		{"disconnect", modernRevision, byDisconnect},
	}
	for _, way := range ways {
		t.Run(way.revision+" by "+way.name, func(t *testing.T) {
			t.Parallel()
			servers := faultServers(t)
			hub := rig.StartHub(t, servers...)
			hub.AwaitReady()
			for _, s := range servers {
				t.Run(s.Key, func(t *testing.T) {
					cancelOne(t, connect(t, hub.MCP(), way.revision), s.Key, way.end)
				})
			}
		})
	}
}

func cancelOne(t *testing.T, c *caller, server string, end func(*caller, context.CancelFunc)) {
	t.Helper()
	sleep := func(ctx context.Context, id string, ms int) <-chan message {
		done := make(chan message, 1)
		go func() {
			defer close(done)
			a, err := c.try(ctx, id, "tools/call", map[string]any{"name": server + "__sleep", "arguments": map[string]any{"ms": ms}}, nil)
			if err != nil {
				return
			}
			if list, err := a.all(); err == nil && len(list) == 1 {
				done <- list[0]
			}
		}()
		return done
	}
	sleeping := func() int {
		var count map[string]int
		c.structured(server+"__calls_count", nil, &count)
		return count["sleep"]
	}
	cancelled := func() int {
		var count struct {
			Cancelled int `json:"cancelled"`
		}
		c.structured(server+"__cancelled_count", nil, &count)
		return count.Cancelled
	}

	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	first := sleep(ctx, "first", 120_000)
	rig.Await(t, "the first call has reached the server", func() bool { return sleeping() == 1 })
	second := sleep(t.Context(), "second", 1500)
	rig.Await(t, "the second call has reached the server", func() bool { return sleeping() == 2 })
	end(c, hangUp)
	rig.Await(t, "the server has stopped a call", func() bool { return cancelled() == 1 })

	if m, ok := <-first; ok && m.Error.reason() != "cancelled" {
		t.Errorf("the cancelled call was answered with %s", m)
	}
	if m, ok := <-second; !ok || m.Result == nil || resultText(t, "sleep", m.Result) != "slept" {
		t.Errorf("the call that nobody cancelled was answered with %s", m)
	}
	if n := cancelled(); n != 1 {
		t.Errorf("the server stopped %d calls, want 1", n)
	}
}

// TestListChanged has a server change its tools, and every caller who listens
// learn it.
func TestListChanged(t *testing.T) {
	t.Parallel()
	servers := faultServers(t)
	hub := rig.StartHub(t, servers...)
	hub.AwaitReady()
	matrix(t, hub.Door, servers, func(t *testing.T, c *caller, server string) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
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
		defer news.body.Close()

		fillers := 3
		if c.modern() {
			fillers = 5 // the callers take turns
		}
		// Twice: the first news must not be the last.
		for n := fillers; n < fillers+2; n++ {
			c.text(server+"__set_tools", map[string]any{"n": n})
			m, err := news.next()
			if err != nil || m.Method != "notifications/tools/list_changed" {
				t.Fatalf("the change was told as %s (%v)", m, err)
			}
			if tagged := strings.Contains(string(m.Params), `"io.modelcontextprotocol/subscriptionId":"subscription"`); tagged != c.modern() {
				t.Errorf("to a caller of %s the change was told as %s", c.revision, m)
			}
			if names := c.tools(); !slices.Contains(names, fmt.Sprintf("%s__filler_%d", server, n)) {
				t.Errorf("after the news the list is %q", names)
			}
		}
		if got := c.text(server+"__filler_1", nil); got != "filler_1" {
			t.Errorf("the new tool answered %q", got)
		}
	})
}
