package toolindex

import (
	"github.com/toolcrib/toolcrib/internal/wire"
)

// notes are what an imported index says of a tool besides its description. They
// are kept in the _meta of the description that is made of it.
type notes struct {
	tags     []Tag
	blocking bool
	cost     Cost // "" if it is not said
}

// notesKey is the member of _meta.
const notesKey = "toolcrib/index"

// appendTo appends the notes as a member of a description, with the comma
// before it. There is none if there is nothing to note.
func (n notes) appendTo(b []byte) []byte {
	if len(n.tags) == 0 && !n.blocking && n.cost == "" {
		return b
	}
	b = append(b, `,"_meta":{"`+notesKey+`":{"tags":[`...)
	for i, tag := range n.tags {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, string(tag))
	}
	b = append(b, ']')
	if n.blocking {
		b = append(b, `,"blocking":true`...)
	}
	if n.cost != "" {
		b = wire.AppendString(append(b, `,"cost_estimate":`...), string(n.cost))
	}
	return append(b, "}}"...)
}

// noted are the notes in a description. What is not as appendTo writes it is
// left out.
func noted(raw []byte) notes {
	meta := wire.Lookup(raw, wire.Lookup(raw, wire.Value(raw), "_meta"), notesKey)
	n := notes{blocking: string(wire.Lookup(raw, meta, "blocking").Of(raw)) == "true"}
	for element := range wire.Array(raw, wire.Lookup(raw, meta, "tags")) {
		if tag, ok := wire.String(raw, element); ok {
			n.tags = append(n.tags, Tag(tag))
		}
	}
	if cost, ok := wire.String(raw, wire.Lookup(raw, meta, "cost_estimate")); ok && Cost(cost).known() {
		n.cost = Cost(cost)
	}
	return n
}

func (c Cost) known() bool { return c == CostLow || c == CostMedium || c == CostHigh }
