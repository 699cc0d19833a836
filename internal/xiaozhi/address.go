package xiaozhi

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"
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
// query, and of a part of its path that is as long as a token, the last four
// characters are left, and nothing of a user and a fragment.
func Mask(address string) string {
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
		if len(part) >= minToken {
			part = MaskToken(part)
		}
		b.WriteString(part)
	}
	between := byte('?')
	for key, value := range pairs(u.RawQuery) {
		b.WriteByte(between)
		between = '&'
		if len(key) >= minToken {
			key = MaskToken(key)
		}
		if b.WriteString(key); value != "" {
			b.WriteString("=" + MaskToken(value))
		}
	}
	return b.String()
}

// minToken is how long a part of an address is that may be a token.
const minToken = 32

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

// Secrets are what of an address must not stand in a text, in all forms in which
// it may: as it is written, decoded and encoded. The longest come first.
func Secrets(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return []string{address}
	}
	var all []string
	add := func(value string) {
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
	for key, value := range pairs(u.RawQuery) {
		add(value)
		if len(key) >= minToken {
			add(key)
		}
	}
	for part := range strings.SplitSeq(u.EscapedPath(), "/") {
		if len(part) >= minToken {
			add(part)
		}
	}
	if u.User != nil {
		add(u.User.String())
		if password, ok := u.User.Password(); ok {
			add(password)
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
