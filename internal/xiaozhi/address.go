package xiaozhi

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/secret"
)

// hidden takes the place of what is not shown.
const hidden = "…"

// MaskToken is the last four characters of a secret, or nothing of one that is not
// much longer.
func MaskToken(token string) string {
	if r := []rune(token); len(r) >= 12 {
		return hidden + string(r[len(r)-4:])
	}
	return hidden
}

// Mask is an address without what may be a secret of it: of each value of its
// query, and of a part of its path that may be a token, the last four characters are
// left, and nothing of a user and a fragment. What was filled into it is masked
// wherever it stands, unless it is an address itself.
func Mask(address string, filled ...string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return hidden
	}
	var b strings.Builder
	b.WriteString(u.Scheme + "://")
	if u.User != nil {
		b.WriteString(hidden + "@")
	}
	b.WriteString(u.Host)
	for i, part := range strings.Split(u.EscapedPath(), "/") {
		if i > 0 {
			b.WriteByte('/')
		}
		if isToken(part) {
			part = MaskToken(part)
		}
		b.WriteString(part)
	}
	between := byte('?')
	for key, value := range pairs(u.RawQuery) {
		b.WriteByte(between)
		between = '&'
		if value == "" || isToken(key) {
			key = MaskToken(key)
		}
		if b.WriteString(key); value != "" {
			b.WriteString("=" + MaskToken(value))
		}
	}
	return Redact(b.String(), forms(values(filled)))
}

// isToken reports whether a part of an address, as it is written there, may be a
// token: it is what the configuration seals, or longer than words are.
func isToken(part string) bool {
	const long = 32
	plain, err := url.PathUnescape(part)
	return len(part) >= long || secret.IsKey(part) || err == nil && secret.IsKey(plain)
}

// values are those of what was filled into an address that are no addresses, whose
// own secrets are looked for in the whole.
func values(filled []string) []string {
	var all []string
	for _, value := range filled {
		if !strings.Contains(value, "://") {
			all = append(all, strings.TrimSpace(value)) // as the address is
		}
	}
	return all
}

// pairs yields the parts of a query as they are written.
func pairs(query string) func(yield func(key, value string) bool) {
	return func(yield func(string, string) bool) {
		if query == "" {
			return
		}
		for pair := range strings.SplitSeq(query, "&") {
			key, value, _ := strings.Cut(pair, "=")
			if !yield(key, value) {
				return
			}
		}
	}
}

// Secrets are what of an address, and of what was filled into it, must not stand in a
// text, in all forms in which it may: as it is written, decoded and encoded. The
// longest come first.
func Secrets(address string, filled ...string) []string {
	all := values(filled)
	u, err := url.Parse(address)
	if err != nil {
		return append([]string{address}, forms(all)...)
	}
	for key, value := range pairs(u.RawQuery) {
		all = append(all, value)
		if value == "" || isToken(key) {
			all = append(all, key)
		}
	}
	for part := range strings.SplitSeq(u.EscapedPath(), "/") {
		if isToken(part) {
			all = append(all, part)
		}
	}
	if u.User != nil {
		all = append(all, u.User.String())
		if password, ok := u.User.Password(); ok {
			all = append(all, password)
		}
	}
	return forms(all)
}

// forms are all forms in which secrets may stand in a text, the longest first.
func forms(secrets []string) []string {
	var all []string
	for _, value := range secrets {
		decoded, err := url.QueryUnescape(value)
		if err != nil {
			decoded = value
		}
		plain, err := url.PathUnescape(value)
		if err != nil {
			plain = value
		}
		for _, form := range [...]string{value, decoded, plain, url.QueryEscape(decoded), url.QueryEscape(plain), url.PathEscape(plain)} {
			if len(form) >= 6 && !slices.Contains(all, form) { // anything shorter is a word
				all = append(all, form)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// Redact is a text without the secrets, as [Secrets] has them.
func Redact(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, MaskToken(s))
	}
	return text
}

// Expiry is when the token of an address ends, as that says itself; zero if it is
// no JWT, or does not say.
func Expiry(address string) time.Time {
	u, err := url.Parse(address)
	if err != nil {
		return time.Time{}
	}
	for key, value := range pairs(u.RawQuery) {
		if key == "token" {
			return TokenExpiry(value)
		}
	}
	return time.Time{}
}

// TokenExpiry is when a JWT ends, as its claim "exp" says; zero if it is none, or does
// not say. Nothing is verified: the token is for
// another to judge.
func TokenExpiry(token string) time.Time {
	token, err := url.PathUnescape(token)
	if err != nil || strings.Count(token, ".") != 2 {
		return time.Time{}
	}
	_, rest, _ := strings.Cut(strings.TrimPrefix(token, "Bearer "), ".")
	body, _, _ := strings.Cut(rest, ".")
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(body, "="))
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(raw, &claims) != nil || claims.Exp < 1 || claims.Exp > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Exp), 0).UTC()
}
