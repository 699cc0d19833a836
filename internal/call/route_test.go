package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// The tools of a doer: what each may be, and that it does as the doer is told.
const doerTools = `{"name":"plain","inputSchema":{"type":"object"}},` +
	`{"name":"steady","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},` +
	`{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`

// doer is a server that counts what its tools were called, and does with the
// calls what its deeds say, one after the other; then it answers all.
type doer struct {
	calls atomic.Int32
	deeds []string // "die", "silent", "bad": a result that is none, "refuse", "fail"
}

func (d *doer) serve(p *peer) {
	lists(0, doerTools, func(p *peer, n note) (lives bool) {
		at := int(d.calls.Add(1)) - 1
		deed := ""
		if at < len(d.deeds) {
			deed = d.deeds[at]
		}
		switch deed {
		case "die":
			return false
		case "silent":
		case "bad":
			p.send(`{"jsonrpc":"2.0","id":%s,"result":7}`, n.ID)
		case "refuse":
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no"}}`, n.ID)
		case "fail":
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"isError":true}}`, n.ID)
		default:
			p.result(n, "done")
		}
		return true
	})(p)
}

// standing server of the tests of routes: it is started again, and its calls are
// retried.
func doing(key string) hub.Server {
	s := builtin(key)
	s.AutoRestart, s.Timeout, s.Retry = true, 30*time.Second, hub.DefaultRetry()
	return s
}

// route makes a pipeline over doers, and waits until they are ready.
func route(t *testing.T, doers map[string]*doer, servers ...hub.Server) *crib {
	t.Helper()
	scripts := make(map[string]func(*peer))
	for key, d := range doers {
		scripts[key] = d.serve
	}
	c := newCrib(t, scripts, servers...)
	synctest.Wait()
	return c
}

// hangUp ends the connection to the hub.
func (p *peer) hangUp() {
	if err := p.out.(io.Closer).Close(); err != nil {
		p.t.Error(err)
	}
}

// last is the record of the call that ended just now.
func (c *crib) last() hub.CallRecord {
	c.t.Helper()
	select {
	case e := <-c.ended.C():
		return *e.(hub.CallEnded).Call
	default:
		c.t.Fatal("there is no record")
		return hub.CallRecord{}
	}
}

// attempted are the attempts of a record, each as server:code.
func attempted(r hub.CallRecord) string {
	all := make([]string, len(r.Attempts))
	for i, a := range r.Attempts {
		all[i] = a.Server + ":" + a.Code
	}
	return strings.Join(all, " ")
}

// What a server was lost with is called again if that repeats nothing, and only
// then; pauses grow, and what a server answers is an answer.
func TestRetries(t *testing.T) {
	for _, tt := range []struct {
		tool  string
		deeds []string
		want  message.Code
		took  time.Duration
		tries string
		calls int32
	}{
		{tool: "plain", calls: 1},
		{"plain", []string{"die"}, message.OutcomeUnknown, 0, "a:outcome_unknown", 1},
		{"plain", []string{"bad"}, message.ServerBadReply, 0, "a:server_bad_reply", 1},
		{"plain", []string{"silent"}, message.Timeout, 30 * time.Second, "a:timeout", 1},
		{"look", []string{"die"}, "", 5 * time.Second, "a:outcome_unknown a:", 2},
		{"steady", []string{"die"}, "", 5 * time.Second, "a:outcome_unknown a:", 2},
		{"look", []string{"die", "die"}, "", 10 * time.Second, "a:outcome_unknown a:outcome_unknown a:", 3},
		{"steady", []string{"die", "die", "die"}, message.OutcomeUnknown, 10 * time.Second, "a:outcome_unknown a:outcome_unknown a:outcome_unknown", 3},
		{"look", []string{"silent"}, message.Timeout, 30 * time.Second, "a:timeout", 1},
		{"look", []string{"bad"}, message.ServerBadReply, 0, "a:server_bad_reply", 1},
		{"look", []string{"refuse"}, "", 0, "", 1},
		{"look", []string{"fail"}, "", 0, "", 1},
	} {
		t.Run(tt.tool+" "+strings.Join(tt.deeds, " "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &doer{deeds: tt.deeds}
				c := route(t, map[string]*doer{"a": d}, doing("a"))
				began := time.Now()
				_, err := c.do(t.Context(), `"a__`+tt.tool+`"`)
				if took := time.Since(began); took != tt.took || tt.want == "" && err != nil || tt.want != "" && !hub.IsCode(err, tt.want) {
					t.Errorf("got %v after %v, want %q after %v", err, took, tt.want, tt.took)
				}
				r := c.last()
				if got := attempted(r); got != tt.tries || d.calls.Load() != tt.calls {
					t.Errorf("the attempts are %q, and it was called %d times", got, d.calls.Load())
				}
				if unsure := r.Outcome == hub.OutcomeUnknown; unsure != (tt.want != "" && tt.tool != "look") {
					t.Errorf("the outcome is %s", r.Outcome)
				}
			})
		})
	}
}

// A retry is not begun if its pause would be over only after the call's time, or
// the caller's.
func TestNoRetryBeyondTheTime(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(s *hub.Server, r *Request)
		within time.Duration // the caller's own deadline
		calls  int32
	}{
		"the server's":    {func(s *hub.Server, _ *Request) { s.Timeout = 2 * time.Second }, 0, 1},
		"the request's":   {func(_ *hub.Server, r *Request) { r.Timeout = 2 * time.Second }, 0, 1},
		"a longer one":    {func(_ *hub.Server, r *Request) { r.Timeout = time.Hour }, 0, 2},
		"the caller's":    {func(*hub.Server, *Request) {}, 2 * time.Second, 1},
		"no retries":      {func(s *hub.Server, _ *Request) { s.Retry.Max = 0 }, 0, 1},
		"none asked for":  {func(_ *hub.Server, r *Request) { r.MaxRetries = new(int) }, 0, 1},
		"fewer than none": {func(_ *hub.Server, r *Request) { n := -3; r.MaxRetries = &n }, 0, 1},
		"the tool's own": {func(s *hub.Server, _ *Request) {
			s.Rules.Override = map[string]hub.ToolOverride{"look": {Retry: &hub.Retry{}}}
		}, 0, 1},
		"the tool's own time": {func(s *hub.Server, _ *Request) {
			s.Rules.Override = map[string]hub.ToolOverride{"look": {Timeout: time.Second}}
		}, 0, 1},
		"more than configured": {func(s *hub.Server, r *Request) { n := 1; s.Retry.Max, r.MaxRetries = 0, &n }, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &doer{deeds: []string{"die"}}
				server := doing("a")
				var change Request
				tt.change(&server, &change)
				c := route(t, map[string]*doer{"a": d}, server)
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if tt.within > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.within)
				}
				defer cancel()
				m := rescan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__look"}}`))
				began := time.Now()
				_, err := c.Do(ctx, &Request{Principal: hub.Local(hub.DoorMCP), Message: &m, Exchange: &caller{}, Timeout: change.Timeout, MaxRetries: change.MaxRetries})
				if took := time.Since(began); tt.calls == 1 && (!hub.IsCode(err, message.OutcomeUnknown) || took != 0) || tt.calls == 2 && err != nil {
					t.Errorf("got %v after %v", err, took)
				}
				if n := d.calls.Load(); n != tt.calls {
					t.Errorf("it was called %d times", n)
				}
			})
		})
	}
}

// Pauses double, are bounded, and a part of them is left to chance.
func TestPauses(t *testing.T) {
	var got []time.Duration
	for n := range 5 {
		got = append(got, pause(hub.DefaultRetry(), n+1))
	}
	if want := []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	seen := make(map[time.Duration]bool)
	for range 100 {
		d := pause(hub.Retry{Delay: time.Second, MaxDelay: time.Minute, Jitter: 0.5}, 2)
		if seen[d] = true; d < time.Second || d > 2*time.Second {
			t.Fatalf("a pause of %v", d)
		}
	}
	if len(seen) < 50 {
		t.Errorf("of 100 pauses, %d differ", len(seen))
	}
	if d := pause(hub.Retry{Delay: time.Second}, 1000); d > 2*time.Hour {
		t.Errorf("without a bound, a pause is %v", d)
	}
}

// A bare name is called at the server of the highest priority, and elsewhere if
// it cannot be had there and the call is not made twice.
func TestFailover(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tool  string
		a, b  []string
		spoil func(c *crib, a *hub.Server) // before the call
		want  message.Code
		took  time.Duration
		tries string
		calls [2]int32
	}{
		{name: "no need", tool: "plain", calls: [2]int32{1, 0}},
		{name: "read only", tool: "look", a: []string{"die"}, tries: "a:outcome_unknown b:", calls: [2]int32{1, 1}},
		{name: "idempotent", tool: "steady", a: []string{"die"}, tries: "a:outcome_unknown b:", calls: [2]int32{1, 1}},
		{name: "neither", tool: "plain", a: []string{"die"}, want: message.OutcomeUnknown, tries: "a:outcome_unknown", calls: [2]int32{1, 0}},
		{name: "bad reply", tool: "look", a: []string{"bad"}, tries: "a:server_bad_reply b:", calls: [2]int32{1, 1}},
		{name: "an error is an answer", tool: "look", a: []string{"refuse"}, calls: [2]int32{1, 0}},
		{name: "a failed tool is an answer", tool: "look", a: []string{"fail"}, calls: [2]int32{1, 0}},
		{name: "both die", tool: "look", a: []string{"die"}, b: []string{"die"}, took: 5 * time.Second, tries: "a:outcome_unknown b:outcome_unknown a:", calls: [2]int32{2, 1}},
		{name: "neither answers well", tool: "look", a: []string{"bad"}, b: []string{"bad"}, want: message.AllFailed, tries: "a:server_bad_reply b:server_bad_reply", calls: [2]int32{1, 1}},
		{name: "its own time", tool: "look", a: []string{"silent"}, took: 3 * time.Second, tries: "a:timeout b:", calls: [2]int32{1, 1}, spoil: func(_ *crib, a *hub.Server) { a.Timeout = 3 * time.Second }},
		{name: "its own time, once", tool: "plain", a: []string{"silent"}, want: message.Timeout, took: 3 * time.Second, tries: "a:timeout", calls: [2]int32{1, 0}, spoil: func(_ *crib, a *hub.Server) { a.Timeout = 3 * time.Second }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := doing("a"), doing("b")
				a.Priority = 1
				if tt.spoil != nil {
					tt.spoil(nil, &a)
				}
				da, db := &doer{deeds: tt.a}, &doer{deeds: tt.b}
				c := route(t, map[string]*doer{"a": da, "b": db}, b, a)
				began := time.Now()
				res, err := c.do(t.Context(), `"`+tt.tool+`"`)
				if took := time.Since(began); took != tt.took || tt.want == "" && err != nil || tt.want != "" && !hub.IsCode(err, tt.want) {
					t.Errorf("got %v after %v, want %q after %v", err, took, tt.want, tt.took)
				}
				r := c.last()
				if got := attempted(r); got != tt.tries {
					t.Errorf("the attempts are %q, want %q", got, tt.tries)
				}
				if got := [2]int32{da.calls.Load(), db.calls.Load()}; got != tt.calls {
					t.Errorf("they were called %v times", got)
				}
				if err == nil && (res.Server != r.Server || res.Entry.Server.Key != r.Server) {
					t.Errorf("the answer is of %s, the record of %s", res.Server, r.Server)
				}
			})
		})
	}
}

// A server that is away is waited for only if nobody else can be asked.
func TestFailoverDoesNotWait(t *testing.T) {
	for _, tt := range []struct {
		name  string
		away  []string
		tries string
		took  time.Duration
	}{
		{"the first", []string{"a"}, "a:server_down b:", 0},
		{"the second", []string{"b"}, "", 0},
		{"both", []string{"a", "b"}, "", 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := doing("a"), doing("b")
				a.Priority = 1
				doers := map[string]*doer{"a": {}, "b": {}}
				c := route(t, doers, a, b)
				for _, key := range tt.away {
					doers[key].deeds = []string{"die"}
					if _, err := c.do(t.Context(), `"`+key+`__plain"`); !hub.IsCode(err, message.OutcomeUnknown) {
						t.Fatal(err)
					}
					c.last()
				}
				synctest.Wait()
				began := time.Now()
				_, err := c.do(t.Context(), `"plain"`)
				if took := time.Since(began); err != nil || took != tt.took {
					t.Errorf("got %v after %v", err, took)
				}
				if got := attempted(c.last()); got != tt.tries {
					t.Errorf("the attempts are %q", got)
				}
			})
		})
	}
}

// While its breaker is open a server is passed over, and the error of a call that
// nobody carries out lists what was tried.
func TestBrokenServersArePassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := doing("a"), doing("b")
		a.Priority = 1
		a.Breaker = hub.Breaker{Failures: 1, Cooldown: time.Minute}
		a.Timeout = time.Second
		db := &doer{deeds: []string{"", "bad"}}
		c := route(t, map[string]*doer{"a": {deeds: []string{"silent"}}, "b": db}, a, b)
		if _, err := c.do(t.Context(), `"a__plain"`); !hub.IsCode(err, message.Timeout) {
			t.Fatal(err)
		}
		<-c.ended.C()
		if _, err := c.do(t.Context(), `"plain"`); err != nil {
			t.Error(err)
		}
		if got := attempted(c.last()); got != "a:server_circuit_open b:" {
			t.Errorf("the attempts are %q", got)
		}
		_, err := c.do(t.Context(), `"look"`)
		e := hub.AsError(err)
		if e == nil || e.Code != message.AllFailed || e.Args["attempts"] != "a: server_circuit_open, b: server_bad_reply" || e.Args["tool"] != "look" {
			t.Fatalf("got %v", err)
		}
		for _, lang := range []message.Lang{message.English, message.Chinese} {
			text, bad := e.In(lang), hub.E(message.ServerBadReply, nil, "server", "b", "detail", "").Text(lang).What
			if bad, _, _ = strings.Cut(bad, `"`); !strings.Contains(text, "a: server_circuit_open") || strings.Contains(text, "{") || bad == "" {
				t.Errorf("%s: %s", lang, text)
			}
		}
	})
}

// Equal servers share the calls: one that is busy less gets the next, and none is
// preferred.
func TestEqualServersShareCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doers := make(map[string]*doer)
		var servers []hub.Server
		for i := range 3 {
			s := doing(fmt.Sprintf("s%d", i))
			s.Pool = "pool"
			servers = append(servers, s)
			doers[s.Key] = &doer{}
		}
		doers["s0"].deeds = []string{"silent", "silent"} // they stay busy
		c := route(t, doers, servers...)
		for range 2 {
			go func() { _, _ = c.do(t.Context(), `"s0__plain"`) }()
			synctest.Wait()
		}
		for range 10 {
			if _, err := c.ask("tools/call", `"name":"pool__plain"`, func(r *Request) { r.Session = "" }); err != nil {
				t.Fatal(err)
			}
		}
		if got := [3]int32{doers["s0"].calls.Load(), doers["s1"].calls.Load(), doers["s2"].calls.Load()}; got != [3]int32{1, 5, 5} {
			t.Errorf("the calls went %v", got)
		}
	})
}

// Of many calls that are planned before the first has its server, one that is not
// running gets its share.
func TestEqualServersShareABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := doing("a"), doing("b")
		a.Pool, b.Pool = "pool", "pool"
		b.AutoStart, b.IdleStop = false, time.Second
		c := route(t, map[string]*doer{"a": {}, "b": {}}, a, b)
		time.Sleep(time.Minute) // b is idle
		firsts := make(map[string]int)
		for range 24 {
			r := &run{plan: plan{candidates: []candidate{{server: &a}, {server: &b}}}}
			c.rank(r)
			firsts[r.plan.candidates[0].server.Key]++
			defer r.leave()
		}
		if firsts["a"] != 12 || firsts["b"] != 12 {
			t.Errorf("the calls are for %v", firsts)
		}
	})
}

// Of equal servers none of which is ready, one that was lost is not waited for
// as long as another one can be started.
func TestLostServersTakeNoTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := doing("a"), doing("b")
		a.Pool, b.Pool = "pool", "pool"
		b.AutoStart, b.IdleStop = false, time.Second
		lost := &doer{}
		c := route(t, map[string]*doer{"a": lost, "b": {}}, a, b)
		for range 4 {
			time.Sleep(time.Minute) // b is idle, and a is back
			lost.deeds = slices.Insert(make([]string, lost.calls.Load()), int(lost.calls.Load()), "die")
			if _, err := c.do(t.Context(), `"a__plain"`); !hub.IsCode(err, message.OutcomeUnknown) {
				t.Fatal(err)
			}
			c.last()
			synctest.Wait()
			began := time.Now()
			_, err := c.do(t.Context(), `"pool__plain"`)
			if r := c.last(); err != nil || r.Server != "b" || time.Since(began) != 0 {
				t.Errorf("%s answered after %v, and %v", r.Server, time.Since(began), err)
			}
		}
	})
}

// The error of a call whose time was up names the server that had it then.
func TestTheTimeIsOfWhoHasTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := doing("a"), doing("b")
		b.Order = 1
		c := route(t, map[string]*doer{"a": {deeds: []string{"bad"}}, "b": {deeds: []string{"silent"}}}, a, b)
		_, err := c.do(t.Context(), `"look"`)
		e := hub.AsError(errors.Unwrap(err))
		if !hub.IsCode(err, message.AllFailed) || e == nil || e.Code != message.Timeout || e.Args["server"] != "b" {
			t.Errorf("got %v, because of %v", err, e)
		}
	})
}

// A bare name goes to the first of its servers, however busy that is: those that
// are in no pool may be anything but equal.
func TestBareNamesTakeNoTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, d := doing("a"), doing("b"), doing("d")
		b.Order, d.Order = 1, 2
		d.Pool = "pool"
		doers := map[string]*doer{"a": {deeds: []string{"silent"}}, "b": {}, "d": {}}
		c := route(t, doers, a, b, d)
		go func() { _, _ = c.do(t.Context(), `"a__plain"`) }()
		synctest.Wait()
		for range 4 {
			if _, err := c.ask("tools/call", `"name":"plain"`, func(r *Request) { r.Session = "" }); err != nil {
				t.Fatal(err)
			}
		}
		if got := [3]int32{doers["a"].calls.Load(), doers["b"].calls.Load(), doers["d"].calls.Load()}; got != [3]int32{5, 0, 0} {
			t.Errorf("the calls went %v", got)
		}
	})
}

// noisy is a caller that keeps what it is told.
type noisy struct{ told []string }

func (n *noisy) Notify(raw []byte)                     { n.told = append(n.told, string(raw)) }
func (n *noisy) Ask(_ context.Context, q hub.Question) { q.Answer(nil, hub.E(message.NotAskable, nil)) }

// A retry is told to a caller that wants to hear of progress, in its language.
func TestRetriesAreTold(t *testing.T) {
	for _, tt := range []struct {
		token string
		lang  message.Lang
		want  []string
	}{
		{`"_meta":{"progressToken":"t"},`, message.English, []string{"1 of 2 follows in 2s"}},
		{`"_meta":{"progressToken":7},`, message.Chinese, []string{"2s 后进行第 1 次重试"}},
		{"", message.English, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := route(t, map[string]*doer{"a": {deeds: []string{"die"}}}, doing("a"))
			n := &noisy{}
			if _, err := c.ask("tools/call", tt.token+`"name":"a__look"`, func(r *Request) { r.Exchange, r.Lang = n, tt.lang }); err != nil {
				t.Fatal(err)
			}
			if len(n.told) != len(tt.want) {
				t.Fatalf("told %q", n.told)
			}
			for i, want := range tt.want {
				text := hub.E(message.CallRetried, nil, "n", "1", "max", "2", "delay", "2s").In(tt.lang)
				if !strings.Contains(text, want) {
					t.Errorf("the text is %s", text)
				}
				m, err := wire.Scan([]byte(n.told[i]), wire.Limits{UniqueKeys: true})
				if err != nil || !strings.Contains(n.told[i], want) || !strings.Contains(tt.token, `"progressToken":`+string(m.Member("progressToken").Of(m.Raw))) {
					t.Errorf("told %s, %v", n.told[i], err)
				}
			}
		})
	}
}

// Reads are tried again as well: they change nothing.
func TestReadsAreRetried(t *testing.T) {
	for method, params := range map[string]string{
		"resources/read":      `"uri":"mem:a"`,
		"prompts/get":         `"name":"s__hi"`,
		"completion/complete": `"ref":{"type":"ref/prompt","name":"s__hi"},"argument":{"name":"n","value":"v"}`,
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls int
				h := everything()
				h.answer = func(p *peer, n note) string {
					if calls++; calls == 1 {
						p.hangUp()
						return "silent"
					}
					return echo(p, n)
				}
				c := newCrib(t, map[string]func(*peer){"s": h.serve}, doing("s"))
				synctest.Wait()
				if _, err := c.ask(method, params); err != nil || calls != 2 {
					t.Errorf("got %v after %d calls", err, calls)
				}
			})
		})
	}
}
