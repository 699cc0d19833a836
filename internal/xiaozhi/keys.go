package xiaozhi

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// Ambiguous reports whether one reader may take an object for what another does not:
// firmware and some programs take keys without regard to case and up to a NUL, and of
// two that are the same so the first or the last one. That is where a key occurs twice
// for any of them, holds a NUL, or is one of the names but for its case. What is no
// object is not ambiguous.
func Ambiguous(raw []byte, obj wire.Span, names ...string) bool {
	if !obj.Exists() || raw[obj.Start] != '{' {
		return false
	}
	seen := make(map[string]bool)
	for m := range wire.Object(raw, obj) {
		key, _ := wire.String(raw, m.Key)
		same := strings.ToLower(strings.ToUpper(key)) // which some letters need that are not of ASCII
		if seen[same] || strings.ContainsRune(key, 0) {
			return true
		}
		seen[same] = true
		for _, name := range names {
			if key != name && strings.EqualFold(key, name) {
				return true
			}
		}
	}
	return false
}
