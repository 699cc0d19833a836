package call

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// dawdling is a crib whose server takes a time for each call, and answers with what
// result says of the arguments' number.
func dawdling(t *testing.T, took time.Duration, result func(n string) string) (c *crib, calls *atomic.Int64) {
	t.Helper()
	calls = &atomic.Int64{}
	d := has{tools: officeTools, answer: func(p *peer, n note) string {
		number := fmt.Sprint(calls.Add(1))
		go func() {
			time.Sleep(took)
			p.send(`{"jsonrpc":"2.0","id":%s,%s}`, n.ID, result(number))
		}()
		return "silent"
	}}
	s := builtin("s")
	s.Timeout = time.Hour
	c = newCrib(t, map[string]func(*peer){"s": d.serve}, s)
	t.Cleanup(func() { time.Sleep(took) }) // for those that nobody has waited for
	return c, calls
}

func telling(text string) string {
	return `"result":{"content":[{"type":"text","text":"` + text + `"}]}`
}

// by calls s__do for somebody who waits ten seconds.
func (c *crib) by(ctx context.Context, arguments string, change ...func(*Request)) (*Result, error) {
	c.t.Helper()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__do","arguments":`+arguments+`}}`), wire.Limits{UniqueKeys: true})
	must(c.t, err)
	req := &Request{Principal: hub.Principal{Subject: "xiaozhi:a", Door: hub.DoorXiaoZhi, Role: hub.RoleCaller}, Message: &m, Exchange: &caller{}}
	for _, f := range change {
		f(req)
	}
	return c.DoBy(ctx, req, Deadline{After: 10 * time.Second, Unread: time.Minute})
}

// A call that has ended in time is as any other.
func TestInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, calls := dawdling(t, 5*time.Second, telling)
		for range 2 {
			res, err := c.by(t.Context(), `{}`)
			if must(t, err); res.Task != "" || !strings.Contains(got(res), fmt.Sprintf(`"text":"%d"`, calls.Load())) {
				t.Errorf("got %s", got(res))
			}
		}
		if calls.Load() != 2 {
			t.Errorf("%d calls", calls.Load())
		}
	})
}

// However many ask for it at once, a call that goes on is one, and all have what came
// of it.
func TestLateForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, calls := dawdling(t, 15*time.Second, telling)
		res, err := c.by(t.Context(), `{}`)
		must(t, err)
		if _, wrong, _ := told(t, res, nil); res.Task == "" || !wrong || !hub.IsCode(res.Fault, message.CallLate) {
			t.Fatalf("got %s", got(res))
		}
		answers := make(chan outcome)
		for range 5 {
			go func() {
				res, err := c.by(t.Context(), `{}`)
				answers <- outcome{res, err}
			}()
		}
		for range 5 {
			a := <-answers
			if text, wrong, _ := told(t, a.res, a.err); text != "1" || wrong {
				t.Errorf("got %q", text)
			}
		}
		if calls.Load() != 1 {
			t.Errorf("%d calls", calls.Load())
		}
		for len(c.ended.C()) > 1 {
			c.last()
		}
		if r := c.last(); r.Outcome != hub.OutcomeOK || r.Server != "s" || r.Tool != "do" {
			t.Errorf("recorded %+v", r)
		}
	})
}

// Somebody else's equal call is another one.
func TestLateOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, calls := dawdling(t, 15*time.Second, telling)
		first, err := c.by(t.Context(), `{}`)
		must(t, err)
		for i, other := range []func(*Request){
			func(r *Request) { r.Principal.Subject = "xiaozhi:b" }, func(r *Request) { r.Principal.Tenant = "x" },
		} {
			if res, err := c.by(t.Context(), `{}`, other); err == nil && (res.Task == first.Task || i == 0 && res.Task == "") {
				t.Errorf("got %s", got(res))
			}
		}
		if calls.Load() != 2 { // the server is not of the tenant x
			t.Errorf("%d calls", calls.Load())
		}
	})
}

// How a call has failed is kept as well, and told once.
func TestLateFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, calls := dawdling(t, 15*time.Second, func(n string) string {
			if n == "1" {
				return `"result":{"content":[{"type":"text","text":"broken"}],"isError":true}`
			}
			return telling(strings.Repeat("x", maxLateResult))
		})
		for _, want := range []string{"broken", "no more than"} {
			_, err := c.by(t.Context(), `{}`)
			must(t, err)
			res, err := c.by(t.Context(), `{}`)
			if err != nil {
				if !strings.Contains(err.Error(), want) || !hub.IsCode(err, message.ResponseTooBig) {
					t.Errorf("got %v", err)
				}
				continue
			}
			if text, wrong, _ := told(t, res, nil); !wrong || text != want {
				t.Errorf("got %.100q", text)
			}
		}
		if calls.Load() != 2 {
			t.Errorf("%d calls", calls.Load())
		}
	})
}

// There is a bound to how many go on; what is beyond it is cancelled.
func TestLateBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := dawdling(t, 15*time.Second, telling)
		answers := make(chan outcome)
		for i := range maxLateOf + 3 {
			go func() {
				res, err := c.by(t.Context(), fmt.Sprintf(`{"n":%d}`, i))
				answers <- outcome{res, err}
			}()
		}
		cancelled := 0
		for range maxLateOf + 3 {
			switch a := <-answers; {
			case hub.IsCode(a.err, message.CallLateStopped), hub.IsCode(a.err, message.OutcomeUnknown):
				cancelled++
			case a.err != nil || a.res.Task == "":
				t.Errorf("got %v, %v", a.res, a.err)
			}
		}
		if cancelled != 3 {
			t.Errorf("%d were cancelled", cancelled)
		}
		time.Sleep(11 * time.Minute)
		l := c.late
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.under)+len(l.of)+len(l.byCall)+len(l.kept.byKey) > 0 || l.kept.size > 0 {
			t.Errorf("left: %+v", l)
		}
	})
}

// A caller that has gone hears nothing any more, and its call goes on; one that
// cancels it ends it.
func TestLateCallerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, calls := dawdling(t, 15*time.Second, telling)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(context.Canceled) })
		if _, err := c.by(ctx, `{}`); !hub.IsCode(err, message.Cancelled) {
			t.Errorf("got %v", err)
		}
		time.Sleep(20 * time.Second)
		res, err := c.by(t.Context(), `{}`)
		if text, _, _ := told(t, res, err); text != "1" || calls.Load() != 1 {
			t.Errorf("got %q by %d calls", text, calls.Load())
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(hub.E(message.Cancelled, &hub.Cancellation{Raw: []byte(`{}`)})) })
		if _, err := c.by(ctx, `{}`); err == nil {
			t.Error("it went on")
		}
		c.late.mu.Lock()
		defer c.late.mu.Unlock()
		if n := len(c.late.under); n != 0 {
			t.Errorf("%d go on", n)
		}
	})
}

// Nobody at these doors reads pages, so that they get large results as they are.
func TestSpokenResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := has{tools: officeTools, answer: func(*peer, note) string {
			return `{"content":[{"type":"text","text":"` + strings.Repeat("x", 1000) + `"}]}`
		}}
		s := builtin("s")
		s.Spill = 100
		c := newCrib(t, map[string]func(*peer){"s": d.serve}, s)
		for door, whole := range map[hub.Door]bool{hub.DoorXiaoZhi: true, hub.DoorDevice: true, hub.DoorMCP: false} {
			res, err := c.by(t.Context(), `{}`, func(r *Request) { r.Principal.Door = door })
			if must(t, err); strings.Contains(got(res), "xxx") != whole {
				t.Errorf("%s got %.200s", door, got(res))
			}
		}
	})
}

// A call that a person has to agree to is answered in time, in words that can be said;
// once somebody has agreed the same words have it done.
func TestSpokenApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, nil)
		compiled, faults := policy.Compile(hub.Policy{
			Given: true, Modes: map[hub.Door]hub.PolicyMode{hub.DoorXiaoZhi: hub.PolicyEnforce}, Rules: []hub.Rule{asks("do")},
		})
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		o.rules.Store(compiled)
		o.settings.Approval.Hold = time.Hour
		for range 2 {
			began := time.Now()
			res, err := o.by(t.Context(), `{"n":1}`, func(r *Request) { r.Lang = message.Chinese })
			text, wrong, id := told(t, res, err)
			if took := time.Since(began); took >= 10*time.Second || took < 8*time.Second || res.Task != "" {
				t.Errorf("answered after %v: %s", took, got(res))
			}
			if !hub.IsCode(res.Fault, message.ApprovalSpoken) {
				t.Errorf("the code is of %v", res.Fault)
			}
			if !wrong || id == "" || strings.Contains(text, id) || !strings.Contains(text, "需要有人先确认") || !strings.Contains(text, "再说一遍") {
				t.Errorf("said %q", text)
			}
		}
		o.decide(o.pending().ID, approval.Deciding{Kind: approval.Approve})
		res, err := o.by(t.Context(), `{"n":1}`)
		if _, wrong, _ := told(t, res, err); wrong || o.sent() != "do" {
			t.Errorf("got %s, sent %q", got(res), o.sent())
		}
	})
}
