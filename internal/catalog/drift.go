package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// Change is how a tool differs from what was accepted.
type Change string

// The changes.
const (
	ToolAdded   Change = "added"
	ToolChanged Change = "changed"
	ToolRemoved Change = "removed"
)

// ToolDrift is one tool of a pinned server that is not as it was accepted.
type ToolDrift struct {
	Tool   string // the server's own name
	Change Change
	// Diff is a unified diff of the two descriptions, each a text with a line
	// for each line of its strings and each member of its objects, in an order
	// of its own. Characters that cannot be seen are shown as escapes.
	Diff string
	// Digest stands for what there is to accept; see [Catalog.AcceptSeen]. It is
	// another one as soon as the server describes the tool otherwise.
	Digest string
}

// Drift is what a pinned server says otherwise than it was accepted, of the
// tools that its rules offer: in the server's order, and then what is gone. A
// server that is not pinned, or of which nothing is known, has none.
func (c *Catalog) Drift(server string) []ToolDrift {
	c.mu.Lock()
	i := c.find(server)
	if i < 0 {
		c.mu.Unlock()
		return nil
	}
	p := c.parts[i]
	c.mu.Unlock()
	var all []ToolDrift
	for _, d := range p.differences() {
		one := ToolDrift{Tool: d.name, Change: ToolChanged, Digest: d.digest()}
		var was, now []byte
		if d.was != nil {
			was = readable(d.was)
		} else {
			one.Change = ToolAdded
		}
		if d.now != nil {
			now = readable(d.now.Raw)
		} else {
			one.Change = ToolRemoved
		}
		text := diff.Diff("accepted", was, "now", now)
		_, text, _ = bytes.Cut(text, []byte("\n")) // a line for programs
		one.Diff = string(text)
		all = append(all, one)
	}
	return all
}

// readable is a description as lines that a person can compare. Two that differ
// have different ones.
func readable(raw []byte) []byte {
	members := sortedMembers(raw, wire.Value(raw))
	first := []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
	rank := func(m keyed) int {
		if i := slices.Index(first, m.key); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(members, func(a, b keyed) int { return rank(a) - rank(b) })
	var b strings.Builder
	for _, m := range members {
		b.WriteString(label(m.key) + ":\n")
		text, isString := wire.String(raw, m.value)
		if isString {
			text = escaped(text)
		} else {
			text = indented(appendCanonical(nil, raw, m.value))
		}
		// The sign before a text keeps it apart from JSON that reads the same.
		sign := "  "
		if isString {
			sign = "| "
		}
		for line := range strings.SplitSeq(text, "\n") {
			b.WriteString(sign + visible(line) + "\n")
		}
	}
	return []byte(b.String())
}

// label is the key of a member, as JSON if it could be taken for something else.
func label(key string) string {
	if key != "" && !strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		return key
	}
	return visible(string(wire.AppendString(nil, key)))
}

// escaped is a text in which each backslash is two, so that none of it looks
// like what stands for a character that cannot be seen.
func escaped(text string) string { return strings.ReplaceAll(text, `\`, `\\`) }

// indented is a JSON text on several lines.
func indented(text []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return string(text) // it is too deep for that package
	}
	return b.String()
}

// visible shows what cannot be seen, or looks like a plain space, as an escape:
// instructions for a model can be hidden in it.
func visible(line string) string {
	if !strings.ContainsFunc(line, hidden) {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		if hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }
