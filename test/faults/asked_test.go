package faults

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// elements returns those of an array, as they are written.
func elements(t *testing.T, array string) []string {
	t.Helper()
	raw := []byte(array)
	var all []string
	for at := range wire.Array(raw, wire.Value(raw)) {
		all = append(all, string(at.Of(raw)))
	}
	return all
}

// A question reaches the caller whose call it belongs to, and the answer the
// server, byte for byte. In the modern era both are part of the call.
func TestQuestionsAreKept(t *testing.T) {
	onWide(t, func(t *testing.T, of era, direct *conversation, through func(e era) *conversation) {
		c := through(of) // between the eras nothing is asked
		for _, kind := range []string{"sampling", "form", "url", "roots"} {
			if of == modern {
				modernQuestion(t, kind, direct, c)
				continue
			}
			direct.asked, c.asked = nil, nil
			want, got := direct.tool("ask", kind), c.tool("ask", kind)
			if len(direct.asked) != 1 || !slices.Equal(direct.asked, c.asked) {
				t.Errorf("%s: asked\n %q, want\n %q", kind, c.asked, direct.asked)
			}
			same(t, kind, true, string(want.Result), string(got.Result))
			if !strings.Contains(string(got.Result), "x") {
				t.Errorf("%s: the server got %s", kind, got.Raw)
			}
		}
	})
}

// modernQuestion asks, and calls again with the answer.
func modernQuestion(t *testing.T, kind string, direct, through *conversation) {
	t.Helper()
	var results [2][2]string
	for i, c := range []*conversation{direct, through} {
		asked := c.tool("ask", kind)
		results[i][0] = string(asked.Result)
		if !strings.Contains(results[i][0], `"input_required"`) {
			t.Fatalf("%s: %s", kind, asked.Raw)
		}
		m := c.request("tools/call", c.meta()+fmt.Sprintf(`"inputResponses":{"odd \u00e4":%s}, "requestState":%s,"name":%q,"arguments":{"text":%q}`,
			oddAnswers("sampling/createMessage"), find(t, members(t, results[i][0]), "requestState"), c.name+"ask", kind))
		results[i][1] = string(m.Result)
	}
	if results[0] != results[1] {
		t.Errorf("%s:\n got %q\nwant %q", kind, results[1], results[0])
	}
}

// What a server tells reaches who it is for byte for byte, before the answer.
func TestNotificationsAreKept(t *testing.T) {
	onWide(t, func(t *testing.T, of era, direct *conversation, through func(e era) *conversation) {
		for _, e := range eras() {
			c := through(e)
			for _, b := range []*conversation{direct, c} {
				if b.era == legacy {
					if m := b.request("logging/setLevel", `"level":"debug"`); m.Error != nil {
						t.Fatal(m.Raw)
					}
				}
			}
			for _, kind := range []string{"log", "progress"} {
				direct.told, c.told = nil, nil
				for _, b := range []*conversation{direct, c} {
					b.request("tools/call", strings.Replace(b.meta(), `"_meta":{`, `"_meta":{"progressToken":"to \/ken",`, 1)+
						fmt.Sprintf(`"name":%q,"arguments":{"text":%q}`, b.name+"tell", kind))
				}
				if len(direct.told) != 1 || !slices.Equal(direct.told, c.told) {
					t.Errorf("%s to %s: told\n %q, want\n %q", kind, e, c.told, direct.told)
				}
			}
			if e != legacy || of != legacy {
				continue
			}
			// Updates, and that a page was visited, are for who waits for them.
			c.request("resources/subscribe", `"uri":`+oddURI)
			var want, got string // the request is the hub's own, for all who subscribe
			for uri, raw := range map[*string]string{&want: oddURI, &got: find(t, c.heard("resources/subscribe"), "uri")} {
				if err := json.Unmarshal([]byte(raw), uri); err != nil {
					t.Fatal(err)
				}
			}
			if got != want {
				t.Errorf("the server was asked for %q, want %q", got, want)
			}
			c.tool("tell", "updated")
			c.hears(t, "notifications/resources/updated", `{"title":"", "uri":"weird:\/\/a%2Fb/\u4f60?q=%00#f","x":[0.0 ]}`)
			if m := c.request("resources/unsubscribe", `"uri":`+oddURI); m.Error != nil {
				t.Error(m.Raw)
			}
			c.tool("ask", "url")
			c.tool("tell", "complete")
			c.hears(t, "notifications/elicitation/complete", `{ "x":[ ],"elicitationId":"odd \/ id","big":9007199254740993}`)
		}
	})
}

// What a caller says about the end of its request reaches the server byte for
// byte, but for the id.
func TestCancellationsAreKept(t *testing.T) {
	onWide(t, func(t *testing.T, of era, _ *conversation, through func(e era) *conversation) {
		if of == modern {
			return // over HTTP the end of the stream says it there
		}
		c := through(legacy)
		c.peer.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"gone","method":"tools/call","params":{"_meta":{"progressToken":"p"},"name":%q,"arguments":{"n":1,"ms":60000}}}`, c.name+"progress"))
		for c.peer.Next().Method != "notifications/progress" { // it has begun
		}
		c.peer.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{ "x":[0.0 ],"reason":"\u0061 ","requestId" : "go\u006ee","_meta":{"a.b/c":9007199254740993} }}`)
		for string(c.peer.Next().ID) != `"gone"` {
		}
		want := members(t, `{"x":[0.0 ],"reason":"\u0061 ","_meta":{"a.b/c":9007199254740993}}`)
		rig.Await(t, "the server was told as the caller said it", func() bool {
			m := c.tool("heard", "notifications/cancelled")
			params := find(t, members(t, find(t, members(t, string(m.Result)), "structuredContent")), "params")
			return params != "null" && slices.Equal(except(members(t, params), "requestId"), want)
		})
	})
}

// What a caller of the modern era listens for reaches it byte for byte, but for
// the tag of its own subscription.
func TestUpdatesAreKept(t *testing.T) {
	onWide(t, func(t *testing.T, of era, _ *conversation, through func(e era) *conversation) {
		c := through(modern)
		if of == legacy {
			c.entries("resources/list", "resources") // by then the hub knows whose it is
		}
		c.peer.Send(`{"jsonrpc":"2.0","id":"sub \/","method":"subscriptions/listen","params":{` + c.meta() + `"notifications":{"resourceSubscriptions":[` + oddURI + `]}}}`)
		if ack := c.peer.Next(); ack.Method != "notifications/subscriptions/acknowledged" || !strings.Contains(string(ack.Params), "resourceSubscriptions") {
			t.Fatalf("acknowledged with %s", ack.Raw)
		}
		c.told = nil
		c.tool("tell", "updated")
		for len(c.told) == 0 {
			c.told = append(c.told, string(c.peer.Next().Params))
		}
		got := members(t, c.told[0])
		if want := members(t, `{"title":"", "uri":"weird:\/\/a%2Fb/\u4f60?q=%00#f","x":[0.0 ]}`); !slices.Equal(except(got, "_meta"), want) {
			t.Errorf("told %q, want %q", got, want)
		}
		if tag := find(t, members(t, find(t, got, "_meta")), "io.modelcontextprotocol/subscriptionId"); tag != `"sub \/"` {
			t.Errorf("the subscription is %s", tag)
		}
	})
}

// hears checks that a notification has come or comes.
func (c *conversation) hears(t *testing.T, method, params string) {
	t.Helper()
	for !slices.Contains(c.told, params) {
		m := c.peer.Next()
		if m.Method == method && string(m.Params) != params {
			t.Fatalf("%s came with %s, want %s", method, m.Params, params)
		}
		c.told = append(c.told, string(m.Params))
	}
}

// An error of the server's own reaches the caller byte for byte, whatever is in
// it; between the eras the code is that of the caller's.
func TestOddErrorsAreKept(t *testing.T) {
	onWide(t, func(t *testing.T, of era, direct *conversation, through func(e era) *conversation) {
		for _, e := range eras() {
			c := through(e)
			for _, kind := range []string{"url", "text", "number", "missing"} {
				want, got := string(direct.tool("refuse", kind).Error), string(c.tool("refuse", kind).Error)
				if of != e { // see [protocol.TranslateCode]
					if want == "" || got == "" {
						t.Errorf("%s to %s: got %q, want %q", kind, e, got, want)
						continue
					}
					a, b := except(members(t, want), "code"), except(members(t, got), "code")
					if !slices.Equal(a, b) {
						t.Errorf("%s to %s:\n got %q\nwant %q", kind, e, b, a)
					}
					continue
				}
				if want == "" || got != want {
					t.Errorf("%s to %s:\n got %s\nwant %s", kind, e, got, want)
				}
			}
		}
	})
}
