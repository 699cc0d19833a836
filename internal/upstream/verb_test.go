package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// everySDKWay runs a test with a server of the official SDK, which has something
// of everything, over each kind of connection and in both eras.
func everySDKWay(t *testing.T, test func(t *testing.T, opt upstream.Options)) {
	modern := protocol.Modern
	for _, way := range []struct {
		name   string
		server func(t *testing.T) hub.Server
		era    *protocol.Era
	}{
		{"pipe legacy", func(*testing.T) hub.Server { return hub.Server{Key: "s", Kind: hub.KindBuiltin} }, nil},
		{"pipe modern", func(*testing.T) hub.Server { return hub.Server{Key: "s", Kind: hub.KindBuiltin} }, &modern},
		{"http legacy", func(t *testing.T) hub.Server { return sdkHTTP(t, false) }, nil},
		{"http modern", func(t *testing.T) hub.Server { return sdkHTTP(t, true) }, nil},
		{"sse", sdkSSE, nil},
		{"ws", sdkWebSocket, nil},
	} {
		t.Run(way.name, func(t *testing.T) {
			opt := options(way.server(t))
			opt.Era, opt.Serve = way.era, sdkInProcess
			test(t, opt)
		})
	}
}

// verb is a request of a caller's.
func verb(t *testing.T, method, params, name string) *upstream.Request {
	t.Helper()
	m, err := wire.Scan(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return &upstream.Request{Message: &m, Name: name}
}

// All pages of all lists come, in the server's order.
func TestLists(t *testing.T) {
	everySDKWay(t, func(t *testing.T, opt upstream.Options) {
		lists, err := dial(t, opt).Lists(t.Context(), hub.ListAll)
		if err != nil || lists.Asked != hub.ListAll || !strings.Contains(string(lists.Capabilities), `"subscribe"`) {
			t.Errorf("asked for %s, of %s: %v", lists.Asked, lists.Capabilities, err)
		}
		for i, want := range []int{3, 3, 1, 3} {
			if got := [][][]byte{lists.Tools, lists.Resources, lists.Templates, lists.Prompts}[i]; len(got) != want {
				t.Errorf("%d of list %d: %q", len(got), i, got)
			}
		}
	})
}

// A list that cannot be had is left out and noted, and the others count; that a
// server knows no templates is no error, and what it has not declared is not
// asked for.
func TestListsThatFail(t *testing.T) {
	var noted []string
	c := scriptedWith(t, func(o *upstream.Options) {
		o.Note = func(_ hub.LogSource, _ hub.LogLevel, line string) { noted = append(noted, line) }
	}, `{"resources":{},"prompts":{}}`, func(p *peer) {
		for n, ok := p.next(); ok; n, ok = p.next() {
			switch n.Method {
			case "resources/list":
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resources":[{"uri":"u"}]}}`, n.ID)
			case "resources/templates/list":
				p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, n.ID)
			case "prompts/list":
				p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"broken"}}`, n.ID)
			default:
				t.Errorf("it was asked for %s", n.Method)
			}
		}
	})
	lists, err := c.Lists(t.Context(), hub.ListAll)
	if err != nil || lists.Asked != hub.ListAll&^hub.ListPrompts || len(lists.Resources) != 1 || len(lists.Templates) != 0 {
		t.Errorf("got %s: %q, %v", lists.Asked, lists.Resources, err)
	}
	if len(noted) != 1 || !strings.Contains(noted[0], "prompts") || !strings.Contains(noted[0], "broken") {
		t.Errorf("noted %q", noted)
	}
}

// Each verb works over each connection, with the headers that modern servers
// compare.
func TestVerbs(t *testing.T) {
	everySDKWay(t, func(t *testing.T, opt upstream.Options) {
		c := dial(t, opt)
		for _, v := range []struct{ method, params, name, want string }{
			{"resources/read", `{"uri":"test:///b"}`, "test:///b", `"text":"read"`},
			{"resources/read", `{"uri":"test:///t/7"}`, "test:///t/7", `"text":"read"`},
			{"prompts/get", `{"name":"b"}`, "b", `prompt b`},
			{"completion/complete", `{"ref":{"type":"ref/prompt","name":"b"},"argument":{"name":"x","value":""}}`, "b", `completed`},
			{"resources/read", `{"uri":"test:///none"}`, "test:///none", `"error"`},
		} {
			r, err := c.Do(t.Context(), verb(t, v.method, v.params, v.name), &caller{})
			if err != nil || !strings.Contains(string(r.Message.Raw), v.want) {
				t.Errorf("%s %s: %v", v.method, v.params, err)
			}
		}
	})
}

// No method goes to a server that has not declared it.
func TestNotOffered(t *testing.T) {
	c := scripted(t, func(p *peer) {
		for n, ok := p.next(); ok; n, ok = p.next() {
			t.Errorf("the server got %s", n.Method)
		}
	})
	for _, method := range []string{"resources/read", "prompts/get", "completion/complete"} {
		if _, err := c.Do(t.Context(), verb(t, method, "{}", ""), &caller{}); !hub.IsCode(err, message.NotOffered) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := errors.Join(c.Subscribe(t.Context(), "u"), c.Unsubscribe(t.Context(), "u")); !hub.IsCode(err, message.NotOffered) {
		t.Error(err)
	}
}

// A question of a legacy server's reaches the caller of the call, and its answer
// the server, over each connection.
func TestQuestionsEveryWay(t *testing.T) {
	everySDKWay(t, func(t *testing.T, opt upstream.Options) {
		opt.Capabilities = []byte(`{"elicitation":{"form":{},"url":{}}}`)
		c := dial(t, opt)
		if c.Era() == protocol.Modern {
			return // it asks in its results
		}
		who := newAsker()
		done := make(chan string, 1)
		go func() {
			r, err := c.Do(t.Context(), request(t, "ask", `{"text":"well?"}`, ""), who)
			if err != nil {
				t.Error(err)
				r = &upstream.Reply{}
			}
			done <- text(r)
		}()
		q := <-who.asked
		if q.Method != "elicitation/create" || !strings.Contains(string(q.Raw), "well?") {
			t.Errorf("asked %s", q.Raw)
		}
		q.say(`{"action":"decline"}`)
		if got := <-done; got != "decline" {
			t.Errorf("the server heard %s", got)
		}
	})
}

// updates collects what is told of resources.
type updates struct {
	mu   sync.Mutex
	uris []string
	raw  []string
}

func (u *updates) add(uri string, raw []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.uris, u.raw = append(u.uris, uri), append(u.raw, string(raw))
}

func (u *updates) has(uri string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Contains(u.uris, uri)
}

// Changes of resources that are subscribed to are told, without what names a
// modern server's subscription.
func TestSubscribe(t *testing.T) {
	everySDKWay(t, func(t *testing.T, opt upstream.Options) {
		var told updates
		opt.Updated = told.add
		c := dial(t, opt)
		for _, uri := range []string{"test:///a", "test:///\u00fc"} {
			if c.Era() == protocol.Modern && opt.Server.Kind == hub.KindBuiltin && uri != "test:///a" {
				break // the SDK's server ends both requests of one stream with the first of them
			}
			if err := c.Subscribe(t.Context(), uri); err != nil {
				t.Fatal(err)
			}
			// A legacy one may tell by a stream that is opened beside Dial.
			rig.Await(t, "the change is told", func() bool {
				do(t, c, "touch", fmt.Sprintf(`{"text":%q}`, uri))
				return told.has(uri)
			})
		}
		if err := c.Unsubscribe(t.Context(), "test:///a"); err != nil {
			t.Error(err)
		}
		told.mu.Lock()
		defer told.mu.Unlock()
		if slices.ContainsFunc(told.raw, func(raw string) bool { return strings.Contains(raw, "subscriptionId") }) {
			t.Errorf("told %q", told.raw)
		}
	})
}

// A refusal of the server's is there as it came, each time.
func TestRefusedSubscription(t *testing.T) {
	everySDKWay(t, func(t *testing.T, opt upstream.Options) {
		c := dial(t, opt)
		for range 50 {
			err := c.Subscribe(t.Context(), "test:///none")
			refused, ok := errors.AsType[*upstream.RefusedError](err)
			if !ok || !hub.IsCode(err, message.ServerRefused) {
				t.Fatalf("got %v", err)
			}
			m := &refused.Reply.Message
			if text, _ := wire.String(m.Raw, wire.Lookup(m.Raw, m.Error, "message")); !strings.Contains(text, "no such resource here") || refused.Reply.Era != c.Era() {
				t.Errorf("in the %s era, %s", refused.Reply.Era, m.Raw)
			}
		}
	})
}

// The stream of news is opened again as its server says, and resumed; an answer
// may be resumed as often as the server likes.
func TestPolling(t *testing.T) {
	const polls = 12
	var news, resumed atomic.Int32
	var id atomic.Value
	changed := make(chan hub.ListSet, polls)
	seen := make(chan struct{})
	c := endpointWith(t, `{"tools":{},"prompts":{"listChanged":true}}`, func(w http.ResponseWriter, n note) {
		id.Store(string(n.ID))
		events(w, "id: call-0\nretry: 1\ndata:\n\n")
	}, func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-Id")
		if !strings.HasPrefix(last, "call-") {
			if news.Add(1) == 3 && last == "news-2" {
				close(seen)
			}
			events(w, "id: news-%d\nretry: 1\ndata:\n\n", news.Load())
			return
		}
		if n := resumed.Add(1); n < polls {
			events(w, "id: call-%d\nretry: 1\ndata:\n\n", n)
			return
		}
		events(w, "id: call-x\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/prompts/list_changed\"}\n\n"+
			"data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}}\n\n", id.Load())
	}, func(o *upstream.Options) { o.ListsChanged = func(l hub.ListSet) { changed <- l } })
	if got := do(t, c, "x", "{}"); got != "late" {
		t.Errorf("the call was answered with %s", got)
	}
	if got := <-changed; got != hub.ListPrompts {
		t.Errorf("told that %s changed", got)
	}
	select {
	case <-seen:
	case <-t.Context().Done():
	}
}

// When the stream of news was away and cannot be resumed, nobody knows what was
// missed on it.
func TestMissedNews(t *testing.T) {
	for id, want := range map[string][]string{"": {"lists", "resources"}, "id: 1\n": nil} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			var opened atomic.Int32
			again := make(chan struct{})
			told := make(chan string, 8)
			endpointWith(t, `{"resources":{"subscribe":true}}`, func(http.ResponseWriter, note) {}, func(w http.ResponseWriter, r *http.Request) {
				n := opened.Add(1)
				if n == 1 {
					events(w, "%sretry: 1\ndata:\n\n", id)
					return
				}
				events(w, ": \n\n")
				w.(http.Flusher).Flush()
				if n == 2 {
					close(again)
				}
				<-r.Context().Done()
			}, func(o *upstream.Options) {
				o.ListsChanged = func(hub.ListSet) { told <- "lists" }
				o.Missed = func() { told <- "resources" }
			})
			<-again
			var got []string
			for len(told) > 0 {
				got = append(got, <-told)
			}
			if !slices.Equal(got, want) {
				t.Errorf("it was told of %q, want %q", got, want)
			}
		})
	}
}

// listens is a modern HTTP server whose streams of news are the test's.
func listens(t *testing.T, on func(ctx context.Context, n note, uris []string, send func(format string, args ...any))) hub.Server {
	t.Helper()
	return modernEndpoint(t, `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`, on)
}

// With another set of resources a modern server is listened to anew, and the
// stream before ends when the new one is acknowledged, not sooner; a resource
// that the server leaves out is an error.
func TestListenAnew(t *testing.T) {
	var open, most atomic.Int32
	sets := make(chan string, 16)
	var told updates
	opt := options(listens(t, func(ctx context.Context, n note, uris []string, send func(string, ...any)) {
		most.Store(max(most.Load(), open.Add(1)))
		defer open.Add(-1)
		sets <- strings.Join(uris, " ")
		honoured := slices.DeleteFunc(slices.Clone(uris), func(uri string) bool { return uri == "c:///no" })
		list := `"` + strings.Join(honoured, `","`) + `"`
		if len(honoured) == 0 {
			list = ""
		}
		send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true,"resourceSubscriptions":[%s]}}}`, n.ID, list)
		for _, uri := range honoured {
			send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q,"_meta":{"k":1,"io.modelcontextprotocol/subscriptionId":%s}}}`, uri, n.ID)
		}
		<-ctx.Done()
	}))
	opt.Updated = told.add
	c := dial(t, opt)
	if got := <-sets; got != "" {
		t.Errorf("at first it listens for %q", got)
	}
	for _, step := range []struct {
		do   func(context.Context, string) error
		uri  string
		want string
		code message.Code
	}{
		{c.Subscribe, "b:///2", "b:///2", ""},
		{c.Subscribe, "a:///1", "a:///1 b:///2", ""},
		{c.Subscribe, "c:///no", "a:///1 b:///2 c:///no", message.NotOffered},
		{c.Unsubscribe, "b:///2", "a:///1", ""},
	} {
		if err := step.do(t.Context(), step.uri); (step.code == "") != (err == nil) || err != nil && !hub.IsCode(err, step.code) {
			t.Errorf("%s: %v", step.uri, err)
		}
		if got := <-sets; got != step.want {
			t.Errorf("it listens for %q, want %q", got, step.want)
		}
	}
	if err := c.Subscribe(t.Context(), "a:///1"); err != nil || len(sets) > 0 {
		t.Errorf("a second time: %v, and %d more requests", err, len(sets))
	}
	rig.Await(t, "one stream is left", func() bool { return open.Load() == 1 })
	if n := most.Load(); n < 2 {
		t.Error("the stream was given up before there was another")
	}
	rig.Await(t, "the update is told", func() bool { return told.has("a:///1") })
	told.mu.Lock()
	defer told.mu.Unlock()
	if want := `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"b:///2","_meta":{"k":1}}}`; !slices.Contains(told.raw, want) {
		t.Errorf("told %q", told.raw)
	}
}

// A stream of news that ends is opened again, and what may have been missed is
// told.
func TestListenAgain(t *testing.T) {
	var times atomic.Int32
	changed := make(chan hub.ListSet, 1)
	var told updates
	opt := options(listens(t, func(ctx context.Context, n note, uris []string, send func(string, ...any)) {
		time := times.Add(1) // before the next one can begin
		send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["u"]}}}`, n.ID)
		if time != 2 {
			<-ctx.Done()
		}
	}))
	opt.Updated, opt.ListsChanged = told.add, func(l hub.ListSet) { changed <- l }
	c := dial(t, opt)
	if err := c.Subscribe(t.Context(), "u"); err != nil {
		t.Fatal(err)
	}
	if got := <-changed; got != hub.ListAll {
		t.Errorf("told that %s changed", got)
	}
	rig.Await(t, "the update is told", func() bool { return told.has("u") })
}
