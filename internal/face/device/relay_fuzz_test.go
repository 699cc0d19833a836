package device

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// FuzzRelay has a backend send any bytes to its device: what is a request reaches the
// device with an id of 32 bits, and the answer to that has the backend's own, to the
// byte. All else of MCP stays as it is.
func FuzzRelay(f *testing.F) {
	for _, seed := range []string{
		`{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}}`,
		`{"session_id":"x","type":"mcp","payload":{"method":"tools/call","params":{"name":"a"},"id":"\u0031_n_2"}} `,
		`{"type":"mcp","payload":{"id":null,"method":"a"}}`, `{"type":"mcp","payload":{"id":{},"id":1,"method":"a"}}`,
		`{"type":"mcp","payload":{"method":"notifications/cancelled","params":{"requestId":1}}}`,
		`{"type":"mcp","payload":{"method":"notifications/cancelled","params":[{}]}}`,
		`{"type":"mcp","payload":{"id":1,"result":{}}}`, `{"type":"mcp"}`, `null`, `{`,
	} {
		f.Add([]byte(seed))
	}
	door := New(Options{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, ok := xiaozhi.ParseEnvelope(raw, maxText)
		if !ok || e.Type != "mcp" || e.Payload == nil {
			return
		}
		l := &link{door: door, dev: &device{id: "x"}, last: 41}
		l.relay = &relay{link: l, asked: make(map[int32]*asked)}
		own := wire.Lookup(e.Payload, wire.Value(e.Payload), "id").Of(e.Payload)
		said := l.relay.ask(bytes.Clone(raw))
		if said == nil {
			if len(own) <= xiaozhi.MaxID {
				t.Fatalf("%q is lost", raw)
			}
			return
		}
		if wire.Valid(said, wire.Limits{}) != nil {
			t.Fatalf("%q became %q", raw, said)
		}
		if len(l.relay.asked) == 0 {
			if !bytes.Equal(said, raw) {
				t.Fatalf("%q became %q", raw, said)
			}
			return
		}
		e, _ = xiaozhi.ParseEnvelope(said, maxText)
		var id int64
		if json.Unmarshal(wire.Lookup(e.Payload, wire.Value(e.Payload), "id").Of(e.Payload), &id) != nil || id != 42 || id > math.MaxInt32 {
			t.Fatalf("the device gets %q", said)
		}
		got := readFrame(fmt.Appendf(nil, `{"type":"mcp","payload":{"result":{"id":1},"id":%d}}`, id))
		back := answered(&got, l.relay.asked[got.id].id, nil)
		if want := append(append([]byte(`{"type":"mcp","payload":{"result":{"id":1},"id":`), own...), `}}`...); !bytes.Equal(back, want) {
			t.Fatalf("the backend gets %q, want %q", back, want)
		}
	})
}
