package device

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// FuzzFrame has any bytes read as a frame: an error is what JSON-RPC calls one, a
// result is JSON, and the result of a tool made of it is one of MCP's.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		`{"type":"hello","version":1,"features":{"mcp":true}}`,
		`{"session_id":"","type":"mcp","payload":{"id":2,"result":{"tools":[],"nextCursor":"self.a"}}}`,
		`{"session_id":"x","type":"mcp","payload":{"jsonrpc":"2.0","id":5,"error":{"message":"Unknown tool: "foo""}}}`,
		`{"type":"mcp","payload":{"id":5,"error":{"code":-1,"message":"a","data":{"x":"\u2028"}}}}`,
		`{"type":"mcp","payload":{"id":5,"error":{"code":-1,"message":"a","data":{"x":` + "\n" + `"\q"}}}}`,
		`{"type":"mcp","payload":{"id":"7","result":{"content":[{"type":"image","image":"{\"mimeType\":\"image/png\",\"data\":\"QUJD\"}"}]}}}`,
		`{"type":"mcp","payload":{"id":7,"result":{"content":[{"type":"text","text":"a data:image/png;base64,QUJD b"}]}}}`,
		`Authorization: Bearer x`, `null`, `5`, `[]`, `{"type":"mcp","payload":{"id":1,"result":"\ud800"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := readFrame(raw)
		if got.fault != nil {
			var e struct {
				Code    *int
				Message *string
			}
			if wire.Valid(got.fault, wire.Limits{}) != nil || json.Unmarshal(got.fault, &e) != nil || e.Code == nil || e.Message == nil {
				t.Fatalf("no error: %q", got.fault)
			}
			return
		}
		if got.kind != "mcp" || len(got.result) == 0 {
			return
		}
		var r struct{ Content []json.RawMessage }
		shaped := shape(got.result, nil)
		if wire.Valid(shaped, wire.Limits{}) != nil || json.Unmarshal(shaped, &r) != nil || r.Content == nil {
			t.Fatalf("no result: %q of %q", shaped, got.result)
		}
	})
}

// FuzzBroken has any text stand in an error that firmware has not escaped: it fails
// its call, whatever it says.
func FuzzBroken(f *testing.F) {
	for _, seed := range []string{`Unknown tool: "x"`, `}`, `"}}`, "a\nb", `\`, `没有"`, strings.Repeat(`"`, 3000), "\xff\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 32<<10 {
			return
		}
		got := readFrame([]byte(`{"session_id":"abc","type":"mcp","payload":{"jsonrpc":"2.0","id":12,"error":{"message":"` + text + `"}}}`))
		if got.id != 12 || got.fault == nil {
			// A text may close the message and open something else that is JSON.
			var any map[string]any
			if json.Unmarshal([]byte(`{"session_id":"abc","type":"mcp","payload":{"jsonrpc":"2.0","id":12,"error":{"message":"`+text+`"}}}`), &any) != nil || got.id == 12 {
				t.Fatalf("the call does not fail: %+v", got)
			}
		}
		if got.fault != nil && !utf8.Valid(got.fault) {
			t.Fatalf("%q", got.fault)
		}
	})
}

// A picture that is too large stays a text.
func TestLargePictureStays(t *testing.T) {
	result := []byte(`{"content":[{"type":"text","text":"data:image/png;base64,` + strings.Repeat("QUJD", maxImage/4+1) + `"}]}`)
	if got := shape(result, nil); &got[0] != &result[0] {
		t.Errorf("%.100s", got)
	}
}
