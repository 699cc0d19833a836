package xiaozhi

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// shaped is a result as peers read it.
type shaped struct {
	Content []struct{ Type, Text string }
	IsError bool
	Error   string
}

func read(t testing.TB, s Shaped) shaped {
	t.Helper()
	var r shaped
	if err := json.Unmarshal(s.Raw, &r); err != nil {
		t.Fatalf("%v: %s", err, s.Raw)
	}
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		t.Fatalf("not one text: %s", s.Raw)
	}
	return r
}

func result(t testing.TB, body string) *wire.Message {
	t.Helper()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"result":`+body+`}`), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

func TestResult(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:             "",
		`{"content":[]}`: "",
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"}]}`: "a\nb",
		`{"content":[{"type":"audio","mimeType":"audio/wav","data":"QUJD"}]}`:                           "[audio, audio/wav, 3 bytes: not played here]",
		`{"content":[{"type":"resource_link","name":"n","uri":"u:1"}]}`:                                 "[link: n u:1]",
		`{"content":[{"type":"resource","resource":{"uri":"u:1","blob":"QUJD"}}]}`:                      "[file: u:1, 3 bytes: not shown here]",
		`{"content":[{"type":"hologram"}]}`:                                                             "[hologram: not shown here]",
		`{"content":[7,{}],"structuredContent":null}`:                                                   "[: not shown here]\n[: not shown here]",
		`{"structuredContent":{"a":[1, 2]}}`:                                                            `{"a":[1, 2]}`,
		`{"content":[{"type":"image"}],"structuredContent":{"a":1}}`:                                    "{\"a\":1}\n[image, , 0 bytes: not shown here]",
	} {
		s := Shape{Max: 1000}.Result(result(t, body))
		if r := read(t, s); r.Content[0].Text != want || r.IsError || s.Cut {
			t.Errorf("%s: %q", body, r.Content[0].Text)
		}
	}
}

func TestActions(t *testing.T) {
	for text, harmless := range map[string]string{
		`{"action":"a"}`:                `{"_action":"a"}`,
		`  {"x":{"action":1}} `:         `  {"x":{"action":1}} `,
		`["action"]`:                    `["action"]`,
		`action`:                        `action`,
		`{"action":NaN}`:                `Result: {"action":NaN}`,
		"\ufeff{\"action\":1}":          `{"_action":1}`,
		`{"a\u0063tion":1,"b":2}`:       `{"_action":1,"b":2}`,
		`{"action":1} and more`:         `Result: {"action":1} and more`,
		`{"actions":1}`:                 `{"actions":1}`,
		`{"action":1,"x":2,"action":3}`: `{"_action":1,"x":2,"_action":3}`,
	} {
		if got := read(t, Shape{Max: 1000}.Text(text, false)).Content[0].Text; got != harmless {
			t.Errorf("%s became %s", text, got)
		}
		if got := read(t, Shape{Max: 1000, KeepActions: true}.Text(text, false)).Content[0].Text; got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestCutAtTheByte(t *testing.T) {
	for _, unit := range []string{"x", "中", "\"", "\n", "😀", "\x01", "\xff", "a中\"\\"} {
		text := strings.Repeat(unit, 500)
		for most := 150; most < 1200; most += 7 {
			for _, wrong := range []bool{false, true} {
				s := Shape{Max: most, Lang: message.Chinese, KeepActions: true}.Text(text, wrong)
				r := read(t, s)
				if len(s.Raw) > most && most > 300 {
					t.Fatalf("%q: %d bytes, not %d", unit, len(s.Raw), most)
				}
				if s.Cut != strings.Contains(r.Content[0].Text, "原文共") || r.IsError != wrong || wrong && r.Error != r.Content[0].Text {
					t.Fatalf("%q: cut %t: %s", unit, s.Cut, s.Raw)
				}
				if s.Cut && most > 300 && len(s.Raw) < most-30 {
					t.Fatalf("%q: %d bytes of %d", unit, len(s.Raw), most)
				}
			}
		}
	}
}

func FuzzShape(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"a"}]}`, 400, true)
	f.Add(`{"content":[{"type":"image","data":"QUJD"}],"isError":true,"structuredContent":{"action":1}}`, 8192, false)
	f.Add(`{"content":[{"type":"text","text":"{\"action\":\"x\"}"}]}`, 500, false)
	f.Fuzz(func(t *testing.T, body string, most int, keep bool) {
		m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"result":`+body+`}`), wire.Limits{})
		if err != nil || m.Kind != wire.Response {
			return
		}
		most = max(400, min(most, 1<<16))
		s := Shape{Max: most, KeepActions: keep}.Result(&m)
		if len(s.Raw) > most || !utf8.Valid(s.Raw) {
			t.Fatalf("%d bytes of %d", len(s.Raw), most)
		}
		r := read(t, s)
		if r.IsError != (string(m.Member("isError").Of(m.Raw)) == "true") {
			t.Fatalf("isError is %t", r.IsError)
		}
		var order map[string]json.RawMessage
		if json.Unmarshal([]byte(r.Content[0].Text), &order) == nil && order["action"] != nil && !keep {
			t.Fatalf("an order: %s", r.Content[0].Text)
		}
	})
}
