package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

func scan(t testing.TB, raw string) *wire.Message {
	t.Helper()
	m, err := wire.Scan([]byte(raw), wire.Limits{})
	if err != nil {
		t.Fatalf("scan %s: %v", raw, err)
	}
	return &m
}

// A request of a traced leg is of that leg's span; without one the caller's
// members stay as they are.
func TestTraceEdits(t *testing.T) {
	legacy := protocol.Leg{Revision: protocol.Rev20251125, ClientInfo: []byte(`{}`)}
	modern := protocol.Leg{Revision: protocol.Rev20260728, ClientInfo: []byte(`{}`)}
	const (
		mine = `"traceparent":"00-2","tracestate":"a=b"`
		his  = `"traceparent" : "00-1","baggage":"k=v","tracest\u0061te":"x=y","v":1`
		own  = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{}`
	)
	for _, tt := range []struct {
		name           string
		leg            protocol.Leg
		trace          string
		params, wanted string
	}{
		{"not traced", legacy, "", `{"_meta":{` + his + `}}`, `{"_meta":{` + his + `}}`},
		{"not traced, modern", modern, "", `{"_meta":{` + his + `}}`, `{"_meta":{` + own + `,` + his + `}}`},
		{"no _meta", legacy, mine, `{"n":1}`, `{"_meta":{` + mine + `},"n":1}`},
		{"no _meta, modern", modern, mine, `{"n":1}`, `{"_meta":{` + mine + `,` + own + `},"n":1}`},
		{"of another span before", legacy, mine, `{"_meta":{` + his + `}}`, `{"_meta":{` + mine + `,"baggage":"k=v","v":1}}`},
		{"with a token", modern, mine, `{"_meta":{"progressToken":"p",` + his + `}}`, `{"_meta":{"progressToken":77,` + mine + `,` + own + `,"baggage":"k=v","v":1}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := scan(t, `{"jsonrpc":"2.0","method":"m","id":1,"params":`+tt.params+`}`)
			var trace []byte
			if tt.trace != "" {
				trace = []byte(tt.trace)
			}
			got := string(wire.Splice(m.Raw, tt.leg.RequestEdits(nil, m, []byte("77"), "", trace)...))
			if want := `{"jsonrpc":"2.0","method":"m","id":1,"params":` + tt.wanted + `}`; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestRequestEdits(t *testing.T) {
	legacy := protocol.Leg{Revision: protocol.Rev20251125, ClientInfo: []byte(`{"name":"hub"}`)}
	modern := protocol.Leg{Revision: protocol.Rev20260728, ClientInfo: []byte(`{"name":"hub"}`)}
	const (
		own = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"hub"},"io.modelcontextprotocol/clientCapabilities":`
		his = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"caller"},"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}`
	)
	for _, tt := range []struct {
		name     string
		leg      protocol.Leg
		level    string
		in, want string
	}{
		{"legacy, nothing to do", legacy, "", `{"method":"m","id":1,"params":{"x": 1 }}`, `{"method":"m","id":1,"params":{"x": 1 }}`},
		{"legacy, no params", legacy, "", `{"method":"m","id":1}`, `{"method":"m","id":1}`},
		{"legacy, the parties' own _meta stays", legacy, "debug", `{"method":"m","id":1,"params":{"_meta":{ "v/x" : 9007199254740993 }}}`, `{"method":"m","id":1,"params":{"_meta":{ "v/x" : 9007199254740993 }}}`},
		{"legacy, token", legacy, "", `{"method":"m","id":1,"params":{"_meta":{"a":1, "progressToken":"t"}}}`, `{"method":"m","id":1,"params":{"_meta":{"progressToken":77,"a":1}}}`},
		{"modern to legacy", legacy, "", `{"method":"m","id":1,"params":{"_meta":{` + his + `,"v":[1, 2]}}}`, `{"method":"m","id":1,"params":{"_meta":{"v":[1, 2]}}}`},
		{"legacy to modern, no params", modern, "", `{"method":"m","id":1}`, `{"params":{"_meta":{` + own + `{}}},"method":"m","id":1}`},
		{"legacy to modern, empty params", modern, "", `{"method":"m","id":1,"params":{}}`, `{"method":"m","id":1,"params":{"_meta":{` + own + `{}}}}`},
		{"legacy to modern, level", modern, "info", `{"method":"m","id":1,"params":{"n":1}}`, `{"method":"m","id":1,"params":{"_meta":{` + own + `{},"io.modelcontextprotocol/logLevel":"info"},"n":1}}`},
		{"modern to modern, capabilities go on", modern, "", `{"method":"m","id":1,"params":{"_meta":{` + his + `,"progressToken":0,"k":true}}}`, `{"method":"m","id":1,"params":{"_meta":{"progressToken":77,` + own + `{"sampling":{}},"k":true}}}`},
		{"escaped key", legacy, "", `{"method":"m","id":1,"params":{"_meta":{"progress\u0054oken":1}}}`, `{"method":"m","id":1,"params":{"_meta":{"progressToken":77}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const head = `{"jsonrpc":"2.0",`
			m := scan(t, head+tt.in[1:])
			got := string(wire.Splice(m.Raw, tt.leg.RequestEdits(nil, m, []byte("77"), tt.level, nil)...))
			if !json.Valid([]byte(got)) {
				t.Fatalf("not JSON: %s", got)
			}
			want := head + tt.want[1:]
			if strings.HasPrefix(tt.want, `{"params"`) {
				want = `{"params":{"_meta":{` + own + `{}}},"jsonrpc":"2.0","method":"m","id":1}`
			}
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestResultEdits(t *testing.T) {
	for _, tt := range []struct {
		name     string
		method   string
		from, to protocol.Era
		in, want string
	}{
		{"legacy to legacy", protocol.MethodToolsCall, protocol.Legacy, protocol.Legacy, `{"content":[],"resultType":"x"}`, `{"content":[],"resultType":"x"}`},
		{"legacy to modern", protocol.MethodToolsCall, protocol.Legacy, protocol.Modern, `{"content":[]}`, `{"resultType":"complete","content":[]}`},
		{"legacy to modern, empty", protocol.MethodToolsCall, protocol.Legacy, protocol.Modern, `{}`, `{"resultType":"complete"}`},
		{"legacy to modern, own resultType", protocol.MethodToolsCall, protocol.Legacy, protocol.Modern, `{"resultType":7,"a":1}`, `{"resultType":"complete","a":1}`},
		{"modern to modern", protocol.MethodToolsCall, protocol.Modern, protocol.Modern, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"up"},"k":1}}`, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"hub"},"k":1}}`},
		{"modern to legacy", protocol.MethodToolsCall, protocol.Modern, protocol.Legacy, `{"content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"up"},"k":1}}`, `{"content":[],"_meta":{"k":1}}`},
		{"modern to legacy, only hub's members", protocol.MethodToolsCall, protocol.Modern, protocol.Legacy, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{}}}`, `{"_meta":{}}`},
		{"modern to legacy, in the middle", protocol.MethodToolsCall, protocol.Modern, protocol.Legacy, `{"_meta":{"k":1,"io.modelcontextprotocol/serverInfo":{}},"resultType":"complete","x":2}`, `{"_meta":{"k":1},"x":2}`},
		{"legacy to modern, cacheable", protocol.MethodResourcesRead, protocol.Legacy, protocol.Modern, `{"contents":[]}`, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[]}`},
		{"legacy to modern, cacheable and empty", protocol.MethodResourcesRead, protocol.Legacy, protocol.Modern, `{ }`, `{"resultType":"complete","ttlMs":0,"cacheScope":"private" }`},
		{"legacy to modern, own ttlMs", protocol.MethodResourcesRead, protocol.Legacy, protocol.Modern, `{"a":1,"ttlMs":9,"b":2,"cacheScope":"public"}`, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","a":1,"b":2}`},
		{"legacy to modern, a tool's own ttlMs", protocol.MethodToolsCall, protocol.Legacy, protocol.Modern, `{"ttlMs":9}`, `{"resultType":"complete","ttlMs":9}`},
		{"modern to modern, cacheable", protocol.MethodResourcesRead, protocol.Modern, protocol.Modern, `{"resultType":"complete","ttlMs":9,"cacheScope":"public"}`, `{"resultType":"complete","ttlMs":9,"cacheScope":"public"}`},
		{"modern to legacy, cacheable", protocol.MethodResourcesRead, protocol.Modern, protocol.Legacy, `{"resultType":"complete","ttlMs":9,"contents":[],"cacheScope":"public"}`, `{"contents":[]}`},
		{"modern to legacy, a tool's own ttlMs", protocol.MethodToolsCall, protocol.Modern, protocol.Legacy, `{"ttlMs":9,"resultType":"complete"}`, `{"ttlMs":9}`},
		{"modern to legacy, odd _meta", protocol.MethodPromptsGet, protocol.Modern, protocol.Legacy, `{"resultType":"complete","_meta":7}`, `{"_meta":7}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := scan(t, `{"jsonrpc":"2.0","id":1,"result":`+tt.in+`}`)
			got := string(wire.Splice(m.Raw, protocol.ResultEdits(nil, m, tt.method, tt.from, tt.to, []byte(`{"name":"hub"}`))...))
			if want := `{"jsonrpc":"2.0","id":1,"result":` + tt.want + `}`; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestUntagged(t *testing.T) {
	for in, want := range map[string]string{
		`{"uri":"u"}`:                       `{"uri":"u"}`,
		`{"uri":"u","_meta":7}`:             `{"uri":"u","_meta":7}`,
		`{"uri":"u","_meta":{"k": 1}}`:      `{"uri":"u","_meta":{"k": 1}}`,
		`{"_meta":{"TAG":"1"},"uri":"u"}`:   `{"_meta":{},"uri":"u"}`,
		`{"_meta":{"k": 1, "TAG":1,"l":2}}`: `{"_meta":{"k": 1,"l":2}}`,
	} {
		in, want = strings.ReplaceAll(in, "TAG", protocol.MetaSubscriptionID), `{"jsonrpc":"2.0","method":"n","params":`+want+`}`
		if got := string(protocol.Untagged(scan(t, `{"jsonrpc":"2.0","method":"n","params":`+in+`}`))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

// FuzzResultEdits: whatever the result, the outcome is JSON, and only what the
// hub owns has changed.
func FuzzResultEdits(f *testing.F) {
	f.Add(`{"contents":[],"ttlMs":9,"cacheScope":"public","resultType":"complete","_meta":{"k":1}}`, true, true)
	f.Add(`{ "_meta" : 7 , "ttlMs" : 1 }`, true, false)
	f.Add(`{}`, false, true)
	f.Fuzz(func(t *testing.T, result string, cacheable, toModern bool) {
		m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"result":`+result+`}`), wire.Limits{UniqueKeys: true})
		if err != nil || m.Kind != wire.Response || m.Raw[m.Result.Start] != '{' {
			return
		}
		method, from, to := protocol.MethodToolsCall, protocol.Modern, protocol.Legacy
		if cacheable {
			method = protocol.MethodResourcesRead
		}
		if toModern {
			from, to = to, from
		}
		out := wire.Splice(m.Raw, protocol.ResultEdits(nil, &m, method, from, to, []byte(`{}`))...)
		n, err := wire.Scan(out, wire.Limits{UniqueKeys: true})
		if err != nil {
			t.Fatalf("%s became %s: %v", m.Raw, out, err)
		}
		for _, key := range []string{"resultType", "ttlMs", "cacheScope"} {
			if key != "resultType" && !cacheable {
				continue
			}
			if n.Member(key).Exists() != toModern {
				t.Fatalf("%s of %s became %s", key, m.Raw, out)
			}
		}
	})
}

// What a party says about the end of its request is the other's, but for the id.
func TestCancelled(t *testing.T) {
	const head = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{`
	for notice, want := range map[string]string{
		``:                                     head + `"requestId":7,"reason":"r"}}`,
		head + `"reason":"x"}}`:                head + `"requestId":7,"reason":"r"}}`,
		head + `"requestId":"a"}}`:             head + `"requestId":7}}`,
		head + `"v":1.0, "requestId" : "a" }}`: head + `"v":1.0, "requestId" : 7 }}`,
	} {
		if got := string(protocol.Cancelled([]byte(notice), []byte("7"), "r")); got != want {
			t.Errorf("%s: got %s, want %s", notice, got, want)
		}
	}
}

// What a server gives as the kind of its result may be any value.
func TestKindOf(t *testing.T) {
	for result, want := range map[string]protocol.ResultKind{
		`{}`: protocol.ResultComplete, `{"resultType":"complete"}`: protocol.ResultComplete, `{"resultType":"\u0063omplete"}`: protocol.ResultComplete,
		`{"resultType":"input_required"}`: protocol.ResultOther, `{"resultType":""}`: protocol.ResultOther, `{"resultType":null}`: protocol.ResultOther,
		`{"resultType":5}`: protocol.ResultOther, `{"resultType":[]}`: protocol.ResultOther, `{"resultType":{"complete":1}}`: protocol.ResultOther,
	} {
		m := scan(t, `{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
		if got := protocol.KindOf(m, protocol.Modern); got != want {
			t.Errorf("%s: got %d, want %d", result, got, want)
		}
		if got := protocol.KindOf(m, protocol.Legacy); got != protocol.ResultComplete {
			t.Errorf("%s of the legacy era: got %d", result, got)
		}
	}
}

// FuzzRequestEdits holds the translation to its promise: whatever the request,
// the outcome is JSON, only what the hub owns has changed, and doing it again
// for the same leg changes nothing but the order of the hub's own members.
func FuzzRequestEdits(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":9007199254740993},"_meta":{"progressToken":"p","a":[1,{"b":2}]}}}`, true)
	f.Add(`{"jsonrpc":"2.0","id":"x","method":"m","params":{ "_meta" : { } }}`, false)
	f.Add(`{"method":"m","jsonrpc":"2.0","id":0}`, true)
	f.Add(`{"method":"m","jsonrpc":"2.0","id":0,"params":{"_meta":{"traceparent":"x","baggage":"b","tracestate":""}}}`, true)
	f.Fuzz(func(t *testing.T, raw string, modern bool) {
		t.Run("", func(t *testing.T) { requestEdits(t, raw, modern, nil) })
		t.Run("traced", func(t *testing.T) { requestEdits(t, raw, modern, []byte(`"traceparent":"00-1"`)) })
	})
}

// requestEdits checks one translation.
func requestEdits(t *testing.T, raw string, modern bool, trace []byte) {
	t.Helper()
	m, err := wire.Scan([]byte(raw), wire.Limits{UniqueKeys: true})
	if err != nil || m.Kind != wire.Request {
		return
	}
	if m.Params.Exists() && raw[m.Params.Start] != '{' {
		return
	}
	if meta := m.Member("_meta"); meta.Exists() && raw[meta.Start] != '{' {
		return
	}
	leg := protocol.Leg{Revision: protocol.Rev20251125, ClientInfo: []byte(`{}`)}
	if modern {
		leg.Revision = protocol.Rev20260728
	}
	out := wire.Splice(m.Raw, leg.RequestEdits(nil, &m, []byte("5"), "", trace)...)
	n, err := wire.Scan(out, wire.Limits{UniqueKeys: true})
	if err != nil {
		t.Fatalf("%s became %s: %v", raw, out, err)
	}
	if diff := cmp.Diff(theirs(t, []byte(raw), trace != nil), theirs(t, out, trace != nil)); diff != "" {
		t.Fatalf("%s became %s:\n%s", raw, out, diff)
	}
	if got := wire.Lookup(out, n.Member("_meta"), protocol.MetaTraceparent); trace != nil && string(got.Of(out)) != `"00-1"` {
		t.Fatalf("%s became %s", raw, out)
	}
	version := wire.Lookup(out, n.Member("_meta"), protocol.MetaVersion)
	if version.Exists() != modern {
		t.Fatalf("modern=%v, but %s", modern, out)
	}
}

// theirs decodes a request without what the hub owns in it.
func theirs(t *testing.T, raw []byte, traced bool) map[string]any {
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	params, ok := m["params"].(map[string]any)
	if !ok {
		delete(m, "params")
		return m
	}
	if meta, ok := params["_meta"].(map[string]any); ok {
		for _, k := range []string{protocol.MetaVersion, protocol.MetaClientInfo, protocol.MetaCapabilities, protocol.MetaLogLevel, protocol.MetaProgressToken} {
			delete(meta, k)
		}
		if traced {
			delete(meta, protocol.MetaTraceparent)
			delete(meta, protocol.MetaTracestate)
		}
		if len(meta) == 0 {
			delete(params, "_meta")
		}
	}
	if len(params) == 0 {
		delete(m, "params")
	}
	return m
}
