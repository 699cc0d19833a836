package call

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// crib is a pipeline with all that is behind it.
type crib struct {
	*Pipeline
	t     *testing.T
	fleet *fleet.Fleet
	ended *bus.Subscription
}

// newCrib makes a pipeline over servers that are scripts in this process: each
// is called by its key and runs until the hub hangs up.
func newCrib(t *testing.T, scripts map[string]func(p *peer), servers ...hub.Server) *crib {
	t.Helper()
	return newCribBy(t, nil, scripts, servers...)
}

// newCribBy is newCrib with credentials for remote servers.
func newCribBy(t *testing.T, by transport.Authorizer, scripts map[string]func(p *peer), servers ...hub.Server) *crib {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	events := &bus.Bus{}
	cat, err := catalog.Open(catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cat.SetServers(slices.DeleteFunc(slices.Clone(servers), func(s hub.Server) bool { return !s.Enabled }))
	f := fleet.New(fleet.Options{
		Servers: servers, Dial: upstream.Dial, ClientInfo: []byte(`{"name":"hub","version":"1"}`), Bus: &bus.Bus{}, Log: log,
		Listed: cat.Listed, Known: cat.Known, Withhold: cat.Withhold, Authorize: func(hub.Server, string) transport.Authorizer { return by },
		Serve: func(_ context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
			defer w.Close()
			script := scripts[key]
			if script == nil {
				return nil // it ends at once
			}
			script(&peer{t: t, in: bufio.NewScanner(r), out: w})
			return nil
		},
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.Run(ctx)
	}()
	ended := events.Subscribe(64)
	t.Cleanup(func() {
		cancel()
		<-done
		ended.Close()
	})
	return &crib{New(Options{Catalog: cat, Fleet: f, Bus: events, Log: log}), t, f, ended}
}

func builtin(key string) hub.Server {
	return hub.Server{Key: key, Kind: hub.KindBuiltin, Enabled: true, AutoStart: true, Timeout: 10 * time.Second}
}

// offers is a server that has the tools, lists them after the delay, and
// answers each call as its tool is called.
func offers(delay time.Duration, tools ...string) func(p *peer) {
	var list []string
	for _, tool := range tools {
		list = append(list, `{"name":"`+tool+`","inputSchema":{"type":"object"}}`)
	}
	return lists(delay, strings.Join(list, ","), func(p *peer, n note) (lives bool) {
		switch n.Params.Name {
		case "fail":
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"isError":true}}`, n.ID)
		case "nofail":
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"structuredContent":{"isError":true},"content":[],"isError":false}}`, n.ID)
		case "refuse":
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no"}}`, n.ID)
		case "silent":
		case "die":
			return false
		default:
			p.result(n, "done")
		}
		return true
	})
}

// lists is a server that lists what is given, after the delay, and lives as long
// as called says so.
func lists(delay time.Duration, tools string, called func(p *peer, n note) (lives bool)) func(p *peer) {
	return func(p *peer) {
		for {
			n, ok := p.next()
			switch {
			case !ok:
				return
			case n.Method == "initialize":
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, n.ID)
			case n.Method == "tools/list":
				time.Sleep(delay)
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, n.ID, tools)
			case n.Method == "tools/call" && !called(p, n):
				return
			}
		}
	}
}

// do calls a tool, named by raw JSON.
func (c *crib) do(ctx context.Context, name string) (*Result, error) {
	c.t.Helper()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+name+`,"arguments":{"secret":"s3cr3t"}}}`), wire.Limits{})
	if err != nil {
		c.t.Fatal(err)
	}
	p := hub.Principal{Subject: "ann", Door: hub.DoorStdio, Role: hub.RoleCaller}
	return c.Do(ctx, &Request{Principal: p, Session: "session", Message: &m, Exchange: &caller{}})
}

// A call by the name of a server that has not given its list yet waits for it,
// within the server's time limit; one that cannot wait for anybody does not.
func TestCallBeforeTheFirstList(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // how long it takes
		want  message.Code
	}{
		{"slow__x", 3 * time.Second, ""},
		{"slow__y", 3 * time.Second, message.ToolUnknown},
		{"lazy__x", 3 * time.Second, ""},
		{"a__b__x", 3 * time.Second, ""},
		{"never__x", 10 * time.Second, message.ServerDown},
		{"broken__x", 0, message.ServerDown},
		{"off__x", 0, message.ServerDisabled},
		{"halted__x", 0, message.ServerStopped},
		{"quick__y", 0, message.ToolUnknown},
		{"x", 0, ""}, // one that is known has it
		{"y", 0, message.ToolUnknown},
		{"none__x", 0, message.ToolUnknown},
		{"__x", 0, message.ToolUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				off, lazy, broken := builtin("off"), builtin("lazy"), builtin("broken")
				off.Enabled, lazy.AutoStart = false, false
				broken.Kind, broken.Command = hub.KindStdio, "/nowhere/at/all"
				c := newCrib(t, map[string]func(p *peer){
					"slow": offers(3*time.Second, "x"), "lazy": offers(0, "x"), "a__b": offers(3*time.Second, "x"),
					"never": offers(time.Hour, "x"), "quick": offers(0, "x"), "halted": offers(0, "x"),
				}, builtin("slow"), lazy, builtin("a__b"), builtin("never"), broken, off, builtin("quick"), builtin("halted"))
				if err := c.fleet.Stop(t.Context(), "halted"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if tt.name == "lazy__x" {
					tt.after = 0
				}
				began := time.Now()
				_, err := c.do(t.Context(), `"`+tt.name+`"`)
				if took := time.Since(began); took != tt.after {
					t.Errorf("it took %v, want %v", took, tt.after)
				}
				if tt.want == "" && err != nil || tt.want != "" && !hub.IsCode(err, tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				r, server := c.last(), ""
				if tt.want != message.ToolUnknown {
					server = strings.TrimSuffix(tt.name, "__x")
				}
				if tt.name != "x" && r.Server != server || (r.Tool != "") != (tt.want == "") {
					t.Errorf("recorded with the server %q, want %q, and the tool %q", r.Server, server, r.Tool)
				}
			})
		})
	}
}

// A tool that is hidden while a call of it waits for the server is not called
// any more.
func TestHiddenWhileACallWaits(t *testing.T) {
	for _, tool := range []string{"x", "y"} {
		t.Run(tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := builtin("s")
				c := newCrib(t, map[string]func(p *peer){"s": offers(3*time.Second, "x", "y")}, server)
				if err := c.fleet.Start(t.Context(), "s"); err != nil {
					t.Fatal(err)
				}
				go func() { _ = c.fleet.Restart(t.Context(), "s") }()
				synctest.Wait()
				time.AfterFunc(time.Second, func() {
					server.Rules.Deny = []string{"x"}
					c.catalog.SetServers([]hub.Server{server})
					c.fleet.Apply([]hub.Server{server}, nil)
				})
				_, err := c.do(t.Context(), `"s__`+tool+`"`)
				if hidden := hub.IsCode(err, message.ToolUnknown); hidden != (tool == "x") || !hidden && err != nil {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// The time limit is that of the whole call, also if the server came late.
func TestTimeLimitOfALateServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrib(t, map[string]func(p *peer){"late": offers(6*time.Second, "silent")}, builtin("late"))
		began := time.Now()
		_, err := c.do(t.Context(), `"late__silent"`)
		if took := time.Since(began); took != 10*time.Second || !hub.IsCode(err, message.Timeout) {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// Whoever waits for a server can change their mind.
func TestCancelBeforeTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrib(t, map[string]func(p *peer){"late": offers(6*time.Second, "x")}, builtin("late"))
		time.AfterFunc(time.Second, func() { c.Calls().Cancel(Key{"session", "1"}, nil) })
		began := time.Now()
		_, err := c.do(t.Context(), `"late__x"`)
		if took := time.Since(began); took != time.Second || !hub.IsCode(err, message.Cancelled) {
			t.Errorf("got %v after %v", err, took)
		}
		if r := c.last(); r.Outcome != hub.OutcomeCancelled || r.Server != "late" {
			t.Errorf("recorded as %+v", r)
		}
	})
}

// Every call leaves one record of how it ended, and nothing of what it said.
func TestRecords(t *testing.T) {
	long := strings.Repeat("n", 5000)
	for _, tt := range []struct {
		name string // as JSON
		want hub.CallRecord
	}{
		{`"s__x"`, hub.CallRecord{Name: "s__x", Server: "s", Tool: "x", Outcome: hub.OutcomeOK}},
		{`"\u0078"`, hub.CallRecord{Name: "x", Server: "s", Tool: "x", Outcome: hub.OutcomeOK}},
		{`"s__fail"`, hub.CallRecord{Name: "s__fail", Server: "s", Tool: "fail", Outcome: hub.OutcomeToolError}},
		{`"s__nofail"`, hub.CallRecord{Name: "s__nofail", Server: "s", Tool: "nofail", Outcome: hub.OutcomeOK}},
		{`"s__refuse"`, hub.CallRecord{Name: "s__refuse", Server: "s", Tool: "refuse", Outcome: hub.OutcomeToolError}},
		{`"s__silent"`, hub.CallRecord{Name: "s__silent", Server: "s", Tool: "silent", Outcome: hub.OutcomeUnknown, Code: "timeout", Duration: 10 * time.Second}},
		{`"s__die"`, hub.CallRecord{Name: "s__die", Server: "s", Tool: "die", Outcome: hub.OutcomeUnknown, Code: "outcome_unknown"}},
		{`"s__none"`, hub.CallRecord{Name: "s__none", Outcome: hub.OutcomeFailed, Code: "tool_unknown"}},
		{`"off__x"`, hub.CallRecord{Name: "off__x", Server: "off", Outcome: hub.OutcomeFailed, Code: "server_disabled"}},
		{`"cancel"`, hub.CallRecord{Name: "cancel", Server: "s", Tool: "cancel", Outcome: hub.OutcomeCancelled, Code: "cancelled"}},
		{`"s__x","NAME":"s__fail"`, hub.CallRecord{Name: "s__x", Outcome: hub.OutcomeFailed, Code: "params_invalid"}},
		{`"s__x","argument\u017f":{}`, hub.CallRecord{Name: "s__x", Outcome: hub.OutcomeFailed, Code: "params_invalid"}},
		{`"s__x","names":{"Name":1}`, hub.CallRecord{Name: "s__x", Server: "s", Tool: "x", Outcome: hub.OutcomeOK}},
		{`7`, hub.CallRecord{Outcome: hub.OutcomeFailed, Code: "params_invalid"}},
		{`"a\u001b[31m"`, hub.CallRecord{Name: `a\x1b[31m`, Outcome: hub.OutcomeFailed, Code: "tool_unknown"}},
		{`"` + long + `"`, hub.CallRecord{Name: long[:200] + "…", Outcome: hub.OutcomeFailed, Code: "tool_unknown"}},
	} {
		t.Run(tt.name[:min(len(tt.name), 20)], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				off := builtin("off")
				off.Enabled = false
				c := newCrib(t, map[string]func(p *peer){
					"s": offers(0, "x", "fail", "nofail", "refuse", "silent", "die", "cancel"),
				}, builtin("s"), off)
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.want.Outcome == hub.OutcomeCancelled {
					cancel()
				}
				began := time.Now()
				res, _ := c.do(ctx, tt.name)
				got := *(<-c.ended.C()).(hub.CallEnded).Call
				if (got.Reason == "") != (got.Code == "") || strings.Contains(got.Reason, "s3cr3t") {
					t.Errorf("the reason is %q", got.Reason)
				}
				if id, err := uuid.Parse(got.ID); err != nil || id.Version() != 7 {
					t.Errorf("the id is %q", got.ID)
				}
				if tt.want.ID, tt.want.Method, tt.want.Session = got.ID, "tools/call", hub.SessionRef("session"); tt.want.Tool != "" {
					tt.want.Changing = true
					if tt.want.Code != "" {
						tt.want.Attempts = []hub.Attempt{{Server: tt.want.Server, Code: tt.want.Code, Duration: tt.want.Duration}}
					}
				}
				tt.want.Time, tt.want.Subject, tt.want.Door, tt.want.Reason = began, "ann", hub.DoorStdio, got.Reason
				if res != nil {
					tt.want.Bytes = len(res.Message.Raw)
				}
				if !reflect.DeepEqual(got, tt.want) {
					t.Errorf("got  %+v\nwant %+v", got, tt.want)
				}
				if n := len(c.ended.C()); n != 0 {
					t.Errorf("%d records too many", n)
				}
			})
		})
	}
}
