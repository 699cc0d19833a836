package auth

import (
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode"
)

// maxClaim is how long a name from a token may be.
const maxClaim = 255

// claims is what a token says, by the exact names of its members.
type claims map[string]json.RawMessage

func readClaims(payload []byte) (claims, bool) {
	var c claims
	err := json.Unmarshal(payload, &c)
	return c, err == nil && c != nil
}

// value is a claim by its name or, if there is none of that, by the way to it with
// dots between its names.
func (c claims) value(name string) json.RawMessage {
	if raw, ok := c[name]; ok {
		return raw
	}
	first, rest, ok := strings.Cut(name, ".")
	if !ok {
		return nil
	}
	inner, ok := readClaims(c[first])
	if !ok {
		return nil
	}
	return inner.value(rest)
}

func (c claims) has(name string) bool {
	raw, ok := c[name]
	return ok && string(raw) != "null"
}

// text is a claim that is a text.
func (c claims) text(name string) (string, bool) {
	var s string
	raw := c.value(name)
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// name is a claim that names somebody; false if there is none that can stand in a
// text.
func (c claims) name(name string) (string, bool) {
	s, ok := c.text(name)
	return s, ok && s != "" && len(s) <= maxClaim && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) })
}

// list is a claim that is a text or an array of texts.
func (c claims) list(name string) []string {
	if s, ok := c.text(name); ok {
		return []string{s}
	}
	var all []any
	if json.Unmarshal(c.value(name), &all) != nil {
		return nil
	}
	var texts []string
	for _, v := range all {
		if s, ok := v.(string); ok {
			texts = append(texts, s)
		}
	}
	return texts
}

// moment is a claim that is a time, in seconds since 1970.
func (c claims) moment(name string) (time.Time, bool) {
	var seconds float64
	raw := c.value(name)
	if len(raw) == 0 || json.Unmarshal(raw, &seconds) != nil {
		return time.Time{}, false
	}
	whole := math.Floor(seconds)
	if whole < 0 || whole > 1<<37 { // a year that has five digits
		return time.Time{}, false
	}
	return time.Unix(int64(whole), 0), true
}

// qualified is the subject of who an issuer knows: names of several issuers, and
// those of our own tokens, are never the same.
func qualified(issuer, subject string) string {
	_, host, _ := strings.Cut(issuer, "://")
	return subject + "@" + strings.TrimSuffix(host, "/")
}
