package auth

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Times of signing in.
const (
	flowLife     = 10 * time.Minute // from the beginning to the provider's answer
	providerLife = time.Hour        // then it is asked again what it says of itself
)

// mostAnswers is how many codes a second are shown to the provider from one address,
// which may be that of a proxy before us.
const mostAnswers = 50

// Login is how people sign in: the authorization code flow of OpenID Connect with
// PKCE. It is safe for concurrent use.
//
// The browser's cookie is all there is to know of a login under way: what the
// provider is sent (state, nonce, and the code's challenge) is made of it, so that
// any hub on the same database can take the answer, and nothing is kept for those
// who never come back. It is signed, so that nobody makes up one.
type Login struct {
	settings hub.Login
	client   *http.Client
	secret   func() (string, error)
	key      func(context.Context) ([]byte, error) // of the cookie's signature
	tenants  func(string) bool
	log      *slog.Logger
	answers  *Meter // by address

	mu       sync.Mutex
	provider metadata
	asked    time.Time // when that was said
	next     time.Time // not asked before
	keys     *keySet
}

func newLogin(settings hub.Login, opt GateOptions, tenants func(string) bool) *Login {
	l := &Login{settings: settings, client: bounded(opt.Client), tenants: tenants, log: opt.Log, answers: NewMeter(mostAnswers, time.Second)}
	if opt.Book != nil {
		l.key = opt.Book.flowKey
	} else {
		own := make([]byte, entropy)
		_, _ = rand.Read(own) // never fails
		l.key = func(context.Context) ([]byte, error) { return own, nil }
	}
	l.secret = func() (string, error) { return settings.ClientSecret, nil }
	if opt.Secret != nil {
		l.secret = func() (string, error) { return opt.Secret(settings.ClientSecret) }
	}
	l.keys = &keySet{client: l.client, where: func(ctx context.Context) (string, error) {
		m, err := l.discovered(ctx)
		return m.JWKS, err
	}}
	return l
}

// Start begins a login: it returns where the browser is to be sent, and what the
// cookie of the login is to hold. back is the address of the callback as the
// browser knows it. The error is login_unavailable, or one of the database.
func (l *Login) Start(ctx context.Context, back string) (to, cookie string, e *hub.Error) {
	config, _, e := l.config(ctx, back)
	if e != nil {
		return "", "", e
	}
	key, err := l.key(ctx)
	if err != nil {
		return "", "", hub.AsError(err)
	}
	f := newFlow(key, time.Now())
	to = config.AuthCodeURL(f.state(), oidc.Nonce(f.nonce()), oauth2.S256ChallengeOption(f.verifier()))
	return to, string(f), nil
}

// Finish takes the provider's answer, and returns who has signed in. cookie is what
// Start said, from is the address that the browser has. Errors are login_failed,
// login_forbidden and login_unavailable, or one of the database.
func (l *Login) Finish(ctx context.Context, from netip.Addr, answer url.Values, cookie, back string) (Person, *hub.Error) {
	key, err := l.key(ctx)
	if err != nil {
		return Person{}, hub.AsError(err)
	}
	f := flow(cookie)
	if !f.good(key, time.Now()) {
		return Person{}, failed(nil, "the browser has no cookie of a login that was begun here within 10 minutes")
	}
	if len(answer["state"]) != 1 || subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(f.state())) != 1 {
		return Person{}, failed(nil, "the answer is not for the login that this browser has begun")
	}
	config, provider, e := l.config(ctx, back)
	if e != nil {
		return Person{}, e
	}
	if ok, _ := l.answers.Allow(from.String(), time.Now()); !ok {
		return Person{}, hub.E(message.LoginUnavailable, nil).With("detail", message.Say("too many sign in at once"))
	}
	if iss := answer["iss"]; len(iss) > 1 || len(iss) == 1 && iss[0] != l.settings.Issuer || len(iss) == 0 && provider.NamesIss {
		return Person{}, failed(nil, "the answer comes from another provider") // RFC 9207
	}
	if refusal := answer.Get("error"); refusal != "" {
		return Person{}, failed(nil, "the provider refused: %s", message.Quote(refusal))
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, l.client), 2*fetchLimit)
	defer cancel()
	token, err := config.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(f.verifier()))
	if err != nil {
		l.log.WarnContext(ctx, "the login's provider does not take a code", "issuer", l.settings.Issuer, "error", quiet(err))
		return Person{}, failed(err, "the provider does not take the code")
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok || len(raw) > maxDocument {
		return Person{}, failed(nil, "the provider sent no identity")
	}
	said, err := l.identity(ctx, raw, token, f)
	if errors.Is(err, errUnreachable) {
		return Person{}, l.unreachable(err)
	}
	if err != nil {
		l.log.WarnContext(ctx, "the identity that the login's provider sent is refused", "issuer", l.settings.Issuer, "error", err)
		return Person{}, failed(err, "the identity is not one that the provider signed for this login")
	}
	return l.person(said)
}

// identity checks an ID token (OpenID Connect Core 1.0, section 3.1.3.7).
func (l *Login) identity(ctx context.Context, raw string, token *oauth2.Token, f flow) (claims, error) {
	algs := make([]string, len(algorithms))
	for i, a := range algorithms {
		algs[i] = string(a)
	}
	verifier := oidc.NewVerifier(l.settings.Issuer, l.keys, &oidc.Config{ClientID: l.settings.ClientID, SupportedSigningAlgs: algs})
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.nonce())) != 1 {
		return nil, errors.New("it is for another login")
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, err
		}
	}
	_, said, ok := peek(raw)
	if !ok {
		return nil, errToken
	}
	if party, ok := said.text("azp"); ok && party != l.settings.ClientID || !ok && len(id.Audience) > 1 {
		return nil, errors.New("it is for another client")
	}
	return said, nil
}

// person is whom an identity speaks of, and what he may do.
func (l *Login) person(said claims) (Person, *hub.Error) {
	var p Person
	forbidden := func(format string, args ...any) (Person, *hub.Error) {
		return p, hub.E(message.LoginForbidden, nil).With("detail", message.Say(format, args...))
	}
	subject, ok := said.name("sub")
	if !ok {
		return Person{}, failed(nil, "the provider sent no identity")
	}
	p = Person{Subject: qualified(l.settings.Issuer, subject)}
	for _, claim := range []string{"name", "preferred_username", "email"} {
		if name, ok := said.text(claim); ok && p.Name == "" {
			p.Name = message.Quote(name)
		}
	}
	if p.Role = l.role(said); p.Role == "" {
		return forbidden("none of your groups has a role here")
	}
	if l.settings.TenantClaim != "" {
		if p.Tenant, ok = said.name(l.settings.TenantClaim); !ok {
			return forbidden("the provider does not say of which tenant you are")
		}
		if !l.tenants(p.Tenant) {
			return forbidden("the tenant %s is not known here", message.Quote(p.Tenant))
		}
	}
	return p, nil
}

func (l *Login) role(said claims) hub.Role {
	names := []string{l.settings.RoleClaim}
	if l.settings.RoleClaim == "" {
		names = []string{"roles", "groups"}
	}
	var roles []hub.Role
	for _, name := range names {
		for _, group := range said.list(name) {
			if role, ok := l.settings.Roles[group]; ok {
				roles = append(roles, role)
			}
		}
	}
	return cmp.Or(hub.RoleOf(roles...), l.settings.DefaultRole)
}

// config is what the library is to know of the provider.
func (l *Login) config(ctx context.Context, back string) (*oauth2.Config, metadata, *hub.Error) {
	unavailable := func(err error, format string, args ...any) *hub.Error {
		return hub.E(message.LoginUnavailable, err).With("detail", message.Say(format, args...))
	}
	if back = cmp.Or(l.settings.RedirectURL, back); back == "" {
		return nil, metadata{}, unavailable(nil, "the address by which browsers come here is not known; set \"redirectURL\"")
	}
	secret, err := l.secret()
	if err != nil {
		l.log.WarnContext(ctx, "nobody can sign in", "error", err)
		return nil, metadata{}, unavailable(err, "the client secret in the configuration cannot be filled in")
	}
	m, err := l.discovered(ctx)
	if err != nil {
		return nil, metadata{}, l.unreachable(err)
	}
	scopes := slices.Concat([]string{oidc.ScopeOpenID}, l.settings.Scopes)
	if len(l.settings.Scopes) == 0 {
		scopes = append(scopes, "profile")
	}
	slices.Sort(scopes)
	return &oauth2.Config{
		ClientID: l.settings.ClientID, ClientSecret: secret, RedirectURL: back, Scopes: slices.Compact(scopes),
		Endpoint: oauth2.Endpoint{AuthURL: m.AuthURL, TokenURL: m.TokenURL},
	}, m, nil
}

func (l *Login) unreachable(err error) *hub.Error {
	l.log.Warn("the login's provider is not reached", "issuer", l.settings.Issuer, "error", quiet(err))
	return hub.E(message.LoginUnavailable, err).With("detail", message.Say("the provider %s was not reached", l.settings.Issuer))
}

// discovered is what the provider says of itself. It is asked by one at a time,
// once an hour, and not again within 10 s if it did not answer.
func (l *Login) discovered(ctx context.Context) (metadata, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	known := !l.asked.IsZero()
	if known && now.Sub(l.asked) < providerLife || now.Before(l.next) {
		if !known {
			return metadata{}, errUnreachable
		}
		return l.provider, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchLimit)
	defer cancel()
	m, err := discover(ctx, l.client, l.settings.Issuer)
	for _, address := range []string{m.AuthURL, m.TokenURL, m.JWKS} {
		if fault := hub.EndpointFault(address); err == nil && fault != "" {
			err = errors.New("an address that it names " + fault)
		}
	}
	l.next = time.Now().Add(keysPause)
	if err == nil {
		l.provider, l.asked = m, time.Now()
	} else if !known {
		return metadata{}, errors.Join(errUnreachable, err)
	}
	return l.provider, nil
}

// quiet is an error of the library without what a provider has sent: that may hold
// a code or a token.
func quiet(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return errors.New("the provider answers with " + refused.Response.Status + " " + message.Quote(refused.ErrorCode))
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func failed(err error, format string, args ...any) *hub.Error {
	return hub.E(message.LoginFailed, err).With("detail", message.Say(format, args...))
}

// flow is the cookie of a login under way: 32 random bytes, when it began, and the
// signature of both.
type flow string

func newFlow(key []byte, now time.Time) flow {
	raw := make([]byte, entropy)
	_, _ = rand.Read(raw) // never fails
	said := base64.RawURLEncoding.EncodeToString(raw) + "." + strconv.FormatInt(now.Unix(), 10)
	return flow(said + "." + signature(key, said))
}

// signature is that of what a cookie says.
func signature(key []byte, said string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("toolcrib login cookie\x00" + said))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// good reports whether the cookie is one of ours that is not too old.
func (f flow) good(key []byte, now time.Time) bool {
	end := strings.LastIndexByte(string(f), '.')
	if end < 0 || !hmac.Equal([]byte(f[end+1:]), []byte(signature(key, string(f[:end])))) {
		return false
	}
	random, began, ok := strings.Cut(string(f[:end]), ".")
	seconds, err := strconv.ParseInt(began, 10, 64)
	if !ok || err != nil || len(random) != cookieLength {
		return false
	}
	age := now.Sub(time.Unix(seconds, 0))
	return age > -leeway && age < flowLife
}

func (f flow) state() string    { return f.derive("state") }
func (f flow) nonce() string    { return f.derive("nonce") }
func (f flow) verifier() string { return f.derive("verifier") }

func (f flow) derive(what string) string {
	sum := sha256.Sum256([]byte("toolcrib login " + what + "\x00" + string(f)))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
