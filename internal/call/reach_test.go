package call

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// thinking is a caller that takes its time for each answer.
type thinking struct{ time time.Duration }

func (thinking) Notify([]byte) {}

func (c thinking) Ask(ctx context.Context, q hub.Question) {
	go func() {
		select {
		case <-time.After(c.time):
			q.Answer([]byte(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`), nil)
		case <-ctx.Done():
			q.Answer(nil, hub.E(message.Cancelled, nil))
		}
	}()
}

// A caller that cannot read resources gets what links lead to, and is told what
// it does not get.
func TestEmbeddedLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := everything()
		var links []string
		for i := range 10 {
			links = append(links, fmt.Sprintf(`{"type":"resource_link","name":"l","uri":"mem:%d","annotations":{"priority":0}}`, i))
		}
		h.answer = func(_ *peer, n note) string {
			switch {
			case n.Method == "tools/call":
				return `{"content":[{"type":"text","text":"see"},` + strings.Join(links, ",") + `]}`
			case n.Params.URI == "mem:1":
				return ""
			case n.Params.URI == "mem:2":
				return `{"contents":[{"uri":"mem:2","text":"` + strings.Repeat("x", maxLinked) + `"}]}`
			}
			return fmt.Sprintf(`{"contents":[{"uri":%q,"text":"one"},{"uri":%[1]q,"text":"two"}]}`, n.Params.URI)
		}
		c := newCrib(t, map[string]func(*peer){"s": h.serve}, builtin("s"))
		c.catalog.SetViews(nil, []hub.Profile{{Client: "old*", EmbedLinks: true}})
		synctest.Wait()
		res, err := c.ask("tools/call", `"name":"s__x"`, func(r *Request) { r.Viewer.Client = "old-client" })
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		m := &res.Message
		for item := range wire.Array(m.Raw, m.Member("content")) {
			kind, _ := wire.String(m.Raw, wire.Lookup(m.Raw, item, "type"))
			if kind == "resource" && string(wire.Lookup(m.Raw, item, "annotations").Of(m.Raw)) != `{"priority":0}` {
				t.Errorf("an item without its annotations: %s", item.Of(m.Raw))
			}
			kinds = append(kinds, kind)
		}
		want := "text resource resource resource_link text resource_link text" + strings.Repeat(" resource resource", 5) + " resource_link text resource_link"
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// A caller in whose group only a tool of a server is does not get the server's
// resources by way of the tool's links.
func TestLinkOutOfTheGroup(t *testing.T) {
	for group, want := range map[string]bool{"whole": true, "single": false} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrib(t, map[string]func(*peer){"s": everything().serve}, builtin("s"))
			c.catalog.SetViews([]hub.Group{{Name: "whole", Servers: []string{"s"}}, {Name: "single", Tools: []string{"s__x"}}}, []hub.Profile{{Client: "*", EmbedLinks: true}})
			synctest.Wait()
			res, err := c.ask("tools/call", `"name":"s__x"`, func(r *Request) { r.Viewer.Group = group })
			if err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(got(res), `"text":"read"`); has != want {
				t.Errorf("in the group %s: %s", group, got(res))
			}
		})
	}
}

// Links that do not come in the hub's own time say nothing of their server.
func TestSlowLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := everything()
		h.answer = func(_ *peer, n note) string {
			if n.Method != "tools/call" {
				time.Sleep(linkTime + time.Second)
			}
			return `{"content":[` + strings.Repeat(`{"type":"resource_link","name":"l","uri":"mem:1"},`, maxLinks-1) + `{"type":"resource_link","name":"l","uri":"mem:2"}]}`
		}
		s := builtin("s")
		s.Timeout, s.Breaker = time.Hour, hub.Breaker{Failures: 2, Cooldown: time.Hour}
		c := newCrib(t, map[string]func(*peer){"s": h.serve}, s)
		c.catalog.SetViews(nil, []hub.Profile{{Client: "*", EmbedLinks: true}})
		synctest.Wait()
		for range 2 {
			res, err := c.ask("tools/call", `"name":"s__x"`)
			if err != nil || strings.Count(got(res), "it was not there in time") != maxLinks {
				t.Fatalf("got %v, %v", res, err)
			}
		}
	})
}

// A link of the web that its server does not have is fetched by the hub, which
// does not go where it stands itself.
func TestLinkToThisMachine(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") }))
	defer site.Close()
	h := everything()
	h.answer = func(_ *peer, n note) string {
		if n.Method == "tools/call" {
			return `{"content":[{"type":"resource_link","name":"l","uri":"` + site.URL + `"}]}`
		}
		return ""
	}
	c := newCrib(t, map[string]func(*peer){"s": h.serve}, builtin("s"))
	c.catalog.SetViews(nil, []hub.Profile{{Client: "*", EmbedLinks: true}})
	if err := c.fleet.Start(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		allowed bool
		lang    message.Lang
		want    string
	}{
		{false, "", hub.E(message.LinkRefused, nil, "uri", site.URL, "detail", "the address is not public").In("")},
		{false, message.Chinese, "没有获取链接 " + site.URL + " 的内容：该地址不是公网地址。"},
		{true, "", `"text":"inside"`},
	} {
		c.web = newWeb(tt.allowed)
		res, err := c.ask("tools/call", `"name":"s__x"`, func(r *Request) { r.Lang = tt.lang })
		if err != nil {
			t.Fatal(err)
		}
		if inside := strings.Contains(got(res), `"inside"`); !strings.Contains(got(res), tt.want) || inside != tt.allowed {
			t.Errorf("got %s", got(res))
		}
	}
}

// Links lead to public addresses only, also by redirects.
func TestWeb(t *testing.T) {
	var addr string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/text":
			if len(r.Header["Authorization"])+len(r.Header["Cookie"])+len(r.Header["Referer"]) > 0 {
				t.Errorf("it was sent %v", r.Header)
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprint(w, "hello")
		case "/bytes":
			w.Header().Set("Content-Type", "image/png")
			w.Write([]byte{0xff, 0})
		case "/large":
			w.Write(make([]byte, maxLinked+1))
		case "/there":
			http.Redirect(w, r, "/text", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/user":
			http.Redirect(w, r, "http://a:b@"+addr+"/text", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	addr = site.Listener.Addr().String()
	const elsewhere = "it leads elsewhere too often, or to what is no web page"
	for path, want := range map[string]string{
		"/text":  `{"uri":"u","mimeType":"text/plain","text":"hello"}`,
		"/bytes": `{"uri":"u","mimeType":"image/png","blob":"/wA="}`,
		"/there": `{"uri":"u","mimeType":"text/plain","text":"hello"}`,
		"/large": "it is larger than 1 MiB",
		"/round": elsewhere,
		"/file":  elsewhere,
		"/user":  elsewhere,
		"/none":  "it was answered with the HTTP status 404",
	} {
		contents, why := newWeb(true).get(t.Context(), site.URL+path, []byte(`"u"`))
		if got := string(contents) + why.String(); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
		if contents, why := newWeb(false).get(t.Context(), site.URL+path, []byte(`"u"`)); contents != nil || why.String() != "the address is not public" {
			t.Errorf("%s: got %q, %q from this machine", path, contents, why)
		}
	}
	if _, why := newWeb(true).get(t.Context(), "http://a:b@"+addr+"/text", []byte(`"u"`)); why.String() != "its address cannot be used" {
		t.Errorf("with a password: %q", why)
	}
}

func TestPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"1.1.1.1": true, "8.8.8.8": true, "2606:4700:4700::1111": true, "100.128.0.1": true, "172.32.0.1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.0.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false,
		"198.18.0.1": false, "192.0.2.1": false, "::1": false, "::": false, "fe80::1": false, "fc00::1": false, "ff02::1": false,
		"::ffff:1.1.1.1": false, "::ffff:127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001::1": false,
		"2001:db8::1": false, "fec0::1": false, "::7f00:1": false,
	} {
		if got := public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}

func TestPartOf(t *testing.T) {
	for _, tt := range []struct {
		uri, whole string
		want       bool
	}{
		{"a:b", "a:b", true},
		{"a:b/c", "a:b", true},
		{"a:b/c", "a:b/", true},
		{"a:b?c", "a:b", true},
		{"a:b#c", "a:b", true},
		{"a:bc", "a:b", false},
		{"a:b", "a:b/c", false},
	} {
		if got := partOf(tt.uri, tt.whole); got != tt.want {
			t.Errorf("%s of %s: %v", tt.uri, tt.whole, got)
		}
	}
}

// What a server has refused to the hub, which could not connect, is not its answer
// to who subscribes.
func TestSubscribeNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrib(t, map[string]func(*peer){"s": func(p *peer) {
			n, _ := p.next()
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, n.ID)
		}}, builtin("s"))
		synctest.Wait()
		err := c.Subscribe(t.Context(), &hub.Caller{ID: "a"}, hub.Viewer{}, "toolcrib://s/mem:a")
		if !hub.IsCode(err, message.ServerDown) || !strings.Contains(err.Error(), "initialize") || Refusal(err) != nil {
			t.Errorf("got %v", err)
		}
	})
}

// Subscriptions end where they began, and with their caller.
func TestSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrib(t, map[string]func(*peer){"s": everything().serve}, builtin("s"))
		synctest.Wait()
		a, b := &hub.Caller{ID: "a"}, &hub.Caller{ID: "b"}
		for _, uri := range []string{"mem:a", "mem:t/1", "toolcrib://s/mem:a"} {
			if err := c.Subscribe(t.Context(), a, hub.Viewer{}, uri); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Subscribe(t.Context(), b, hub.Viewer{}, "toolcrib://none/mem:a"); !hub.IsCode(err, message.ResourceUnknown) {
			t.Errorf("got %v", err)
		}
		if err := c.Unsubscribe(t.Context(), a, "mem:t/1"); err != nil {
			t.Error(err)
		}
		if err := c.Unsubscribe(t.Context(), b, "mem:a"); err != nil {
			t.Error(err)
		}
		if err := c.Subscribe(t.Context(), b, hub.Viewer{}, "mem:t/refused"); err == nil || Refusal(err) == nil || Refusal(err).Server != "s" || !strings.Contains(got(Refusal(err)), "no") {
			t.Errorf("got %v", err)
		}
		if n := len(c.readers.byID["a"].by); n != 2 {
			t.Errorf("%d subscriptions", n)
		}
		if at, last := c.readers.take("a", "toolcrib://s/mem:a"); last || at != (source{"s", "mem:a"}) {
			t.Errorf("the last of %v, by which the other URI is subscribed to", at)
		}
		c.Leave("a")
		if len(c.readers.byID) != 0 {
			t.Errorf("left are %v", c.readers.byID)
		}
	})
}

// What is undone while it is being done is undone, and with it nothing else of
// its caller's.
func TestSubscriptionUndoneUnderWay(t *testing.T) {
	for name, tt := range map[string]struct {
		undo func(c *crib, a *hub.Caller)
		left int // subscriptions at the server
		want message.Code
	}{
		"unsubscribed": {func(c *crib, a *hub.Caller) {
			if err := c.Unsubscribe(c.t.Context(), a, "mem:t/slow"); err != nil {
				c.t.Error(err)
			}
		}, 1, message.Cancelled},
		"by another URI": {func(c *crib, a *hub.Caller) {
			go c.Subscribe(c.t.Context(), a, hub.Viewer{}, "toolcrib://s/mem:t/slow")
			synctest.Wait()
			if err := c.Unsubscribe(c.t.Context(), a, "mem:t/slow"); err != nil {
				c.t.Error(err)
			}
		}, 2, message.Cancelled},
		"left":        {func(c *crib, a *hub.Caller) { c.Leave(a.ID) }, 0, message.Cancelled},
		"not at all":  {func(*crib, *hub.Caller) {}, 2, ""},
		"done twice":  {func(c *crib, a *hub.Caller) { go c.Subscribe(c.t.Context(), a, hub.Viewer{}, "mem:t/slow") }, 2, ""},
		"another's":   {func(c *crib, _ *hub.Caller) { c.Leave("b") }, 2, ""},
		"of no other": {func(c *crib, a *hub.Caller) { go c.Unsubscribe(c.t.Context(), a, "mem:t/other") }, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrib(t, map[string]func(*peer){"s": everything().serve}, builtin("s"))
				synctest.Wait()
				a := &hub.Caller{ID: "a"}
				if err := c.Subscribe(t.Context(), a, hub.Viewer{}, "mem:a"); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- c.Subscribe(t.Context(), a, hub.Viewer{}, "mem:t/slow") }()
				synctest.Wait()
				tt.undo(c, a)
				if err := <-ended; tt.want == "" && err != nil || tt.want != "" && !hub.IsCode(err, tt.want) {
					t.Errorf("got %v", err)
				}
				synctest.Wait()
				if n := c.fleet.Status()[0].Subscriptions; n != tt.left {
					t.Errorf("the server has %d subscriptions, want %d", n, tt.left)
				}
				c.Leave("a")
				if len(c.readers.byID) != 0 {
					t.Errorf("left are %v", c.readers.byID)
				}
			})
		})
	}
}

// Who subscribes again after the server has gone, from the configuration or from
// the group, is told of the resource of the one that has it now, and of no other.
func TestSubscribeAgainElsewhere(t *testing.T) {
	for name, change := range map[string]func(c *crib){
		"removed": func(c *crib) {
			left := []hub.Server{builtin("p")}
			c.fleet.Apply(left, func() { c.catalog.SetServers(left) })
		},
		"out of the group": func(c *crib) { c.catalog.SetViews([]hub.Group{{Name: "g", Servers: []string{"p"}}}, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrib(t, map[string]func(*peer){"s": everything().serve, "p": everything().serve}, builtin("s"), builtin("p"))
				c.catalog.SetViews([]hub.Group{{Name: "g", Servers: []string{"s", "p"}}}, nil)
				synctest.Wait()
				a := &hub.Caller{ID: "a"}
				subscribe := func() {
					if err := c.Subscribe(t.Context(), a, hub.Viewer{Group: "g"}, "mem:a"); err != nil {
						t.Fatal(err)
					}
				}
				subscribe()
				change(c)
				synctest.Wait()
				subscribe()
				if at := c.readers.byID["a"].by["mem:a"].at; at != (source{"p", "mem:a"}) {
					t.Errorf("subscribed to %v", at)
				}
				for _, status := range c.fleet.Status() {
					if want := strings.Count("p", status.Key); status.Subscriptions != want {
						t.Errorf("%s has %d subscriptions, want %d", status.Key, status.Subscriptions, want)
					}
				}
			})
		})
	}
}

func TestLRU(t *testing.T) {
	var gone []int
	l := newLRU(10, func(k, _ int) { gone = append(gone, k) })
	for i := range 5 {
		l.put(i, i, 2)
	}
	l.get(0)
	l.put(5, 5, 3)
	if l.put(6, 6, 11) {
		t.Error("kept what is too large")
	}
	l.put(5, 5, 1)
	if fmt.Sprint(gone) != "[1 2 5]" || l.size != 7 || len(l.byKey) != 4 || l.order.Len() != 4 {
		t.Errorf("gone are %v, %d bytes of %d are left", gone, l.size, len(l.byKey))
	}
}

func TestPages(t *testing.T) {
	for _, n := range []int{0, 1, pageSize - 1, pageSize, pageSize + 1, 3 * pageSize} {
		text := strings.Repeat("é", n)
		ends := pages(text)
		if len(ends) != int(math.Ceil(float64(2*n)/pageSize)) || n > 0 && ends[len(ends)-1] != len(text) {
			t.Errorf("%d characters: %v", n, ends)
		}
	}
}

// Whatever a server answers, the URIs in it are found without a panic, and are
// replaced in place.
func FuzzReferences(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"resource_link","uri":"a"},{"type":"resource","resource":{"uri":"b"}}]}`,
		`{"contents":[{"uri":"a"},7,null,[],{"uri":{}}]}`,
		`{"messages":[{"content":{"type":"resource","resource":{"uri":"b"}}},{"content":[]},{}]}`,
		`{"content":{"type":"resource"}}`, `{"content":[{"type":7,"uri":"x"},"s",{"type":"resource","resource":[]}]}`, `7`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, result []byte) {
		raw := append(append([]byte(`{"jsonrpc":"2.0","id":1,"result":`), result...), '}')
		m, err := wire.Scan(raw, wire.Limits{})
		if err != nil {
			return
		}
		for _, method := range []string{"tools/call", "resources/read", "prompts/get", "completion/complete"} {
			var edits []wire.Edit
			for at := range references(method, &m) {
				if uri, ok := wire.String(raw, at); ok {
					edits = append(edits, wire.Replace(at, wire.AppendString(nil, catalog.Prefixed("s", uri))))
				}
			}
			rescan(wire.Splice(raw, edits...))
		}
		if m.Kind == wire.Response {
			for _, l := range linksOf(&m) {
				l.why = message.Verbatim("no")
				rescan(wire.Splice(raw, wire.Edit{Start: l.item.End, End: l.item.End, Text: l.remark(message.English)}))
			}
			paged(&m, nil)
		}
	})
}

// A modern server says itself how long, and for whom, what it gives is good; the
// caller is told how much of that is left.
func TestCacheOfAModernServer(t *testing.T) {
	for _, tt := range []struct {
		hints string // of the server
		after time.Duration
		who   string
		want  string // "" if it is not good any more
	}{
		{`"ttlMs":5000,"cacheScope":"public"`, 2 * time.Second, "bob", `"ttlMs":3000,"cacheScope":"public"`},
		{`"ttlMs":5000,"cacheScope":"private"`, 2 * time.Second, "bob", ""},
		{`"ttlMs":5000,"cacheScope":"private"`, 0, "ann", `"ttlMs":5000,"cacheScope":"private"`},
		{`"ttlMs":5000`, 0, "bob", ""},
		{`"ttlMs":5000,"cacheScope":"public"`, 5 * time.Second, "ann", ""},
		{`"ttlMs":1e300,"cacheScope":"public"`, maxLife - time.Second, "bob", `"ttlMs":1000,"cacheScope":"public"`},
		{`"ttlMs":0,"cacheScope":"public"`, 0, "ann", ""},
		{`"ttlMs":-1`, 0, "ann", ""},
		{`"ttlMs":"x"`, 0, "ann", ""},
		{`"x":1`, 0, "ann", `"x":1`}, // by the configuration
		{`"x":1`, time.Minute, "ann", ""},
		{`"resultType":"input_required","ttlMs":5000`, 0, "ann", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := New(Options{})
			server := builtin("s")
			server.ResourceCache = time.Minute
			read := func(who string) *run {
				return &run{Request: Request{Principal: hub.Principal{Subject: who}}, server: &server, own: "mem:a"}
			}
			result := `{"jsonrpc":"2.0","id":1,"result":{` + tt.hints + `}}`
			ann := read("ann")
			ann.stands = &standing{conn: make(chan struct{})}
			ann.reply = &upstream.Reply{Message: rescan([]byte(result)), Era: protocol.Modern}
			if err := p.keep(t.Context(), ann); err != nil {
				t.Fatal(err)
			}
			time.Sleep(tt.after)
			reply, _ := p.cache.get(read(tt.who))
			switch {
			case reply == nil && tt.want != "":
				t.Errorf("%s: nothing is kept", tt.hints)
			case reply != nil && string(reply.Message.Result.Of(reply.Message.Raw)) != "{"+tt.want+"}":
				t.Errorf("%s: got %s", tt.hints, reply.Message.Raw)
			}
		})
	}
}
