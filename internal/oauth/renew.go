package oauth

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// renewLimit bounds one attempt to have a token.
const renewLimit = 40 * time.Second

// renew has a token instead of the one that was used, once for all who want it. It
// is nil as well if there is another one meanwhile.
func (a *Account) renew(ctx context.Context, used *bearer) error {
	return a.share(ctx, used, func(ctx context.Context) error { return a.refresh(ctx, used) })
}

// share waits for an attempt to have a token in place of the one that was used,
// which it begins if none is under way. The attempt goes on when ctx ends: an
// authorization server that has given a new token takes the old one no more.
func (a *Account) share(ctx context.Context, used *bearer, try func(context.Context) error) error {
	a.mu.Lock()
	if a.bearer.Load() != used {
		a.mu.Unlock()
		return nil
	}
	f := a.flight
	if f == nil {
		f = &flight{done: make(chan struct{})}
		began := a.keeper.aside(func() {
			limited, cancel := context.WithTimeout(a.keeper.life, renewLimit)
			defer cancel()
			f.err = try(limited)
			a.mu.Lock()
			a.flight = nil
			a.mu.Unlock()
			close(f.done)
		})
		if !began {
			a.mu.Unlock()
			return hub.E(message.ShuttingDown, nil)
		}
		a.flight = f
	}
	a.mu.Unlock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// refresh has a token by what is known from before.
func (a *Account) refresh(ctx context.Context, used *bearer) error {
	a.mu.Lock()
	to := a.url
	if a.record == nil || to == nil {
		a.mu.Unlock()
		return &refusedError{detail: message.Say("nobody is logged in")}
	}
	old, era := *a.record, a.era
	c := a.clientNow(&old)
	a.mu.Unlock()
	form := url.Values{"resource": {old.Resource}}
	if old.Grant == hub.GrantClient {
		form.Set("grant_type", string(hub.GrantClient))
		if len(old.Asked) > 0 {
			form.Set("scope", strings.Join(old.Asked, " "))
		}
	} else {
		form.Set("grant_type", "refresh_token")
		form.Set("refresh_token", old.Tokens.Refresh)
	}
	got, err := a.keeper.reachFor(ctx, to).ask(ctx, old.Endpoint, old.Issuer, c, form, old.Tokens.Scopes)
	if err != nil {
		a.unrenewed(used, &old, err)
		return err
	}
	next := old
	next.Tokens = *got
	next.Tokens.Again = true
	if got.Refresh == "" {
		next.Tokens.Refresh = old.Tokens.Refresh
	}
	if !a.adopt(&next, used, era) {
		next.Tokens.Refresh = got.Refresh // the logout has told of the old one
		a.giveBack(ctx, to, &next, c, era)
	}
	return nil
}

// giveBack revokes what was not adopted since somebody has logged out meanwhile:
// nobody knows of it any more.
func (a *Account) giveBack(ctx context.Context, to *url.URL, r *record, c *client, era int) {
	a.mu.Lock()
	out := a.era != era
	a.mu.Unlock()
	if out {
		a.keeper.revoke(ctx, to, r, c)
	}
}

// clientNow is the client of a record, by what the configuration says of it now.
// The caller holds mu.
func (a *Account) clientNow(r *record) *client {
	c := r.Client
	if !c.Dynamic {
		c.Secret, c.key = a.conf.ClientSecret, a.conf.PrivateKey
	}
	return &c
}

// unrenewed notes that a token could not be had anew.
func (a *Account) unrenewed(used *bearer, r *record, err error) {
	log := a.keeper.opt.Log.With("server", a.name.server, "issuer", r.Issuer)
	if passing(err) {
		log.Warn("a token could not be had anew now", "reason", detail(err).String())
		return
	}
	log.Warn("a token is not given anew; somebody has to log in", "reason", detail(err).String())
	if e, ok := errors.AsType[*refusedError](err); ok && (e.code == "invalid_client" || e.code == "unauthorized_client") && r.Client.Dynamic {
		a.keeper.dropClient(r.Issuer, r.Redirect, r.Client.ID)
	}
	if r.Grant == hub.GrantClient {
		return // it may be by a new configuration
	}
	// What is left of the token is used up.
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.record == nil || a.bearer.Load() != used {
		return
	}
	kept := *a.record
	kept.Tokens.Refresh = ""
	a.take(&kept)
	if err := a.save(&kept); err != nil {
		log.Error("a login could not be sealed", "error", err)
	}
}

// adopt has the account use a record in place of the token that was used, and seals
// it. Nothing changes, and it reports false, if there is another one meanwhile, or
// somebody has logged out since the era. A nil one stands for whatever there is: a
// person has logged in.
func (a *Account) adopt(r *record, used *bearer, era int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone || era != a.era || used != nil && a.bearer.Load() != used || a.url == nil || !a.fits(r) {
		return false
	}
	// Sealed first: a server that changes tokens takes the old one no more.
	if err := a.save(r); err != nil {
		a.keeper.opt.Log.Error("a login could not be sealed, and is good until the hub ends", "server", a.name.server, "error", err)
	}
	a.take(r)
	a.need, a.fault = nil, nil
	return true
}

// byItself has the hub itself let in (RFC 6749, section 4.4), for what the server
// said.
func (a *Account) byItself(ctx context.Context, n need) error {
	a.mu.Lock()
	to, conf, used, era := a.url, a.conf, a.bearer.Load(), a.era
	var before []string
	if a.record != nil && n.step {
		before = union(a.record.Asked, a.record.Tokens.Scopes)
	}
	a.mu.Unlock()
	r := a.keeper.reachFor(ctx, to)
	at, t := r.find(ctx, to, n.said, conf.AuthorizationServer)
	if t != nil {
		return t
	}
	if unsaid(&conf) {
		return issuerUnsaid(at.server.Issuer)
	}
	if conf.ClientID == "" {
		return fault(message.Say("the grant client_credentials needs \"oauth.clientId\""))
	}
	c := configured(&conf, at.server.TokenEndpointAuthMethodsSupported)
	scopes := union(before, wantedScopes(&conf, n.said.scopes, at.scopes))
	form := url.Values{"grant_type": {string(hub.GrantClient)}, "resource": {at.resource}}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	got, err := r.ask(ctx, at.server.TokenEndpoint, at.server.Issuer, c, form, scopes)
	if err != nil {
		return err
	}
	if got.Expires.IsZero() {
		got.Expires = got.Got.Add(usualLife)
	}
	got.Refresh, got.Again = "", true // RFC 6749, section 4.4.3
	next := &record{
		Server: a.name.server, Owner: a.name.owner, URL: to.String(), Resource: at.resource, Issuer: at.server.Issuer,
		Endpoint: at.server.TokenEndpoint, Revoke: at.server.RevocationEndpoint, Grant: hub.GrantClient, Client: *c, Asked: scopes, Tokens: *got,
	}
	if !a.adopt(next, used, era) {
		a.giveBack(ctx, to, next, c, era)
	}
	return nil
}

// wantedScopes are those to ask for: of the configuration, with what the server
// asks for beyond them; else those that it asks for, else all that it knows
// (2025-11-25, "Scope Selection Strategy").
func wantedScopes(conf *hub.OAuth, challenged, supported []string) []string {
	switch {
	case len(conf.Scopes) > 0:
		return union(conf.Scopes, challenged)
	case len(challenged) > 0:
		return union(challenged)
	}
	return union(supported)
}

// save seals a record of the account.
func (a *Account) save(r *record) error {
	if a.trial {
		return nil
	}
	return a.keeper.save(r)
}
