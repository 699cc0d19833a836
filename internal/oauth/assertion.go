package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/toolcrib/toolcrib/internal/message"
)

// assertionLife is how long the proof is good that the hub is the client.
const assertionLife = time.Minute

// keyError says that there is no signing with a key. It shows nothing of it.
type keyError struct{ detail message.Phrase }

func (e *keyError) Error() string { return e.detail.String() }

// assert signs that the hub is the client, for the authorization server (RFC 7523,
// section 3). The audience is the issuer alone: a proof that is good for several
// endpoints could be passed on by one of them.
func assert(c *client, issuer string, now time.Time) (string, error) {
	key, method, err := signer(c.key)
	if err != nil {
		return "", err
	}
	text, err := jwt.NewWithClaims(method, jwt.RegisteredClaims{
		Issuer: c.ID, Subject: c.ID, Audience: jwt.ClaimStrings{issuer}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(assertionLife)),
	}).SignedString(key)
	if err != nil {
		return "", &keyError{message.Say("the private key cannot sign")}
	}
	return text, nil
}

// signer reads a private key, and says how it signs.
func signer(text string) (crypto.PrivateKey, jwt.SigningMethod, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, nil, &keyError{message.Say("the private key is not in PEM")}
	}
	key, err := parseKey(block.Bytes)
	if err != nil {
		return nil, nil, &keyError{message.Say("the private key cannot be read")}
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return key, jwt.SigningMethodRS256, nil
	case ed25519.PrivateKey:
		return key, jwt.SigningMethodEdDSA, nil
	case *ecdsa.PrivateKey:
		switch k.Curve {
		case elliptic.P256():
			return key, jwt.SigningMethodES256, nil
		case elliptic.P384():
			return key, jwt.SigningMethodES384, nil
		case elliptic.P521():
			return key, jwt.SigningMethodES512, nil
		}
	}
	return nil, nil, &keyError{message.Say("the private key is of a kind that cannot sign here")}
}

func parseKey(der []byte) (crypto.PrivateKey, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return x509.ParsePKCS1PrivateKey(der)
}
