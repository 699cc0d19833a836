package call

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// spoken has the rules in force for those who speak.
func (o *office) spoken(rules ...hub.Rule) {
	o.t.Helper()
	compiled, faults := policy.Compile(hub.Policy{
		Given: true, Modes: map[hub.Door]hub.PolicyMode{hub.DoorXiaoZhi: hub.PolicyEnforce}, Rules: rules,
	})
	if len(faults) > 0 {
		o.t.Fatal(faults)
	}
	o.rules.Store(compiled)
}

// another is a change of a request to a call of another tool.
func another(t *testing.T, name, arguments string) func(*Request) {
	t.Helper()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`), wire.Limits{UniqueKeys: true})
	must(t, err)
	return func(r *Request) { r.Message = &m }
}

// patient is a server that may take its time.
func patient(key string) hub.Server {
	s := builtin(key)
	s.Timeout = time.Hour
	return s
}

// late has a call of s__do go late, and returns its task.
func (o *office) late(arguments string) string {
	o.t.Helper()
	res, err := o.by(o.t.Context(), arguments)
	if must(o.t, err); res.Task == "" {
		o.t.Fatalf("got %s", got(res))
	}
	return res.Task
}

// Whoever may not make a call any more does not get what came of it before, in any way.
func TestLateIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, nil, patient("s"))
		o.slow = 15 * time.Second
		o.spoken()
		id := o.late(`{"n":1}`)
		o.spoken(denies("s__do"))
		wait := time.Now()
		res, err := o.by(t.Context(), `{"n":1}`) // while it is under way
		if must(t, err); res.Fault == nil || res.Fault.Code != message.PolicyDenied || time.Since(wait) > time.Second {
			t.Errorf("under way: %s", got(res))
		}
		time.Sleep(10 * time.Second)
		gone := func(r *Request) { r.Offered = func(e *catalog.Entry) bool { return e.Tool.Name != "do" } }
		pick := another(t, "hub_task_result", `{"task_id":"`+id+`"}`)
		for name, ask := range map[string][]func(*Request){"again": nil, "by the task": {pick}} {
			res, err := o.by(t.Context(), `{"n":1}`, ask...)
			if must(t, err); res.Fault == nil || res.Fault.Code != message.PolicyDenied || strings.Contains(got(res), "s do") {
				t.Errorf("%s: %s", name, got(res))
			}
		}
		o.spoken()
		for name, ask := range map[string][]func(*Request){"again": {gone}, "by the task": {pick, gone}} {
			res, err := o.by(t.Context(), `{"n":1}`, ask...)
			if !hub.IsCode(err, message.ToolUnknown) && (err != nil || res.Fault == nil || res.Fault.Code != message.ToolUnknown) {
				t.Errorf("%s, when the tool is offered no more: %v", name, err)
			}
		}
		o.spoken(asks("s__do"))
		res, err = o.by(t.Context(), `{}`, pick)
		if must(t, err); res.Fault == nil || res.Fault.Code != message.PolicyDenied {
			t.Errorf("somebody has to agree: %s", got(res))
		}
		o.spoken()
		res, err = o.by(t.Context(), `{"n":1}`)
		if _, wrong, _ := told(t, res, err); wrong || o.sent() != "do" {
			t.Errorf("allowed again: %s, sent %q", got(res), o.sent())
		}
	})
}

// What somebody had agreed to is not asked about twice, and is nobody else's result.
func TestLateAgreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, nil, patient("s"))
		o.spoken(asks("s__do"))
		o.settings.Approval.Hold = time.Hour
		res, err := o.by(t.Context(), `{"n":1}`)
		_, _, ticket := told(t, res, err)
		o.decide(o.pending().ID, approval.Deciding{Kind: approval.Approve})
		o.slow = 15 * time.Second
		id := o.late(`{"n":1}`)
		time.Sleep(10 * time.Second)
		res, err = o.by(t.Context(), `{}`, another(t, "approval_result", `{"ticket":"`+ticket+`"}`))
		if must(t, err); res.Fault == nil && !strings.Contains(got(res), "isError") {
			t.Errorf("the ticket got what came of another call: %s", got(res))
		}
		res, err = o.by(t.Context(), `{}`, another(t, "hub_task_result", `{"task_id":"`+id+`"}`))
		if _, wrong, _ := told(t, res, err); wrong {
			t.Errorf("got %s", got(res))
		}
		// A ticket that is picked up is one call, though an equal one has gone on.
		o.spoken()
		o.late(`{"n":2}`)
		time.Sleep(10 * time.Second)
		o.spoken(asks("s__do"))
		res, err = o.by(t.Context(), `{"n":2}`)
		_, _, ticket = told(t, res, err)
		if ticket == "" {
			t.Fatalf("nobody is asked: %s", got(res))
		}
		o.decide(o.pending().ID, approval.Deciding{Kind: approval.Approve})
		o.slow = 0
		res, err = o.by(t.Context(), `{}`, another(t, "approval_result", `{"ticket":"`+ticket+`"}`))
		if _, wrong, _ := told(t, res, err); wrong || o.sent() != "do do do" {
			t.Errorf("got %s, sent %q", got(res), o.sent())
		}
	})
}

// A call by way of the hub's own tool is the one that this makes.
func TestLateByCallTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, calls := dawdling(t, 15*time.Second, telling)
		c.catalog.SetViews(nil, []hub.Profile{{Client: "*", MaxTools: 1}})
		synctest.Wait()
		by := another(t, "call_tool", `{"name":"s__do","arguments":{"n":1}}`)
		for i, second := range [][]func(*Request){{by}, nil} {
			for n := range 2 { // joined, and kept
				res, err := c.by(t.Context(), `{"n":1}`, by)
				if must(t, err); res.Task == "" {
					t.Fatalf("got %s", got(res))
				}
				time.Sleep(time.Duration(n) * 10 * time.Second)
				res, err = c.by(t.Context(), `{"n":1}`, second...)
				if text, wrong, _ := told(t, res, err); wrong || int(calls.Load()) != 2*i+n+1 {
					t.Errorf("%d, %d: got %q by %d calls", i, n, text, calls.Load())
				}
			}
		}
	})
}

// What came of a call is not kept for long, or at all, if nobody knows of it.
func TestLateUnread(t *testing.T) {
	for unread, want := range map[time.Duration]int64{0: 2, time.Minute: 1} {
		synctest.Test(t, func(t *testing.T) {
			c, calls := dawdling(t, 15*time.Second, telling)
			m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__do","arguments":{}}}`), wire.Limits{})
			must(t, err)
			do := func(ctx context.Context) (*Result, error) {
				return c.DoBy(ctx, &Request{
					Principal: hub.Principal{Subject: "xiaozhi:a", Door: hub.DoorXiaoZhi, Role: hub.RoleCaller}, Message: &m, Exchange: &caller{},
				}, Deadline{After: 20 * time.Second, Unread: unread})
			}
			gone := func() context.Context {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				return ctx
			}
			_, _ = do(gone())
			if res, err := do(t.Context()); err != nil || calls.Load() != want {
				t.Errorf("%v: %s, %v by %d calls", unread, got(res), err, calls.Load())
			}
			_, _ = do(gone())
			time.Sleep(14*time.Second + unread + time.Second)
			if res, err := do(t.Context()); err != nil || calls.Load() != want+2 {
				t.Errorf("%v: %s, %v by %d calls", unread, got(res), err, calls.Load())
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := do(over); !hub.IsCode(err, message.Cancelled) || calls.Load() != want+2 {
				t.Errorf("of somebody who had gone before: %v by %d calls", err, calls.Load())
			}
		})
	}
}

// The same name may be another tool's by now, and the same subject somebody else's.
func TestLateOfAnotherTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, calls := dawdling(t, 15*time.Second, telling)
		rename := func(tool string) {
			c.catalog.SetViews([]hub.Group{{Name: "g", Servers: []string{"s"}, Rename: map[string]string{"s__" + tool: "it"}}}, nil)
			synctest.Wait()
		}
		it := another(t, "it", `{}`)
		in := func(r *Request) { r.Viewer.Group = "g" }
		rename("do")
		if res, err := c.by(t.Context(), `{}`, it, in); err != nil || res.Task == "" {
			t.Fatal(got(res), err)
		}
		rename("see")
		if res, err := c.by(t.Context(), `{}`, it, in); err != nil || res.Task == "" || calls.Load() != 2 {
			t.Errorf("got %s, %v by %d calls", got(res), err, calls.Load())
		}
		var ids []string
		for _, args := range []string{`{"n":1}`, `{"n":2}`} { // one has ended, and one is under way
			res, err := c.by(t.Context(), args)
			must(t, err)
			ids = append(ids, res.Task)
		}
		c.Forget(&hub.Principal{Subject: "xiaozhi:a"})
		for _, id := range ids {
			res, err := c.by(t.Context(), `{}`, another(t, "hub_task_result", `{"task_id":"`+id+`"}`))
			if must(t, err); res.Fault == nil || res.Fault.Code != message.TaskUnknown {
				t.Errorf("%s: %s", id, got(res))
			}
		}
		before := calls.Load()
		for _, args := range []string{`{"n":1}`, `{"n":2}`} {
			if _, err := c.by(t.Context(), args); err != nil {
				t.Error(err)
			}
		}
		if n := calls.Load() - before; n != 2 {
			t.Errorf("%d calls", n)
		}
		time.Sleep(11 * time.Minute)
		c.late.mu.Lock()
		defer c.late.mu.Unlock()
		if l := c.late; len(l.under)+len(l.of)+len(l.byCall)+len(l.kept.byKey) > 0 {
			t.Errorf("left: %+v", l)
		}
	})
}
