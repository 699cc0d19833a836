package xiaozhi

import (
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Envelope is a frame between a device and its backend.
type Envelope struct {
	Type    string // such as "mcp" or "hello"; "" if it does not say
	Session []byte // raw session_id; nil for none
	Payload []byte // of "mcp": the raw JSON-RPC message; nil for none
	Raw     []byte // the whole frame
}

// ParseEnvelope reads a text frame. It is false for what is no JSON object, as
// peers also send. What it returns shares raw's memory.
func ParseEnvelope(raw []byte, max int) (Envelope, bool) {
	if wire.Valid(raw, wire.Limits{MaxBytes: max}) != nil {
		return Envelope{}, false
	}
	all := wire.Value(raw)
	if !all.Exists() || raw[all.Start] != '{' {
		return Envelope{}, false
	}
	e := Envelope{Raw: raw}
	e.Type, _ = wire.String(raw, wire.Lookup(raw, all, "type"))
	if s := wire.Lookup(raw, all, "session_id"); s.Exists() && raw[s.Start] == '"' {
		e.Session = s.Of(raw)
	}
	if p := wire.Lookup(raw, all, "payload"); p.Exists() && raw[p.Start] == '{' {
		e.Payload = p.Of(raw)
	}
	return e, true
}

// AppendEnvelope appends the frame that carries a JSON-RPC message, as a device or a
// backend sends it. Session is a raw JSON string; nil is the empty one.
func AppendEnvelope(dst, session, payload []byte) []byte {
	if session == nil {
		session = []byte(`""`)
	}
	dst = append(dst, `{"session_id":`...)
	dst = append(dst, session...)
	dst = append(dst, `,"type":"mcp","payload":`...)
	dst = append(dst, payload...)
	return append(dst, '}')
}
