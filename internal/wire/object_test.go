package wire_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/toolcrib/toolcrib/internal/wire"
)

func TestObject(t *testing.T) {
	for _, tc := range []struct {
		raw  string
		want []string
	}{
		{`{}`, nil},
		{"{ \n}", nil},
		{` {"a":1} `, []string{`"a"=1`}},
		{"{\n\"a\" :\t-1.5e3 , \"b\":\"}\\\"\\\\\" ,\r\"\":null}", []string{`"a"=-1.5e3`, `"b"="}\"\\"`, `""=null`}},
		{`{"a":{"b":[{"c":"]}"}]},"d":[[],{}],"a":true}`, []string{`"a"={"b":[{"c":"]}"}]}`, `"d"=[[],{}]`, `"a"=true`}},
		{`[{"a":1}]`, nil},
		{`"{"`, nil},
	} {
		raw := []byte(tc.raw)
		if err := wire.Valid(raw, wire.Limits{}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for m := range wire.Object(raw, wire.Value(raw)) {
			got = append(got, fmt.Sprintf("%s=%s", m.Key.Of(raw), m.Value.Of(raw)))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q", tc.raw, got)
		}
	}
	for range wire.Object([]byte(`{"a":1}`), wire.Span{}) {
		t.Error("an absent object has members")
	}
}

func TestArray(t *testing.T) {
	for _, tc := range []struct {
		raw  string
		want []string
	}{
		{`[]`, nil},
		{"[ \n]", nil},
		{` [1] `, []string{"1"}},
		{"[ 1 ,\"],\" ,\n[[2],[]]\t, {\"a\":[3]},null ]", []string{"1", `"],"`, "[[2],[]]", `{"a":[3]}`, "null"}},
		{`{"a":[1]}`, nil},
	} {
		raw := []byte(tc.raw)
		if err := wire.Valid(raw, wire.Limits{}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for element := range wire.Array(raw, wire.Value(raw)) {
			got = append(got, string(element.Of(raw)))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q", tc.raw, got)
		}
		for range wire.Array(raw, wire.Value(raw)) {
			break
		}
	}
	for range wire.Array([]byte(`[1]`), wire.Span{}) {
		t.Error("an absent array has elements")
	}
}

func TestLookup(t *testing.T) {
	raw := []byte(`{"a":{"b":1},"b":2,"\u0063":3,"b":4}`)
	for key, want := range map[string]string{"a": `{"b":1}`, "b": "4", "c": "3", "d": "", "B": "", "": ""} {
		if got := string(wire.Lookup(raw, wire.Value(raw), key).Of(raw)); got != want {
			t.Errorf("%q is %s, want %s", key, got, want)
		}
	}
	if wire.Lookup(raw, wire.Span{}, "a").Exists() {
		t.Error("an absent object has a member")
	}
}

func TestValue(t *testing.T) {
	for raw, want := range map[string]wire.Span{
		"":            {},
		" \n":         {},
		"1":           {Start: 0, End: 1},
		" \t[1, 2]\n": {Start: 2, End: 8},
		" null ":      {Start: 1, End: 5},
		` "a\"" `:     {Start: 1, End: 6},
	} {
		if got := wire.Value([]byte(raw)); got != want {
			t.Errorf("%q: %v, want %v", raw, got, want)
		}
	}
}
