package catalog

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxInstructions is how long the instructions of a view are at most, in bytes.
// Clients put them before every conversation.
const maxInstructions = 8 << 10

// Instructions is what a client is told of the use of what it sees: what the group
// is for, and under the name of each server what that says; "" for nothing. If it
// is too long, the longest texts are cut, all at the same length.
func (v *View) Instructions() string { return v.text }

// instructions is the text of [View.Instructions].
func instructions(v *View) string {
	var about string
	if v.scope != nil {
		about = cut(v.scope.group.Description, maxInstructions)
	}
	var parts []string
	for _, share := range v.seen.now.Shares() {
		if share.Instructions != "" && v.uses(share) {
			parts = append(parts, "# "+share.Server.Title()+"\n"+strings.TrimSpace(share.Instructions))
		}
	}
	if about != "" {
		parts = append([]string{about}, parts...)
	}
	const between = "\n\n"
	most := level(parts, maxInstructions-len(between)*len(parts))
	var text strings.Builder
	for i, part := range parts {
		if i > 0 {
			text.WriteString(between)
		}
		text.WriteString(cut(part, most))
	}
	return text.String()
}

// level is the length to which texts have to be cut so that all of them together
// have room.
func level(texts []string, room int) int {
	lengths := make([]int, len(texts))
	for i, text := range texts {
		lengths[i] = len(text)
	}
	slices.Sort(lengths)
	for i, length := range lengths {
		if share := room / (len(lengths) - i); length > share {
			return max(share, 0)
		}
		room -= length
	}
	return maxInstructions
}

// uses reports whether anything of a server is in the view.
func (v *View) uses(share *Share) bool {
	return v.Has(share.Server.Key) || slices.ContainsFunc(share.Tools, v.scope.tool)
}

// cutMark stands where a text was cut.
const cutMark = "…"

// cut returns a text of at most so many bytes. It says by a mark that there was
// more; where there is no room for one nothing is left.
func cut(text string, most int) string {
	text = strings.TrimSpace(text)
	if len(text) <= most {
		return text
	}
	end := most - len(cutMark)
	if end <= 0 {
		return ""
	}
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutMark
}
