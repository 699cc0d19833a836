package catalog

import (
	"bytes"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// FuzzPins reads any bytes as the file of what was accepted. What is read must
// come back the same from a file that is written with it.
func FuzzPins(f *testing.F) {
	for _, text := range []string{
		`{"version":1,"servers":{"a":{"tools":[{"name":"x"}, {"name" : "y", "d":[1.0,{}] }]},"":{"tools":[]}}}`,
		`{"version":1,"servers":{}}`, `{"version":2,"servers":{}}`, `{"version":1,"servers":{"a":[]}}`, "", "null", "[]", "{",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := decodePins(text)
		if err != nil {
			return
		}
		again, err := decodePins(encodePins(all))
		if err != nil {
			t.Fatalf("the file it makes is refused: %v", err)
		}
		same := func(a, b pin) bool {
			return maps.EqualFunc(a, b, func(a, b accepted) bool { return bytes.Equal(a.raw, b.raw) })
		}
		if !maps.EqualFunc(all, again, same) {
			t.Fatalf("%d servers in, and not the same out", len(all))
		}
	})
}

// FuzzCanonical holds two descriptions against each other: the lines that a
// person is shown differ if and only if the descriptions do.
func FuzzCanonical(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"name":"x"}`, ` { "name" : "\u0078" } `},
		{`{"name":"x","a":"\\u200b"}`, "{\"name\":\"x\",\"a\":\"\u200b\"}"},
		{`{"name":"x","a":"1"}`, `{"name":"x","a":1}`},
		{`{"name":"x","a":"1\nb:\n| 2"}`, `{"name":"x","a":"1","b":"2"}`},
		{`{"name":"x","b":"{"}`, `{"name":"x","b":{}}`},
		{`{"name":"x","a\nb":1}`, `{"name":"x","a":1}`},
		{`{"name":"x","a":"1\nb:\n2"}`, `{"name":"x","a":"1","| b":"2"}`},
		{`{"name":"x","a":{},"  b":{}}`, `{"name":"x","a":{},"\u0022  b\u0022":{}}`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		one, errA := ParseTool(a)
		two, errB := ParseTool(b)
		if errA != nil || errB != nil {
			return
		}
		ca, cb := canonical(one.Raw), canonical(two.Raw)
		if err := wire.Valid(ca, wire.Limits{UniqueKeys: true}); err != nil {
			t.Fatalf("%q is %v", ca, err)
		}
		if !bytes.Equal(ca, canonical(ca)) {
			t.Fatalf("%q is not its own form", ca)
		}
		if same := bytes.Equal(ca, cb); same != bytes.Equal(readable(one.Raw), readable(two.Raw)) {
			t.Fatalf("the same: %t\n%s", same, cmp.Diff(string(readable(one.Raw)), string(readable(two.Raw))))
		}
	})
}
