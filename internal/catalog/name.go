package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxName is the longest exposed name. The APIs of language models accept tool
// names of ^[a-zA-Z0-9_-]{1,64}$, and refuse a whole list for one name that is
// wider.
const maxName = 64

// Separator stands between the server's and the tool's part of an exposed name.
const Separator = "__"

// suffixLen is the length of the suffix that keeps an altered name unique: an
// underscore and the first 8 hexadecimal digits of a SHA-256.
const suffixLen = 1 + 8

// qualified is a tool's name with its server's before it. It may be any text.
func qualified(server, tool string) string { return server + Separator + tool }

// naming is what the exposed name of a tool is made of. Nothing else has an
// influence on it, unless another tool has taken it.
type naming struct {
	server string
	tool   string // the server's own name for it
	as     string // what it is called instead; the same if it was not renamed
	bare   bool   // without the server's name
}

// wanted is the name under which the tool would be exposed if every text could
// be a name.
func (n naming) wanted() string {
	if n.bare {
		return n.as
	}
	return qualified(n.server, n.as)
}

// stable is the exposed name unless another tool has taken it.
func (n naming) stable() string {
	if wanted := n.wanted(); fits(wanted) {
		return wanted
	}
	return n.suffixed(0)
}

// suffixed is the exposed name of a tool whose wanted name does not fit, or
// is taken. Another attempt gives another name: eight digits may clash.
func (n naming) suffixed(attempt int) string {
	identity := n.server + "\x00" + n.tool
	if attempt > 0 {
		identity += "\x00" + strconv.Itoa(attempt)
	}
	sum := sha256.Sum256([]byte(identity))

	var name strings.Builder
	for _, r := range n.wanted() {
		if name.Len() == maxName-suffixLen {
			break
		}
		if !fitting(r) {
			r = '_'
		}
		name.WriteByte(byte(r))
	}
	name.WriteByte('_')
	name.WriteString(hex.EncodeToString(sum[:(suffixLen-1)/2]))
	return name.String()
}

// fits reports whether a name may be exposed as it is.
func fits(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for _, r := range name {
		if !fitting(r) {
			return false
		}
	}
	return true
}

// fitting reports whether a character may occur in an exposed name.
func fitting(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}
