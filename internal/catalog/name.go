package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// rule says what may be an exposed name: how long it is at most. Those that may be
// longer than plainRule may have dots as well.
type rule int

// plainRule is the rule for callers of which nothing else is known. The APIs of
// language models accept tool names of ^[a-zA-Z0-9_-]{1,64}$, and refuse a whole
// list for one name that is wider.
const plainRule rule = 64

// Separator stands between the server's and the tool's part of an exposed name.
const Separator = "__"

// suffixLen is the length of the suffix that keeps an altered name unique: an
// underscore and the first 8 hexadecimal digits of a SHA-256.
const suffixLen = 1 + 8

// qualified is a tool's name with its server's before it. It may be any text.
func qualified(server, tool string) string { return server + Separator + tool }

// naming is what the exposed name of a tool or a prompt is made of. Nothing else
// has an influence on it, unless another one has taken it.
type naming struct {
	server string // or the pool
	own    string // the server's own name for it
	as     string // what it is called instead; the same if it was not renamed
	bare   bool   // without the server's name
}

// namingOf is the naming of a server's tool, by the server's own name for it. All
// servers of a pool have the same for what they call the same, so that the name
// does not hang on which of them is there.
func namingOf(s *hub.Server, own string) naming {
	as := own
	if name := s.Rules.Override[own].Name; name != "" {
		as = name
	}
	if s.Pool != "" {
		return naming{server: s.Pool, own: as, as: as}
	}
	return naming{server: s.Key, own: own, as: as, bare: s.BareNames}
}

// wanted is the name under which the tool would be exposed if every text could
// be a name.
func (n naming) wanted() string {
	if n.bare {
		return n.as
	}
	return qualified(n.server, n.as)
}

// stable is the exposed name unless another one has taken it.
func (n naming) stable() string {
	if wanted := n.wanted(); plainRule.fits(wanted) {
		return wanted
	}
	return n.suffixed(0)
}

// suffixed is the exposed name of a tool whose wanted name does not fit, or
// is taken. Another attempt gives another name: eight digits may clash.
func (n naming) suffixed(attempt int) string {
	return plainRule.suffixed(n.wanted(), n.identity(), attempt)
}

// identity is what the suffix of a name is made of, whatever name is wanted.
func (n naming) identity() string { return n.server + "\x00" + n.own }

// suffixed is a name that fits, made of one that does not or that is taken. The
// same identity and attempt give the same suffix.
func (l rule) suffixed(wanted, identity string, attempt int) string {
	if attempt > 0 {
		identity += "\x00" + strconv.Itoa(attempt)
	}
	sum := sha256.Sum256([]byte(identity))

	var name strings.Builder
	for _, r := range wanted {
		if name.Len() == int(l)-suffixLen {
			break
		}
		if !l.allows(r) {
			r = '_'
		}
		name.WriteByte(byte(r))
	}
	name.WriteByte('_')
	name.WriteString(hex.EncodeToString(sum[:(suffixLen-1)/2]))
	return name.String()
}

// fits reports whether a name may be exposed as it is.
func (l rule) fits(name string) bool {
	if name == "" || len(name) > int(l) {
		return false
	}
	for _, r := range name {
		if !l.allows(r) {
			return false
		}
	}
	return true
}

// allows reports whether a character may occur in an exposed name.
func (l rule) allows(r rune) bool {
	return r == '.' && l > plainRule || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}
