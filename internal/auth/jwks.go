package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Times of an issuer's keys.
const (
	keysFresh  = time.Hour        // then they are asked for again
	keysUsable = 24 * time.Hour   // without an answer
	keysPause  = 10 * time.Second // between two times that they are asked for
)

const (
	maxKeys    = 100
	minRSABits = 2048
)

// algorithms are those by which a token may be signed: with a key that only its
// issuer has.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA} //nolint:gochecknoglobals // a table

// The ways in which a signature is not one.
var (
	errToken       = errors.New("it is no token that is signed as it has to be")
	errSignature   = errors.New("no key of the issuer has signed it")
	errUnreachable = errors.New("the issuer's keys cannot be had")
)

// keySet is the keys of one issuer. They are asked for when they are needed, by
// one request at a time, and not again within 10 s, whatever tokens come.
type keySet struct {
	client *http.Client
	where  func(context.Context) (string, error) // their address

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	fetched time.Time     // zero for never
	next    time.Time     // not before
	asking  chan struct{} // closed when the keys that are being asked for are there, or not
}

// VerifySignature implements [oidc.KeySet]: it returns what the token says if one
// of the keys has signed it.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, errToken
	}
	kid := signed.Signatures[0].Protected.KeyID
	if err := k.freshen(ctx); err != nil {
		return nil, err
	}
	payload, tried := k.verify(signed, kid)
	if payload != nil || tried && kid != "" {
		return payload, signatureError(payload)
	}
	// A key that is not known may be new.
	before := k.last()
	if err := k.ask(ctx); err != nil || k.last().Equal(before) {
		return nil, errSignature
	}
	payload, _ = k.verify(signed, kid)
	return payload, signatureError(payload)
}

func signatureError(payload []byte) error {
	if payload == nil {
		return errSignature
	}
	return nil
}

// verify tries the keys that go with an id and the algorithm; it reports whether
// there was one.
func (k *keySet) verify(signed *jose.JSONWebSignature, kid string) (payload []byte, tried bool) {
	k.mu.Lock()
	keys := k.keys
	k.mu.Unlock()
	alg := signed.Signatures[0].Protected.Algorithm
	for i := range keys {
		key := &keys[i]
		if kid != "" && key.KeyID != kid || !fits(key, alg) {
			continue
		}
		tried = true
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, true
		}
	}
	return nil, tried
}

// fits reports whether a key is one for an algorithm. A public key must never be
// taken for a secret that is shared.
func fits(key *jose.JSONWebKey, alg string) bool {
	if key.Algorithm != "" && key.Algorithm != alg || key.Use != "" && key.Use != "sig" {
		return false
	}
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		return alg == string(jose.RS256) && public.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey:
		return alg == string(jose.ES256) && public.Curve.Params().BitSize == 256
	case ed25519.PublicKey:
		return alg == string(jose.EdDSA)
	}
	return false
}

func (k *keySet) last() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fetched
}

// freshen asks for keys if there are none, or if they are old. Who comes while
// others ask for newer ones goes by those that are there.
func (k *keySet) freshen(ctx context.Context) error {
	now := time.Now()
	k.mu.Lock()
	none := k.fetched.IsZero() || now.Sub(k.fetched) > keysUsable
	old := now.Sub(k.fetched) > keysFresh && k.asking == nil
	k.mu.Unlock()
	if !none && !old {
		return nil
	}
	if err := k.ask(ctx); err != nil && none {
		return err
	}
	return nil
}

// ask asks for the keys, unless that was done just now, or waits for who does.
// The error is that there are none that can be used.
func (k *keySet) ask(ctx context.Context) error {
	k.mu.Lock()
	asking := k.asking
	if asking == nil {
		if time.Now().Before(k.next) {
			defer k.mu.Unlock()
			return k.unusable()
		}
		k.asking = make(chan struct{})
		k.mu.Unlock()
		k.get(context.WithoutCancel(ctx)) // others wait for it as well
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.unusable()
	}
	k.mu.Unlock()
	select {
	case <-asking:
	case <-ctx.Done():
		return errUnreachable
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.unusable()
}

// unusable is to be asked with the lock held.
func (k *keySet) unusable() error {
	if k.fetched.IsZero() || time.Since(k.fetched) > keysUsable {
		return errUnreachable
	}
	return nil
}

// get asks for the keys. Those that were there stay if it does not succeed.
func (k *keySet) get(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	keys, err := k.document(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if err == nil {
		k.keys, k.fetched = keys, now
	}
	k.next = now.Add(keysPause)
	close(k.asking)
	k.asking = nil
}

func (k *keySet) document(ctx context.Context) ([]jose.JSONWebKey, error) {
	where, err := k.where(ctx)
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := fetch(ctx, k.client, where, &set); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys[:min(len(set.Keys), maxKeys)] {
		var key jose.JSONWebKey
		// Keys of a kind that we do not know are for others.
		if key.UnmarshalJSON(raw) == nil && key.Valid() && key.IsPublic() {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the issuer has no public keys")
	}
	return keys, nil
}
