package xiaozhi

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxName is how many characters a tool's name may have.
const maxName = 64

// FitsName reports whether peers take the name of a tool as it is: those of
// ^[a-zA-Z0-9_-]{1,64}$ are altered by none.
func FitsName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for i := range len(name) {
		if !inName(name[i]) {
			return false
		}
	}
	return true
}

func inName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// Names are the names of tools as peers take them, in the order of the tools. Those
// that fit stay. The others get a suffix that hangs on nothing but the name, so that
// they are the same each time, and different even where a peer makes "_" of what it
// does not take.
func Names(tools []string) []string {
	as := make([]string, len(tools))
	taken := make(map[string]bool, len(tools))
	for i, name := range tools {
		if FitsName(name) && !taken[name] {
			as[i] = name
			taken[name] = true
		}
	}
	for i, name := range tools {
		if as[i] != "" {
			continue
		}
		for attempt := 0; as[i] == "" || taken[as[i]]; attempt++ {
			as[i] = suffixed(name, attempt)
		}
		taken[as[i]] = true
	}
	return as
}

// suffixed is a name that fits, made of one that does not.
func suffixed(name string, attempt int) string {
	identity := name
	if attempt > 0 {
		identity += "\x00" + strconv.Itoa(attempt)
	}
	sum := sha256.Sum256([]byte(identity))
	suffix := "_" + hex.EncodeToString(sum[:4])
	var b strings.Builder
	for _, r := range name {
		if b.Len() == maxName-len(suffix) {
			break
		}
		if r > 0x7f || !inName(byte(r)) {
			r = '_'
		}
		b.WriteByte(byte(r))
	}
	return b.String() + suffix
}

// Rewrite is a text in which the names of tools are replaced by those under which
// they are known elsewhere, as says tells. A name that might as well be a word of
// the text counts only in quotes. It returns the text itself if there is none.
func Rewrite(text string, says func(name string) (string, bool)) string {
	var b strings.Builder
	done := 0 // what is in b
	for at := 0; at < len(text); {
		if !inMention(text[at]) {
			at++
			continue
		}
		start := at
		for at < len(text) && inMention(text[at]) {
			at++
		}
		end := start + len(strings.TrimRight(text[start:at], ".-"))
		name := text[start:end]
		as, ok := says(name)
		if !ok || as == name || !isName(name) && !(end == at && quoted(text, start, end)) {
			continue
		}
		b.WriteString(text[done:start])
		b.WriteString(as)
		done = end
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

func inMention(c byte) bool { return inName(c) || c == '.' }

// isName reports whether something can hardly be anything but a name.
func isName(word string) bool {
	return strings.ContainsAny(word, "_.") || strings.ContainsAny(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.ToUpper(word[1:]) != word[1:] && strings.ToLower(word[1:]) != word[1:]
}

// quoted reports whether a part of a text stands between quotes.
func quoted(text string, start, end int) bool {
	for _, q := range [...][2]string{{"`", "`"}, {`"`, `"`}, {"'", "'"}, {"“", "”"}, {"‘", "’"}, {"「", "」"}, {"『", "』"}} {
		if strings.HasSuffix(text[:start], q[0]) && strings.HasPrefix(text[end:], q[1]) {
			return true
		}
	}
	return false
}
