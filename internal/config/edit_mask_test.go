package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// checkMask checks what must hold for any text: what is masked can be parsed,
// and comes back whole.
func checkMask(t *testing.T, text []byte) {
	t.Helper()
	masked, err := Masked(text)
	if err != nil {
		if masked != nil {
			t.Errorf("with an error, there is a text: %s", masked)
		}
		return
	}
	back, err := Unmask(masked, text)
	if err != nil || !bytes.Equal(back, text) {
		t.Errorf("%q\nmasked is\n%q\nand comes back as\n%q\n%v", text, masked, back, err)
	}
	twice, err := Masked(masked)
	if err != nil {
		t.Errorf("masked, it cannot be parsed: %v\n%s", err, masked)
	}
	if again, err := Unmask(twice, masked); err != nil || !bytes.Equal(again, masked) {
		t.Errorf("masked twice, it comes back as\n%q\n%v", again, err)
	}
}

// TestMaskGolden masks all files of the reader's tests. Secrets in them hold
// the word SECRET.
func TestMaskGolden(t *testing.T) {
	for path, text := range goldenFiles(t) {
		t.Run(path, func(t *testing.T) { checkMask(t, text) })
	}
}

func TestMasked(t *testing.T) {
	const text = `{
  // a plain comment
  // "API": "SECRET"
  /* the password is SECRET */
  "$schema": "https://example.com/schema.json",
  "mcpEndpoint": ["wss://api.xiaozhi.me/mcp/?token=SECRET", ""],
  "modelscope": {"apiKey": "SECRET"},
  "platforms": {"coze": {"token": "SECRET", "id": "SECRET"}},
  "llm": {"model": "big", "apiKey": "SECRET", "baseURL": "https://u:SECRET@llm.example.com/v1"},
  "webUI": {"port": 9999},
  "inputs": [
    {"id": "key", "type": "promptString", "description": "the key", "password": true, "default": "SECRET"},
    {"id": "city", "type": "promptString", "default": "Rome"},
  ],
  "mcpServers": {
    "token": {
      "command": "npx",
      "args": ["-y", "server", "--api-key", "SECRET", "--token=SECRET", "--verbose", "-e", "A=SECRET", "-H", "X: SECRET",
        "SECRET_TOKEN=SECRET", "https://ada:SECRET@example.com/a?b=SECRET", "sk-SECRET-012", "--key", "${env:KEY}", "--port", "80"],
      "env": {"NODE_ENV": "SECRET", "TOKEN": "SECRET", "PIN": 1234567, "REF": "${env:X}${input:key}", "D": "${X:-SECRET}", "EMPTY": "", "ON": true},
      "cwd": "/srv",
    },
    "tools": {"env": {"A": "SECRET"}, "apiKey": "SECRET", "tools": ["get_token"], "name": "Tools"},
    "b": {
      "url": "https://example.com/s/SECRET0123456789abcdef/mcp?key=SECRET#SECRET",
      "headers": {"Authorization": "Bearer SECRET", "X-Ref": "Bearer ${secret:x}"},
      "oauth": {"clientSecret": "SECRET", "nested": {"password": ["SECRET"]}},
    },
    "c": {"url": "https://example.com/${env:PATH_OF}?key=${env:KEY}", "timeout": 30},
    "d": {"command": "run --password SECRET --fast https://example.com/?SECRET"},
  },
}
`
	const want = `{
  // a plain comment
  //${unchanged:2}
  /*${unchanged:3}*/
  "$schema": "https://example.com/schema.json",
  "mcpEndpoint": ["wss://api.xiaozhi.me/mcp/?${unchanged}", ""],
  "modelscope": {"apiKey": "${unchanged}"},
  "platforms": {"coze": {"token": "${unchanged}", "id": "${unchanged}"}},
  "llm": {"model": "big", "apiKey": "${unchanged}", "baseURL": "https://${unchanged}@llm.example.com/v1"},
  "webUI": {"port": 9999},
  "inputs": [
    {"id": "key", "type": "promptString", "description": "the key", "password": true, "default": "${unchanged}"},
    {"id": "city", "type": "promptString", "default": "Rome"},
  ],
  "mcpServers": {
    "token": {
      "command": "npx",
      "args": ["-y", "server", "--api-key", "${unchanged}", "--token=${unchanged}", "--verbose", "-e", "A=${unchanged}", "-H", "X: ${unchanged}",
        "SECRET_TOKEN=${unchanged}", "https://${unchanged}@example.com/a?${unchanged}", "${unchanged}", "--key", "${env:KEY}", "--port", "80"],
      "env": {"NODE_ENV": "${unchanged}", "TOKEN": "${unchanged}", "PIN": "${unchanged}", "REF": "${env:X}${input:key}", "D": "${unchanged}", "EMPTY": "", "ON": true},
      "cwd": "/srv",
    },
    "tools": {"env": {"A": "${unchanged}"}, "apiKey": "${unchanged}", "tools": ["get_token"], "name": "Tools"},
    "b": {
      "url": "https://example.com/s/${unchanged}/mcp?${unchanged}",
      "headers": {"Authorization": "${unchanged}", "X-Ref": "Bearer ${secret:x}"},
      "oauth": {"clientSecret": "${unchanged}", "nested": {"password": ["${unchanged}"]}},
    },
    "c": {"url": "https://example.com/${env:PATH_OF}?key=${env:KEY}", "timeout": 30},
    "d": {"command": "run --password ${unchanged} --fast https://example.com/?${unchanged}"},
  },
}
`
	got, err := Masked([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	checkMask(t, []byte(text))
}

func TestMaskedRefuses(t *testing.T) {
	for _, text := range []string{`{"apiKey": "SECRET"`, "// SECRET", "\xff\xfe{}", `{"a": SECRET}`} {
		masked, err := Masked([]byte(text))
		if masked != nil || !hub.IsCode(err, message.ConfigInvalid) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %q, %v", text, masked, err)
		}
	}
}

// TestUnmaskEdited is a person who changes a masked text.
func TestUnmaskEdited(t *testing.T) {
	const current = `{"mcpServers": {
  "a": {"url": "https://old.example.com/?key=k1", "headers": {"X": "h1", "Y": "h2"}},
  "b": {"command": "b", "args": ["--token", "t1"], "env": {"K": "e1", "N": 5}}, // key "c1"
}, "mcp_servers": [{"id": "x", "apiKey": "i1"}, {"id": "y", "apiKey": "i2"}]}`
	const edited = `{"mcpServers": {
  "b": {"command": "bb", "args": ["--token", "${unchanged}"], "env": {"K": "new", "N": "${unchanged}"}},
  //${unchanged:1}
  "a": {"url": "https://new.example.com/x?${unchanged}&a=b", "headers": {"Y": "${unchanged}", "Z": "z"}},
}, "mcp_servers": [{"id": "y", "apiKey": "${unchanged}"}]}`
	const want = `{"mcpServers": {
  "b": {"command": "bb", "args": ["--token", "t1"], "env": {"K": "new", "N": 5}},
  // key "c1"
  "a": {"url": "https://new.example.com/x?key=k1&a=b", "headers": {"Y": "h2", "Z": "z"}},
}, "mcp_servers": [{"id": "y", "apiKey": "i2"}]}`
	got, err := Unmask([]byte(edited), []byte(current))
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// TestUnmaskRefuses checks that a secret cannot be taken to another place, and
// that what is missing is told with its place.
func TestUnmaskRefuses(t *testing.T) {
	const current = `{"mcpServers": {"a": {"command": "x", "env": {"K": "SECRET"}, "args": ["a"], "url": "http://h/?SECRET"}}}`
	for _, text := range []string{
		`{"mcpServers": {"b": {"env": {"K": "${unchanged}"}}}}`,
		`{"mcpServers": {"a": {"env": {"L": "${unchanged}"}}}}`,
		`{"mcpServers": {"a": {"env": "${unchanged}"}}}`,
		`{"mcpServers": {"a": {"command": "${unchanged}"}}}`,
		`{"mcpServers": {"a": {"args": ["a", "${unchanged}"]}}}`,
		`{"mcpServers": {"a": {"url": "http://h/?${unchanged}${unchanged}"}}}`,
		`{"mcpServers": {"a": {"env": {"K": {"x": "${unchanged}"}}}}}`,
		`"${unchanged}"`,
		`{"a": "$\u007bunchanged}"}`,
	} {
		got, err := Unmask([]byte(text), []byte(current))
		if got != nil || !hub.IsCode(err, message.ConfigInvalid) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	_, err := Unmask([]byte("{\n  \"名\": \"${unchanged}\",\n  \"x\": \"${unchanged}\"}"), []byte("{}"))
	problems, _ := errors.AsType[Problems](err)
	if len(problems) != 2 || problems[0].Args["line"] != "2" || problems[0].Args["column"] != "8" {
		t.Errorf("%v", err)
	}
	if got, err := Unmask([]byte(`{"a": 1}`), []byte(`{"broken`)); err != nil || string(got) != `{"a": 1}` {
		t.Errorf("a text that hides nothing needs no other: %s, %v", got, err)
	}
}

// TestMaskMany is texts that would take hours if any step looked at all members
// for each member.
func TestMaskMany(t *testing.T) {
	for _, text := range [][3]string{
		{"{", `"token":"x",`, "}"},
		{"{", `"default":"x",`, "}"},
		{"[", `{"id":"x"},`, "]"},
		{"[", `"https://a@b/?c",`, "]"},
		{"[", `1,//="` + "\n", "]"},
		{`["`, "https://a@b/?c ", `"]`},
		{`{"args":["`, "--token=x ", `"]}`},
		{`{"command":"`, "--token x ", `"}`},
	} {
		checkMask(t, []byte(text[0]+strings.Repeat(text[1], 10_000)+text[2]))
	}
}

func TestMaskArgs(t *testing.T) {
	got := MaskArgs([]string{"-y", "--token", "x", "a b", "--key=y", "-e", "NAME", "-e", "NAME=z"})
	if want := []string{"-y", "--token", Unchanged, "a b", "--key=" + Unchanged, "-e", "NAME", "-e", "NAME=" + Unchanged}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestSeal(t *testing.T) {
	const entry = `{
  "url": "https://h/?k=1", "apiKey": "v1", // comment
  "headers": {"Authorization": "Bearer v2", "X": "v3", "R": "${env:R}", "E": "", "N": 4},
  "env": {"API_KEY": "v4", "HOST": "localhost", "DB": "postgres://u:v5@h/db", "T_TOKEN": "a$${b}", "MIX_KEY": "x${env:Y}", "GH": "ghp_0123456789"}
}`
	const want = `{
  "url": "https://h/?k=1", "apiKey": "${secret:srv.apiKey}", // comment
  "headers": {"Authorization": "${secret:srv.headers.Authorization}", "X": "${secret:srv.headers.X}", "R": "${env:R}", "E": "", "N": 4},
  "env": {"API_KEY": "${secret:srv.env.API_KEY}", "HOST": "localhost", "DB": "${secret:srv.env.DB}", "T_TOKEN": "${secret:srv.env.T_TOKEN}", "MIX_KEY": "x${env:Y}", "GH": "${secret:srv.env.GH}"}
}`
	stored := make(map[string]string)
	got, err := Seal([]byte(entry), "srv", func(name, value string) error { stored[name] = value; return nil })
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Fatalf("%v (-want +got)\n%s", err, diff)
	}
	if diff := cmp.Diff(map[string]string{
		"srv.apiKey": "v1", "srv.headers.Authorization": "Bearer v2", "srv.headers.X": "v3", "srv.env.API_KEY": "v4",
		"srv.env.DB": "postgres://u:v5@h/db", "srv.env.T_TOKEN": "a${b}", "srv.env.GH": "ghp_0123456789",
	}, stored); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	again, err := Seal(got, "srv", func(name, _ string) error { return fmt.Errorf("%s is sealed already", name) })
	if err != nil || !bytes.Equal(again, got) {
		t.Errorf("sealed twice: %s, %v", again, err)
	}

	text, err := SetServer([]byte(`{"mcpServers": {"other": {"apiKey": "${secret:other}"}}}`), "srv", got)
	if err != nil {
		t.Fatal(err)
	}
	names := Sealed(text, "srv")
	if len(names) != len(stored) || !slices.IsSorted(names) {
		t.Errorf("sealed are %q", names)
	}
	for _, name := range names {
		if _, ok := stored[name]; !ok {
			t.Errorf("%s was not stored", name)
		}
	}
	if got := Sealed(text, "none"); got != nil {
		t.Errorf("%q", got)
	}

	full := errors.New("full")
	if got, err := Seal([]byte(entry), "srv", func(string, string) error { return full }); !errors.Is(err, full) || got != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestSealedNames checks that names fit the store and cannot be mistaken.
func TestSealedNames(t *testing.T) {
	seen := make(map[string]string)
	for _, key := range []string{"a", "a.env", "a_env", "名", "字", "a b", "a/b", strings.Repeat("k", 128), strings.Repeat("k", 127), strings.Repeat("长", 128)} {
		for _, name := range []string{"X", "env.X", strings.Repeat("Y", 100), strings.Repeat("Y", 101)} {
			got := sealedName(key, "env", name)
			if len(got) > 128 || strings.Trim(strings.ToLower(got), "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
				t.Errorf("%q is no name for the store", got)
			}
			if other, taken := seen[got]; taken {
				t.Errorf("%q stands for %s and %s", got, other, key+" "+name)
			}
			seen[got] = key + " " + name
		}
	}
	if got := sealedName("github", "env", "TOKEN"); got != "github.env.TOKEN" {
		t.Errorf("%q", got)
	}
}
