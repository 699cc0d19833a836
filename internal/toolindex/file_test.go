package toolindex_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/toolindex"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// example is the file as those who made its format show it.
const example = `{
  "version": "1.0.0",
  "last_sync": "2026-01-07T10:00:00Z",
  "servers": [
    {
      "server_id": "ros2_mcp",
      "tools": [
        {
          "tool_name": "navigate_to",
          "description": "Navigate robot to target position",
          "input_schema": { "x": "float", "y": "float" },
          "tags": ["navigation", "robot"],
          "blocking": true,
          "cost_estimate": "high"
        }
      ]
    }
  ]
}
`

// decode reads a file that must be good.
func decode(t testing.TB, text string) []catalog.Imported {
	t.Helper()
	lists, err := toolindex.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return lists
}

// The example comes out of the index as it went in, but for the schema, which is
// a real one then; and that file comes out just as it is.
func TestExample(t *testing.T) {
	robot := server("ros2_mcp", 0)
	c := open(t, robot)
	if got := c.Import(decode(t, example), false); !slices.Equal(got, []string{"ros2_mcp"}) {
		t.Fatalf("took %q", got)
	}
	all := toolindex.Find(c.Snapshot(), nil, toolindex.Query{})
	now := time.Now()
	written := string(toolindex.Encode(all, now))
	const schema = `{
            "type": "object",
            "properties": {
              "x": {
                "type": "number"
              },
              "y": {
                "type": "number"
              }
            }
          }`
	want := strings.Replace(example, `{ "x": "float", "y": "float" }`, schema, 1)
	want = strings.Replace(want, `["navigation", "robot"]`, "[\n            \"navigation\",\n            \"robot\"\n          ]", 1)
	if diff := cmp.Diff(want, written); diff != "" {
		t.Error(diff)
	}
	if e := all[0]; e.Live || !e.Stale || !e.Blocking || e.Cost != toolindex.CostHigh {
		t.Errorf("it is %+v", e)
	}
	other := open(t, robot)
	other.Import(decode(t, written), false)
	if again := string(toolindex.Encode(toolindex.Find(other.Snapshot(), nil, toolindex.Query{}), now)); again != written {
		t.Error(cmp.Diff(written, again))
	}
	// Its server's own list is of the server's own words only.
	c.Replace(robot, tools(t, `{"name":"navigate_to","_meta":{"toolcrib/index":{"tags":["robot"],"blocking":true,"cost_estimate":"low"}}}`))
	if e := toolindex.Find(c.Snapshot(), nil, toolindex.Query{})[0]; e.Cost != toolindex.CostMedium || e.Blocking || slices.Contains(e.Tags, "robot") {
		t.Errorf("it is %+v", e)
	}
	// What was measured goes before what a file says.
	times := func(string, string) (time.Duration, bool) { return time.Millisecond, true }
	if e := toolindex.Find(other.Snapshot(), times, toolindex.Query{})[0]; e.Cost != toolindex.CostLow || e.Blocking {
		t.Errorf("it is %+v", e)
	}
}

func TestEncodeWithoutTools(t *testing.T) {
	now := time.Date(2026, 1, 7, 18, 0, 0, 5, time.FixedZone("", 8*3600))
	const want = `{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[]}`
	var got bytes.Buffer
	if err := json.Compact(&got, toolindex.Encode(nil, now)); err != nil || got.String() != want {
		t.Errorf("got %s, %v", got.String(), err)
	}
}

// The servers stay in their order, and the time is that of the oldest list.
func TestEncodeSeveralServers(t *testing.T) {
	a, b := server("a", 1), server("b", 2)
	c := open(t, a, b)
	day := time.Date(2026, 1, 7, 10, 0, 0, 0, time.UTC)
	c.Import([]catalog.Imported{
		{Server: "a", Tools: tools(t, `{"name":"x"}`, `{"name":"y"}`).Tools, At: day},
		{Server: "b", Tools: tools(t, `{"name":"x","description":"<&>"}`).Tools, At: day.AddDate(0, 0, -1)},
	}, false)
	const want = `{"version":"1.0.0","last_sync":"2026-01-06T10:00:00Z","servers":[` +
		`{"server_id":"b","tools":[{"tool_name":"x","description":"<&>","input_schema":{},"tags":[],"blocking":false,"cost_estimate":"medium"}]},` +
		`{"server_id":"a","tools":[{"tool_name":"x","description":"","input_schema":{},"tags":[],"blocking":false,"cost_estimate":"medium"},` +
		`{"tool_name":"y","description":"","input_schema":{},"tags":[],"blocking":false,"cost_estimate":"medium"}]}]}`
	var got bytes.Buffer
	if err := json.Compact(&got, toolindex.Encode(toolindex.Find(c.Snapshot(), nil, toolindex.Query{}), time.Now())); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestSchemas(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"short":                {`{"a":"str","b":"int","c":"float","d":"bool","e":"list","f":"dict"}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"number"},"d":{"type":"boolean"},"e":{"type":"array"},"f":{"type":"object"}}}`},
		"short, other names":   {`{"a":"string","b":"number","c":"Optional[str]","d":3,"e":null}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"},"c":{},"d":{},"e":{}}}`},
		"short, called type":   {`{"type":"str","properties":"dict"}`, `{"type":"object","properties":{"type":{"type":"string"},"properties":{"type":"object"}}}`},
		"short, with a schema": {`{"a" : {"type":"string","enum":["x"]}}`, `{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}`},
		"short, spelt":         {`{"\u0061\"":"str"}`, `{"type":"object","properties":{"\u0061\"":{"type":"string"}}}`},
		"nothing":              {`{}`, `{"type":"object","properties":{}}`},
		"null":                 {`null`, `{"type":"object"}`},
		"a schema":             {`{ "type" : "object", "properties":{"a":{"maximum":1e400}} }`, `{ "type" : "object", "properties":{"a":{"maximum":1e400}} }`},
		"a schema, no type":    {`{ "properties":{}}`, `{"type":"object", "properties":{}}`},
		"a schema, referring":  {`{"$ref":"#/$defs/a","$defs":{"a":{}}}`, `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			tool := decode(t, strings.Replace(example, `{ "x": "float", "y": "float" }`, tt.in, 1))[0].Tools[0]
			got := wire.Lookup(tool.Raw, wire.Value(tool.Raw), "inputSchema").Of(tool.Raw)
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// What a file may leave out, or say in another way.
func TestDecodeTakes(t *testing.T) {
	for name, text := range map[string]string{
		"no servers":         `{"version":"1.0.0","last_sync":"2026-01-07T10:00:00+08:00","servers":[]}`,
		"the least":          `{"version":"1.0.0","last_sync":"2026-01-07T10:00:00.123456","servers":[{"server_id":"a","tools":[{"tool_name":"x"}]}]}`,
		"null":               `{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[{"server_id":"a","tools":[{"tool_name":"x","description":null,"input_schema":null,"tags":null,"blocking":null,"cost_estimate":null}]}]}`,
		"more":               `{"x":1,"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[{"url":"u","server_id":"a","tools":[{"tool_name":"x","server_id":"a","last_updated":"then"}]}]}`,
		"an odd header":      `{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[{"server_id":"a","tools":[{"tool_name":"x","input_schema":{"type":"object","x-mcp-header":1}}]}]}`,
		"one name, 2 places": `{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[{"server_id":"a","tools":[{"tool_name":"x"}]},{"server_id":"b","tools":[{"tool_name":"x"}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, l := range decode(t, text) {
				if len(l.Tools) != 1 || l.Tools[0].Name != "x" || l.At.Year() != 2026 {
					t.Errorf("got %+v", l)
				}
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	swap := func(old, with string) string {
		if !strings.Contains(example, old) {
			t.Fatalf("there is no %s", old)
		}
		return strings.Replace(example, old, with, 1)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":           {"", "line 1, column 1: malformed JSON"},
		"cut off":           {example[:30], "line 3, column 3: malformed JSON"},
		"a comma":           {swap(`"high"`, `"high",`), "line 15, column 9: malformed JSON"},
		"a key twice":       {swap(`"blocking": true`, `"blocking": true, "blocking": true`), "line 13, column 29: duplicate key"},
		"a list":            {"[]", "it is no object"},
		"no version":        {swap(`"version": "1.0.0",`, ``), "version: it is missing"},
		"another version":   {swap(`1.0.0`, `1.1.0`), "version: it is not 1.0.0"},
		"version a number":  {swap(`"1.0.0"`, `1`), "version: it is no string"},
		"no time":           {swap(`"last_sync"`, `"sync"`), "last_sync: it is missing"},
		"no such time":      {swap(`2026-01-07T`, ``), "last_sync: it is no time such as 2026-01-07T10:00:00Z"},
		"no servers":        {`{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z"}`, "servers: it is missing"},
		"servers an object": {`{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":{}}`, "servers: it is no array"},
		"a server is text":  {`{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":["a"]}`, "servers[0]: it is no object"},
		"a server twice":    {`{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[{"server_id":"a","tools":[]},{"server_id":"a","tools":[]}]}`, "servers[1].server_id: it is there twice"},
		"no server_id":      {swap(`"server_id"`, `"id"`), "servers[0].server_id: it is missing"},
		"empty server_id":   {swap(`"ros2_mcp"`, `""`), "servers[0].server_id: it is empty"},
		"no tools":          {swap(`"tools"`, `"tool"`), "servers[0].tools: it is missing"},
		"a tool is null":    {`{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[{"server_id":"a","tools":[null]}]}`, "servers[0].tools[0]: it is no object"},
		"no tool_name":      {swap(`"navigate_to"`, `7`), "servers[0].tools[0].tool_name: it is no string"},
		"a tool twice":      {`{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[{"server_id":"a","tools":[{"tool_name":"x"},{"tool_name":"x"}]}]}`, "servers[0].tools[1].tool_name: it is there twice"},
		"description":       {swap(`"Navigate robot to target position"`, `[]`), "servers[0].tools[0].description: it is no string"},
		"schema":            {swap(`{ "x": "float", "y": "float" }`, `"float"`), "servers[0].tools[0].input_schema: it is no object"},
		"schema of a list":  {swap(`{ "x": "float", "y": "float" }`, `{"type":"array","properties":{}}`), "servers[0].tools[0].input_schema: its type is not object"},
		"tags":              {swap(`["navigation", "robot"]`, `"robot"`), "servers[0].tools[0].tags: it is no array"},
		"a tag":             {swap(`"robot"]`, `1]`), "servers[0].tools[0].tags[1]: it is no string"},
		"blocking":          {swap(`true`, `"yes"`), "servers[0].tools[0].blocking: it is neither true nor false"},
		"cost":              {swap(`"high"`, `"dear"`), "servers[0].tools[0].cost_estimate: it is none of low, medium and high"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := toolindex.Decode([]byte(tt.text))
			if !hub.IsCode(err, message.IndexInvalid) {
				t.Fatalf("the error is %v", err)
			}
			if got := hub.AsError(err).Args["detail"]; got != tt.want {
				t.Errorf("it says %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzDecode reads any bytes. What is read can be listed, and comes back the
// same from the file that is written with it.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		example, example[:100], "", "null",
		`{"version":"1.0.0","last_sync":"9999-12-31T23:59:59","servers":[{"server_id":"\u0000","tools":[{"tool_name":"\ud800","input_schema":{"":"str"},"tags":[""]}]}]}`,
		`{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[{"server_id":"a","tools":[{"tool_name":"x","input_schema":{"properties":{"a":{"x-mcp-header":1}}}}]}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lists, err := toolindex.Decode(text)
		if err != nil {
			if !hub.IsCode(err, message.IndexInvalid) {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		index := func(lists []catalog.Imported) string {
			c, err := catalog.Open(catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var servers []hub.Server
			for _, l := range lists {
				servers = append(servers, server(l.Server, 0))
			}
			c.SetServers(servers)
			c.Import(lists, false)
			return string(toolindex.Encode(toolindex.Find(c.Snapshot(), nil, toolindex.Query{}), time.Time{}))
		}
		once := index(lists)
		again, err := toolindex.Decode([]byte(once))
		if err != nil {
			t.Fatalf("the file it makes is refused: %v\n%s", err, once)
		}
		if twice := index(again); once != twice {
			t.Fatal(cmp.Diff(once, twice))
		}
	})
}
