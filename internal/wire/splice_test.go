package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/toolcrib/toolcrib/internal/wire"
)

func TestSplice(t *testing.T) {
	text := func(s string) []byte { return []byte(s) }
	// More than are put in order without allocating.
	var descending, inPlace []wire.Edit
	for i := range 10 {
		descending = append(descending, wire.Edit{Start: 9 - i, End: 10 - i, Text: text(string(rune('a' + i)))})
	}
	for i := range 26 {
		inPlace = append(inPlace, wire.Edit{Start: i % 2, End: i % 2, Text: text(string(rune('a' + i)))})
	}
	for _, tc := range []struct {
		edits []wire.Edit
		want  string
	}{
		{nil, "0123456789"},
		{[]wire.Edit{{0, 0, text("a")}}, "a0123456789"},
		{[]wire.Edit{{10, 10, text("a")}}, "0123456789a"},
		{[]wire.Edit{{0, 10, nil}}, ""},
		{[]wire.Edit{{3, 5, text("abc")}}, "012abc56789"},
		{[]wire.Edit{{7, 8, nil}, {3, 5, text("a")}, {5, 5, text("b")}, {5, 6, text("c")}}, "012abc689"},
		{[]wire.Edit{{4, 4, text("a")}, {4, 4, text("b")}, {2, 4, nil}, {4, 4, text("c")}}, "01abc456789"},
		{descending, "jihgfedcba"},
		{inPlace, "acegikmoqsuwy0bdfhjlnprtvxz123456789"},
	} {
		raw := []byte("0123456789")
		given := slices.Clone(tc.edits)
		got := wire.Splice(raw, tc.edits...)
		if string(got) != tc.want {
			t.Errorf("%v: %s, want %s", tc.edits, got, tc.want)
		}
		if cap(got) < len(got) || wire.SplicedLen(raw, tc.edits...) != len(tc.want) {
			t.Errorf("%v: length %d", tc.edits, wire.SplicedLen(raw, tc.edits...))
		}
		if got := wire.AppendSplice([]byte("x"), raw, tc.edits...); string(got) != "x"+tc.want {
			t.Errorf("%v: appended %s", tc.edits, got)
		}
		var out bytes.Buffer
		n, err := wire.WriteSplice(&out, raw, tc.edits...)
		if err != nil || n != len(tc.want) || out.String() != tc.want {
			t.Errorf("%v: wrote %s, %d, %v", tc.edits, &out, n, err)
		}
		if string(raw) != "0123456789" || fmt.Sprint(given) != fmt.Sprint(tc.edits) {
			t.Errorf("%v: the arguments were changed", tc.edits)
		}
	}
}

func TestSpliceAllocations(t *testing.T) {
	raw, text := []byte("0123456789"), []byte("abc")
	edits := []wire.Edit{{7, 8, text}, {3, 5, text}, {0, 0, text}}
	if n := testing.AllocsPerRun(100, func() { wire.Splice(raw, edits...) }); n != 1 {
		t.Errorf("Splice: %v allocations, want that of the result", n)
	}
	dst := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { wire.AppendSplice(dst, raw, edits...) }); n != 0 {
		t.Errorf("AppendSplice: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { wire.WriteSplice(io.Discard, raw, edits...) }); n != 0 {
		t.Errorf("WriteSplice: %v allocations", n)
	}
}

func TestSplicePanics(t *testing.T) {
	for _, edits := range [][]wire.Edit{
		{{0, 2, nil}, {1, 3, nil}},
		{{0, 3, nil}, {1, 1, nil}},
		{{1, 2, nil}, {1, 2, nil}},
		{{-1, 0, nil}},
		{{0, 4, nil}},
		{{2, 1, nil}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: no panic", edits)
				}
			}()
			wire.AppendSplice(nil, []byte("012"), edits...)
		}()
	}
}

// failAfter is a writer that takes n bytes.
type failAfter struct{ n int }

var errFull = errors.New("full")

func (w *failAfter) Write(p []byte) (int, error) {
	if len(p) > w.n {
		n := w.n
		w.n = 0
		return n, errFull
	}
	w.n -= len(p)
	return len(p), nil
}

func TestWriteSpliceError(t *testing.T) {
	for n := range 12 {
		got, err := wire.WriteSplice(&failAfter{n}, []byte("0123456789"), wire.Edit{Start: 3, End: 5, Text: []byte("abcd")})
		if got != n || err != errFull {
			t.Errorf("a writer of %d bytes took %d: %v", n, got, err)
		}
	}
}

func TestInsert(t *testing.T) {
	members := []byte(`"a":1,"b":2    `)[:11]
	for _, tc := range []struct{ raw, want string }{
		{`{}`, `{"a":1,"b":2}`},
		{` { } `, ` {"a":1,"b":2 } `},
		{`{"c":3}`, `{"a":1,"b":2,"c":3}`},
		{"{\n\"c\":3}", "{\"a\":1,\"b\":2,\n\"c\":3}"},
	} {
		raw := []byte(tc.raw)
		if got := string(wire.Splice(raw, wire.Insert(raw, wire.Value(raw), members))); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.raw, got, tc.want)
		}
	}
	if string(members[:15]) != `"a":1,"b":2    ` {
		t.Error("Insert wrote behind its argument")
	}
}

func TestRemove(t *testing.T) {
	for _, tc := range []struct {
		raw, want string
		found     bool
	}{
		{`{}`, `{}`, false},
		{`[]`, `[]`, false},
		{`{"b":1}`, `{"b":1}`, false},
		{`{"a":1}`, `{}`, true},
		{`{ "a" : 1 }`, `{  }`, true},
		{`{"a":1,"b":2}`, `{"b":2}`, true},
		{`{"b":2,"a":1}`, `{"b":2}`, true},
		{`{ "a":1 , "b":2 }`, `{ "b":2 }`, true},
		{`{ "b":2 , "a":1 }`, `{ "b":2 }`, true},
		{`{"b":2,"\u0061":{"a":","},"c":3}`, `{"b":2,"c":3}`, true},
		{`{"a":1,"b":2,"a":3}`, `{"a":1,"b":2}`, true},
	} {
		raw := []byte(tc.raw)
		edit, found := wire.Remove(raw, wire.Value(raw), "a")
		if found != tc.found {
			t.Errorf("%s: found %t", tc.raw, found)
			continue
		}
		if found {
			raw = wire.Splice(raw, edit)
		}
		if string(raw) != tc.want {
			t.Errorf("%s: %s, want %s", tc.raw, raw, tc.want)
		}
	}
}

func TestEditObject(t *testing.T) {
	for _, tc := range []struct{ raw, drop, add, want string }{
		{`{}`, "", ``, `{}`},
		{`{}`, "", `"x":0`, `{"x":0}`},
		{`{"a":1}`, "", `"x":0`, `{"x":0,"a":1}`},
		{`{"a":1}`, "a", ``, `{}`},
		{`{"a":1}`, "a", `"x":0`, `{"x":0}`},
		{`{"a":1,"b":2}`, "ab", `"x":0`, `{"x":0}`},
		{`{ "a":1 , "b":2 }`, "ab", `"x":0`, `{"x":0  }`},
		{`{"a":1,"b":2,"c":3}`, "a", `"x":0`, `{"x":0,"b":2,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, "b", `"x":0`, `{"x":0,"a":1,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, "c", ``, `{"a":1,"b":2}`},
		{`{"a":1,"b":2,"c":3}`, "bc", ``, `{"a":1}`},
		{`{"a":1,"b":2,"c":3}`, "ab", `"x":0`, `{"x":0,"c":3}`},
		{`{"a":1,"b":2,"c":3,"d":4}`, "ac", `"x":0`, `{"x":0,"b":2,"d":4}`},
		{`{"a":1,"b":2,"c":3,"d":4,"e":5}`, "abde", `"x":0`, `{"x":0,"c":3}`},
		{`{"a":1,"b":2,"a":3}`, "a", ``, `{"b":2}`},
		{`{ "a" : 1 , "b" : 2 , "c" : 3 }`, "b", ``, `{ "a" : 1 , "c" : 3 }`},
	} {
		raw := []byte(tc.raw)
		drop := func(key wire.Span) bool { return bytes.Contains([]byte(tc.drop), raw[key.Start+1:key.End-1]) }
		edits := wire.EditObject(nil, raw, wire.Value(raw), drop, []byte(tc.add))
		if got := string(wire.Splice(raw, edits...)); got != tc.want {
			t.Errorf("%s without %q: %s, want %s", tc.raw, tc.drop, got, tc.want)
		}
		if err := wire.Valid(wire.Splice(raw, edits...), wire.Limits{}); err != nil {
			t.Errorf("%s without %q: %v", tc.raw, tc.drop, err)
		}
	}
}

// TestEditObjectWithReplace is how a message is given other members at several
// levels in one go.
func TestEditObjectWithReplace(t *testing.T) {
	raw := []byte(`{"jsonrpc":"2.0","id":1,"result":{"type":"t","content":[1],"_meta":{"k":1}}}`)
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	edits := []wire.Edit{
		wire.Replace(m.ID, []byte(`"x"`)),
		wire.Insert(raw, m.Member("_meta"), []byte(`"a":0`)),
	}
	edits = wire.EditObject(edits, raw, m.Result, func(key wire.Span) bool { return wire.KeyIs(raw, key, "type") }, []byte(`"new":2`))
	const want = `{"jsonrpc":"2.0","id":"x","result":{"new":2,"content":[1],"_meta":{"a":0,"k":1}}}`
	if got := string(wire.Splice(raw, edits...)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestOneLine(t *testing.T) {
	raw := []byte("{\r\n\"a\" : \"\\n\"\n}\r")
	if got := string(wire.OneLine(raw)); got != "{  \"a\" : \"\\n\" } " {
		t.Errorf("%q", got)
	}
	if string(raw) != "{\r\n\"a\" : \"\\n\"\n}\r" {
		t.Error("the argument was changed")
	}
	line := []byte(`{"a":1}`)
	if got := wire.OneLine(line); &got[0] != &line[0] || len(got) != len(line) {
		t.Error("a line was copied")
	}
	if got := wire.OneLine(nil); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
