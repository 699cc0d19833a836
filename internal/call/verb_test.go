package call

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// has is what a scripted server lists, each as JSON, and how it answers what it
// is asked besides: by the raw result, "" for an error of its own.
type has struct {
	delay                                time.Duration // of its lists
	tools, resources, templates, prompts string
	answer                               func(p *peer, n note) (result string)
}

// serve is the server.
func (h has) serve(p *peer) {
	for {
		n, ok := p.next()
		result := ""
		switch {
		case !ok:
			return
		case n.ID == nil:
			continue
		case n.Method == "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{}},"serverInfo":{"name":"s","version":"1"}}`
		case n.Method == "tools/list":
			time.Sleep(h.delay)
			result = `{"tools":[` + h.tools + `]}`
		case n.Method == "resources/list":
			result = `{"resources":[` + h.resources + `]}`
		case n.Method == "resources/templates/list":
			result = `{"resourceTemplates":[` + h.templates + `]}`
		case n.Method == "prompts/list":
			result = `{"prompts":[` + h.prompts + `]}`
		case n.Method == "resources/subscribe" && n.Params.URI == "mem:t/refused":
		case n.Method == "resources/subscribe" && n.Params.URI == "mem:t/slow":
			time.Sleep(time.Second)
			result = `{}`
		case n.Method == "resources/subscribe", n.Method == "resources/unsubscribe", n.Method == "ping":
			result = `{}`
		default:
			result = h.answer(p, n)
		}
		switch result {
		case "":
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"no"}}`, n.ID)
		case "silent":
		default:
			p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, n.ID, result)
		}
	}
}

// ask sends a request of any method, with the members of params.
func (c *crib) ask(method, params string, change ...func(*Request)) (*Result, error) {
	c.t.Helper()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`}}`), wire.Limits{})
	if err != nil {
		c.t.Fatal(err)
	}
	req := &Request{Principal: hub.Principal{Subject: "ann", Role: hub.RoleCaller}, Session: "session", Message: &m, Exchange: &caller{}}
	for _, f := range change {
		f(req)
	}
	return c.Do(c.t.Context(), req)
}

// got is the result as a caller gets it.
func got(r *Result) string {
	m := rescan(wire.Splice(r.Message.Raw, r.Edits...))
	if m.Kind == wire.Failure {
		return string(m.Error.Of(m.Raw))
	}
	return string(m.Result.Of(m.Raw))
}

// echo answers with what was asked: the method and the names in params.
func echo(_ *peer, n note) string {
	what := n.Params.Name + n.Params.URI + n.Params.Ref.Name + n.Params.Ref.URI
	switch n.Method {
	case "resources/read":
		return fmt.Sprintf(`{"contents":[{"uri":%q,"text":"read"},{"text":"none"}]}`, what)
	case "prompts/get":
		return fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"mem:p","text":%q}}}]}`, what)
	case "completion/complete":
		return fmt.Sprintf(`{"completion":{"values":[%q]}}`, what)
	}
	return fmt.Sprintf(`{"content":[{"type":"resource_link","uri":"mem:l","name":%q},{"type":"text","text":"uri"},{"uri":"mem:none"}]}`, what)
}

func everything() has {
	return has{
		tools:     `{"name":"x","inputSchema":{"type":"object"}}`,
		resources: `{"uri":"mem:a","name":"a"}`,
		templates: `{"uriTemplate":"mem:t/{id}","name":"t"}`,
		prompts:   `{"name":"hi"}`,
		answer:    echo,
	}
}

// Every verb reaches the server by the server's own names, and a caller that
// knows its URIs in the prefixed form is answered in it.
func TestVerbs(t *testing.T) {
	prefixed := func(uri string) string { return `toolcrib://p/` + uri }
	for _, tt := range []struct{ method, params, want string }{
		{"resources/read", `"uri":"mem:a"`, `{"contents":[{"uri":"mem:a","text":"read"},{"text":"none"}]}`},
		{"resources/read", `"uri":"mem:t/7"`, `{"contents":[{"uri":"mem:t/7","text":"read"},{"text":"none"}]}`},
		{"resources/read", `"uri":"toolcrib://s/mem:a"`, `{"contents":[{"uri":"toolcrib://s/mem:a","text":"read"},{"text":"none"}]}`},
		{"resources/read", `"uri":"toolcrib://p/mem:other"`, `{"contents":[{"uri":"toolcrib://p/mem:other","text":"read"},{"text":"none"}]}`},
		{"prompts/get", `"name":"s__hi"`, `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"mem:p","text":"hi"}}}]}`},
		{"prompts/get", `"name":"p__hi"`, `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"` + prefixed("mem:p") + `","text":"hi"}}}]}`},
		{"tools/call", `"name":"s__x"`, `{"content":[{"type":"resource_link","uri":"mem:l","name":"x"},{"type":"text","text":"uri"},{"uri":"mem:none"}]}`},
		{"tools/call", `"name":"p__x"`, `{"content":[{"type":"resource_link","uri":"` + prefixed("mem:l") + `","name":"x"},{"type":"text","text":"uri"},{"uri":"mem:none"}]}`},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"s__hi"},"argument":{"name":"n","value":""}`, `{"completion":{"values":["hi"]}}`},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"mem:t/{id}"},"argument":{"name":"id","value":""}`, `{"completion":{"values":["mem:t/{id}"]}}`},
		{"completion/complete", `"ref":{"uri":"toolcrib://p/mem:t/{id}","type":"ref/resource"},"argument":{"name":"id","value":""}`, `{"completion":{"values":["mem:t/{id}"]}}`},
		{"completion/complete", `"ref":{"uri":"mem:a","type":"ref/resource"},"argument":{"name":"id","value":""}`, `{"completion":{"values":["mem:a"]}}`},
	} {
		t.Run(tt.method+tt.params, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := builtin("p")
				p.PrefixURIs = true
				c := newCrib(t, map[string]func(*peer){"s": everything().serve, "p": everything().serve}, builtin("s"), p)
				synctest.Wait()
				res, err := c.ask(tt.method, tt.params)
				if err != nil {
					t.Fatal(err)
				}
				if got := got(res); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
			})
		})
	}
}

// What is asked for wrongly, or not there, is an error by a code.
func TestVerbsRefused(t *testing.T) {
	for _, tt := range []struct {
		method, params string
		want           message.Code
	}{
		{"resources/read", `"uri":7`, message.ParamsInvalid},
		{"resources/read", `"uri":"mem:a","URI":"mem:b"`, message.ParamsInvalid},
		{"resources/read", `"uri":"mem:unheard-of"`, message.ResourceUnknown},
		{"resources/read", `"uri":"toolcrib://none/mem:a"`, message.ResourceUnknown},
		{"resources/read", `"uri":"toolcrib-result:x/1"`, message.ResultGone},
		{"resources/read", `"uri":"toolcrib-result:"`, message.ResultGone},
		{"prompts/get", `"name":"s__none"`, message.PromptUnknown},
		{"prompts/get", `"name":null`, message.ParamsInvalid},
		{"prompts/get", `"name":"s__hi","arguments":[]`, message.ParamsInvalid},
		{"completion/complete", `"ref":"x"`, message.ParamsInvalid},
		{"completion/complete", `"ref":{"type":"ref/tool","name":"x"}`, message.ParamsInvalid},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"hi","Name":"x"}`, message.ParamsInvalid},
		{"completion/complete", `"ref":{"type":"ref/prompt","uri":"hi"}`, message.ParamsInvalid},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"none"}`, message.PromptUnknown},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"none"}`, message.ResourceUnknown},
		{"tools/list", ``, message.MethodUnknown},
	} {
		t.Run(tt.method+tt.params, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrib(t, map[string]func(*peer){"s": everything().serve, "p": everything().serve}, builtin("s"), builtin("p"))
				synctest.Wait()
				if _, err := c.ask(tt.method, tt.params); !hub.IsCode(err, tt.want) {
					t.Errorf("got %v, want %s", err, tt.want)
				}
			})
		})
	}
}

// A resource that no list shows is read from the server that has mentioned it,
// and from none that has not.
func TestMentionedResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrib(t, map[string]func(*peer){"s": everything().serve, "p": everything().serve}, builtin("s"), builtin("p"))
		synctest.Wait()
		if _, err := c.ask("tools/call", `"name":"p__x"`); err != nil {
			t.Fatal(err)
		}
		heard := []string{"a"}
		c.Updated("s", heard, updated("mem:u"))
		c.Updated("s", heard, updated("mem:l")) // it is p's
		c.Updated("s", nil, updated("mem:v"))   // nobody wants to know
		for uri, want := range map[string]string{"mem:l": "p", "mem:u": "s", "mem:v": ""} {
			res, err := c.ask("resources/read", `"uri":"`+uri+`"`)
			if want == "" && !hub.IsCode(err, message.ResourceUnknown) || want != "" && (err != nil || res.Server != want) {
				t.Errorf("%s: got %+v, %v", uri, res, err)
			}
		}
	})
}

// The only server that has resources is asked for any; one that is being started
// is waited for before, within its time limit.
func TestUnlistedResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := everything()
		late.delay, late.resources = 3*time.Second, `{"uri":"mem:late","name":"l"}`
		never := everything()
		never.delay = time.Hour
		c := newCrib(t, map[string]func(*peer){"s": everything().serve, "late": late.serve, "never": never.serve}, builtin("s"), builtin("late"), builtin("never"))
		synctest.Wait()
		began := time.Now()
		res, err := c.ask("resources/read", `"uri":"mem:late"`)
		if err != nil || res.Server != "late" || time.Since(began) != 3*time.Second {
			t.Errorf("got %+v, %v after %v", res, err, time.Since(began))
		}
		began = time.Now()
		if _, err = c.ask("resources/read", `"uri":"mem:nobody's"`); !hub.IsCode(err, message.ResourceUnknown) || time.Since(began) != 10*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newCrib(t, map[string]func(*peer){"s": everything().serve, "tools": offers(0, "x")}, builtin("s"), builtin("tools"))
		synctest.Wait()
		if res, err := c.ask("resources/read", `"uri":"mem:dynamic"`); err != nil || res.Server != "s" {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

// Who looks through a group waits for none of the servers that are not in it.
func TestGroupWaitsForItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := everything()
		never.delay = time.Hour
		c := newCrib(t, map[string]func(*peer){"s": everything().serve, "other": everything().serve, "never": never.serve}, builtin("s"), builtin("other"), builtin("never"))
		c.catalog.SetViews([]hub.Group{
			{Name: "without", Servers: []string{"s", "other"}, Tools: []string{"other__*"}},
			{Name: "with", Servers: []string{"s", "other", "never"}},
			{Name: "tools", Servers: []string{"s", "other"}, Tools: []string{"never__*"}},
		}, nil)
		synctest.Wait()
		for _, one := range []struct {
			method, params string
			code           message.Code
		}{
			{"tools/call", `"name":"never__x"`, message.ToolUnknown},
			{"prompts/get", `"name":"never__x"`, message.PromptUnknown},
			{"resources/read", `"uri":"mem:nobody's"`, message.ResourceUnknown},
			{"resources/read", `"uri":"toolcrib://never/mem:x"`, message.ResourceUnknown},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"never__x"},"argument":{"name":"a","value":""}`, message.PromptUnknown},
		} {
			limit := 10 * time.Second
			waits := map[string]time.Duration{"without": 0, "with": limit, "tools": 0}
			if one.method == "tools/call" {
				waits["tools"] = limit
			}
			for group, want := range waits {
				began := time.Now()
				_, err := c.ask(one.method, one.params, func(r *Request) { r.Viewer.Group = group })
				took := time.Since(began)
				if err == nil || took != want || want == 0 && !hub.IsCode(err, one.code) {
					t.Errorf("%s %s in the group %s: got %v after %v", one.method, one.params, group, err, took)
				}
			}
		}
	})
}

// counting is a server with a resource of which each read says how many there
// have been.
func counting(reads *atomic.Int64) has {
	h := everything()
	h.answer = func(_ *peer, n note) string {
		return fmt.Sprintf(`{"contents":[{"uri":%q,"text":"%d"}]}`, n.Params.URI, reads.Add(1))
	}
	return h
}

// What was read is kept as long as the configuration has it, and no longer than
// the server says that it has not changed.
func TestCache(t *testing.T) {
	for name, tt := range map[string]struct {
		between func(c *crib)
		change  func(*Request) // of the second read
		want    int64          // reads at the server
	}{
		"kept":              {want: 1},
		"expired":           {between: func(*crib) { time.Sleep(time.Minute) }, want: 2},
		"updated":           {between: func(c *crib) { c.Updated("s", nil, updated("mem:a")) }, want: 2},
		"a part updated":    {between: func(c *crib) { c.Updated("s", nil, updated("mem:a/b")) }, want: 2},
		"another updated":   {between: func(c *crib) { c.Updated("s", nil, updated("mem:ab")) }, want: 1},
		"another's updated": {between: func(c *crib) { c.Updated("p", nil, updated("mem:a")) }, want: 1},
		"listed":            {between: func(c *crib) { c.Listed(builtin("s"), hub.Lists{Asked: hub.ListResources}) }, want: 2},
		"tools listed":      {between: func(c *crib) { c.Listed(builtin("s"), hub.Lists{Asked: hub.ListTools}) }, want: 1},
		"restarted": {between: func(c *crib) {
			if err := c.fleet.Restart(c.t.Context(), "s"); err != nil {
				c.t.Error(err)
			}
		}, want: 2},
		"somebody else":  {change: func(r *Request) { r.Principal.Subject = "bob" }, want: 2},
		"another tenant": {change: func(r *Request) { r.Principal.Tenant = "acme" }, want: 2},
		"own":            {change: func(r *Request) { r.Caller = &hub.Caller{ID: "c", Capabilities: []byte(`{}`), Exchange: &caller{}} }, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var reads atomic.Int64
				s := builtin("s")
				s.ResourceCache, s.Tenants = time.Minute, []string{"*"}
				c := newCrib(t, map[string]func(*peer){"s": counting(&reads).serve, "p": everything().serve}, s, builtin("p"))
				synctest.Wait()
				first, err := c.ask("resources/read", `"uri":"mem:a"`)
				if err != nil {
					t.Fatal(err)
				}
				was := got(first)
				clear(first.Message.Raw) // it is the caller's
				if tt.between != nil {
					tt.between(c)
				}
				if tt.change == nil {
					tt.change = func(*Request) {}
				}
				second, err := c.ask("resources/read", `"uri":"mem:a"`, tt.change)
				if err != nil {
					t.Fatal(err)
				}
				if n := reads.Load(); n != tt.want || (n == 1) != (got(second) == was) {
					t.Errorf("%d reads, want %d; the second has %s", n, tt.want, got(second))
				}
			})
		})
	}
}

func updated(uri string) []byte {
	return []byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + uri + `"}}`)
}

// A result that is too large is read page by page, by its principal only, for a
// while.
func TestSpill(t *testing.T) {
	text := strings.Repeat("ab界", 40_000)
	for name, tt := range map[string]struct {
		result string
		mime   string // "" if it is given as it is
		want   string // all pages together
	}{
		"text":       {`{"content":[{"type":"text","text":"` + text + `"}]}`, "text/plain", text},
		"items":      {`{"content":[{"type":"text","text":"` + text + `"},{"type":"vendor"}]}`, "application/json", `{"content":[{"type":"text","text":"` + text + `"},{"type":"vendor"}]}`},
		"link":       {`{"content":[{"type":"text","text":"` + text + `"},{"type":"resource_link","uri":"mem:l"}]}`, "application/json", `{"content":[{"type":"text","text":"` + text + `"},{"type":"resource_link","uri":"toolcrib://s/mem:l"}]}`},
		"blank":      {`{"content":[{"type":"text","text":""}]` + strings.Repeat(" ", 2*pageSize) + `}`, "application/json", `{"content":[{"type":"text","text":""}]` + strings.Repeat(" ", 2*pageSize) + `}`},
		"structured": {`{"content":[{"type":"text","text":"` + text + `"}],"structuredContent":{}}`, "", ""},
		"error":      {`{"content":[{"type":"text","text":"` + text + `"}],"isError":true}`, "", ""},
		"small":      {`{"content":[{"type":"text","text":"x"}]}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := everything()
				h.answer = func(*peer, note) string { return tt.result }
				s := builtin("s")
				s.Spill, s.PrefixURIs = 1000, true
				c := newCrib(t, map[string]func(*peer){"s": h.serve}, s)
				synctest.Wait()
				res, err := c.ask("tools/call", `"name":"s__x"`)
				if err != nil {
					t.Fatal(err)
				}
				if tt.mime == "" {
					if got(res) != tt.result {
						t.Errorf("got %.100s", got(res))
					}
					return
				}
				m := rescan(res.Message.Raw)
				uri, all, pages := "", "", 0
				for at := range references("tools/call", &m) {
					uri, _ = wire.String(m.Raw, at)
				}
				first, last := uri, uri
				notice, _ := said(t, res)
				for uri != "" {
					last = uri
					page, err := c.ask("resources/read", `"uri":"`+uri+`"`)
					if err != nil {
						t.Fatal(err)
					}
					pages++
					uri = ""
					for item := range wire.Array(page.Message.Raw, page.Message.Member("contents")) {
						raw := page.Message.Raw
						text, _ := wire.String(raw, wire.Lookup(raw, item, "text"))
						kind, _ := wire.String(raw, wire.Lookup(raw, item, "mimeType"))
						if len(text) > pageSize || kind != tt.mime {
							t.Errorf("a page of %d bytes, %s", len(text), kind)
						}
						all += text
						uri, _ = wire.String(raw, wire.Lookup(raw, wire.Lookup(raw, item, "_meta"), metaNextPage))
					}
				}
				if all != tt.want || pages < 2 {
					t.Errorf("%d pages of %d bytes, want %d", pages, len(all), len(tt.want))
				}
				if want := message.For(message.English, message.ResultKept, map[string]string{
					"size": strconv.Itoa(len(tt.result)), "pages": strconv.Itoa(pages), "first": first, "last": last,
				}); notice != want.String() {
					t.Errorf("the caller is told %s", notice)
				}
				bob := func(r *Request) { r.Principal.Subject = "bob" }
				if _, err := c.ask("resources/read", `"uri":"`+first+`"`, bob); !hub.IsCode(err, message.ResultGone) {
					t.Errorf("somebody else got %v", err)
				}
				acme := func(r *Request) { r.Principal.Tenant = "acme" }
				if _, err := c.ask("resources/read", `"uri":"`+first+`"`, acme); !hub.IsCode(err, message.ResultGone) {
					t.Errorf("one of another tenant who is called the same got %v", err)
				}
				time.Sleep(resultLife)
				synctest.Wait()
				if _, err := c.ask("resources/read", `"uri":"`+first+`"`); !hub.IsCode(err, message.ResultGone) {
					t.Errorf("later: %v", err)
				}
				if c.results.byID.size != 0 || c.results.byID.order.Len() != 0 {
					t.Error("it is still kept")
				}
			})
		})
	}
}

// The time in which the caller thinks about a question is not the server's.
func TestTheClockStandsStill(t *testing.T) {
	for _, tt := range []struct {
		thinks time.Duration
		works  time.Duration // after the answer
		want   message.Code
	}{
		{10 * time.Minute, 5 * time.Second, ""},
		{10 * time.Minute, 15 * time.Second, message.Timeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := everything()
			h.answer = func(p *peer, _ note) string {
				time.Sleep(2 * time.Second)
				p.send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"sure?"}}`)
				p.next()
				time.Sleep(tt.works)
				return `{"content":[]}`
			}
			c := newCrib(t, map[string]func(*peer){"s": h.serve}, builtin("s"))
			synctest.Wait()
			began := time.Now()
			_, err := c.ask("tools/call", `"name":"s__x"`, func(r *Request) { r.Exchange = thinking{tt.thinks} })
			took := time.Since(began)
			switch {
			case tt.want == "" && (err != nil || took != tt.thinks+2*time.Second+tt.works):
				t.Errorf("got %v after %v", err, took)
			case tt.want != "" && (!hub.IsCode(err, tt.want) || took != tt.thinks+10*time.Second):
				t.Errorf("got %v after %v", err, took)
			}
		})
	}
}

// A server that asks again before it has its answer, and never stops, does not
// keep the call for ever.
func TestQuestionsWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := everything()
		h.answer = func(p *peer, _ note) string {
			ask := func(i int) {
				p.send(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, i)
				time.Sleep(time.Second) // so that the next one is asked while this one is open
			}
			ask(0)
			for i := 1; ; i++ {
				ask(i)
				if n, ok := p.next(); !ok || n.Method != "" {
					return "silent"
				}
			}
		}
		c := newCrib(t, map[string]func(*peer){"s": h.serve}, builtin("s"))
		synctest.Wait()
		began := time.Now()
		_, err := c.ask("tools/call", `"name":"s__x"`, func(r *Request) { r.Exchange = thinking{time.Minute} })
		if took := time.Since(began); !hub.IsCode(err, message.Timeout) || took < maxStill || took > maxStill+10*time.Second {
			t.Errorf("got %v after %v", err, took)
		}
	})
}
