package config

import (
	"maps"
	"slices"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// A preset that is part of the program is there if the file has an entry for it,
// with its variables; a program under its key is that program.
func TestPresetEntries(t *testing.T) {
	builtins := []string{"calculator"}
	c, warnings, err := Parse("x.json", []byte(`{"mcpServers":{
		"files":{"command":"x"},
		"hefeng":{"env":{"HEFENG_API_KEY":"${secret:k}"},"cwd":"/"},
		"demo":{"enabled":false},
		"wttr":{"command":"my-wttr","env":{"A":"b"}},
		"calculator":{"env":{"A":"b"}}}}`), builtins)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for i, s := range c.Servers {
		keys = append(keys, s.Key)
		if s.Order != i {
			t.Errorf("%s is number %d", s.Key, s.Order)
		}
	}
	if !slices.Equal(keys, []string{"calculator", "files", "hefeng", "demo", "wttr"}) {
		t.Errorf("the servers are %q", keys)
	}
	if len(warnings) != 2 { // of cwd, and of what calculator has no use for
		t.Errorf("the warnings are %v", warnings)
	}
	byKey := make(map[string]hub.Server)
	for _, s := range c.Servers {
		byKey[s.Key] = s
	}
	hefeng := byKey["hefeng"]
	if hefeng.Kind != hub.KindBuiltin || !hefeng.Enabled || !maps.Equal(hefeng.Env, map[string]string{"HEFENG_API_KEY": "${secret:k}"}) || hefeng.Dir != "" {
		t.Errorf("hefeng is %#v with %v", hefeng, hefeng.Env)
	}
	if demo := byKey["demo"]; demo.Kind != hub.KindBuiltin || demo.Enabled {
		t.Errorf("demo is %#v", demo)
	}
	if wttr := byKey["wttr"]; wttr.Kind != hub.KindStdio || wttr.Command != "my-wttr" {
		t.Errorf("wttr is %#v", wttr)
	}
	if calculator := byKey["calculator"]; calculator.Env != nil {
		t.Errorf("calculator has %v", calculator.Env)
	}
	if none, _, err := Parse("x.json", []byte(`{}`), builtins); err != nil || len(none.Servers) != 1 {
		t.Errorf("%v, %v", none, err)
	}
}

// What is shown of single values is what is shown of a file.
func TestShownValues(t *testing.T) {
	if got := MaskEnv(map[string]string{"A": "b", "R": "${env:HOME}", "E": ""}); !maps.Equal(got, map[string]string{"A": Unchanged, "R": "${env:HOME}", "E": ""}) {
		t.Errorf("it is %v", got)
	}
	if got := MaskHeaders(map[string]string{"X-Key": "secret", "Authorization": "Bearer ${secret:x}"}); !maps.Equal(got, map[string]string{"X-Key": Unchanged, "Authorization": "Bearer ${secret:x}"}) {
		t.Errorf("it is %v", got)
	}
	if got := MaskURL("https://user:pw@host/mcp?key=v#x"); got != "https://"+Unchanged+"@host/mcp?"+Unchanged {
		t.Errorf("it is %s", got)
	}
	if got := MaskCommand("npx -y x --token abc"); got != "npx -y x --token "+Unchanged {
		t.Errorf("it is %s", got)
	}
	text := []byte(`{"mcpServers":{"a":{"command":"x","description":"what it does"},"b":{"command":"x","description":7}}}`)
	if got := Descriptions(text); !maps.Equal(got, map[string]string{"a": "what it does"}) {
		t.Errorf("they are %v", got)
	}
	if got := Descriptions([]byte(`{`)); got != nil {
		t.Errorf("they are %v", got)
	}
}
