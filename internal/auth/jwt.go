package auth

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Bounds of what is shown in the header Authorization.
const (
	maxShown = 16 << 10 // characters, a token of somebody else's; ours are shorter
	leeway   = time.Minute
)

// bearer returns the token of the header Authorization: "Bearer", a space, the
// token (RFC 6750, section 2.1). A token has no space in it, and no more than 16
// KiB.
func bearer(authorization string) (string, bool) {
	if len(authorization) > maxShown {
		return "", false
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(authorization), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", false
	}
	ok := !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
	return token, ok
}

// header is what the first part of a JWT says.
type header struct {
	Typ string
	Alg string
	Kid string
}

// peek reads a JWT (RFC 7519) without believing it: which issuer's keys it is to
// be held against is to be known first. It is false for what is none, for one
// that has no signature of a public key, and for one that is not meant to be
// shown by who has it.
func peek(token string) (header, claims, bool) {
	parts := strings.Split(token, ".")
	if len(token) > maxShown || len(parts) != 3 || parts[2] == "" {
		return header{}, nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(parts[0])
	if err != nil {
		return header{}, nil, false
	}
	members, ok := readClaims(raw)
	if !ok {
		return header{}, nil, false
	}
	var h header
	for name, to := range map[string]*string{"typ": &h.Typ, "alg": &h.Alg, "kid": &h.Kid} {
		raw, there := members[name]
		if there && json.Unmarshal(raw, to) != nil {
			return header{}, nil, false
		}
	}
	known := slices.ContainsFunc(algorithms, func(a jose.SignatureAlgorithm) bool { return string(a) == h.Alg })
	if !known || members.has("crit") || members.has("enc") || members.has("b64") {
		return header{}, nil, false
	}
	payload, err := base64.RawURLEncoding.Strict().DecodeString(parts[1])
	if err != nil {
		return header{}, nil, false
	}
	said, ok := readClaims(payload)
	return h, said, ok
}

// isAccess reports whether a token says that it is one to be shown to a resource
// (RFC 9068) or, as older servers do, does not say what it is.
func isAccess(h header, said claims) bool {
	switch strings.ToLower(h.Typ) {
	case "", "jwt", "at+jwt", "application/at+jwt":
	default:
		return false
	}
	// These have only tokens that tell a client who its user is.
	if slices.ContainsFunc([]string{"nonce", "at_hash", "c_hash"}, said.has) {
		return false
	}
	if use, ok := said.text("token_use"); ok && use != "access" {
		return false // Cognito
	}
	if typ, ok := said.text("typ"); ok && !strings.EqualFold(typ, "Bearer") && !strings.EqualFold(typ, "at+jwt") {
		return false // Keycloak
	}
	// Who shows one of these has to prove that it is his; we have no such proof.
	return !said.has("cnf")
}

// inTime reports whether a token is good now, with a minute's leeway.
func inTime(said claims, now time.Time) (expires time.Time, ok bool) {
	expires, ok = said.moment("exp")
	if !ok || !now.Before(expires.Add(leeway)) {
		return expires, false
	}
	if said.has("nbf") {
		from, ok := said.moment("nbf")
		if !ok || now.Add(leeway).Before(from) {
			return expires, false
		}
	}
	return expires, true
}
