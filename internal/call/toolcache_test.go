package call

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// counted is a server with the tools read and marked, which only read, and write. Each
// answers how often any of them was called.
func counted(calls *atomic.Int64) func(p *peer) {
	return lists(0, `{"name":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"write","inputSchema":{"type":"object"}},`+
		`{"name":"marked","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
		func(p *peer, n note) bool {
			k := calls.Add(1)
			switch n.Params.Name {
			case "marked":
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%d"}],"_meta":{"own":1,"toolcrib/cache":2}}}`, n.ID, k)
			default:
				p.result(n, fmt.Sprint(k))
			}
			return true
		})
}

// kept is how a call was answered: the text, and the hub's mark.
func (c *crib) kept(params string, change ...func(*Request)) (text, mark string) {
	c.t.Helper()
	res, err := c.ask("tools/call", params, change...)
	if err != nil {
		c.t.Fatal(err)
	}
	var m struct {
		Result struct {
			Content []struct{ Text string }
			Meta    map[string]json.RawMessage `json:"_meta"`
		}
	}
	if err := json.Unmarshal(wire.Splice(res.Message.Raw, res.Edits...), &m); err != nil {
		c.t.Fatal(err)
	}
	for _, one := range m.Result.Content {
		text += one.Text
	}
	return text, string(m.Result.Meta[metaCache])
}

func TestToolCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		s := builtin("s")
		s.ToolCache = 10 * time.Second
		c := newCrib(t, map[string]func(p *peer){"s": counted(&calls)}, s)
		if err := c.fleet.Start(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		want := func(params, text, mark string, change ...func(*Request)) {
			t.Helper()
			if gotText, gotMark := c.kept(params, change...); gotText != text || gotMark != mark {
				t.Errorf("%s: got %q %s, want %q %s", params, gotText, gotMark, text, mark)
			}
		}
		want(`"name":"s__read","arguments":{"a":1,"b":{"x":"y","z":[1,2]}}`, "1", "")
		time.Sleep(2 * time.Second)
		want(`"name":"s__read","arguments":{ "b":{"z":[1, 2],"x":"\u0079"}, "a":1 }`, "1", `{"hit":true,"ageMs":2000}`)
		if r := c.last(); r.Cached {
			t.Errorf("the first record is %+v", r)
		}
		if r := c.last(); !r.Cached || r.Server != "s" || r.Outcome != hub.OutcomeOK || r.Attempts != nil {
			t.Errorf("the record is %+v", r)
		}
		want(`"name":"read","arguments":{"a":1,"b":{"x":"y","z":[1,2]}},"_meta":{"progressToken":1}`, "1", `{"hit":true,"ageMs":2000}`)
		want(`"name":"s__read","arguments":{"a":1.0,"b":{"x":"y","z":[1,2]}}`, "2", "")
		want(`"name":"s__read","arguments":{"a":1,"b":{"x":"y","z":[2,1]}}`, "3", "")
		want(`"name":"s__read"`, "4", "")
		want(`"name":"s__read","arguments":{}`, "4", `{"hit":true,"ageMs":0}`)
		time.Sleep(8 * time.Second)
		want(`"name":"s__read","arguments":{"a":1,"b":{"x":"y","z":[1,2]}}`, "5", "")

		// What is not only a call of a tool that reads is none of it.
		want(`"name":"s__write"`, "6", "")
		want(`"name":"s__write"`, "7", "")
		want(`"name":"s__read","requestState":"x"`, "8", "")
		want(`"name":"s__read","inputResponses":{}`, "9", "")
		want(`"name":"s__read"`, "4", `{"hit":true,"ageMs":8000}`)
		other := func(r *Request) { r.Principal.Subject = "bob" }
		want(`"name":"s__read"`, "10", "", other)
		want(`"name":"s__read"`, "10", `{"hit":true,"ageMs":0}`, other)
		want(`"name":"s__read"`, "4", `{"hit":true,"ageMs":8000}`)

		// A mark of the server's own is not the hub's.
		want(`"name":"s__marked"`, "11", "2")
		want(`"name":"s__marked"`, "11", `{"hit":true,"ageMs":0}`)
		got := c.Cached()
		if len(got) != 1 || got[0].Server != "s" || got[0].Hits != 7 || got[0].Misses != 7 || got[0].Results != 6 || got[0].Bytes < 5*overhead {
			t.Errorf("it was of use: %+v", got)
		}

		// The server says that its tools have changed.
		c.Listed(s, hub.Lists{Asked: hub.ListTools})
		want(`"name":"s__read"`, "4", `{"hit":true,"ageMs":8000}`)
		c.Listed(s, hub.Lists{Asked: hub.ListTools, Announced: hub.ListTools})
		want(`"name":"s__read"`, "12", "")
		if got := c.Cached(); got[0].Results != 1 {
			t.Errorf("%+v is left", got)
		}

		// It is configured otherwise.
		s.ToolCache = time.Hour
		c.catalog.SetServers([]hub.Server{s})
		want(`"name":"s__read"`, "13", "")
		want(`"name":"s__read"`, "13", `{"hit":true,"ageMs":0}`)
		never := time.Duration(0)
		s.Rules.Override = map[string]hub.ToolOverride{"read": {Cache: &never}}
		c.catalog.SetServers([]hub.Server{s})
		want(`"name":"s__read"`, "14", "")
		want(`"name":"s__read"`, "15", "")
	})
}

// Neither errors are kept nor what came while the tools changed.
func TestToolCacheKeepsNoErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		s := builtin("s")
		s.ToolCache = time.Hour
		var c *crib
		changes := false
		c = newCrib(t, map[string]func(p *peer){"s": lists(0, `{"name":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, func(p *peer, n note) bool {
			switch k := calls.Add(1); {
			case changes:
				c.Listed(s, hub.Lists{Announced: hub.ListTools})
				p.result(n, fmt.Sprint(k))
			case k%2 == 1:
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"isError":true}}`, n.ID)
			default:
				p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no"}}`, n.ID)
			}
			return true
		})}, s)
		if err := c.fleet.Start(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			changes = i >= 4
			if _, mark := c.kept(`"name":"s__read"`); mark != "" || int(calls.Load()) != i+1 {
				t.Fatalf("call %d is answered by what was kept", i)
			}
		}
		if got := c.Cached(); got[0].Results != 0 || got[0].Bytes != 0 {
			t.Errorf("%+v is kept", got)
		}
	})
}

// A modern server says itself how long, and for whom, a result is good.
func TestToolCacheOfAModernServer(t *testing.T) {
	for _, tt := range []struct {
		hints string // of the server
		set   time.Duration
		after time.Duration
		who   string
		want  string // "" if it is not good any more
	}{
		{`"ttlMs":5000,"cacheScope":"public"`, 0, 2 * time.Second, "bob", `"ttlMs":3000,"cacheScope":"public"`},
		{`"ttlMs":5000,"cacheScope":"private"`, 0, 2 * time.Second, "bob", ""},
		{`"ttlMs":5000`, time.Minute, 2 * time.Second, "ann", `"ttlMs":3000`},
		{`"ttlMs":5000`, time.Minute, 5 * time.Second, "ann", ""}, // the server knows better
		{`"ttlMs":0`, time.Minute, 0, "ann", ""},
		{`"x":1`, 0, 0, "ann", ""},
		{`"x":1`, time.Minute, 59 * time.Second, "ann", `"x":1`},
		{`"x":1`, time.Minute, time.Minute, "ann", ""},
		{`"resultType":"input_required","ttlMs":5000`, 0, 0, "ann", ""},
		{`"isError":true,"ttlMs":5000`, 0, 0, "ann", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newToolCache()
			read := func(who string) *run {
				r := calling(t, `{"type":"object"}`, `{"a":1}`)
				r.Principal.Subject, r.entry.Tool.ReadOnly, r.entry.Server.ToolCache = who, true, tt.set
				r.own = "x"
				return r
			}
			ann := read("ann")
			if err := c.recall(t.Context(), ann); err != nil || ann.stands == nil {
				t.Fatal(err)
			}
			ann.reply = &upstream.Reply{Message: rescan([]byte(`{"jsonrpc":"2.0","id":1,"result":{` + tt.hints + `}}`)), Era: protocol.Modern}
			if err := c.keep(t.Context(), ann); err != nil {
				t.Fatal(err)
			}
			time.Sleep(tt.after)
			again := read(tt.who)
			if err := c.recall(t.Context(), again); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf(`{"_meta":{"toolcrib/cache":{"hit":true,"ageMs":%d}},%s}`, tt.after.Milliseconds(), tt.want)
			switch {
			case again.reply == nil && tt.want != "":
				t.Errorf("%s: nothing is kept", tt.hints)
			case again.reply != nil && string(again.reply.Message.Result.Of(again.reply.Message.Raw)) != want:
				t.Errorf("%s: got %s, want %s", tt.hints, again.reply.Message.Raw, want)
			}
		})
	}
}

// FuzzCanonical: what means the same has the same digest, and it still reads as it
// did.
func FuzzCanonical(f *testing.F) {
	for _, args := range []string{`{}`, `{"b":1,"a":{"d":[1, {"f":null,"e":true}],"c":"\u0061"}}`, `{"\ud800":"\ud801","x":"\ufffd"}`, `{"a":1e2,"":-0}`} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, args string) {
		if wire.Valid([]byte(args), wire.Limits{UniqueKeys: true}) != nil {
			t.Skip()
		}
		raw := []byte(args)
		once := appendCanonical(nil, raw, wire.Value(raw))
		if err := wire.Valid(once, wire.Limits{}); err != nil {
			t.Fatalf("%s became %s: %v", args, once, err)
		}
		if again := appendCanonical(nil, once, wire.Value(once)); string(again) != string(once) {
			t.Fatalf("%s became %s and then %s", args, once, again)
		}
		before, errBefore := decode(raw)
		after, errAfter := decode(once)
		if fmt.Sprint(before) != fmt.Sprint(after) || (errBefore == nil) != (errAfter == nil) {
			t.Fatalf("%s became %s", args, once)
		}
	})
}

// Texts that are none are not taken for each other.
func TestCanonicalOddTexts(t *testing.T) {
	seen := make(map[string]string)
	for _, args := range []string{`{"a":"\ud800"}`, `{"a":"\ud801"}`, `{"\ud800":1}`, `{"\ud801":1}`, `{"a":"1"}`, `{"a":1}`, `{"a":null}`, `{}`} {
		text := string(appendCanonical(nil, []byte(args), wire.Value([]byte(args))))
		if other, same := seen[text]; same {
			t.Errorf("%s and %s are both %s", args, other, text)
		}
		seen[text] = args
	}
	if !strings.Contains(seen[`{"a":1}`], "1") {
		t.Error("what is canonical is changed")
	}
}
