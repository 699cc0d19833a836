// Package issuer is an authorization server and OpenID provider for tests: a real
// one, but that it lets in whom the test says. It listens on the loopback.
package issuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// ClientID and ClientSecret are those of the one client that is known.
const (
	ClientID     = "toolcrib"
	ClientSecret = "the secret of the client" //nolint:gosec // of a test
)

// Issuer is the server. Its fields may be set before it is asked.
type Issuer struct {
	URL string

	// Identity is what the next ID token says beside what it has to; it may put
	// other values in the place of those. Access is the same for access tokens.
	Identity, Access map[string]any
	// Answer changes what the browser is sent back with.
	Answer func(url.Values)
	// Sign makes tokens; by default with the key that is told.
	Signer func(i *Issuer, typ string, claims map[string]any) string
	// Down has it answer nothing but 503.
	Down bool

	t       testing.TB
	mu      sync.Mutex
	key     *rsa.PrivateKey
	kid     int
	more    []jose.JSONWebKey
	codes   map[string]url.Values
	fetched int // times that the keys were asked for
	shown   int // codes
	asked   url.Values
}

// New starts an issuer, which ends with the test.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t, codes: make(map[string]url.Values)}
	i.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.metadata)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", i.metadata)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		down := i.Down
		i.mu.Unlock()
		if down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	i.URL = s.URL
	return i
}

// SetDown has it answer, or not.
func (i *Issuer) SetDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.Down = down
}

// Rotate has it sign with a new key, and know only that.
func (i *Issuer) Rotate() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		i.t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key = key
	i.kid++
}

// AddKey has it tell one more key.
func (i *Issuer) AddKey(key jose.JSONWebKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.more = append(i.more, key)
}

// Fetched is how often its keys were asked for.
func (i *Issuer) Fetched() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetched
}

// Codes is how often it was shown a code.
func (i *Issuer) Codes() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.shown
}

// Asked is with what the browser came last.
func (i *Issuer) Asked() url.Values {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// Key is the key it signs with, and the key's id.
func (i *Issuer) Key() (key *rsa.PrivateKey, kid string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.key, fmt.Sprintf("key-%d", i.kid)
}

// JWT signs claims with the key of the issuer.
func (i *Issuer) JWT(typ string, claims map[string]any) string {
	key, kid := i.Key()
	return Sign(i.t, jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, typ, claims)
}

// Token is an access token for a resource with scopes; changes are put in the
// place of what it would say, and nil takes a claim out.
func (i *Issuer) Token(resource, scope string, changes map[string]any) string {
	return i.JWT("at+jwt", i.claims(map[string]any{"aud": resource, "scope": scope, "client_id": ClientID}, changes))
}

func (i *Issuer) claims(all, changes map[string]any) map[string]any {
	now := time.Now()
	said := map[string]any{"iss": i.URL, "sub": "alice", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(said, all)
	maps.Copy(said, changes)
	maps.DeleteFunc(said, func(_ string, v any) bool { return v == nil })
	return said
}

// Sign signs claims.
func Sign(t testing.TB, key jose.SigningKey, typ string, claims map[string]any) string {
	t.Helper()
	opt := &jose.SignerOptions{}
	if typ != "" {
		opt = opt.WithType(jose.ContentType(typ))
	}
	signer, err := jose.NewSigner(key, opt)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ECKey is a new key for ES256, and what is told of it.
func ECKey(t testing.TB, kid string) (*ecdsa.PrivateKey, jose.JSONWebKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key, jose.JSONWebKey{Key: crypto.PublicKey(&key.PublicKey), KeyID: kid, Use: "sig"}
}

func (i *Issuer) metadata(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
		"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic", "client_secret_post", "none"},
		"id_token_signing_alg_values_supported":          []string{"RS256"},
		"subject_types_supported":                        []string{"public"},
		"authorization_response_iss_parameter_supported": true,
	})
}

func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	key, kid := i.Key()
	i.mu.Lock()
	i.fetched++
	set := jose.JSONWebKeySet{Keys: append([]jose.JSONWebKey{{Key: &key.PublicKey, KeyID: kid, Use: "sig", Algorithm: "RS256"}}, i.more...)}
	i.mu.Unlock()
	answer(w, set)
}

// authorize lets whoever comes in, and sends the browser back.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" {
		http.Error(w, "no client of ours, or no code flow with S256", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.mu.Lock()
	i.codes[code], i.asked = q, q
	i.mu.Unlock()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		http.Error(w, "no redirect_uri", http.StatusBadRequest)
		return
	}
	values := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}
	if i.Answer != nil {
		i.Answer(values)
	}
	back.RawQuery = values.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token takes a code, once, from who has the verifier and the secret.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	i.shown++
	asked := i.codes[r.Form.Get("code")]
	delete(i.codes, r.Form.Get("code"))
	i.mu.Unlock()
	sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.Form.Get("client_id"), r.Form.Get("client_secret")
	} else {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	}
	if asked == nil || id != ClientID || secret != ClientSecret || r.Form.Get("redirect_uri") != asked.Get("redirect_uri") ||
		asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
		return
	}
	sign := i.Signer
	if sign == nil {
		sign = func(i *Issuer, typ string, claims map[string]any) string { return i.JWT(typ, claims) }
	}
	answer(w, map[string]any{
		"token_type": "Bearer", "expires_in": 3600,
		"access_token": sign(i, "at+jwt", i.claims(map[string]any{"aud": asked.Get("resource"), "scope": asked.Get("scope"), "client_id": ClientID}, i.Access)),
		"id_token":     sign(i, "JWT", i.claims(map[string]any{"aud": ClientID, "nonce": asked.Get("nonce")}, i.Identity)),
	})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
