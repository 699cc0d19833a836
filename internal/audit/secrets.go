package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"

	"github.com/toolcrib/toolcrib/internal/secret"
)

// span is a part of a text, from a byte to before another.
type span struct{ from, to int }

// secretsIn finds what looks like a secret in a text: in order, and none within
// another.
func secretsIn(s string) []span {
	if len(s) < 4 {
		return nil
	}
	var all []span
	hide := func(from, to int) {
		if n := len(all); n > 0 && from < all[n-1].to {
			all[n-1].to = max(all[n-1].to, to)
			return
		}
		if from < to {
			all = append(all, span{from, to})
		}
	}
	for at := 0; at < len(s); {
		if !isWord(s[at]) {
			at++
			continue
		}
		end := at + 1
		for end < len(s) && isWord(s[end]) {
			end++
		}
		if at > 0 && s[at-1] == '\\' && strings.IndexByte("nrt", s[at]) >= 0 && keyOrName(s[at+1:end]) {
			at++ // it is the end of a line, in a text within a text
		}
		word := s[at:end]
		switch {
		case strings.Contains(word, "-----BEGIN"):
			at += strings.Index(word, "-----BEGIN")
			end = afterPEM(s, at)
			hide(at, end)
		case secret.HasKeyPrefix(word):
			hide(at, end)
		case strings.HasPrefix(s[end:], "://"):
			// The user of a URL, with the password.
			from := end + len("://")
			host := from + indexAny(s[from:], "/?# \t\r\n\"'<>")
			if user := strings.LastIndexByte(s[from:host], '@'); user >= 0 {
				hide(from, from+user)
			}
			end = from
		case isScheme(word):
			if from, to := nextValue(s, end, false); to-from >= 6 && from > end {
				hide(from, to)
			}
		default:
			// Most words are followed by no value, which is seen sooner than that
			// they name no secret.
			if from, to := nextValue(s, end, true); from > end && secret.NamesSecretValue(word) {
				if isHeader(word) {
					to = max(to, endOfHeader(s, at, from))
				}
				hide(from, to)
			}
		}
		at = end
	}
	return all
}

// keyOrName reports whether a word is a key, or names a secret.
func keyOrName(word string) bool { return secret.HasKeyPrefix(word) || secret.NamesSecretValue(word) }

// endOfHeader is where a header ends whose name begins at an index, and its value
// at another: at the end of the line, or of the quotes in which both stand.
func endOfHeader(s string, name, value int) int {
	until := "\r\n"
	if name > 0 && strings.IndexByte("\"'", s[name-1]) >= 0 {
		until += s[name-1 : name]
	}
	return value + indexAny(s[value:], until)
}

// isWord reports whether a byte is one of a word: of a name, or of a key.
func isWord(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' || c >= 0x80
}

// isScheme reports whether a word is one after which credentials stand.
func isScheme(word string) bool {
	return strings.EqualFold(word, "bearer") || strings.EqualFold(word, "basic")
}

// isHeader reports whether a word is a header of which all that follows is
// secret: a scheme and what belongs to it, or several cookies.
func isHeader(word string) bool {
	for _, name := range [...]string{"authorization", "proxy-authorization", "cookie", "set-cookie"} {
		if strings.EqualFold(word, name) {
			return true
		}
	}
	return false
}

// nextValue is the text after a name: after = or : if assigned, and after a
// blank if the name is an option or a scheme. It is empty if there is none.
func nextValue(s string, at int, assigned bool) (from, to int) {
	none := at
	option := !assigned
	if assigned {
		start := at
		for start > 0 && isWord(s[start-1]) {
			start--
		}
		option = strings.HasPrefix(s[start:], "-")
	}
	sign := false
	quoted := byte(0)
	slashes := 0 // before the quote, in a text within a text
	for ; at < len(s); at++ {
		switch c := s[at]; {
		case (c == '=' || c == ':') && !sign:
			sign = true
			continue
		case c == ' ' || c == '\t':
			continue
		case c == '\\':
			slashes++
			continue
		case c == '"' || c == '\'':
			if sign || option {
				quoted = c
				at++
			} else {
				slashes = 0
				continue // the end of the name
			}
		}
		break
	}
	if at > len(s) || !sign && (!option || at == none) {
		return none, none
	}
	run := 0 // of backslashes
	for to = at; to < len(s); to++ {
		c := s[to]
		if quoted != 0 && c == quoted && run <= slashes || quoted == 0 && strings.IndexByte(" \t\r\n\"'&;,<>)}]", c) >= 0 {
			break
		}
		if run++; c != '\\' {
			run = 0
		}
	}
	if quoted != 0 && to < len(s) {
		to -= run // they belong to the quote
	}
	return at, to
}

// afterPEM is where a block ends that begins at an index.
func afterPEM(s string, at int) int {
	n := strings.Index(s[at:], "-----END")
	if n < 0 {
		return len(s)
	}
	at += n + len("-----END")
	if n = strings.Index(s[at:], "-----"); n < 0 {
		return len(s)
	}
	return at + n + len("-----")
}

func indexAny(s, chars string) int {
	if at := strings.IndexAny(s, chars); at >= 0 {
		return at
	}
	return len(s)
}

// cover replaces parts of a text.
func cover(s string, spans []span) string {
	var b strings.Builder
	at := 0
	for _, x := range spans {
		b.WriteString(s[at:x.from])
		b.WriteString("***")
		at = x.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// mac is the keyed digest of a text.
func (l *Log) mac(text []byte) string {
	h, ok := l.digests.Get().(hash.Hash)
	if !ok {
		h = hmac.New(sha256.New, l.keys.digest)
	}
	h.Reset()
	h.Write(text)
	var sum [sha256.Size]byte
	digest := hex.EncodeToString(h.Sum(sum[:0])[:16])
	l.digests.Put(h)
	return digest
}
