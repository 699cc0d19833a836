package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// asker is a caller who can be asked: the test answers.
type asker struct {
	caller
	asked chan asked
}

type asked struct {
	hub.Question
	ctx context.Context
	note
}

func newAsker() *asker { return &asker{asked: make(chan asked, 64)} }

func (a *asker) Ask(ctx context.Context, q hub.Question) {
	var n note
	if err := json.Unmarshal(q.Raw, &n); err != nil {
		n.Method = "broken: " + err.Error()
	}
	a.asked <- asked{q, ctx, n}
}

// say answers as a caller does, whose ids are other ones.
func (q asked) say(result string) {
	q.Answer([]byte(`{"jsonrpc":"2.0","id":"of the caller","result":`+result+`}`), nil)
}

// begin makes a call, and returns how to wait for its outcome.
func begin(ctx context.Context, t *testing.T, c *upstream.Conn, ex hub.Exchange) (end func() error) {
	t.Helper()
	done := make(chan error, 1)
	req := request(t, "x", "{}", `"t"`)
	go func() {
		_, err := c.Do(ctx, req, ex)
		done <- err
	}()
	return func() error { return <-done }
}

func question(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"sampling/createMessage","params":{"_meta":{"progressToken":"of the server"}}}`
}

// Several questions of one call are open at once, and hold up nothing; each is
// answered by itself, whatever the order, in the server's own terms.
func TestQuestionsAtOnce(t *testing.T) {
	answers := make(chan note, 8)
	c := scripted(t, func(p *peer) {
		call, _ := p.next()
		p.send("%s", question(`1`))
		p.send("%s", question(`"two"`))
		p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, call.ID)
		for range 3 {
			n, _ := p.next()
			answers <- n
		}
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, call.ID)
	})
	who := newAsker()
	who.hears = make(chan struct{}, 1)
	end := begin(t.Context(), t, c, who)
	one, two := <-who.asked, <-who.asked
	<-who.hears // the progress behind them
	if one.Server != "s" || string(one.ID) != "1" || string(two.ID) != `"two"` || string(one.Params.Meta.ProgressToken) != `"of the server"` {
		t.Errorf("asked %s and %s", one.Raw, two.Raw)
	}
	two.Progress([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"of the server","progress":7}}`))
	if n := <-answers; n.Method != "notifications/progress" || n.Params.Progress != 7 {
		t.Errorf("the server heard %+v of how far it is", n)
	}
	two.say(`{"model":"m"}`)
	if n := <-answers; string(n.ID) != `"two"` || n.Error.Code != 0 {
		t.Errorf("the second question was answered with %+v", n)
	}
	one.Answer(nil, hub.E(message.QuestionExpired, nil, "limit", "1s"))
	if n := <-answers; string(n.ID) != "1" || n.Error.Code != -32001 {
		t.Errorf("the first question was answered with %+v", n)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// A question that the server withdraws ends, also if others are under way, and
// is not answered.
func TestWithdrawnQuestion(t *testing.T) {
	answers := make(chan note, 1)
	c := scripted(t, func(p *peer) {
		call, _ := p.next()
		p.send("%s", question(`5`))
		p.send("%s", question(`6`))
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"done","x":1.0}}`)
		n, _ := p.next()
		answers <- n
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, call.ID)
	})
	who := newAsker()
	end := begin(t.Context(), t, c, who)
	gone, stays := <-who.asked, <-who.asked
	<-gone.ctx.Done()
	if !hub.IsCode(context.Cause(gone.ctx), message.Cancelled) || stays.ctx.Err() != nil {
		t.Errorf("they ended with %v and %v", context.Cause(gone.ctx), stays.ctx.Err())
	}
	if c, ok := errors.AsType[*hub.Cancellation](context.Cause(gone.ctx)); !ok || !strings.Contains(string(c.Raw), `"reason":"done","x":1.0`) {
		t.Errorf("it ended with %v, and not with what the server said", context.Cause(gone.ctx))
	}
	gone.Answer(nil, hub.E(message.Cancelled, nil))
	stays.say("{}")
	if n := <-answers; string(n.ID) != "6" {
		t.Errorf("answered %s", n.ID)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// When a call ends, in whatever way, its questions do, and it returns only when
// they have been answered.
func TestQuestionsEndWithTheCall(t *testing.T) {
	for _, how := range []string{"answered", "cancelled", "lost"} {
		t.Run(how, func(t *testing.T) {
			c := scripted(t, func(p *peer) {
				call, _ := p.next()
				p.send("%s", question(`1`))
				switch how {
				case "answered":
					p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, call.ID)
					p.next()
				case "cancelled":
					for _, ok := p.next(); ok; _, ok = p.next() {
					}
				}
			})
			who := newAsker()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var answered atomic.Bool
			done := make(chan error, 1)
			req := request(t, "x", "{}", "")
			go func() {
				_, err := c.Do(ctx, req, who)
				if !answered.Load() {
					t.Error("the call returned with a question open")
				}
				done <- err
			}()
			q := <-who.asked
			if how == "cancelled" {
				cancel()
			}
			<-q.ctx.Done()
			answered.Store(true)
			q.Answer(nil, hub.E(message.Cancelled, nil))
			if err := <-done; (err == nil) != (how == "answered") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// On a caller's own connection a question stays open when the call that it came
// with is answered, and is answered or withdrawn as any other; if the call is cut
// off, it ends.
func TestQuestionsOutliveTheCall(t *testing.T) {
	for _, how := range []string{"answered", "withdrawn", "cancelled"} {
		t.Run(how, func(t *testing.T) {
			goOn := make(chan struct{})
			answers := make(chan note, 1)
			c := scriptedWith(t, func(o *upstream.Options) { o.Caller = newAsker() }, `{"tools":{}}`, func(p *peer) {
				call, _ := p.next()
				p.send("%s", question(`1`))
				if how != "cancelled" {
					p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, call.ID)
					<-goOn
				}
				if how == "withdrawn" {
					p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
				}
				for n, ok := p.next(); ok; n, ok = p.next() {
					switch n.Method {
					case "":
						answers <- n
					case "tools/call":
						p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, n.ID)
					}
				}
			})
			who := newAsker()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			end := begin(ctx, t, c, who)
			q := <-who.asked
			if how == "cancelled" {
				cancel()
				<-q.ctx.Done()
				q.Answer(nil, hub.E(message.Cancelled, nil))
				if end() == nil {
					t.Error("the call has not ended with its context")
				}
				return
			}
			if err := end(); err != nil {
				t.Error(err)
			}
			cancel()
			if q.ctx.Err() != nil {
				t.Fatal("the question has ended with the call")
			}
			close(goOn)
			if how == "withdrawn" {
				<-q.ctx.Done()
				q.Answer(nil, context.Cause(q.ctx))
				do(t, c, "x", "{}") // nothing is left that keeps the next one
				return
			}
			q.say(`{"roots":[]}`)
			if n := <-answers; string(n.ID) != "1" || n.Error.Code != 0 {
				t.Errorf("answered %+v", n)
			}
		})
	}
}

// A caller's side that panics when it is asked leaves no question open, by which
// the call would wait for ever.
func TestAskPanics(t *testing.T) {
	answers := make(chan note, 1)
	c := scripted(t, func(p *peer) {
		p.next()
		p.send("%s", question(`1`))
		n, _ := p.next()
		answers <- n
	})
	done := make(chan any, 1)
	req := request(t, "x", "{}", "")
	go func() {
		defer func() { done <- recover() }()
		_, _ = c.Do(context.Background(), req, &panics{})
	}()
	if what := <-done; what != "asked" {
		t.Errorf("it ended with %v", what)
	}
	if n := <-answers; string(n.ID) != "1" || n.Error.Code == 0 {
		t.Errorf("answered %+v", n)
	}
}

type panics struct{ caller }

func (*panics) Ask(context.Context, hub.Question) { panic("asked") }

// A server that asks too much is refused what is too much.
func TestTooManyQuestions(t *testing.T) {
	refused := make(chan note, 1)
	c := scripted(t, func(p *peer) {
		call, _ := p.next()
		for i := range 17 {
			p.send("%s", question(fmt.Sprint(i)))
		}
		n, _ := p.next()
		refused <- n
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, call.ID)
		for _, ok := p.next(); ok; _, ok = p.next() {
		}
	})
	who := newAsker()
	end := begin(t.Context(), t, c, who)
	if n := <-refused; n.Error.Code == 0 {
		t.Errorf("answered %+v", n)
	}
	for range 16 {
		q := <-who.asked
		go func() {
			<-q.ctx.Done()
			q.Answer(nil, hub.E(message.Cancelled, nil))
		}()
	}
	if err := end(); err != nil || len(who.asked) > 0 {
		t.Errorf("%v, and %d more questions", err, len(who.asked))
	}
}

// slow is a caller who takes a question only when the test wants it.
type slow struct {
	caller
	asked, take chan struct{}
}

func (s *slow) Ask(_ context.Context, q hub.Question) {
	s.asked <- struct{}{}
	<-s.take
	q.Answer(nil, hub.E(message.NotAskable, nil))
}

// Nor do more questions than that wait for a caller who is slow to take them.
func TestTooManyQuestionsOutside(t *testing.T) {
	const many = 40
	who := &slow{asked: make(chan struct{}, many), take: make(chan struct{})}
	answers := make(chan note, many)
	scriptedWith(t, func(o *upstream.Options) { o.Caller = who }, `{"tools":{}}`, func(p *peer) {
		p.send("%s", question("0"))
		<-who.asked
		for i := range many {
			p.send("%s", question(fmt.Sprint(i+1)))
		}
		for n, ok := p.next(); ok; n, ok = p.next() {
			answers <- n
		}
	})
	for range many - 16 {
		if n := <-answers; n.Error.Code != -32000 || !strings.HasPrefix(n.Error.Message, "Too many questions") {
			t.Errorf("answered %+v", n)
		}
	}
	close(who.take)
	for range 17 {
		if n := <-answers; n.Error.Code == 0 {
			t.Errorf("answered %+v", n)
		}
	}
}

// What a server asks or logs outside of calls, or while nobody knows for which
// of several, is for the caller whose connection it is, in order; with nobody's
// it is refused. Asked is told of each question.
func TestOutsideOfCalls(t *testing.T) {
	script := func(answers chan note) func(p *peer) {
		return func(p *peer) {
			p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"first"}}`)
			p.send(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
			n, _ := p.next()
			answers <- n
			first, _ := p.next()
			second, _ := p.next()
			p.send(`{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{}}`)
			n, _ = p.next()
			answers <- n
			p.send(`{"jsonrpc":"2.0","id":"u","method":"vendor/ask","params":{}}`)
			n, _ = p.next()
			answers <- n
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, first.ID)
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, second.ID)
		}
	}
	for _, owned := range []bool{true, false} {
		t.Run(fmt.Sprint("owned: ", owned), func(t *testing.T) {
			answers := make(chan note, 3)
			owner, other := newAsker(), newAsker()
			var mu sync.Mutex
			var told []string
			c := scriptedWith(t, func(o *upstream.Options) {
				if owned {
					o.Caller = owner
				}
				o.Asked = func(method string) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, method)
				}
			}, `{"tools":{}}`, script(answers))
			want := 0
			if owned {
				q := <-owner.asked
				if q.Method != "roots/list" || len(owner.notes("notifications/message")) != 1 {
					t.Errorf("the owner was asked %s after %v", q.Method, owner.heard)
				}
				q.say(`{"roots":[]}`)
			} else {
				want = -32601
			}
			if n := <-answers; string(n.ID) != `"r"` || n.Error.Code != want {
				t.Errorf("answered %+v", n)
			}
			one, two := begin(t.Context(), t, c, other), begin(t.Context(), t, c, other)
			if owned {
				q := <-owner.asked
				q.say(`{"action":"decline"}`)
			}
			if n := <-answers; string(n.ID) != `"e"` || n.Error.Code != want {
				t.Errorf("answered %+v", n)
			}
			if n := <-answers; string(n.ID) != `"u"` || n.Error.Code != -32601 {
				t.Errorf("what no client has was answered with %+v", n)
			}
			if err := errors.Join(one(), two()); err != nil || len(other.asked) > 0 {
				t.Errorf("the calls: %v, with %d questions", err, len(other.asked))
			}
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(told, " "); got != "roots/list elicitation/create" {
				t.Errorf("told of %s", got)
			}
		})
	}
}

// Over HTTP a question on the stream that is no call's is for the one call under
// way; one on a call's own stream is for that one, whatever else is under way.
func TestQuestionsOverHTTP(t *testing.T) {
	get := make(chan string)
	answered := make(chan note, 1)
	var open sync.WaitGroup
	open.Add(1)
	calls := 0
	c := endpointWith(t, `{"tools":{},"logging":{}}`, func(w http.ResponseWriter, n note) {
		switch n.Method {
		case "tools/call":
			if calls++; calls == 1 {
				open.Wait() // for the stream
				get <- question(`"on GET"`)
			} else {
				events(w, "data: %s\n\n", question(`"on POST"`))
				w.(http.Flusher).Flush()
			}
			if a := <-answered; len(a.ID) == 0 || a.Error.Code != 0 {
				t.Errorf("answered %+v", a)
			}
			events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", n.ID)
		case "":
			answered <- n
			w.WriteHeader(http.StatusAccepted)
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			return
		}
		events(w, ": \n\n")
		w.(http.Flusher).Flush()
		open.Done()
		for {
			select {
			case m := <-get:
				events(w, "data: %s\n\n", m)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	for _, id := range []string{`"on GET"`, `"on POST"`} {
		who := newAsker()
		end := begin(t.Context(), t, c, who)
		q := <-who.asked
		if string(q.ID) != id {
			t.Errorf("asked %s, want %s", q.ID, id)
		}
		q.say("{}")
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

// What the client can do is declared as it is given.
func TestDeclaredCapabilities(t *testing.T) {
	for _, tt := range []struct{ given, want string }{{"", "{}"}, {`{"sampling":{"tools":{}},"x":9007199254740993}`, `{"sampling":{"tools":{}},"x":9007199254740993}`}} {
		hello := make(chan json.RawMessage, 1)
		opt := options(hub.Server{Key: "s", Kind: hub.KindBuiltin})
		if tt.given != "" {
			opt.Capabilities = []byte(tt.given)
		}
		opt.Serve = legacyPeer(t, `{}`, func(capabilities json.RawMessage) { hello <- capabilities }, func(p *peer) { p.next() })
		dial(t, opt)
		if got := string(<-hello); got != tt.want {
			t.Errorf("declared %s, want %s", got, tt.want)
		}
	}
}

// All requests that come at once are answered, also if they are many.
func TestAnswersAtOnce(t *testing.T) {
	const many = 1000
	answered := make(chan string, many)
	scripted(t, func(p *peer) {
		var all strings.Builder
		for id := range many {
			fmt.Fprintf(&all, `{"jsonrpc":"2.0","id":%d,"method":%q}`+"\n", id, [...]string{"ping", "roots/list"}[id%2])
		}
		go func() { _, _ = io.WriteString(p.out, all.String()) }()
		for n, ok := p.next(); ok; n, ok = p.next() {
			answered <- string(n.ID)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	seen := map[string]bool{}
	for len(seen) < many {
		select {
		case id := <-answered:
			seen[id] = true
		case <-ctx.Done():
			t.Fatalf("%d of %d are answered", len(seen), many)
		}
	}
}
