package call

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

// record opens a record in a database of its own, and returns what ends it.
func record(t *testing.T) (l *audit.Log, end func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "hub.db"), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := audit.LoadKeys(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	l, err = audit.Open(t.Context(), audit.Options{DB: db, Dir: t.TempDir(), Keys: keys, Log: log, Settings: audit.Settings{KeepArguments: true}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.Run(ctx)
	}()
	end = func() {
		cancel()
		<-done
	}
	t.Cleanup(func() {
		end()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, end
}

// What may change something is recorded before the server gets it, and if that
// cannot be the server does not get it. Everything else is recorded once.
func TestIntentsComeFirst(t *testing.T) {
	l, end := record(t)
	var before []audit.Call
	d := has{tools: doerTools, resources: `{"uri":"mem:a","name":"a"}`, prompts: `{"name":"hi"}`, answer: func(p *peer, n note) string {
		page, err := l.Query(context.Background(), audit.Filter{Outcomes: []hub.Outcome{audit.UnderWay}}, "", 10)
		if err != nil {
			t.Error(err)
			return ""
		}
		before = page.Calls
		return echo(p, n)
	}}
	c := newCrib(t, map[string]func(*peer){"a": d.serve}, doing("a"))
	c.audit = l
	if err := c.fleet.Wait(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, tt := range []struct {
		method, params string
		intent         bool
		want           string // outcome and code
	}{
		{"tools/call", `"name":"a__plain","arguments":{"n":1,"password":"hunter2"}`, true, "ok "},
		{"tools/call", `"name":"a__steady","arguments":{}`, true, "ok "},
		{"tools/call", `"name":"a__look","arguments":{"n":1}`, false, "ok "},
		{"tools/call", `"name":"a__none"`, false, "failed tool_unknown"},
		{"resources/read", `"uri":"mem:a"`, false, "ok "},
		{"prompts/get", `"name":"a__hi","arguments":{"n":"1"}`, false, "ok "},
	} {
		before = nil
		_, _ = c.ask(tt.method, tt.params)
		if all++; len(before) == 1 != tt.intent {
			t.Errorf("%s %s: before, there was recorded: %+v", tt.method, tt.params, before)
		}
		page, err := l.Query(t.Context(), audit.Filter{}, "", 10)
		if err != nil || len(page.Calls) != all {
			t.Fatalf("%s %s: %d calls are recorded, %v", tt.method, tt.params, len(page.Calls), err)
		}
		got := page.Calls[0]
		if got.Method != tt.method || string(got.Outcome)+" "+got.Code != tt.want || got.Changing != tt.intent || (got.Intent != 0) != tt.intent {
			t.Errorf("%s %s: recorded as %+v", tt.method, tt.params, got)
		}
		if wants := strings.Contains(tt.params, `"n":`); wants != strings.Contains(got.Arguments, `"n":`) || (got.Digest != "") != wants || strings.Contains(got.Arguments, "hunter2") {
			t.Errorf("%s %s: the arguments are recorded as %s, %s", tt.method, tt.params, got.Arguments, got.Digest)
		}
	}
	end()
	before = nil
	if _, err := c.ask("tools/call", `"name":"a__plain"`); !hub.IsCode(err, message.ShuttingDown) || before != nil {
		t.Errorf("without a record, the call ends with %v, and the server has got %v", err, before)
	}
	if _, err := c.ask("tools/call", `"name":"a__look"`); err != nil {
		t.Errorf("without a record, a call that changes nothing ends with %v", err)
	}
}

// What a caller's session shows follows the call.
func TestTheSessionShowsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doer{deeds: []string{"die", "", "fail"}}
		server := doing("a")
		server.Rules.Override = map[string]hub.ToolOverride{"look": {Messages: hub.CallMessages{Calling: "looking around"}, Retry: &hub.Retry{Max: 5, Delay: 2 * time.Second}}}
		c := route(t, map[string]*doer{"a": d}, server)
		c.states = callstate.New(callstate.Options{})
		shows := func(want hub.CallState) {
			t.Helper()
			s, _ := c.states.State(hub.SessionRef("session"))
			got := hub.CallState{Status: s.Status, Server: s.Server, Tool: s.Tool, Retries: s.Retries, MaxRetries: s.MaxRetries, Code: s.Code, Message: s.Message}
			if want.Message == "" {
				got.Message = ""
			}
			if got.Status != want.Status || got.Server != want.Server || got.Tool != want.Tool || got.Retries != want.Retries || got.MaxRetries != want.MaxRetries || got.Code != want.Code || got.Message != want.Message {
				t.Errorf("it shows %+v, want %+v", got, want)
			}
		}
		ended := make(chan error, 1)
		go func() {
			_, err := c.do(t.Context(), `"a__look"`)
			ended <- err
		}()
		synctest.Wait()
		shows(hub.CallState{Status: hub.CallRetrying, Server: "a", Tool: "a__look", Retries: 1, MaxRetries: 5, Code: "outcome_unknown"})
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		shows(hub.CallState{Status: hub.CallSuccess, Server: "a", Tool: "a__look", Retries: 1, MaxRetries: 5})
		if _, err := c.do(t.Context(), `"a__plain"`); err != nil {
			t.Fatal(err)
		}
		shows(hub.CallState{Status: hub.CallFailed, Server: "a", Tool: "a__plain", MaxRetries: 2})
		if _, err := c.do(t.Context(), `"a__none"`); err == nil {
			t.Fatal("it was found")
		}
		shows(hub.CallState{Status: hub.CallFailed, Tool: "a__none", MaxRetries: 2, Code: "tool_unknown"})
	})
}

// A call of which a stage panics is recorded as well, and what it holds is let
// go.
func TestStagesThatPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := route(t, map[string]*doer{"a": {}}, doing("a"))
		var order []string
		v := *c.verbs["tools/call"]
		v.way = []stage{func(_ context.Context, r *run) error {
			r.later(func() { order = append(order, "first") })
			r.later(func() { panic(1) })
			r.later(func() { order = append(order, "last") })
			panic(2)
		}}
		c.verbs["tools/call"] = &v
		func() {
			defer func() { _ = recover() }()
			_, _ = c.do(t.Context(), `"a__plain"`)
		}()
		if r := c.last(); r.Outcome != hub.OutcomeFailed || r.Code != string(message.Internal) {
			t.Errorf("it is recorded as %+v", r)
		}
		if strings.Join(order, " ") != "last first" {
			t.Errorf("let go: %q", order)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Calls().Drain(ctx); err != nil {
			t.Error("the call is still under way")
		}
	})
}

// What was not judged is not sent.
func TestUnjudgedCallsAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doer{}
		c := route(t, map[string]*doer{"a": d}, doing("a"))
		v := *c.verbs["tools/call"]
		v.way = []stage{c.resolveTool, c.devise, c.approve, c.route}
		c.verbs["tools/call"] = &v
		if _, err := c.do(t.Context(), `"a__plain"`); !hub.IsCode(err, message.Internal) || d.calls.Load() != 0 {
			t.Errorf("got %v after %d calls", err, d.calls.Load())
		}
	})
}

// A clock that is held as often as it is released goes on where it stood.
func TestClockHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancelCause(t.Context())
		c := &clock{server: "s", limit: 10 * time.Second, end: end}
		c.start(time.Now().Add(-time.Second))
		defer c.stop()
		for _, step := range []struct {
			then  func()
			after time.Duration
			left  time.Duration
		}{
			{c.hold, 2 * time.Second, 7 * time.Second},
			{c.hold, time.Minute, 7 * time.Second},
			{c.release, time.Minute, 7 * time.Second},
			{c.release, time.Minute, 7 * time.Second},
			{c.hold, 3 * time.Second, 4 * time.Second},
			{c.release, time.Minute, 4 * time.Second},
		} {
			time.Sleep(step.after)
			step.then()
			if got := c.remains(); got != step.left {
				t.Errorf("%v are left, want %v", got, step.left)
			}
		}
		time.Sleep(4*time.Second - 1)
		if synctest.Wait(); ctx.Err() != nil {
			t.Error("it has ended the call before its time")
		}
		time.Sleep(time.Nanosecond)
		if synctest.Wait(); !hub.IsCode(context.Cause(ctx), message.Timeout) {
			t.Errorf("the call has ended with %v", context.Cause(ctx))
		}
	})
}
