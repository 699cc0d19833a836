package xiaozhi

import (
	"strings"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Shape says how results are made to fit a peer that reads the first text of a
// result, and nothing else of it.
type Shape struct {
	Max         int // bytes of the result
	KeepActions bool
	Lang        message.Lang
}

// Shaped is a result that fits.
type Shaped struct {
	Raw  []byte // JSON
	Size int    // bytes of the text before it was cut
	Cut  bool
}

// Result shapes the result of a tool that m, a response, has.
func (s Shape) Result(m *wire.Message) Shaped {
	return s.Text(s.textOf(m), string(m.Member("isError").Of(m.Raw)) == "true")
}

// Text is the result that has the text; wrong says that it is an error, which is
// then said once more where peers look for it.
func (s Shape) Text(text string, wrong bool) Shaped {
	if !s.KeepActions {
		text = s.harmless(text)
	}
	r := Shaped{Size: len(text)}
	const head, failed, tail = `{"content":[{"type":"text","text":`, `}],"isError":true,"error":`, `}],"isError":false}`
	room := s.Max - len(head) - len(tail)
	if wrong {
		room = (s.Max - len(head) - len(failed) - len(`}`)) / 2
	}
	text, r.Cut = s.cut(text, max(room, 0))
	quoted := wire.AppendString(nil, text)
	r.Raw = append(append(make([]byte, 0, len(head)+len(tail)+len(quoted)), head...), quoted...)
	if !wrong {
		r.Raw = append(r.Raw, tail...)
		return r
	}
	r.Raw = append(append(append(r.Raw, failed...), quoted...), '}')
	return r
}

// textOf is what a result says: its texts, what stands for all else, and only
// without any text its structured content.
func (s Shape) textOf(m *wire.Message) string {
	raw := m.Raw
	var parts []string
	said := false
	for item := range wire.Array(raw, m.Member("content")) {
		text, ok := s.item(raw, item)
		said = said || ok
		if text != "" {
			parts = append(parts, text)
		}
	}
	if structured := m.Member("structuredContent"); !said && structured.Exists() && raw[structured.Start] != 'n' {
		parts = append([]string{string(structured.Of(raw))}, parts...)
	}
	return strings.Join(parts, "\n")
}

// item is what one item of a result says, and whether it is a text of the tool's.
func (s Shape) item(raw []byte, item wire.Span) (text string, said bool) {
	get := func(of wire.Span, name string) string {
		value, _ := wire.String(raw, wire.Lookup(raw, of, name))
		return value
	}
	size := func(of wire.Span, name string) int { return max(wire.Lookup(raw, of, name).Len()-2, 0) / 4 * 3 }
	kind, mime := get(item, "type"), get(item, "mimeType")
	switch kind {
	case "text":
		text := get(item, "text")
		return text, text != ""
	case "image":
		return s.placeholder(message.Say("[image, %s, %d bytes: not shown here]", message.Quote(mime), size(item, "data"))), false
	case "audio":
		return s.placeholder(message.Say("[audio, %s, %d bytes: not played here]", message.Quote(mime), size(item, "data"))), false
	case "resource_link":
		return s.placeholder(message.Say("[link: %s %s]", message.Quote(get(item, "name")), message.Quote(get(item, "uri")))), false
	case "resource":
		of := wire.Lookup(raw, item, "resource")
		if text := get(of, "text"); text != "" {
			return text, true
		}
		return s.placeholder(message.Say("[file: %s, %d bytes: not shown here]", message.Quote(get(of, "uri")), size(of, "blob"))), false
	}
	return s.placeholder(message.Say("[%s: not shown here]", message.Quote(kind))), false
}

func (s Shape) placeholder(p message.Phrase) string { return p.In(s.Lang) }

// cut is a text of which the JSON string has room bytes at most: as it is, or as
// much of its beginning as there is room for with a mark behind it. No character is
// split.
func (s Shape) cut(text string, room int) (string, bool) {
	const quotes = 2
	// What is shorter by more than any escape can add fits for certain.
	if 6*len(text)+quotes <= room {
		return text, false
	}
	if _, fits := prefix(text, room-quotes); fits {
		return text, false
	}
	mark := message.Say("…[cut: %d bytes in all]", len(text)).In(s.Lang)
	end, _ := prefix(text, room-quotes-len(mark))
	return text[:end] + mark, true
}

// prefix is where the longest beginning of a text ends that has most bytes at most
// as the inside of a JSON string, and whether that is all of it.
func prefix(text string, most int) (end int, all bool) {
	size := 0
	for end < len(text) {
		r, n := utf8.DecodeRuneInString(text[end:])
		cost := n
		switch {
		case r == utf8.RuneError && n == 1:
			cost = len(`\ufffd`)
		case r == '"', r == '\\', r == '\b', r == '\f', r == '\n', r == '\r', r == '\t':
			cost = 2
		case r < ' ':
			cost = len(`\u0000`)
		}
		if size += cost; size > most {
			return end, false
		}
		end += n
	}
	return end, true
}

// harmless is a tool's text as it is, unless a peer would take it for an order of its
// own: some take each text that is a JSON object with the key "action" for one.
func (s Shape) harmless(text string) string {
	body := strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if !strings.HasPrefix(body, "{") || !strings.Contains(body, "action") && !strings.Contains(body, `\u`) {
		return text
	}
	raw := []byte(body)
	if wire.Valid(raw, wire.Limits{}) != nil {
		// Others take more for JSON than it is, such as NaN. It is none with a word
		// before it.
		return s.placeholder(message.Say("Result: %s", message.Verbatim(text)))
	}
	var edits []wire.Edit
	for member := range wire.Object(raw, wire.Value(raw)) {
		if wire.KeyIs(raw, member.Key, "action") {
			edits = append(edits, wire.Replace(member.Key, []byte(`"_action"`)))
		}
	}
	if edits == nil {
		return text
	}
	return string(wire.Splice(raw, edits...))
}
