package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// inProcess runs a hub within the test, where the race detector sees all of
// it.
func inProcess(t *testing.T, servers ...rig.Server) rig.Door {
	t.Helper()
	hub, err := app.New(t.Context(), app.Options{
		Config: rig.WriteConfig(t, servers...), Strict: true, Listen: "127.0.0.1:0", DataDir: t.TempDir(),
		Version: "test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop the hub: %v", err)
		}
	})
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	return rig.NewDoor(t, hub.URL())
}

// stream is one way through the hub on which order is measured.
type stream struct {
	server, revision string
	logs             bool
	calls            int
}

// TestOrder makes 10,000 calls, 16 at a time, each of which sends progress and
// mostly log lines before it answers. Every caller has to see all that its own
// call sent, in the order in which it was sent, and nothing else.
func TestOrder(t *testing.T) {
	const (
		workers = 16
		steps   = 4
	)
	_, legacyURL := rig.StartFaultServer(t, "127.0.0.1:0")
	_, modernURL := rig.StartFaultServer(t, "127.0.0.1:0", "-fault", "modernonly")
	hub := inProcess(t,
		rig.HTTP("legacy", legacyURL), rig.HTTP("modern", modernURL), rig.Stdio("stdio", rig.FaultServer(t)))
	hub.AwaitReady()

	streams := []stream{
		{"legacy", latestLegacy, true, 2000},
		{"legacy", modernRevision, true, 2000},
		{"modern", latestLegacy, true, 1500},
		{"modern", modernRevision, true, 1500},
		// On one pipe nobody can tell whose a log line is while several calls
		// run; progress has its token.
		{"stdio", latestLegacy, false, 1500},
		{"stdio", modernRevision, false, 1500},
	}
	callers := map[string]*caller{
		latestLegacy:   connect(t, hub.MCP(), latestLegacy),
		modernRevision: connect(t, hub.MCP(), modernRevision),
	}
	// A server of the modern era logs only for who has said from which level on.
	if m := callers[latestLegacy].request("logging/setLevel", map[string]any{"level": "info"}); m.Error != nil {
		t.Fatalf("logging/setLevel: %s", m)
	}
	var made atomic.Int64
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(workers)
	for n := range slices.MaxFunc(streams, func(a, b stream) int { return a.calls - b.calls }).calls {
		for _, s := range streams {
			if n >= s.calls || ctx.Err() != nil {
				continue
			}
			group.Go(func() error {
				made.Add(1)
				if err := ordered(ctx, callers[s.revision], s, n, steps); err != nil {
					return fmt.Errorf("call %d of a %s caller to the %s server: %w", n, s.revision, s.server, err)
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls, none of whose messages was lost or out of order", made.Load())
}

// ordered makes one call and checks what came for it.
func ordered(ctx context.Context, c *caller, s stream, n, steps int) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var token any = n
	if n%2 == 0 {
		token = fmt.Sprintf("%s-%d", s.server, n)
	}
	meta := map[string]any{"progressToken": token}
	if c.modern() {
		meta["io.modelcontextprotocol/logLevel"] = "info"
	}
	a, err := c.try(ctx, c.ids.Add(1), "tools/call", map[string]any{
		"name": s.server + "__progress", "arguments": map[string]any{"n": steps, "logs": s.logs}, "_meta": meta,
	}, nil)
	if err != nil {
		return err
	}
	got, err := a.all()
	if err != nil {
		return err
	}
	want, err := json.Marshal(token)
	if err != nil {
		return err
	}
	for i := 1; i <= steps; i++ {
		var progress struct {
			Token    json.RawMessage `json:"progressToken"`
			Progress int             `json:"progress"`
		}
		if got, err = take(got, "notifications/progress", &progress); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if progress.Progress != i || string(progress.Token) != string(want) {
			return fmt.Errorf("step %d: got progress %d with the token %s, want %s", i, progress.Progress, progress.Token, want)
		}
		if !s.logs {
			continue
		}
		var line struct {
			Data string `json:"data"`
		}
		if got, err = take(got, "notifications/message", &line); err != nil {
			return fmt.Errorf("line %d: %w", i, err)
		}
		if line.Data != fmt.Sprintf("line %d", i) {
			return fmt.Errorf("got %q, want line %d", line.Data, i)
		}
	}
	if len(got) != 1 || got[0].Result == nil {
		return fmt.Errorf("after all steps came %s, want the response", got)
	}
	return nil
}

// take reads the first of the messages, which must be of the method, and
// returns the others.
func take(list []message, method string, params any) ([]message, error) {
	if len(list) == 0 || list[0].Method != method {
		return nil, fmt.Errorf("want %s, got %s", method, list)
	}
	return list[1:], json.Unmarshal(list[0].Params, params)
}
