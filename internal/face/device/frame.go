package device

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// defaultFault is the code of an error that has none, as those of firmware have.
const defaultFault = "-32000"

// maxFault bounds the message of an error that is no JSON.
const maxFault = 1 << 10

// frame is a text frame of a device, as far as it is to be read. All but kind is of
// one that carries MCP.
type frame struct {
	kind string // "hello", "mcp" and others; "" for what is none
	raw  []byte // of the frame, if it is an object

	id     int32 // of an answer; 0 for none
	result []byte
	fault  []byte // the error of an answer, as JSON-RPC has it; nil for a result
	note   string // the method of what is no answer
}

// readFrame reads a text frame, which may be any bytes. What it returns has the
// frame's memory.
func readFrame(raw []byte) frame {
	e, ok := xiaozhi.ParseEnvelope(raw, maxText)
	if !ok {
		return readBroken(raw)
	}
	f := frame{kind: e.Type, raw: raw}
	if f.kind != "mcp" || e.Payload == nil {
		return f
	}
	said, whole := e.Payload, wire.Value(e.Payload)
	if f.note, _ = wire.String(said, wire.Lookup(said, whole, "method")); f.note != "" {
		return f
	}
	f.id = number(wire.Lookup(said, whole, "id").Of(said))
	if fault := wire.Lookup(said, whole, "error"); fault.Exists() && said[fault.Start] != 'n' {
		f.fault = mended(said, fault)
		return f
	}
	f.result = wire.Lookup(said, whole, "result").Of(said)
	return f
}

// number reads an id, which has to be one that the hub has given out; 0 if it is not.
// Some programs write whole numbers with a fraction or in quotes.
func number(raw []byte) int32 {
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || f != math.Trunc(f) || f < 1 || f > math.MaxInt32 {
		return 0
	}
	return int32(f)
}

// mended is an error as JSON-RPC has it: with a code that is a whole number, and a
// message.
func mended(raw []byte, fault wire.Span) []byte {
	code := wire.Lookup(raw, fault, "code").Of(raw)
	if _, err := strconv.ParseInt(string(code), 10, 32); err != nil {
		code = []byte(defaultFault)
	}
	text, ok := wire.String(raw, wire.Lookup(raw, fault, "message"))
	if !ok {
		text, ok = wire.String(raw, fault) // {"error":"text"}
	}
	if !ok || text == "" {
		text = "the device reports an error"
	}
	out := appendFault(nil, code, text)
	if data := wire.Lookup(raw, fault, "data"); data.Exists() {
		out = append(append(append(out[:len(out)-1], `,"data":`...), data.Of(raw)...), '}')
	}
	return out
}

func appendFault(dst, code []byte, text string) []byte {
	dst = append(append(dst, `{"code":`...), code...)
	return append(wire.AppendString(append(dst, `,"message":`...), text), '}')
}

// Firmware writes the message of an error as it is, quotes and all, so that the frame
// may be no JSON. The id stands before the error.
var brokenFault = regexp.MustCompile(`(?s)"type"\s*:\s*"mcp".*?"payload"\s*:.*?"id"\s*:\s*"?(\d{1,10})"?\s*,\s*"error"\s*:\s*\{(?:\s*"code"\s*:\s*(-?\d{1,9})\s*,)?\s*"message"\s*:\s*"(.*)`)

// readBroken reads what is no JSON: an error that can be told all the same, or else
// nothing.
func readBroken(raw []byte) frame {
	if len(raw) > 64<<10 || !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return frame{}
	}
	found := brokenFault.FindSubmatch(raw)
	if found == nil {
		return frame{}
	}
	id := number(found[1])
	if id == 0 {
		return frame{}
	}
	code := found[2]
	if len(code) == 0 {
		code = []byte(defaultFault)
	}
	text := strings.TrimRight(string(found[3]), "} \t\r\n")
	text = strings.ToValidUTF8(strings.TrimSuffix(text, `"`), "\uFFFD")
	if len(text) > maxFault {
		end := maxFault
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return frame{kind: "mcp", id: id, fault: appendFault(nil, code, text)}
}
