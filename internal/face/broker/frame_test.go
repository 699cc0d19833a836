package broker

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// FuzzFrame has a caller send any bytes: what goes on to the tool is JSON, by an id that
// says whose it is and leads back to the caller's own; all but ids stays as it is.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`, `{"id":"\u0031_n_2","method":"tools/call","params":{"_meta":{"progressToken":"\ud800"}}}`,
		`{"id":-1.5e3,"method":"a","params":null}`, `{"id":null,"method":"a"}`, `{"id":{},"method":"a"}`, `{"method":"notifications/cancelled","params":{"requestId":"x"}}`,
		`{"id":"","method":"a","params":{"_meta":{"progressToken":5}}} `, `[{"id":1,"method":"a"}]`, `{"id":"\ud800","method":"a"}`, `null`, "{",
	} {
		f.Add([]byte(seed))
	}
	who := newID()
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := readFrame(raw)
		if !ok || got.method == "" {
			return
		}
		said, id := got.outward(who)
		if said == nil {
			return
		}
		if wire.Valid(said, wire.Limits{}) != nil {
			t.Fatalf("%q became %q", raw, said)
		}
		if !got.id.Exists() {
			if id != "" {
				t.Fatalf("%q has the id %q", raw, id)
			}
			return
		}
		caller, own, ok := whose(id)
		if !ok || caller != who {
			t.Fatalf("%q is nobody's", id)
		}
		var a, b any
		if json.Unmarshal(own, &a) != nil || json.Unmarshal(got.id.Of(raw), &b) != nil || a != b {
			t.Fatalf("the id %q came back as %q", got.id.Of(raw), own)
		}
		back, ok := readFrame(append(append([]byte(`{"result":{},"id":`), wire.AppendString(nil, id)...), '}'))
		if !ok || !bytes.Equal(back.withID(got.id.Of(raw)), append(append([]byte(`{"result":{},"id":`), got.id.Of(raw)...), '}')) {
			t.Fatalf("the answer to %q cannot be given", raw)
		}
	})
}

// FuzzWhose has a tool send any text in the place of an id or a token.
func FuzzWhose(f *testing.F) {
	who := newID()
	for _, seed := range []string{who + "_n_1", who + "_n_", who + "_n_{}", who + `_n_"x"`, who + "_s_", who + "_x_1", "", who + "_n_ 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if _, raw, ok := whose(id); ok && wire.Valid(raw, wire.Limits{}) != nil {
			t.Fatalf("%q is the id %q", id, raw)
		}
	})
}
