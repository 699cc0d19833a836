package app

import (
	"context"
	"net"
	"net/http"
	"net/url"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/oauth"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// openLogins opens the logins at servers, which are sealed with the same key as
// the values that people seal.
func (a *App) openLogins(resolve func(hub.Server) (hub.Server, []string, *hub.Error)) error {
	vault, err := secret.OpenStore(a.dir.SealKey(), a.dir.Logins())
	if err == nil {
		a.logins, err = oauth.Open(oauth.Options{
			Vault: vault, Log: a.log, Redirect: a.callback, Resolve: resolve, Changed: a.loggedIn,
			Tenant: a.gate.Book().TenantID, Known: a.knowsOwner,
			Proxy: a.network.Proxy, RootCAs: a.network.RootCAs,
			Language: func(r *http.Request) message.Lang { return a.language(r) },
		})
	}
	if err != nil {
		return hub.E(message.DataDirUnusable, err, "path", a.dir.Path()).With("detail", message.Cause(err))
	}
	a.onStop("logins at servers", func(context.Context) error { a.logins.Close(); return nil })
	return nil
}

// knowsOwner reports whether somebody who has a login of his own at a server may
// still come.
func (a *App) knowsOwner(o oauth.Owner) bool {
	book := a.gate.Book()
	if o.Issued() {
		return o.Tenant == "" || book.TenantID(o.Tenant) == o.ID
	}
	return book.Lets(o.ID)
}

// authorize returns the credentials of an owner for a server.
func (a *App) authorize(server hub.Server, owner string) transport.Authorizer {
	if account := a.logins.Account(server, owner); account != nil {
		return account
	}
	return nil // and not an interface with nothing in it
}

// tryOut returns the credentials for a server that is tried out.
func (a *App) tryOut(server hub.Server) transport.Authorizer {
	if account := a.logins.Trial(server); account != nil {
		return account
	}
	return nil // as above
}

// loggedIn has a server connected anew that somebody has logged in to, or out of.
func (a *App) loggedIn(ctx context.Context, server, owner string) {
	if err := a.control.LoggedIn(ctx, server, owner); err != nil && ctx.Err() == nil {
		a.log.Warn("the server was not connected after a login", "server", server, "reason", err)
	}
}

// callback is the address to which browsers come back after a login at a server:
// that by which people reach the hub, as far as it is configured; else that of the
// listener.
func (a *App) callback() string {
	at := a.URL()
	if at == "" {
		return ""
	}
	said := a.control.Source().Config.Auth
	switch {
	case said.Login != nil && said.Login.RedirectURL != "":
		at = said.Login.RedirectURL
	case said.Protected != nil && said.Protected.URL != "":
		at = said.Protected.URL
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: oauth.CallbackPath}).String()
}
