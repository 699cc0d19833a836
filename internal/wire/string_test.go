package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/toolcrib/toolcrib/internal/wire"
)

func TestString(t *testing.T) {
	for _, tc := range []struct {
		raw  string
		want string
		ok   bool
	}{
		{`""`, "", true},
		{`"abc"`, "abc", true},
		{`"中文 😀"`, "中文 😀", true},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"\u0041\u00e9\u4E2d\u0000"`, "Aé中\x00", true},
		{`"\uD83D\uDE00"`, "😀", true},
		{`"\ud800"`, "\ufffd", true},
		{`"\udc00x"`, "\ufffdx", true},
		{`"\ud800\ud800"`, "\ufffd\ufffd", true},
		{`"\ud800\u0041"`, "\ufffdA", true},
		{`"\ud800\n"`, "\ufffd\n", true},
		{`"\ud83d\ud83d\ude00"`, "\ufffd😀", true},
		{`"\ufffd\ufffd"`, "\ufffd\ufffd", true},
		{`"\\u0041"`, `\u0041`, true},
		{`1`, "", false},
		{`null`, "", false},
		{`["a"]`, "", false},
	} {
		raw := []byte(tc.raw)
		got, ok := wire.String(raw, wire.Value(raw))
		if got != tc.want || ok != tc.ok {
			t.Errorf("%s: %q, %t", tc.raw, got, ok)
		}
		var std string
		if json.Unmarshal(raw, &std); ok && std != got {
			t.Errorf("%s: %q, encoding/json has %q", tc.raw, got, std)
		}
	}
	if _, ok := wire.String([]byte(`"a"`), wire.Span{}); ok {
		t.Error("an absent value is a string")
	}
}

func TestKeyIs(t *testing.T) {
	for _, tc := range []struct {
		raw, want string
		is        bool
	}{
		{`"method"`, "method", true},
		{`"Method"`, "method", false},
		{`"method"`, "metho", false},
		{`"metho"`, "method", false},
		{`"\u006dethod"`, "method", true},
		{`"m\u0065thod"`, "methods", false},
		{`""`, "", true},
		{`"\\"`, `\\`, false},
		{`"\\"`, `\`, true},
		{`"\n"`, `\n`, false},
		{`"\\n"`, `\n`, true},
		{`"\ud800"`, "\ufffd", true},
		{`5`, "", false},
		{`{}`, "", false},
		{`[5]`, "5", false},
	} {
		raw := []byte(tc.raw)
		if got := wire.KeyIs(raw, wire.Value(raw), tc.want); got != tc.is {
			t.Errorf("%s is %s: %t", tc.raw, tc.want, got)
		}
	}
}

func TestAppendString(t *testing.T) {
	for _, tc := range []struct{ s, want string }{
		{"", `""`},
		{"abc", `"abc"`},
		{"<a & b>", `"<a & b>"`},
		{"\u2028\u2029\x7f", "\"\u2028\u2029\x7f\""},
		{"\"\\/\b\f\n\r\t", `"\"\\/\b\f\n\r\t"`},
		{"\x00\x1f", `"\u0000\u001f"`},
		{"中\xff\xfe文\xe4\xb8", `"中\ufffd\ufffd文\ufffd\ufffd"`},
		{"\ufffd", "\"\ufffd\""},
	} {
		if got := string(wire.AppendString([]byte("x"), tc.s)); got != "x"+tc.want {
			t.Errorf("%q: %s, want %s", tc.s, got, tc.want)
		}
	}
}
