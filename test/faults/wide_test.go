package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// conversation is a client of a server that offers everything, or of the hub in
// front of it.
type conversation struct {
	t    *testing.T
	peer *rig.Peer
	era  era
	ids  int
	name string // what stands in front of the names of tools and prompts

	asked []string // the parameters of questions, as they came
	told  []string // those of notifications
}

// oddAnswers are what a client says to each kind of question.
func oddAnswers(method string) string {
	switch method {
	case "sampling/createMessage":
		return `{ "role":"assistant","content":[{"type":"hologram","n":[0,-0,1E+2]}],"model":"","stopReason":null,"x":9007199254740993,"_meta":{"a":[ ]}}`
	case "elicitation/create":
		return `{"action":"accept", "content":{"z":9007199254740993,"\u0061":"\/ \u0000","e":[ ],"n":-0},"x":[1.0 ]}`
	case "roots/list":
		return `{"roots":[ {"uri":"file:\/\/\/a%20b\/\u4f60","name":"","_meta":{"n":1e-400}},{"uri":"x:y"}],"x":null }`
	}
	return ""
}

const allCapabilities = `{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"experimental":{"x":{"n":1e30}}}`

// converse opens a conversation.
func converse(t *testing.T, peer *rig.Peer, e era, name string) *conversation {
	t.Helper()
	c := &conversation{t: t, peer: peer, era: e, name: name}
	if e == legacy {
		m := c.request("initialize", fmt.Sprintf(`"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"faults","version":"1"}`, allCapabilities))
		if m.Result == nil {
			t.Fatalf("initialize: %s", m.Raw)
		}
		peer.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return c
}

// meta is the beginning of parameters: odd members, and those that the era needs.
func (c *conversation) meta() string {
	if c.era == legacy {
		return `"_meta":{` + oddMeta + `},`
	}
	return `"_meta":{` + oddMeta + `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"faults","version":"1"},` +
		`"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/clientCapabilities":` + allCapabilities + `},`
}

// request sends a request with the members of params, answers what is asked
// meanwhile and returns the response.
func (c *conversation) request(method, params string) rig.Message {
	c.t.Helper()
	c.ids++
	id := fmt.Sprintf(`"%d \/ \u00e4"`, c.ids)
	before, m := c.peer.Ask(id, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method, params), c.answer)
	for _, note := range before {
		switch {
		case strings.HasSuffix(note.Method, "/list_changed"): // the hub's own
		case note.Question():
			c.asked = append(c.asked, string(note.Params))
		default:
			c.told = append(c.told, string(note.Params))
		}
	}
	return m
}

func (c *conversation) answer(m rig.Message) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","result":%s,"id":%s}`, oddAnswers(m.Method), m.ID)
}

// tool calls a tool.
func (c *conversation) tool(name, text string) rig.Message {
	c.t.Helper()
	return c.request("tools/call", c.meta()+fmt.Sprintf(`"name":%q,"arguments":{"text":%q}`, c.name+name, text))
}

// heard returns the members of what the server got last with the method.
func (c *conversation) heard(method string) []member {
	c.t.Helper()
	m := c.tool("heard", method)
	return members(c.t, find(c.t, members(c.t, find(c.t, members(c.t, string(m.Result)), "structuredContent")), "params"))
}

// onWide runs a test for a server that offers everything, of each kind and era.
func onWide(t *testing.T, test func(t *testing.T, of era, direct *conversation, through func(e era) *conversation)) {
	for kind, server := range servers() {
		for _, of := range eras() {
			t.Run(kind+" "+string(of), func(t *testing.T) {
				args := []string{"-wide"}
				if of == modern {
					args = append(args, "-fault", "modernonly")
				}
				_, url := spawn(t, "127.0.0.1:0", args...)
				s := server(t, args...)
				s.Connection = hub.ConnectionPerCaller
				h := start(t, budget(), s)
				h.await("faulty", hub.StateReady)
				test(t, of, converse(t, rig.HTTPPeer(t, url), of, ""), func(e era) *conversation {
					return converse(t, rig.HTTPPeer(t, h.URL()+"/mcp"), e, "faulty__")
				})
			})
		}
	}
}

// between are the members of a result that only one of the eras has.
func between() []string { return []string{"resultType", "ttlMs", "cacheScope"} }

// same compares two results: byte for byte within an era, and but for what only
// one of them has between the two.
func same(t *testing.T, what string, within bool, want, got string) {
	t.Helper()
	if within {
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", what, got, want)
		}
		return
	}
	if got == "" {
		t.Errorf("%s: no result", what)
		return
	}
	a, b := except(members(t, want), between()...), except(members(t, got), between()...)
	if !slices.Equal(a, b) {
		t.Errorf("%s:\n got %q\nwant %q", what, b, a)
	}
}

const (
	oddURI = `"weird:\/\/a%2Fb/\u4f60?q=%00#f"` // of a resource, as the server writes it
	oddRef = `"ref":{"uri":"tmpl://h/{+path}{?q*}", "type":"ref\/resource","x":[ ]}`
)

// verbs are what goes through the hub to one server, with its odd parameters.
// In place of @ stands what the caller has in front of names.
func verbs() map[string]string {
	return map[string]string{
		"resources/read":      `"x-unknown":{"keep":[1 , 2.50]},"uri":` + oddURI + `,"y":[ ]`,
		"prompts/get":         `"x":[ ], "name":"@odd_prompt","arguments":{"":"\/ \u0000","b":"","\u0063":"\ud800"}`,
		"completion/complete": oddRef + `,"argument":{ "name":"path","value":"\u0000\/"},"context":{"arguments":{"":"","q":"\ud83d\ude00"}},"x":1E+2`,
	}
}

// What goes through to one server reaches it and comes back byte for byte.
func TestVerbsAreKept(t *testing.T) {
	onWide(t, func(t *testing.T, of era, direct *conversation, through func(e era) *conversation) {
		for _, e := range eras() {
			c := through(e)
			for method, params := range verbs() {
				what := fmt.Sprintf("%s from %s", method, e)
				want := direct.request(method, direct.meta()+strings.ReplaceAll(params, "@", ""))
				got := c.request(method, c.meta()+strings.ReplaceAll(params, "@", c.name))
				if want.Result == nil || got.Result == nil {
					t.Errorf("%s: directly %s, through the hub %s", what, want.Raw, got.Raw)
					continue
				}
				same(t, what, e == of, string(want.Result), string(got.Result))
				sent, arrived := direct.heard(method), c.heard(method)
				if a, b := except(sent, "_meta"), except(arrived, "_meta"); !slices.Equal(a, b) {
					t.Errorf("%s: the server got\n %q, want\n %q", what, b, a)
				}
				a, b := members(t, find(t, sent, "_meta")), members(t, find(t, arrived, "_meta"))
				if a, b = except(a, ownedMeta()...), except(b, ownedMeta()...); !slices.Equal(a, b) {
					t.Errorf("%s: the server got the _meta\n %q, want\n %q", what, b, a)
				}
			}
		}
	})
}

// Each entry of a list comes as its server wrote it, in its order, but for names.
func TestListsAreKept(t *testing.T) {
	onWide(t, func(t *testing.T, _ era, direct *conversation, through func(e era) *conversation) {
		for _, list := range []struct{ method, key string }{
			{"resources/list", "resources"},
			{"resources/templates/list", "resourceTemplates"},
			{"prompts/list", "prompts"},
		} {
			want := direct.entries(list.method, list.key)
			if list.key == "prompts" {
				for i := range want {
					want[i] = strings.Replace(want[i], `"name":"odd_prompt"`, `"name":"faulty__odd_prompt"`, 1)
				}
			}
			for _, e := range eras() {
				c := through(e)
				if got := c.entries(list.method, list.key); !slices.Equal(got, want) || len(got) == 0 {
					t.Errorf("%s to %s:\n got %q\nwant %q", list.method, e, got, want)
				}
			}
		}
	})
}

// entries returns those of all pages.
func (c *conversation) entries(method, key string) []string {
	c.t.Helper()
	var all []string
	for cursor := ""; ; {
		m := c.request(method, strings.TrimSuffix(c.meta()+cursor, ","))
		result := members(c.t, string(m.Result))
		all = append(all, elements(c.t, find(c.t, result, key))...)
		i := slices.IndexFunc(result, func(m member) bool { return m.key == `"nextCursor"` })
		if i < 0 {
			return all
		}
		cursor = `"cursor":` + result[i].value
	}
}
