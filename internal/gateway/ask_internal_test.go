package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// sheet is an Out that writes everything down.
type sheet struct {
	mu    sync.Mutex
	lines []string
}

func (s *sheet) Notify(raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, string(raw))
}

// Event implements [Feed].
func (s *sheet) Event(_ string, raw []byte) error {
	if raw != nil {
		s.Notify(raw)
	}
	return nil
}

func (s *sheet) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) == 0 {
		return ""
	}
	return s.lines[len(s.lines)-1]
}

// answers are those that a question got.
type answers struct {
	count atomic.Int32
	raw   string
	err   error
}

func (a *answers) question(raw string) hub.Question {
	return hub.Question{Server: "s", Raw: []byte(raw), Answer: func(reply []byte, err error) {
		a.count.Add(1)
		a.raw, a.err = string(reply), err
	}}
}

func newGateway() *Gateway {
	everything, err := catalog.Open(catalog.Options{})
	if err != nil {
		panic(err) // there is no file
	}
	return New(Options{Catalog: everything, Log: slog.New(slog.DiscardHandler)})
}

func scan(t testing.TB, format string, args ...any) *wire.Message {
	t.Helper()
	m, err := wire.Scan(fmt.Appendf(nil, format, args...), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

// A call that still ends when its session has does not bring what the level had
// kept from its caller.
func TestLevelBehindTheEnd(t *testing.T) {
	for _, level := range []string{"", "warning"} {
		g, s, out := newGateway(), &Session{}, &sheet{}
		x := &exchange{gateway: g, caller: s.Caller(), out: out}
		s.level.Store(&level)
		line := []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":1}}`)
		if x.Notify(line); (out.last() != "") != (level == "") {
			t.Errorf("with the level %q it heard %q", level, out.last())
		}
		out.lines = nil
		unset := ""
		s.gone.Store(true)
		s.level.Store(&unset)
		if x.Notify(line); out.last() != "" {
			t.Errorf("with the level %q it heard %s behind the end", level, out.last())
		}
	}
}

const roots = `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`

// A caller is asked exactly what it declared that it can be asked.
func TestAskable(t *testing.T) {
	for _, tt := range []struct {
		capabilities, method, params string
		missing                      string // "" if it may be asked
	}{
		{`{"roots":{}}`, "roots/list", `{}`, ""},
		{`{"roots":{"listChanged":true}}`, "roots/list", `{}`, ""},
		{`{"roots":null}`, "roots/list", `{}`, "roots"},
		{`{}`, "roots/list", `{}`, "roots"},
		{``, "roots/list", `{}`, "roots"},
		{`{"sampling":{}}`, "sampling/createMessage", `{}`, ""},
		{`{"sampling":{}}`, "sampling/createMessage", `{"tools":[]}`, "sampling.tools"},
		{`{"sampling":{}}`, "sampling/createMessage", `{"toolChoice":{}}`, "sampling.tools"},
		{`{"sampling":{"tools":{}}}`, "sampling/createMessage", `{"tools":[],"toolChoice":{}}`, ""},
		{`{"elicitation":{}}`, "sampling/createMessage", `{}`, "sampling"},
		{`{"elicitation":{}}`, "elicitation/create", `{}`, ""},
		{`{"elicitation":{}}`, "elicitation/create", `{"mode":"form"}`, ""},
		{`{"elicitation":{}}`, "elicitation/create", `{"mode":"url"}`, "elicitation.url"},
		{`{"elicitation":{"form":{}}}`, "elicitation/create", `{}`, ""},
		{`{"elicitation":{"url":{}}}`, "elicitation/create", `{"mode":"url"}`, ""},
		{`{"elicitation":{"url":{}}}`, "elicitation/create", `{}`, "elicitation.form"},
		{`{"elicitation":{"url":{},"form":{}}}`, "elicitation/create", `{}`, ""},
		{`{"elicitation":{}}`, "elicitation/create", `{"mode":"\n"}`, `elicitation.\n`},
		{`{"sampling":{}}`, "elicitation/create", `{"mode":"url"}`, "elicitation.url"},
	} {
		e := askable([]byte(tt.capabilities), scan(t, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tt.method, tt.params))
		switch {
		case e == nil && tt.missing != "":
			t.Errorf("%s: %s %s is asked", tt.capabilities, tt.method, tt.params)
		case e != nil && (e.Code != message.QuestionUnasked || e.Args["capability"] != tt.missing):
			t.Errorf("%s: %s %s: %v", tt.capabilities, tt.method, tt.params, e)
		}
	}
	if e := askable([]byte(`{"tasks":{}}`), scan(t, `{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`)); e == nil || e.Code != message.MethodUnknown {
		t.Errorf("a request that is no question: %v", e)
	}
}

// A modern caller shows forms if it says so in the request itself.
func TestForms(t *testing.T) {
	for capabilities, want := range map[string]bool{
		`{}`: false, `null`: false, `{"elicitation":null}`: false, `{"elicitation":true}`: false, `{"sampling":{}}`: false,
		`{"elicitation":{}}`: true, `{"elicitation":{"form":{}}}`: true, `{"elicitation":{"url":{},"form":{}}}`: true, `{"elicitation":{"url":{}}}`: false,
	} {
		m := scan(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{%q:%s}}}`, protocol.MetaCapabilities, capabilities)
		if forms(m) != want {
			t.Errorf("%s: %t", capabilities, !want)
		}
	}
	if forms(scan(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)) {
		t.Error("one that says nothing is asked")
	}
}

// Servers are told what a caller declared, if it can be asked at all.
func TestDeclared(t *testing.T) {
	for capabilities, want := range map[string]string{
		``:                    "",
		`{"experimental":{}}`: "",
		`{"roots":null,"sampling":true,"elicitation":[]}`: "",
		`{"roots":{},"x":[1.0]}`:                          `{"roots":{},"x":[1.0]}`,
		`{"tasks":{"requests":{}},"sampling":{}}`:         `{"sampling":{}}`,
		`{"elicitation":{}}`:                              `{"elicitation":{}}`,
	} {
		if got := string(declared([]byte(capabilities))); got != want {
			t.Errorf("%s: %s, want %s", capabilities, got, want)
		}
	}
}

// A question outside of requests waits for a client that opens no stream for such,
// but not as long as for a person; one that opens it late is asked all the same.
func TestAskUnopened(t *testing.T) {
	for opens, want := range map[time.Duration]message.Code{
		0: message.QuestionExpired, unopened / 2: message.QuestionExpired, unopened * 2: message.NotAskable,
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway()
			s := &Session{id: "s", capabilities: []byte(`{"roots":{}}`), began: time.Now()}
			a, out := &answers{}, &sheet{}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(opens, func() { g.Stream(ctx, s, "", out) })
			began := time.Now()
			asked := a.question(roots)
			answered, answer := make(chan time.Duration, 1), asked.Answer
			asked.Answer = func(reply []byte, err error) {
				answer(reply, err)
				answered <- time.Since(began)
			}
			g.ask(ctx, s, aside{s}, asked)
			took, limit := <-answered, DefaultQuestionLimit
			if want == message.NotAskable {
				limit = unopened
			}
			if took != limit || !hub.IsCode(a.err, want) {
				t.Errorf("opened after %s: %v after %s", opens, a.err, took)
			}
			if want != message.NotAskable {
				return
			}
			s.read, began = false, time.Now() // the next one does not wait at all
			asked.Answer = func(_ []byte, err error) { answered <- time.Since(began) }
			g.ask(ctx, s, aside{s}, asked)
			if took := <-answered; took != 0 {
				t.Errorf("a later one waits for %s", took)
			}
		})
	}
}

// A question that is under way ends in one way only, whatever comes at once.
func TestAnsweredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		for range 500 {
			s := &Session{id: "s", capabilities: []byte(`{"roots":{}}`)}
			a, out := &answers{}, &sheet{}
			ctx, cancel := context.WithCancel(t.Context())
			reply := scan(t, `{"jsonrpc":"2.0","id":"tc-1","result":{}}`)
			go g.ask(ctx, s, out, a.question(roots))
			go cancel()
			go g.Reply(s.Caller(), reply)
			go s.questions.end()
			synctest.Wait()
			g.Reply(s.Caller(), reply)
			if n := a.count.Load(); n != 1 {
				t.Fatalf("answered %d times", n)
			}
			if len(s.questions.open) > 0 {
				t.Fatal("the question is still there")
			}
		}
	})
}

// Each caller has so many questions open at most.
func TestTooManyQuestions(t *testing.T) {
	g, out := newGateway(), &sheet{}
	s := &Session{id: "s", capabilities: []byte(`{"roots":{}}`)}
	ids := map[string]bool{}
	all := make([]answers, maxQuestions+1)
	for i := range all {
		g.ask(t.Context(), s, out, all[i].question(roots))
		ids[out.last()] = true
	}
	if last := &all[maxQuestions]; last.count.Load() != 1 || !hub.IsCode(last.err, message.QuestionTooMany) {
		t.Errorf("one more question: %v", last.err)
	}
	if len(ids) != maxQuestions {
		t.Errorf("%d ids", len(ids))
	}
	g.Reply(s.Caller(), scan(t, `{"jsonrpc":"2.0","id":"tc-\u0031","error":{"code":-1,"message":"no"}}`))
	if all[0].raw != `{"jsonrpc":"2.0","id":"tc-\u0031","error":{"code":-1,"message":"no"}}` {
		t.Errorf("the answer is %s", all[0].raw)
	}
	var next answers
	g.ask(t.Context(), s, out, next.question(roots))
	if next.count.Load() != 0 {
		t.Errorf("after an answer: %v", next.err)
	}
	s.questions.end()
	for i := range all {
		if n := all[i].count.Load(); n != 1 {
			t.Errorf("question %d was answered %d times", i, n)
		}
	}
}

// The caller is told when its answer is not wanted any more, before the server
// is; progress ends with that.
func TestWithdrawn(t *testing.T) {
	const question = `{"jsonrpc":"2.0","id":7,"method":"roots/list","params":{"_meta":{"progressToken":[0]}}}`
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tc-1","progress":1e2}}`
	for _, tt := range []struct {
		name string
		end  func(cancel context.CancelCauseFunc, s *Session)
		code message.Code
		told string
	}{
		{"by the time", func(context.CancelCauseFunc, *Session) { time.Sleep(time.Minute) }, message.QuestionExpired, "The caller has not answered within 1m0s."},
		{"by the call", func(cancel context.CancelCauseFunc, _ *Session) { cancel(nil) }, message.Cancelled, "The call was cancelled."},
		{"for a reason", func(cancel context.CancelCauseFunc, _ *Session) { cancel(hub.E(message.ShuttingDown, nil)) }, message.ShuttingDown, "Toolcrib is stopping."},
		{"by the session", func(_ context.CancelCauseFunc, s *Session) { s.questions.end() }, message.Cancelled, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(Options{Log: slog.New(slog.DiscardHandler), QuestionLimit: time.Minute})
				s, a, out := &Session{id: "s", capabilities: []byte(`{"roots":{}}`)}, &answers{}, &sheet{}
				q := a.question(strings.Replace(question, "[0]", `1.50`, 1))
				var heard []string
				q.Progress = func(raw []byte) { heard = append(heard, string(raw)) }
				told := ""
				answer := q.Answer
				q.Answer = func(reply []byte, err error) {
					told = out.last()
					answer(reply, err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				g.ask(ctx, s, out, q)
				if got, want := out.last(), `{"jsonrpc":"2.0","id":"tc-1","method":"roots/list","params":{"_meta":{"progressToken":"tc-1"}}}`; got != want {
					t.Errorf("asked %s", got)
				}
				g.Notification(s.Caller(), scan(t, progress))
				tt.end(cancel, s)
				synctest.Wait()
				g.Notification(s.Caller(), scan(t, progress))
				if !hub.IsCode(a.err, tt.code) || a.count.Load() != 1 {
					t.Errorf("answered %d times, with %v", a.count.Load(), a.err)
				}
				want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"tc-1","reason":"` + tt.told + `"}}`
				if tt.told == "" {
					want = `{"jsonrpc":"2.0","id":"tc-1","method":"roots/list","params":{"_meta":{"progressToken":"tc-1"}}}`
				}
				if told != want {
					t.Errorf("told %s", told)
				}
				if len(heard) != 1 || heard[0] != `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.50,"progress":1e2}}` {
					t.Errorf("progress %q", heard)
				}
			})
		})
	}
}

// single is an Out that carries nothing but the response, for a reason.
type single struct {
	sheet
	why error
}

func (s *single) Stream() error { return s.why }

// Who takes nothing but the response is not asked, and neither is who is gone.
func TestSingleAnswer(t *testing.T) {
	for _, why := range []error{http.ErrNotSupported, net.ErrClosed} {
		g, a, out := newGateway(), &answers{}, &single{why: why}
		s := &Session{id: "s", capabilities: []byte(`{"roots":{}}`)}
		g.ask(t.Context(), s, out, a.question(roots))
		if !hub.IsCode(a.err, message.NotAskable) || len(out.lines) > 0 || len(s.questions.open) > 0 {
			t.Errorf("%v: answered with %v, after %q", why, a.err, out.lines)
		}
	}
}

// Nobody is asked in the modern era, and nothing is taken from it.
func TestModernAsked(t *testing.T) {
	g, a := newGateway(), &answers{}
	c := &Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern}
	(&exchange{gateway: g, caller: c, out: &sheet{}}).Ask(t.Context(), a.question(roots))
	if !hub.IsCode(a.err, message.QuestionForeign) {
		t.Errorf("got %v", a.err)
	}
	g.Reply(c, scan(t, `{"jsonrpc":"2.0","id":"tc-1","result":{}}`))
	g.Notification(c, scan(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tc-1"}}`))
}

// Of what a person was sent to a URL for each session is told once, for an hour.
func TestElicitations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var es elicitations
		a, b := &Session{id: "a"}, &Session{id: "b"}
		name := func(i int) elicitation { return elicitation{"s", fmt.Sprint(i)} }
		for i := range maxElicitations + 1 {
			es.add(a, name(i))
		}
		es.add(b, name(1))
		es.add(b, name(1))
		if to := es.take(name(0)); len(to) != 0 {
			t.Error("the oldest one is still there")
		}
		if to := es.take(elicitation{"other", "1"}); len(to) != 0 {
			t.Error("another server's is the same")
		}
		if to := es.take(name(1)); len(to) != 2 || to[0] != a || to[1] != b {
			t.Errorf("%d sessions are told", len(to))
		}
		if to := es.take(name(1)); len(to) != 0 {
			t.Error("told twice")
		}
		time.Sleep(elicitationAge + time.Second)
		if to := es.take(name(2)); len(to) != 0 {
			t.Error("told after an hour")
		}
		es.add(b, name(1))
		for _, s := range []*Session{a, b} {
			s.gone.Store(true)
			es.forget(s)
			es.add(s, name(1))
		}
		if len(es.waiting) > 0 || len(es.sessions) > 0 {
			t.Errorf("left: %v, %v", es.waiting, es.sessions)
		}
	})
}

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		whole, part string
		want        bool
	}{
		{"a:/b", "a:/b", true},
		{"a:/b", "a:/b/c", true},
		{"a:/b/", "a:/b/c", true},
		{"a:/b", "a:/b?c", true},
		{"a:/b", "a:/b#c", true},
		{"a:/b", "a:/bc", false},
		{"a:/b/c", "a:/b", false},
		{"", "a:/b", true},
	} {
		if got := covers(tt.whole, tt.part); got != tt.want {
			t.Errorf("%q and %q: %t", tt.whole, tt.part, got)
		}
	}
}

// Whatever a caller sends as an answer, only one to its own question counts, and
// reaches the server as it is.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":"tc-1","result":{}}`,
		`{"jsonrpc":"2.0","id":"\u0074c-1","result":[]}`,
		`{"jsonrpc":"2.0","id":"tc-2","error":{}}`,
		`{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1}}`,
		`{"jsonrpc":"2.0","id":"tc-1","method":"ping"}`,
	} {
		f.Add([]byte(seed))
	}
	g := newGateway()
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := wire.Scan(raw, wire.Limits{})
		if err != nil {
			return
		}
		s, a := &Session{id: "s", capabilities: []byte(`{"roots":{}}`)}, &answers{}
		g.ask(t.Context(), s, &sheet{}, a.question(roots))
		g.Reply(s.Caller(), &m)
		id, _ := wire.String(raw, m.ID)
		fits := id == "tc-1" && (m.Kind == wire.Response || m.Kind == wire.Failure)
		if got := a.count.Load() == 1; got != fits || got && a.raw != string(raw) {
			t.Errorf("%s: answered is %t, with %s", raw, got, a.raw)
		}
		s.questions.end()
		if a.count.Load() != 1 {
			t.Error("not answered in the end")
		}
	})
}
