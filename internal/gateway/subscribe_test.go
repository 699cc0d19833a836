package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// library is a server with resources, which counts who asks to be told.
func library(asked *[]string) *scripted {
	return &scripted{
		more: `,"resources":{"subscribe":true,"listChanged":true},"prompts":{}`,
		other: func(q request) string {
			switch q.Method {
			case "resources/list":
				return `"result":{"resources":[{"uri":"a:/1","name":"one"},{"uri":"a:/2","name":"two"}]}`
			case "resources/templates/list":
				return `"result":{"resourceTemplates":[]}`
			case "prompts/list":
				return `"result":{"prompts":[{"name":"p"}]}`
			case "resources/subscribe", "resources/unsubscribe":
				*asked = append(*asked, strings.TrimPrefix(q.Method, "resources/")+" "+q.Params.URI)
				if q.Params.URI == "a:/2" {
					return `"error":{"code":-5,"message":"not this one"}`
				}
			}
			return ""
		},
	}
}

const updated = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q,"x":1.0}}`

// Who has subscribed to a resource, and nobody else, is told that it has changed,
// by the URI that it has used.
func TestUpdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		server := library(&asked)
		h := start(t, server, gateway.Options{})
		defer h.stop()
		synctest.Wait() // what came with the start has been told
		prefixed := catalog.Prefixed("s", "a:/1")
		tell := func(s *gateway.Session, method, uri string) string {
			t.Helper()
			return text(h.Request(t.Context(), s.Caller(), msg(t, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":%q}}`, method, uri), &ear{}))
		}
		const fine = `{"jsonrpc":"2.0","id":1,"result":{}}`
		plain, byPrefix, both, none := h.greet(t, `{}`), h.greet(t, `{}`), h.greet(t, `{}`), h.greet(t, `{}`)
		ears := map[*gateway.Session]*ear{plain: {}, byPrefix: {}, both: {}, none: {}}
		for s, e := range ears {
			go h.Stream(t.Context(), s, "", e)
		}
		for _, sub := range []struct {
			s   *gateway.Session
			uri string
		}{{plain, "a:/1"}, {plain, "a:/1"}, {byPrefix, prefixed}, {both, prefixed}, {both, "a:/1"}, {none, "a:/1"}} {
			if a := tell(sub.s, "resources/subscribe", sub.uri); a != fine {
				t.Errorf("subscribe to %s: %s", sub.uri, a)
			}
		}
		if a := tell(none, "resources/unsubscribe", "a:/1"); a != fine {
			t.Errorf("unsubscribe: %s", a)
		}
		if a := tell(none, "resources/subscribe", "a:/2"); a != `{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"not this one"}}` {
			t.Errorf("what the server refuses: %s", a)
		}
		server.send(updated, "a:/1")
		synctest.Wait()
		server.send(updated, "a:/1/part")
		server.send(updated, "a:/10")
		synctest.Wait()
		want := func(uris ...string) (lines []string) {
			for _, uri := range uris {
				lines = append(lines, fmt.Sprintf(updated, uri))
			}
			return lines
		}
		if got := ears[plain].heard; !slices.Equal(got, want("a:/1", "a:/1/part")) {
			t.Errorf("by its own URI: %q", got)
		}
		if got := ears[byPrefix].heard; !slices.Equal(got, want(prefixed, prefixed+"/part")) {
			t.Errorf("by the prefixed form: %q", got)
		}
		if got := ears[both].heard; !slices.Equal(got, want("a:/1", prefixed, "a:/1/part", prefixed+"/part")) {
			t.Errorf("by both: %q", got)
		}
		if got := ears[none].heard; len(got) > 0 {
			t.Errorf("who has unsubscribed heard %q", got)
		}

		// One of both forms goes on; the server hears of the last one's end only.
		tell(both, "resources/unsubscribe", prefixed)
		server.send(updated, "a:/1")
		synctest.Wait()
		if got := ears[both].heard[4:]; !slices.Equal(got, want("a:/1")) {
			t.Errorf("after unsubscribing from one of both: %q", got)
		}
		for _, s := range []*gateway.Session{plain, byPrefix} {
			h.End(s)
		}
		synctest.Wait()
		if slices.Contains(asked, "unsubscribe a:/1") {
			t.Errorf("the server was asked %q", asked)
		}
		h.End(both)
		synctest.Wait()
		if n := len(asked); asked[0] != "subscribe a:/1" || asked[n-1] != "unsubscribe a:/1" {
			t.Errorf("the server was asked %q", asked)
		}
	})
}

// Who unsubscribes is not told any more of what it has not read of yet, but of
// all that it is still subscribed to.
func TestUpdatedBeforeUnsubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		server := library(&asked)
		h := start(t, server, gateway.Options{})
		defer h.stop()
		synctest.Wait()
		s := h.greet(t, `{}`)
		tell := func(method, uri string) {
			t.Helper()
			const fine = `{"jsonrpc":"2.0","id":1,"result":{}}`
			if a := text(h.Request(t.Context(), s.Caller(), msg(t, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":%q}}`, method, uri), &ear{})); a != fine {
				t.Errorf("%s: %s", method, a)
			}
		}
		prefixed := catalog.Prefixed("s", "a:/1")
		for _, uri := range []string{"a:/1", "a:/1/x", prefixed} {
			tell("resources/subscribe", uri)
		}
		for _, uri := range []string{"a:/1", "a:/1/x", "a:/1/y"} {
			server.send(updated, uri)
		}
		synctest.Wait()
		tell("resources/unsubscribe", "a:/1")
		e := &ear{}
		go h.Stream(t.Context(), s, "", e)
		synctest.Wait()
		var want []string
		for _, uri := range []string{prefixed, "a:/1/x", prefixed + "/x", prefixed + "/y"} {
			want = append(want, fmt.Sprintf(updated, uri))
		}
		if !slices.Equal(e.heard, want) {
			t.Errorf("heard %q, want %q", e.heard, want)
		}
	})
}

func TestSubscribeParams(t *testing.T) {
	var asked []string
	h := start(t, library(&asked), gateway.Options{})
	defer h.stop()
	s := h.greet(t, `{}`)
	for _, tt := range []struct {
		method, params string
		code           int
	}{
		{"resources/subscribe", `{}`, protocol.CodeInvalidParams},
		{"resources/subscribe", `{"uri":1}`, protocol.CodeInvalidParams},
		{"resources/unsubscribe", `{"uri":null}`, protocol.CodeInvalidParams},
		{"resources/unsubscribe", `{"uri":"a:/1"}`, 0}, // which it is not subscribed to
	} {
		if a := h.Request(t.Context(), s.Caller(), msg(t, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tt.method, tt.params), &ear{}); a.Code != tt.code {
			t.Errorf("%s %s: %s", tt.method, tt.params, text(a))
		}
	}
	if len(asked) > 0 {
		t.Errorf("the server was asked %q", asked)
	}
	modern := &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern}
	if a := h.Request(t.Context(), modern, msg(t, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:/1"}}`), &ear{}); a.Code != protocol.CodeMethodUnknown {
		t.Errorf("in the modern era: %s", text(a))
	}
}

// A listener is told what it asked for and what was acknowledged, with the name
// of its subscription, until the hub stops.
func TestListen(t *testing.T) {
	const tag = `"_meta":{"io.modelcontextprotocol/subscriptionId":7}`
	for _, tt := range []struct {
		name, filter, honoured string
		heard                  []string
	}{
		{"nothing", `{}`, `{}`, nil},
		{"tools", `{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":1}`, `{"toolsListChanged":true}`, []string{"tools/list_changed"}},
		{"all lists", `{"resourcesListChanged":true,"promptsListChanged":true,"toolsListChanged":true,"x":true}`, `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`, []string{"tools/list_changed", "prompts/list_changed", "resources/list_changed"}},
		{"resources", `{"resourceSubscriptions":["a:/2","a:/1"]}`, `{"resourceSubscriptions":["a:/1"]}`, []string{"resources/updated"}},
		{"both", `{"resourceSubscriptions":["a:/1"],"toolsListChanged":true}`, `{"toolsListChanged":true,"resourceSubscriptions":["a:/1"]}`, []string{"tools/list_changed", "resources/updated"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				server := library(&asked)
				h := start(t, server, gateway.Options{})
				synctest.Wait()
				e, ended := &ear{}, make(chan string, 1)
				go func() {
					ended <- text(h.Listen(t.Context(), &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern}, msg(t, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":%s}}`, tt.filter), e))
				}()
				synctest.Wait()
				h.catalog.Replace(h.server, renamed())
				synctest.Wait()
				server.send(updated, "a:/1")
				synctest.Wait()
				h.stop()
				if got, want := <-ended, `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete",`+tag+`}}`; got != want {
					t.Errorf("ended with %s", got)
				}
				if want := `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + tag + `,"notifications":` + tt.honoured + `}}`; e.heard[0] != want {
					t.Errorf("acknowledged %s, want %s", e.heard[0], want)
				}
				var want []string
				for _, method := range tt.heard {
					if method == "resources/updated" {
						want = append(want, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{`+tag+`,"uri":"a:/1","x":1.0}}`)
					} else {
						want = append(want, `{"jsonrpc":"2.0","method":"notifications/`+method+`","params":{`+tag+`}}`)
					}
				}
				got := slices.Clone(e.heard[1:])
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("heard %q, want %q", got, want)
				}
			})
		})
	}
}

// Who listens names as many resources as it likes; each counts once, no more are
// asked for than one caller may have, and the log has one line of those that
// failed.
func TestListenToMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var asked []string
		h := start(t, library(&asked), gateway.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		defer h.stop()
		uris := []string{"a:/1", "a:/2", "a:/1"}
		for i := range 1500 {
			uris = append(uris, fmt.Sprint("toolcrib://nobody/a:/", i))
		}
		uris = append(uris, "a:/2?late")
		many, err := json.Marshal(uris)
		if err != nil {
			t.Fatal(err)
		}
		e := &ear{}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			h.Listen(ctx, &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern},
				msg(t, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":%s}}}`, many), e)
		})
		synctest.Wait()
		stop()
		all.Wait()
		synctest.Wait() // the server has heard that it is over
		if len(e.heard) != 1 || !strings.Contains(e.heard[0], `"resourceSubscriptions":["a:/1"]`) {
			t.Errorf("heard %.200q", e.heard)
		}
		if slices.Contains(asked, "subscribe a:/2?late") {
			t.Errorf("more are asked for than a caller may have: %q", asked)
		}
		if n := strings.Count(log.String(), "not subscribed to"); n != 1 || !strings.Contains(log.String(), "resources=999") {
			t.Errorf("%d lines are logged: %.300s", n, log.String())
		}
	})
}

func TestListenRefused(t *testing.T) {
	h := start(t, &scripted{}, gateway.Options{})
	defer h.stop()
	for _, params := range []string{`{}`, `[]`, `{"notifications":1}`, `{"notifications":{"resourceSubscriptions":1}}`, `{"notifications":{"resourceSubscriptions":[1]}}`} {
		e := &ear{}
		a := h.Listen(t.Context(), &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern}, msg(t, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":%s}`, params), e)
		if a.Code != protocol.CodeInvalidParams || len(e.heard) > 0 {
			t.Errorf("%s: %s, after %q", params, text(a), e.heard)
		}
	}
}

// renamed is what the library has when all of it has another name.
func renamed() hub.Offer {
	return hub.Offer{
		Tools:        []hub.Tool{{Name: "u", Raw: []byte(`{"name":"u","inputSchema":{"type":"object"}}`)}},
		Resources:    []hub.Resource{{URI: "a:/1", Raw: []byte(`{"uri":"a:/1","name":"eins"}`)}},
		Prompts:      []hub.Prompt{{Name: "q", Raw: []byte(`{"name":"q"}`)}},
		Capabilities: []byte(`{"tools":{},"prompts":{},"resources":{"subscribe":true}}`),
	}
}

// A caller is told what there is, the same in both eras.
func TestOffered(t *testing.T) {
	for _, tt := range []struct {
		server *scripted
		want   string
	}{
		{&scripted{}, `"capabilities":{"logging":{},"tools":{"listChanged":true}}`},
		{library(new([]string)), `"capabilities":{"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}`},
		{&scripted{more: `,"completions":{},"resources":{}`}, `"capabilities":{"completions":{},"logging":{},"resources":{"listChanged":true},"tools":{"listChanged":true}}`},
	} {
		h := start(t, tt.server, gateway.Options{})
		_, a := h.begin(msg(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`))
		b := h.Request(t.Context(), &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern}, msg(t, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`), &ear{})
		for _, got := range []string{text(a), text(b)} {
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		}
		h.stop()
	}
}

// Each era has a code of its own for a resource that is not there.
func TestNothingThere(t *testing.T) {
	h := start(t, library(new([]string)), gateway.Options{})
	defer h.stop()
	session, modern := h.greet(t, `{}`).Caller(), &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern}
	nowhere := *modern
	nowhere.Viewer.Group = "nowhere"
	for _, tt := range []struct {
		c              *gateway.Caller
		method, params string
		code           int
		data           string
	}{
		{session, "resources/read", `{"uri":"toolcrib://nobody/a:/1"}`, protocol.CodeNoResource, `"uri":"toolcrib://nobody/a:/1"`},
		{modern, "resources/read", `{"uri":"toolcrib://nobody/a:/1"}`, protocol.CodeInvalidParams, `"uri":"toolcrib://nobody/a:/1"`},
		{session, "resources/read", `{"uri":1}`, protocol.CodeInvalidParams, ``},
		{session, "prompts/get", `{"name":"nobody__p"}`, protocol.CodeInvalidParams, `"code":"prompt_unknown"`},
		{session, "prompts/get", `{}`, protocol.CodeInvalidParams, ``},
		{session, "completion/complete", `{"ref":1}`, protocol.CodeInvalidParams, ``},
		{&nowhere, "prompts/list", `{}`, protocol.CodeInvalidParams, `"code":"group_unknown"`},
		{&nowhere, "server/discover", `{}`, protocol.CodeInvalidParams, `"code":"group_unknown"`},
		{session, "prompts/list", `{}`, 0, `"name":"s__p"`},
		{session, "resources/list", `{}`, 0, `"uri":"a:/2"`},
		{session, "resources/templates/list", `{}`, 0, `"resourceTemplates":[]`},
		{modern, "resources/list", `{}`, 0, `"ttlMs"`},
	} {
		a := h.Request(t.Context(), tt.c, msg(t, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tt.method, tt.params), &ear{})
		if got := text(a); a.Code != tt.code || !strings.Contains(got, tt.data) {
			t.Errorf("%s %s %s: %s", tt.c.Era, tt.method, tt.params, got)
		}
	}
}

// The session of who asks for its shutdown is to be ended behind the answer.
func TestShutdown(t *testing.T) {
	h := start(t, &scripted{}, gateway.Options{})
	defer h.stop()
	s := h.open(t)
	a := h.Request(t.Context(), s.Caller(), msg(t, `{"jsonrpc":"2.0","id":1,"method":"shutdown"}`), &ear{})
	if got := text(a); got != `{"jsonrpc":"2.0","id":1,"result":{}}` || !s.Closing() {
		t.Errorf("got %s, closing is %t", got, s.Closing())
	}
}
