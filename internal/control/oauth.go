package control

import (
	"context"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/oauth"
)

// Login begins a login at a server, the hub's own or one for a principal, and
// returns the address that a person has to open. The error is
// [message.ServerUnknown], or one of [oauth.Keeper.Begin].
func (c *Control) Login(ctx context.Context, key string, of *hub.Principal) (oauth.Login, error) {
	def, owner, err := c.login(key, of)
	if err != nil {
		return oauth.Login{}, err
	}
	return c.opt.Logins.Begin(ctx, def, owner)
}

// Logout forgets the hub's own credentials at a server, or those of a principal.
// The error is that of Login.
func (c *Control) Logout(ctx context.Context, key string, of *hub.Principal) error {
	_, owner, err := c.login(key, of)
	if err == nil {
		c.opt.Logins.Logout(ctx, key, owner)
	}
	return err
}

// login finds the server, and whose login is meant; nil stands for the hub's own.
func (c *Control) login(key string, of *hub.Principal) (def hub.Server, owner string, err error) {
	def, ok := find(c.Source().Config, key)
	if !ok || c.opt.Logins == nil {
		return def, "", unknown(key)
	}
	unused := func(detail message.Phrase) error {
		return hub.E(message.UpstreamLoginUnused, nil, "server", message.Quote(key)).With("detail", detail)
	}
	if of == nil {
		return def, "", nil
	}
	switch owner = c.opt.Logins.OwnerOf(*of); {
	case owner == "":
		return def, "", unused(message.Say("whoever has no name of their own here uses that of Toolcrib"))
	case def.OAuth != nil && def.OAuth.Shared:
		return def, "", unused(message.Say("all use that of Toolcrib"))
	}
	return def, owner, nil
}

// Credentials tells how a principal is let in to a server: by a login of its own,
// which own reports, or by that of the hub. It reports false for a server that
// takes no login.
func (c *Control) Credentials(def hub.Server, p hub.Principal) (st oauth.Status, own, ok bool) {
	if c.opt.Logins == nil {
		return oauth.Status{}, false, false
	}
	owner := c.opt.Logins.Owner(def.Key, p)
	if def.OAuth != nil && (def.OAuth.Shared || def.OAuth.Grant == hub.GrantClient) {
		owner = "" // which is known by the connection only otherwise
	}
	st, ok = c.opt.Logins.Status(def, owner)
	return st, owner != "", ok
}

// LoggedIn has a server connected anew that an owner has logged in to, or out of.
// Connections of an owner with a name end, and are made again when they are needed.
// For the hub's own login, one
// that was given up for want of a login is started, and one that runs is asked for
// its lists again, which may depend on who asks. What a person has stopped stays
// so. The error says why the server is not ready.
func (c *Control) LoggedIn(ctx context.Context, key, owner string) error {
	def, ok := c.opt.Fleet.Server(key)
	if !ok {
		return nil
	}
	if owner != "" {
		c.opt.Fleet.Dismiss(key, owner)
		return nil
	}
	for _, st := range c.opt.Fleet.Status() {
		if st.Key != key {
			continue
		}
		credentials, _ := c.opt.Logins.Status(def, "")
		switch {
		case st.State.Running() && (def.Kind == hub.KindWebSocket || credentials.State == oauth.StateNone || credentials.State == oauth.StateNeeded):
			// It let the connection in by what it was shown at the beginning.
			return c.opt.Fleet.Restart(ctx, key)
		case st.State.Running():
			return c.opt.Fleet.Refresh(ctx, key)
		case st.State == hub.StateFailed, st.State == hub.StateReconnecting:
			if credentials.State == oauth.StateGranted || st.Reason == nil || st.Reason.Code != message.UpstreamLoginNeeded {
				return c.opt.Fleet.Start(ctx, key)
			}
		}
	}
	return nil
}
