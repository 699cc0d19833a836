package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Bounds of logins.
const (
	loginLimit = 10 * time.Minute // for a person to log in
	maxLogins  = 64               // under way
)

// login is one that somebody has begun.
type login struct {
	account  *Account
	title    string // of the server
	state    string
	verifier string
	address  string
	redirect string
	expires  time.Time
	place    *place
	client   *client
	scopes   []string
	to       *url.URL
	era      int // of the account, when it was entered
}

// Login is what somebody has to do who wants to log in.
type Login struct {
	URL     string
	Expires time.Time
}

// Done is a login that has come about.
type Done struct{ Server, Title, Owner string }

// Begin begins a login of an owner at a server, and returns the address that a
// person has to open. While one is under way it is that one. The error is a
// [*hub.Error].
func (k *Keeper) Begin(ctx context.Context, server hub.Server, owner string) (Login, error) {
	said := func(detail message.Phrase) error {
		return hub.E(message.UpstreamLoginUnused, nil, "server", message.Quote(server.Key)).With("detail", detail)
	}
	if why := unused(&server); !why.Empty() {
		return Login{}, said(why)
	}
	if server.OAuth != nil && server.OAuth.Grant == hub.GrantClient {
		return Login{}, said(message.Say("Toolcrib itself is who is let in"))
	}
	redirect := ""
	if k.opt.Redirect != nil {
		redirect = k.opt.Redirect()
	}
	if redirect == "" {
		return Login{}, hub.E(message.UpstreamLoginNowhere, nil)
	}
	if k.opt.Resolve != nil {
		resolved, _, err := k.opt.Resolve(server)
		if err != nil {
			return Login{}, err
		}
		server = resolved
	}
	defer k.occupy(account{server.Key, owner})()
	a := k.Account(server, owner)
	if a == nil {
		return Login{}, said(message.Say("its address cannot be read"))
	}
	if a.trial {
		return Login{}, hub.E(message.UpstreamLoginsFull, nil, "limit", strconv.Itoa(k.most))
	}
	return a.begin(ctx, server.Title(), redirect)
}

func (a *Account) begin(ctx context.Context, title, redirect string) (Login, error) {
	k := a.keeper
	a.mu.Lock()
	to, conf, n := a.url, a.conf, a.need
	var before []string
	if a.record != nil {
		before = union(a.record.Asked, a.record.Tokens.Scopes)
	}
	issuer := ""
	if a.record != nil {
		issuer = a.record.Issuer
	}
	if p := a.pending; p != nil && time.Now().Before(p.expires) && p.redirect == redirect && (n == nil || within(n.said.scopes, p.scopes)) {
		a.mu.Unlock()
		return Login{p.address, p.expires}, nil
	}
	a.mu.Unlock()
	r := k.reachFor(ctx, to)
	if n == nil {
		n = &need{said: r.knock(ctx, to)}
	}
	at, t := r.find(ctx, to, n.said, conf.AuthorizationServer)
	if t == nil {
		t = usable(at)
	}
	if t == nil && unsaid(&conf) {
		t = issuerUnsaid(at.server.Issuer)
	}
	if t != nil {
		return Login{}, a.failed(t.detail)
	}
	c, t := k.clientFor(ctx, r, at, &conf, redirect)
	if t != nil {
		if t.nothing {
			return Login{}, a.failed(message.Say("it says nothing of how to log in; if it wants a key, put that into \"headers\""))
		}
		return Login{}, a.failed(t.detail)
	}
	if !sameIssuer(issuer, at.server.Issuer) {
		before = nil // they are of another one
	}
	l := &login{
		account: a, title: title, state: rand.Text() + rand.Text(), verifier: oauth2.GenerateVerifier(), redirect: redirect,
		expires: time.Now().Add(loginLimit), place: at, client: c, to: to,
		scopes: union(before, wantedScopes(&conf, n.said.scopes, at.scopes)),
	}
	if slices.Contains(at.server.ScopesSupported, "offline_access") {
		l.scopes = union(l.scopes, []string{"offline_access"}) // else there may be no token to refresh by
	}
	l.address = l.build()
	if err := k.enter(l); err != nil {
		return Login{}, err
	}
	return Login{l.address, l.expires}, nil
}

// usable is what is wrong with an authorization server for the login of a person;
// nil for nothing.
func usable(at *place) *trouble {
	m := &at.server
	switch {
	case m.AuthorizationEndpoint == "":
		return fault(message.Say("the authorization server %s names no %s", message.Quote(origin(m.Issuer)), message.Verbatim("authorization_endpoint")))
	case !slices.Contains(m.CodeChallengeMethodsSupported, methodS256):
		return fault(message.Say("the authorization server %s does not say that it knows PKCE with S256", message.Quote(origin(m.Issuer))))
	}
	return nil
}

// knock asks the server without credentials, for what it then says of them.
func (r *reach) knock(ctx context.Context, server *url.URL) challenge {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.String(), http.NoBody)
	if err != nil {
		return challenge{}
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	limited, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	res, err := r.RoundTrip(req.WithContext(limited))
	if err != nil {
		return challenge{}
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
		return challenge{}
	}
	return challengeOf(res.Header)
}

// build makes the address that a person opens (OAuth 2.1, section 4.1.1).
func (l *login) build() string {
	u, err := url.Parse(l.place.server.AuthorizationEndpoint)
	if err != nil {
		return "" // it was checked
	}
	q := u.Query()
	q.Set("response_type", "code")
	q.Set("client_id", l.client.ID)
	q.Set("redirect_uri", l.redirect)
	q.Set("state", l.state)
	q.Set("code_challenge", oauth2.S256ChallengeFromVerifier(l.verifier))
	q.Set("code_challenge_method", methodS256)
	q.Set("resource", l.place.resource)
	if len(l.scopes) > 0 {
		q.Set("scope", strings.Join(l.scopes, " "))
	}
	if slices.Contains(l.scopes, "offline_access") && q.Get("prompt") == "" {
		q.Set("prompt", "consent") // OpenID Connect Core, section 11
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// enter notes that a login is under way, in place of the account's last one.
func (k *Keeper) enter(l *login) error {
	if !k.note(l) {
		return hub.E(message.UpstreamLoginBusy, nil, "minutes", "10")
	}
	l.account.mu.Lock()
	defer l.account.mu.Unlock()
	l.account.pending, l.account.fault, l.era = l, nil, l.account.era
	return nil
}

// note is enter without the account, whose mu must not be taken under the keeper's.
// It reports false if there are too many.
func (k *Keeper) note(l *login) bool {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for state, other := range k.logins {
		if other.account == l.account || now.After(other.expires) {
			delete(k.logins, state)
		}
	}
	if len(k.logins) >= maxLogins {
		return false
	}
	k.logins[l.state] = l
	return true
}

// find returns the login with the state; nil if there is none, or not any more.
// Once it is taken, it can be completed by nobody else.
func (k *Keeper) find(state string, take bool) *login {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.logins[state]
	if l == nil || state == "" || time.Now().After(l.expires) {
		return nil
	}
	if take {
		delete(k.logins, state)
	}
	return l
}

// Complete takes what a browser came back with from a login. The error is a
// [*hub.Error]; it shows neither code nor state.
func (k *Keeper) Complete(ctx context.Context, q url.Values) (Done, error) {
	l := k.find(q.Get("state"), false)
	if l == nil {
		return Done{}, hub.E(message.UpstreamLoginUnknown, nil)
	}
	a := l.account
	defer k.occupy(a.name)() // before it is in no list of logins
	if k.find(l.state, true) == nil {
		return Done{}, hub.E(message.UpstreamLoginUnknown, nil) // somebody was faster
	}
	// A code is good once: that the browser has gone does not end its exchange.
	err := l.complete(context.WithoutCancel(ctx), q)
	a.mu.Lock()
	if a.pending == l {
		a.pending = nil
		a.fault = err
	}
	a.mu.Unlock()
	done := Done{Server: a.name.server, Title: l.title, Owner: a.name.owner}
	if err != nil {
		k.opt.Log.WarnContext(ctx, "a login at a server did not come about", "server", a.name.server, "reason", err)
		return done, err
	}
	k.opt.Log.InfoContext(ctx, "somebody has logged in at a server", "server", a.name.server, "issuer", l.place.server.Issuer)
	k.tell(a.name)
	return done, nil
}

// complete checks who answers (RFC 9207) before it gives the code to anybody.
func (l *login) complete(ctx context.Context, q url.Values) *hub.Error {
	a, m := l.account, &l.place.server
	iss := q.Get("iss")
	switch {
	case len(q["iss"]) > 1 || len(q["code"]) > 1 || len(q["state"]) > 1:
		return a.failed(message.Say("the browser came back with more than one answer"))
	case iss == "" && m.AuthorizationResponseIssParameterSupported:
		return a.failed(message.Say("the answer does not say that it comes from %s", message.Quote(m.Issuer)))
	case iss != "" && iss != m.Issuer:
		return a.failed(message.Say("the answer comes from %s, and not from %s", message.Quote(short(iss, 200)), message.Quote(m.Issuer)))
	}
	if code := q.Get("error"); code != "" {
		return a.failed(message.Say("%s answered %s", message.Quote(origin(m.Issuer)), message.Quote(short(code, 64))))
	}
	code := q.Get("code")
	if code == "" || len(code) > maxToken {
		return a.failed(message.Say("the answer has no code"))
	}
	form := url.Values{
		"grant_type": {string(hub.GrantCode)}, "code": {code}, "redirect_uri": {l.redirect}, "code_verifier": {l.verifier},
		"resource": {l.place.resource},
	}
	got, err := a.keeper.reachFor(ctx, l.to).ask(ctx, m.TokenEndpoint, m.Issuer, l.client, form, l.scopes)
	if err != nil {
		if e, ok := errors.AsType[*refusedError](err); ok && e.code == "invalid_client" && l.client.Dynamic {
			a.keeper.dropClient(m.Issuer, l.redirect, l.client.ID)
		}
		return a.failed(message.Say("the authorization server %s: %s", message.Quote(origin(m.Issuer)), detail(err)))
	}
	r := &record{
		Server: a.name.server, Owner: a.name.owner, URL: l.to.String(), Resource: l.place.resource, Issuer: m.Issuer,
		Endpoint: m.TokenEndpoint, Revoke: m.RevocationEndpoint, Redirect: l.redirect, Grant: hub.GrantCode, Client: *l.client,
		Asked: l.scopes, Tokens: *got,
	}
	if !a.adopt(r, nil, l.era) {
		a.keeper.revoke(ctx, l.to, r, l.client)
		return hub.E(message.UpstreamLoginUnknown, nil)
	}
	return nil
}

// revoke tells an authorization server that what it gave is not used any more, if
// that can be told (RFC 7009). Whatever comes of it, the hub has none.
func (k *Keeper) revoke(ctx context.Context, server *url.URL, r *record, c *client) {
	if r.Revoke == "" || server == nil {
		return
	}
	token, kind := r.Tokens.Refresh, "refresh_token"
	if token == "" {
		token, kind = r.Tokens.Access, "access_token"
	}
	_, _ = k.reachFor(ctx, server).submit(ctx, r.Revoke, r.Issuer, c, url.Values{"token": {token}, "token_type_hint": {kind}})
}

// Logout forgets an owner's credentials at a server, and tells the authorization
// server that they are not used any more, if that can be told. It reports whether
// there were any.
func (k *Keeper) Logout(ctx context.Context, server, owner string) bool {
	name := account{server, owner}
	k.mu.Lock()
	a := k.accounts[name]
	for state, l := range k.logins {
		if l.account == a {
			delete(k.logins, state)
		}
	}
	k.mu.Unlock()
	if a == nil {
		return false
	}
	a.mu.Lock()
	r, to := a.record, a.url
	var c *client
	if r != nil {
		c = a.clientNow(r)
	}
	a.record, a.pending, a.fault = nil, nil, nil
	a.era++
	a.bearer.Store(nil)
	k.forget(name) // before anybody can have logged in again
	a.mu.Unlock()
	if r == nil || r.Tokens.Access == "" && r.Tokens.Refresh == "" {
		return false
	}
	if to == nil {
		to, _ = resourceOf(r.URL)
	}
	k.revoke(ctx, to, r, c)
	k.opt.Log.InfoContext(ctx, "somebody has logged out at a server", "server", server, "issuer", r.Issuer)
	k.tell(name)
	return true
}

// Forget is Logout for all owners at a server that is no more, without telling
// anybody.
func (k *Keeper) Forget(server string) {
	k.mu.Lock()
	var gone []*Account
	for name, a := range k.accounts {
		if name.server == server {
			gone = append(gone, a)
			delete(k.accounts, name)
		}
	}
	for state, l := range k.logins {
		if l.account.name.server == server {
			delete(k.logins, state)
		}
	}
	k.mu.Unlock()
	for _, a := range gone {
		a.retire()
		k.forget(a.name)
	}
}
