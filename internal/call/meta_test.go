package call

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// capped makes a pipeline whose callers have find_tool and call_tool only, in a
// group without the server "other". What a server is called with is in got.
func capped(t *testing.T) (c *crib, got *string) {
	t.Helper()
	got = new(string)
	files := has{
		tools: `{"name":"read","description":"Reads a file.","inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993}}}},` +
			`{"name":"regional","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`,
		answer: func(p *peer, _ note) string {
			*got = p.in.Text()
			return `{"content":[]}`
		},
	}
	other := files
	late := files
	late.delay = time.Second
	c = newCrib(t, map[string]func(p *peer){"files": files.serve, "other": other.serve, "late": late.serve}, builtin("files"), builtin("other"), builtin("late"))
	c.catalog.SetViews([]hub.Group{{Name: "g", Servers: []string{"files", "late"}, Rename: map[string]string{"files__read": "open"}}}, []hub.Profile{{Client: "small", MaxTools: 1}, {Client: "*", MaxTools: 2}})
	return c, got
}

// use calls a tool in the group.
func (c *crib) use(client, tool, arguments string, mirrored func(string) []string) (*Result, error) {
	c.t.Helper()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":"own","method":"tools/call","params": {"_meta":{"x":1.0}, "name":"`+tool+`" ,"arguments":`+arguments+`}}`), wire.Limits{UniqueKeys: true})
	if err != nil {
		c.t.Fatal(err)
	}
	return c.Do(c.t.Context(), &Request{
		Principal: hub.Principal{Subject: "ann", Door: hub.DoorMCP, Role: hub.RoleCaller}, Viewer: hub.Viewer{Group: "g", Client: client},
		Session: "session", Message: &m, Exchange: &caller{}, Mirrored: mirrored,
	})
}

// said is the first text of a result, and whether that is an error.
func said(t *testing.T, r *Result) (text string, isError bool) {
	t.Helper()
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(r.Message.Result.Of(r.Message.Raw), &result); err != nil || len(result.Content) == 0 {
		t.Fatalf("result %s: %v", r.Message.Raw, err)
	}
	return result.Content[0].Text, result.IsError
}

func TestFindTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := capped(t)
		time.Sleep(2 * time.Second) // of the bubble: all lists are there
		r, err := c.use("big", "find_tool", `{"query":"read a file","limit":1.0}`, nil)
		if err != nil {
			t.Fatal(err)
		}
		content, isError := said(t, r)
		structured := string(r.Message.Member("structuredContent").Of(r.Message.Raw))
		_, rest, _ := strings.Cut(structured, `"score":`)
		score, _, _ := strings.Cut(rest, "}")
		want := `{"tools":[{"name":"open","description":"Reads a file.","inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993}}},"server":"files","score":` + score + `}]}`
		if content != want || structured != want || isError || r.Era != protocol.Legacy || r.Server != "" || r.Entry != nil {
			t.Errorf("the answer is %s, %s", content, structured)
		}
		if e := (<-c.ended.C()).(hub.CallEnded).Call; e.Name != "find_tool" || e.Server != "" || e.Outcome != hub.OutcomeOK {
			t.Errorf("recorded %+v", e)
		}
		for args, want := range map[string]int{
			`{"query":"read"}`: 2, `{"query":"REGION"}`: 2, `{"query":"quantum"}`: 0, `{"query":"read","limit":1}`: 1, `{"query":"file region","limit":20}`: 4,
		} {
			r, err := c.use("big", "find_tool", args, nil)
			if err != nil {
				t.Fatal(err)
			}
			var found struct{ Tools []struct{ Name string } }
			if content, _ := said(t, r); json.Unmarshal([]byte(content), &found) != nil || len(found.Tools) != want || strings.Contains(content, "other") {
				t.Errorf("%s finds %s", args, content)
			}
		}
		for _, args := range []string{
			`{}`, `null`, `{"query":""}`, `{"query":" "}`, `{"query":5}`, `{"query":null}`, `{"query":"a","limit":0}`, `{"query":"a","limit":21}`,
			`{"query":"a","limit":1.5}`, `{"query":"a","limit":"5"}`, `{"query":"a","limit":1e400}`, `{"query":"a","limit":-1}`, `{"query":"a","limit":null}`, `{"query":"a","Limit":1}`,
		} {
			r, err := c.use("big", "find_tool", args, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, isError := said(t, r); !isError {
				t.Errorf("%s is no error", args)
			}
		}
	})
}

func TestCallTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, got := capped(t)
		synctest.Wait() // "late" has not given its list yet
		for _, tt := range []struct{ arguments, name, want string }{
			{`{"name":"open","arguments":{"n":9007199254740993 , "\u0061":1.0}}`, "open", `{"_meta":{"x":1.0}, "name":"read" ,"arguments":{"n":9007199254740993 , "\u0061":1.0}}`},
			{`{ "arguments" : {"name":"x"}, "name" : "\u006fpen" }`, "open", `{"_meta":{"x":1.0}, "name":"read" ,"arguments":{"name":"x"}}`},
			{`{"name":"files__read"}`, "files__read", `{"_meta":{"x":1.0}, "name":"read" ,"arguments":{}}`},
			{`{"name":"regional","arguments":null}`, "regional", `{"_meta":{"x":1.0}, "name":"regional" ,"arguments":null}`},
			{`{"name":"late__regional","arguments":{"region":"eu"}}`, "late__regional", `{"_meta":{"x":1.0}, "name":"regional" ,"arguments":{"region":"eu"}}`},
		} {
			for _, client := range []string{"small", "big"} {
				*got = ""
				// The caller mirrors what it knows of call_tool, which is nothing.
				r, err := c.use(client, "call_tool", tt.arguments, func(string) []string { return nil })
				if err != nil {
					t.Fatalf("%s: %v", tt.arguments, err)
				}
				if !strings.Contains(*got, `"params": `+tt.want) {
					t.Errorf("%s: the server got %s", tt.arguments, *got)
				}
				if r.Entry == nil || r.Server != r.Entry.Server.Key {
					t.Errorf("%s: answered by %q", tt.arguments, r.Server)
				}
				if e := (<-c.ended.C()).(hub.CallEnded).Call; e.Name != tt.name || e.Server != r.Server || e.Outcome != hub.OutcomeOK {
					t.Errorf("%s: recorded %+v", tt.arguments, e)
				}
			}
		}
	})
}

func TestCallToolRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, got := capped(t)
		time.Sleep(2 * time.Second) // of the bubble: all lists are there
		for args, want := range map[string]string{
			`{}`:                               `"name" has to be`,
			`{"name":""}`:                      `"name" has to be`,
			`{"name":5}`:                       `"name" has to be`,
			`{"name":"open","arguments":"{}"}`: `"arguments" has to be`,
			`{"name":"open","arguments":[]}`:   `"arguments" has to be`,
			`{"name":"open","path":"/"}`:       `path`,
			`{"name":"open","Name":"x"}`:       `Name`,
			`{"name":"call_tool"}`:             `call_tool cannot be called by call_tool`,
			`{"name":"find_tool"}`:             `find_tool cannot be called by call_tool`,
			`{"name":"opne"}`:                  message.For(message.English, message.ToolLike, map[string]string{"tool": "opne", "names": "open"}).What,
			`{"name":"reader of files"}`:       `open`,
			`{"name":"other__read"}`:           `These are like it: `,
			`{"name":"other__new"}`:            `There is no tool named "other__new"`,
			`{"name":"quantum"}`:               `There is no tool named "quantum". List`,
		} {
			r, err := c.use("big", "call_tool", args, nil)
			if err != nil {
				t.Fatalf("%s: %v", args, err)
			}
			fault, isError := said(t, r)
			if !isError || !strings.Contains(fault, want) || strings.Contains(fault, "other__regional") {
				t.Errorf("%s: %q", args, fault)
			}
			if e := (<-c.ended.C()).(hub.CallEnded).Call; e.Name != "call_tool" || e.Outcome != hub.OutcomeToolError {
				t.Errorf("%s: recorded %+v", args, e)
			}
		}
		if *got != "" {
			t.Errorf("a server got %s", *got)
		}
		// Where all tools are listed there is nothing of the hub's own.
		c.catalog.SetViews([]hub.Group{{Name: "g", Servers: []string{"files"}}}, nil)
		for _, name := range []string{"find_tool", "call_tool"} {
			if _, err := c.use("big", name, `{"query":"a","name":"open"}`, nil); !hub.IsCode(err, message.ToolUnknown) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// FuzzCallTool: whatever the arguments are, the call that comes of them is a whole
// message of the same id, with the name and the arguments that were asked for.
func FuzzCallTool(f *testing.F) {
	for _, args := range []string{`{"name":"a__x","arguments":{"a":[1,2]}}`, `{"arguments":{},"name":"a\u005f_x"}`, `{"name":"a__x"}`, `{"name":"nobody"}`, `null`, `{"name":"call_tool"}`} {
		f.Add(args)
	}
	cat, err := catalog.Open(catalog.Options{})
	if err != nil {
		f.Fatal(err)
	}
	server := hub.Server{Key: "a", Enabled: true}
	cat.SetServers([]hub.Server{server})
	tool, err := catalog.ParseTool([]byte(`{"name":"x","inputSchema":{"type":"object"}}`))
	if err != nil {
		f.Fatal(err)
	}
	var tools []hub.Tool
	for i := range 3 {
		other := tool
		if i > 0 {
			other.Name = fmt.Sprint("x", i)
		}
		tools = append(tools, other)
	}
	cat.Replace(server, hub.Offer{Tools: tools})
	cat.SetViews(nil, []hub.Profile{{Client: "*", MaxTools: 2}})
	v, err := cat.View(hub.Viewer{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args string) {
		raw := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"call_tool","arguments":` + args + `,"_meta":{}}}`
		m, err := wire.Scan([]byte(raw), wire.Limits{UniqueKeys: true})
		if err != nil {
			return
		}
		in, _ := arguments(&m, "name", "arguments")
		name, _ := wire.String(m.Raw, in["name"])
		if _, there := v.Tool(name); !there && v.Meta(name) == catalog.MetaNone {
			return // it may be of a server that is to come, which needs a fleet
		}
		r := &run{Request: Request{Message: &m}, name: "call_tool"}
		p := &Pipeline{catalog: cat}
		err = p.meta(t.Context(), r, v)
		done := r.reply != nil
		if err != nil || done != (r.Message == &m) {
			t.Fatalf("%s: done %t, %v", args, done, err)
		}
		if done {
			return
		}
		got, _ := wire.String(r.Message.Raw, r.Message.Member("name"))
		want := in["arguments"].Of(m.Raw)
		if want == nil {
			want = []byte("{}")
		}
		if got != name || string(r.Message.Member("arguments").Of(r.Message.Raw)) != string(want) || string(r.Message.ID.Of(r.Message.Raw)) != "7" || string(r.Message.Member("_meta").Of(r.Message.Raw)) != "{}" {
			t.Fatalf("%s became %s", args, r.Message.Raw)
		}
	})
}
