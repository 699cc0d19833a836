package protocol_test

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// The examples are those of the specification (2026-07-28, "Value Encoding").
func TestEncodeHeader(t *testing.T) {
	for in, want := range map[string]string{
		"us-west1":           "us-west1",
		"":                   "",
		"Hello, 世界":          "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":           "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":       "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"a b":                "a b",
		"=?base64?no suffix": "=?base64?no suffix",
		"tab\tinside":        "=?base64?dGFiCWluc2lkZQ==?=",
	} {
		got := protocol.EncodeHeader(in)
		if got != want {
			t.Errorf("EncodeHeader(%q) = %q, want %q", in, got, want)
		}
		if back, ok := protocol.DecodeHeader(got); !ok || back != in {
			t.Errorf("DecodeHeader(%q) = %q, %v; want %q", got, back, ok, in)
		}
	}
	if _, ok := protocol.DecodeHeader("=?base64?***?="); ok {
		t.Error("what is no Base64 was decoded")
	}
}

func FuzzHeader(f *testing.F) {
	f.Add("plain")
	f.Add("=?base64?x?=")
	f.Add("\x00\xff")
	f.Fuzz(func(t *testing.T, s string) {
		coded := protocol.EncodeHeader(s)
		for i := range len(coded) {
			if coded[i] < 0x20 || coded[i] > 0x7e {
				t.Fatalf("%q became %q", s, coded)
			}
		}
		if back, ok := protocol.DecodeHeader(coded); !ok || back != s {
			t.Fatalf("%q became %q and then %q", s, coded, back)
		}
		protocol.DecodeHeader(s) // any header of a client's
	})
}

func TestHeaderText(t *testing.T) {
	for raw, want := range map[string]string{
		`"a\u00e9"`: "aé", `""`: "", `true`: "true", `false`: "false", `42`: "42", `-7`: "-7", `42.0`: "42", `4.2e1`: "42",
	} {
		if got, ok := protocol.HeaderText([]byte(raw), wire.Value([]byte(raw))); !ok || got != want {
			t.Errorf("HeaderText(%s) = %q, %v; want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{`1.5`, `9007199254740993`, `{}`, `[]`, `null`, `1e400`} {
		if got, ok := protocol.HeaderText([]byte(raw), wire.Value([]byte(raw))); ok {
			t.Errorf("HeaderText(%s) = %q, want none", raw, got)
		}
	}
}

func TestHeaderMatches(t *testing.T) {
	for _, tt := range []struct {
		header, raw string
		want        bool
	}{
		{"42.0", "42", true},
		{"42", "42.0", true},
		{"43", "42", false},
		{"x", "42", false},
		{"true", "true", true},
		{"TRUE", "true", false},
		{"a", `"a"`, true},
		{"42", `"42"`, true},
		{"42.0", `"42"`, false},
	} {
		if got := protocol.HeaderMatches(tt.header, []byte(tt.raw), wire.Value([]byte(tt.raw))); got != tt.want {
			t.Errorf("HeaderMatches(%q, %s) = %v", tt.header, tt.raw, got)
		}
	}
}

func TestArgumentAt(t *testing.T) {
	raw := []byte(`{"a":{"b":"x","n":null},"s":1}`)
	args := wire.Value(raw)
	for _, tt := range []struct {
		path []string
		want string
	}{{[]string{"a", "b"}, `"x"`}, {[]string{"s"}, "1"}, {[]string{"a", "n"}, ""}, {[]string{"s", "t"}, ""}, {[]string{"z"}, ""}} {
		if got := string(protocol.ArgumentAt(raw, args, tt.path).Of(raw)); got != tt.want {
			t.Errorf("ArgumentAt(%v) = %q, want %q", tt.path, got, tt.want)
		}
	}
}
