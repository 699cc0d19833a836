package broker

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// What callers are told, in the codes and words of the original.
const (
	codeAway   = -32001
	textAway   = "工具端未连接"
	codeFailed = -32002
	textFailed = "转发消息失败"
	codeNoSuch = -32601

	textRefused = "token 无效" // of a close
	prefix      = 36 + 3
)

// members are those of a message that the two ends have to read alike.
var members = []string{"jsonrpc", "id", "method", "params", "result", "error"} //nolint:gochecknoglobals // constant

// frame is a message of a peer's as far as it is read here. What JSON-RPC says besides is
// for the two ends to judge.
type frame struct {
	raw    []byte
	method string    // "" for an answer
	id     wire.Span // of a request or an answer; the zero value for none
	params wire.Span
}

// readFrame reads a message; false for what is none.
func readFrame(raw []byte) (frame, bool) {
	if wire.Valid(raw, wire.Limits{MaxBytes: maxFrame, UniqueKeys: true}) != nil {
		return frame{}, false
	}
	whole := wire.Value(raw)
	if raw[whole.Start] != '{' || xiaozhi.Ambiguous(raw, whole, members...) {
		return frame{}, false
	}
	f := frame{raw: raw, params: wire.Lookup(raw, whole, "params")}
	if f.params.Exists() && raw[f.params.Start] != '{' {
		f.params = wire.Span{}
	}
	switch id := wire.Lookup(raw, whole, "id"); {
	case !id.Exists(), raw[id.Start] == 'n': // null, which some write for none
	case isID(raw, id):
		f.id = id
	default:
		return frame{}, false
	}
	f.method, _ = wire.String(raw, wire.Lookup(raw, whole, "method"))
	return f, f.method != "" || f.id.Exists()
}

// isID reports whether a value is a string or a number that is not too long.
func isID(raw []byte, at wire.Span) bool {
	c := raw[at.Start]
	return at.Len() <= xiaozhi.MaxID && (c == '"' || c == '-' || c >= '0' && c <= '9')
}

// own is an id of a caller's as the tool gets it, with what says whose it is before it:
// <uuid>_n_<number> or <uuid>_s_<string>.
func own(caller string, raw []byte, at wire.Span) (string, bool) {
	if !at.Exists() || !isID(raw, at) {
		return "", false
	}
	if raw[at.Start] != '"' {
		return caller + "_n_" + string(at.Of(raw)), true
	}
	text, ok := wire.String(raw, at)
	return caller + "_s_" + text, ok
}

// whose undoes own: it is the caller and its own id, raw.
func whose(id string) (caller string, raw []byte, ok bool) {
	if len(id) < prefix {
		return "", nil, false
	}
	caller, kind, rest := id[:prefix-3], id[prefix-3:prefix], id[prefix:]
	switch kind {
	case "_s_":
		return caller, wire.AppendString(nil, rest), true
	case "_n_":
		raw = []byte(rest)
		return caller, raw, wire.Valid(raw, wire.Limits{}) == nil && isID(raw, wire.Value(raw)) && raw[0] != '"'
	}
	return "", nil, false
}

// progressToken is where a request asks for reports by a token.
func (f *frame) progressToken() wire.Span {
	if !f.params.Exists() {
		return wire.Span{}
	}
	meta := wire.Lookup(f.raw, f.params, "_meta")
	if !meta.Exists() || f.raw[meta.Start] != '{' {
		return wire.Span{}
	}
	return wire.Lookup(f.raw, meta, "progressToken")
}

// outward is a caller's message as the tool gets it, and the id that the tool knows it
// by; "" for a notification.
func (f *frame) outward(caller string) (raw []byte, id string) {
	var edits []wire.Edit
	rename := func(at wire.Span) string {
		name, ok := own(caller, f.raw, at)
		if ok {
			edits = append(edits, wire.Replace(at, wire.AppendString(nil, name)))
		}
		return name
	}
	if f.id.Exists() {
		if id = rename(f.id); len(edits) == 0 {
			return nil, ""
		}
		rename(f.progressToken())
	} else if f.method == protocol.NotificationCancelled && f.params.Exists() {
		rename(wire.Lookup(f.raw, f.params, "requestId"))
	}
	if len(edits) == 0 {
		return f.raw, id
	}
	return wire.Splice(f.raw, edits...), id
}

// reported is whose call a notification reports on, and the notification with the
// caller's own token; it is nobody's where it does not say.
func (f *frame) reported() (caller string, raw []byte) {
	if f.method != protocol.NotificationProgress || !f.params.Exists() {
		return "", nil
	}
	at := wire.Lookup(f.raw, f.params, "progressToken")
	if !at.Exists() {
		return "", nil
	}
	name, _ := wire.String(f.raw, at)
	caller, token, ok := whose(name)
	if !ok {
		return "", nil
	}
	return caller, wire.Splice(f.raw, wire.Replace(at, token))
}

// withID is the message with another id, raw.
func (f *frame) withID(id []byte) []byte { return wire.Splice(f.raw, wire.Replace(f.id, id)) }

// failure is the answer of an error to the request with the raw id.
func failure(id []byte, code int, text string) []byte {
	out := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":`, id, code)
	return append(wire.AppendString(out, text), "}}"...)
}

// newID is a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // which never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// each yields the messages in what a caller has sent: one, or those of a batch.
func each(raw []byte, take func([]byte)) {
	parts, batch, err := wire.Batch(raw, wire.Limits{MaxBytes: maxFrame})
	if err != nil || !batch {
		take(raw)
		return
	}
	for _, part := range parts {
		take(part)
	}
}

// line is a message without line breaks, and one behind it.
func line(raw []byte) []byte {
	return slices.Concat(wire.OneLine(bytes.TrimSpace(raw)), []byte{'\n'})
}
