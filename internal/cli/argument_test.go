package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

const definitionText = `{"name":"t","inputSchema":{"type":"object","required":["n"],
	"properties":{
		"z":{"type":"string","description":"Any text"},
		"n":{"type":"integer","minimum":0,"maximum":10},
		"f":{"type":"number","default":1.5},
		"b":{"type":"boolean"},
		"o":{"type":["object","null"]},
		"l":{"type":"array","items":{"$ref":"#/$defs/item"}},
		"e":{"enum":["red","green"]},
		"ei":{"enum":[1,2]},
		"al":{"allOf":[{"$ref":"#/$defs/whole"}]},
		"u":{"anyOf":[{"type":"integer"},{"type":"string"}]},
		"m":{"anyOf":[{"type":"integer"},{"type":"null"}]},
		"r":{"$ref":"#/$defs/item","description":"own"},
		"x":true
	},
	"$defs":{"item":{"type":"integer","description":"of item"},"whole":{"type":"integer"}}}}`

func TestParameters(t *testing.T) {
	var got []string
	for _, p := range parameters(json.RawMessage(definitionText)) {
		line := p.name + " " + p.schema.kind()
		if p.required {
			line += " required"
		}
		got = append(got, strings.TrimSpace(line+" "+p.schema.about()+" "+p.schema.Description))
	}
	want := []string{
		"z string  Any text", "n integer required 0–10", "f number = 1.5", "b boolean", "o null|object", "l array of integer",
		"e string red, green", "ei integer 1, 2", "al integer", "u integer|string", "m integer|null", "r integer  own", "x any",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, odd := range []string{"", "x", "null", `{"inputSchema":true}`, `{"inputSchema":{"properties":[]}}`, `{"inputSchema":{"properties":{"a":1}}}`} {
		parameters(json.RawMessage(odd)) // no panic
	}
	loop := `{"inputSchema":{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"}]}}}}`
	if got := parameters(json.RawMessage(loop)); len(got) != 1 {
		t.Errorf("a circle: %v", got)
	}
}

func TestArguments(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("a \"b\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	object1 := filepath.Join(dir, "o")
	if err := os.WriteFile(object1, []byte(" {\"a\":1} \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args  []string
		stdin string
		want  string
		code  message.Code
	}{
		{args: nil, want: ""},
		{args: []string{`{"a": 12345678901234567890}`}, want: `{"a": 12345678901234567890}`},
		{args: []string{"-"}, stdin: " {}\n", want: "{}"},
		{args: []string{"@" + object1}, want: `{"a":1}`},
		{args: []string{"z=5", "n=5"}, want: `{"z":"5","n":5}`},
		{args: []string{"z=<a&b>"}, want: `{"z":"<a&b>"}`},
		{args: []string{"n=12345678901234567890"}, want: `{"n":12345678901234567890}`},
		{args: []string{"f=5", "b=true"}, want: `{"f":5,"b":true}`},
		{args: []string{"f=1e400"}, want: `{"f":1e400}`},
		{args: []string{`o={"a":1}`, "l=[1, 2]"}, want: `{"o":{"a":1},"l":[1, 2]}`},
		{args: []string{"o=null"}, want: `{"o":null}`},
		{args: []string{"u=5", "m=5"}, want: `{"u":"5","m":5}`},
		{args: []string{"e=red", "ei=2", "al=7"}, want: `{"e":"red","ei":2,"al":7}`},
		{args: []string{"al=x"}, code: message.ArgumentType},
		{args: []string{"unknown=5"}, want: `{"unknown":"5"}`},
		{args: []string{"unknown:=5", "z:=null"}, want: `{"unknown":5,"z":null}`},
		{args: []string{"z=@" + file}, want: `{"z":"a \"b\"\n"}`},
		{args: []string{"z=a=b:=c"}, want: `{"z":"a=b:=c"}`},
		{args: []string{"z="}, want: `{"z":""}`},
		{args: []string{"n=5.0"}, code: message.ArgumentType},
		{args: []string{"n=x"}, code: message.ArgumentType},
		{args: []string{"b=yes"}, code: message.ArgumentType},
		{args: []string{"f=NaN"}, code: message.ArgumentType},
		{args: []string{"l={}"}, code: message.ArgumentType},
		{args: []string{"o=[]"}, code: message.ArgumentType},
		{args: []string{"z:=x"}, code: message.ArgumentType},
		{args: []string{"z:="}, code: message.ArgumentType},
		{args: []string{"n="}, code: message.ArgumentType},
		{args: []string{"z"}, code: message.ArgumentInvalid},
		{args: []string{"=z"}, code: message.ArgumentInvalid},
		{args: []string{"z=1", "z=2"}, code: message.ArgumentInvalid},
		{args: []string{"{"}, code: message.ArgumentInvalid},
		{args: []string{"-"}, stdin: "[]", code: message.ArgumentInvalid},
		{args: []string{"-"}, stdin: "", code: message.ArgumentInvalid},
		{args: []string{"@" + dir + "/none"}, code: message.FileUnreadable},
	} {
		got, each, err := parseArguments(test.args, strings.NewReader(test.stdin))
		if err == nil && len(each) > 0 {
			got, err = object(each, "t", parameters(json.RawMessage(definitionText)))
		}
		if test.code != "" && !hub.IsCode(err, test.code) || test.code == "" && err != nil || string(got) != test.want {
			t.Errorf("%q: got %s, %v; want %s %s", test.args, got, err, test.want, test.code)
		}
	}
}

// What is made of any texts is one JSON object, with a member for each.
func FuzzArguments(f *testing.F) {
	f.Add("z=1", "n:=2")
	f.Add("{}", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.Contains(a+b, "@") {
			return // names a file
		}
		whole, each, err := parseArguments([]string{a, b}, strings.NewReader(""))
		if err != nil {
			return
		}
		if whole == nil {
			whole, err = object(each, "t", parameters(json.RawMessage(definitionText)))
		}
		if err != nil {
			return
		}
		if all := members(whole); !json.Valid(whole) || len(all) != 2 {
			t.Errorf("%q %q: %s", a, b, whole)
		}
	})
}
