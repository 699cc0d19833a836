package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// hiddenJSON stands for a value that is not shown.
const hiddenJSON = `"***"`

// maxParsed is how many bytes of arguments are read, unless so many may be kept
// that more have to be; of more, only the size is told, and the digest is that of
// the bytes as they came.
const maxParsed = 64 << 10

// shrinks is by how much arguments may become smaller without their secrets for
// that to be tried.
const shrinks = 2

// Arguments returns what the record keeps of a call's arguments. What may be a
// secret is replaced by ***: whatever stands below a name such as password or
// apiKey, and keys, tokens and passwords in the midst of texts, as far as they
// look like some. What is larger than the bound after that, or than twice
// the bound before, is replaced by its size, as in {"omitted":"5000 bytes"}. The
// result is always JSON.
//
// The digest is 16 bytes of an HMAC with SHA-256 of the canonical form: equal
// arguments have equal digests, and nobody without the key can try values out.
// Both are "" if there are none; redacted is "" where they are not kept.
func (l *Log) Arguments(raw []byte) (redacted, digest string) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "{}" {
		return "", ""
	}
	s := l.settings.Load()
	plain := len(raw) <= max(maxParsed, shrinks*s.MaxArguments) && wire.Valid(raw, wire.Limits{}) == nil
	canonical := raw
	if plain {
		canonical = appendCanonical(make([]byte, 0, len(raw)), &parser{src: raw})
	}
	digest = l.mac(canonical)
	if !s.KeepArguments {
		return "", digest
	}
	if plain && len(raw) <= shrinks*s.MaxArguments {
		p := parser{src: raw}
		if out := p.redact(make([]byte, 0, len(raw)+16), false); len(out) <= s.MaxArguments {
			return string(out), digest
		}
	}
	return fmt.Sprintf(`{"omitted":"%d bytes"}`, len(raw)), digest
}

// parser reads JSON that is known to be valid.
type parser struct {
	src   []byte
	at    int
	depth int // of appendCanonical
}

// peek is the first byte of the next token.
func (p *parser) peek() byte {
	for p.at < len(p.src) {
		switch c := p.src[p.at]; c {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return c
		}
	}
	return 0
}

// token is the next string, number or word, as it is written.
func (p *parser) token() []byte {
	if p.peek() == '"' {
		start := p.at
		if n := bytes.IndexByte(p.src[start+1:], '"'); bytes.IndexByte(p.src[start+1:start+1+n], '\\') < 0 {
			p.at += n + 2 // as almost always
			return p.src[start:p.at]
		}
		for p.at++; p.src[p.at] != '"'; p.at++ {
			if p.src[p.at] == '\\' {
				p.at++
			}
		}
		p.at++
		return p.src[start:p.at]
	}
	start := p.at
	for p.at < len(p.src) && !bytes.ContainsRune([]byte(" \t\r\n,:]}"), rune(p.src[p.at])) {
		p.at++
	}
	return p.src[start:p.at]
}

// after steps over a byte that is known to come next, and reports whether it
// was the one.
func (p *parser) after(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

// redact appends the next value without its secrets; hidden says that it is
// one itself.
func (p *parser) redact(dst []byte, hidden bool) []byte {
	switch p.peek() {
	case '{':
		if !hidden {
			return p.object(dst)
		}
	case '[':
		if !hidden {
			return p.array(dst)
		}
	case '"':
		literal := p.token()
		if len(literal) == 2 {
			return append(dst, literal...)
		}
		if hidden {
			return append(dst, hiddenJSON...)
		}
		return appendString(dst, literal)
	case 't', 'f', 'n':
		return append(dst, p.token()...) // there is no secret in a truth
	default:
		if literal := p.token(); !hidden {
			return append(dst, literal...)
		}
		return append(dst, hiddenJSON...)
	}
	p.pass()
	return append(dst, hiddenJSON...)
}

// pass steps over a value.
func (p *parser) pass() {
	depth := 0
	for {
		switch p.peek() {
		case '{', '[':
			depth++
			p.at++
		case '}', ']':
			depth--
			p.at++
		case ',', ':':
			p.at++
		default:
			p.token()
		}
		if depth == 0 {
			return
		}
	}
}

func (p *parser) object(dst []byte) []byte {
	p.at++
	dst = append(dst, '{')
	var named bool    // another member says that "value" is a secret
	var values []span // where "value" stands
	for first := true; !p.after('}'); first = false {
		if !first {
			p.after(',')
			dst = append(dst, ',')
		}
		literal := p.token()
		name := plainText(literal)
		dst = append(appendString(dst, literal), ':')
		p.after(':')
		start := len(dst)
		pair := strings.EqualFold(name, "name") || strings.EqualFold(name, "key") || strings.EqualFold(name, "header")
		if pair && p.peek() == '"' {
			next := *p
			named = named || secret.NamesSecretValue(plainText(next.token()))
		}
		dst = p.redact(dst, secret.NamesSecretValue(name))
		if strings.EqualFold(name, "value") {
			values = append(values, span{start, len(dst)})
		}
	}
	if named {
		for _, v := range slices.Backward(values) {
			dst = slices.Replace(dst, v.from, v.to, []byte(hiddenJSON)...)
		}
	}
	return append(dst, '}')
}

func (p *parser) array(dst []byte) []byte {
	p.at++
	dst = append(dst, '[')
	hidden := false
	for first := true; !p.after(']'); first = false {
		if !first {
			p.after(',')
			dst = append(dst, ',')
		}
		next := *p
		before := ""
		if p.peek() == '"' {
			before = plainText(next.token())
		}
		dst = p.redact(dst, hidden)
		// An option of a command, whose value is the next one.
		hidden = strings.HasPrefix(before, "-") && !strings.ContainsAny(before, "= ") && secret.NamesSecretValue(before)
	}
	return append(dst, ']')
}

// plainText is what a JSON string says.
func plainText(literal []byte) string {
	if bytes.IndexByte(literal, '\\') < 0 {
		return string(literal[1 : len(literal)-1])
	}
	var s string
	_ = json.Unmarshal(literal, &s) // it is valid
	return s
}

// appendString appends a JSON string without the secrets in it.
func appendString(dst, literal []byte) []byte {
	s := plainText(literal)
	if spans := secretsIn(s); len(spans) > 0 {
		return appendQuoted(dst, cover(s, spans))
	}
	return appendQuoted(dst, s)
}
