package hub

import (
	"slices"
	"strings"
)

// Scope is what a token is good for, as [Principal.Scope] says it: words with a
// space between them, sorted, each once. "server:git" is for this server only,
// "group:office" for this address only, "door:mcp" for this door only. Of several
// with the same beginning each one counts.
type Scope string

// NewScope returns the scope of the words, and the first of them that is none.
func NewScope(words []string) (Scope, string) {
	words = slices.Clone(words)
	slices.Sort(words)
	words = slices.Compact(words)
	for _, word := range words {
		kind, name, ok := strings.Cut(word, ":")
		if !ok || name == "" || strings.ContainsAny(word, " \t\n") || kind != "server" && kind != "group" && kind != "door" {
			return "", word
		}
	}
	return Scope(strings.Join(words, " ")), ""
}

// Servers are the keys of the servers that are within the scope; nil for all.
func (s Scope) Servers() []string {
	var all []string
	for _, word := range s.Words() {
		if key, ok := strings.CutPrefix(word, "server:"); ok {
			all = append(all, key)
		}
	}
	return all
}

// Server reports whether the server with the key is within the scope.
func (s Scope) Server(key string) bool { return s.has("server:", key) }

// Group reports whether the address of the group is within the scope, "" being
// that of no group.
func (s Scope) Group(name string) bool { return s.has("group:", name) }

// Door reports whether the door is within the scope.
func (s Scope) Door(door Door) bool { return s.has("door:", string(door)) }

// has reports whether there is no word of a kind, or the one with the name.
func (s Scope) has(kind, name string) bool {
	if s == "" {
		return true
	}
	any := false
	for word := range strings.SplitSeq(string(s), " ") {
		rest, ok := strings.CutPrefix(word, kind)
		if ok && rest == name {
			return true
		}
		any = any || ok
	}
	return !any
}
