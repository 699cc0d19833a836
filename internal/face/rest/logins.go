package rest

import (
	"context"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type loginOutput struct{ Body api.ServerLogin }

// logins registers what is about logins at servers.
func (d *Door) logins() {
	const place = "/servers/{key}"
	refused := []int{http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests, http.StatusBadGateway}
	begin := func(ctx context.Context, key string, of *hub.Principal) (*loginOutput, error) {
		if _, _, err := d.reach(ctx, key); err != nil {
			return nil, err
		}
		login, err := d.opt.Control.Login(ctx, key, of)
		if err != nil {
			return nil, failed(err)
		}
		return &loginOutput{api.ServerLogin{URL: login.URL, Expires: login.Expires}}, nil
	}
	end := func(ctx context.Context, key string, of *hub.Principal) (*serverOutput, error) {
		if _, _, err := d.reach(ctx, key); err != nil {
			return nil, err
		}
		if err := d.opt.Control.Logout(ctx, key, of); err != nil {
			return nil, failed(err)
		}
		return d.server(ctx, key)
	}
	add(d, operation{
		id: "loginServer", method: http.MethodPost, path: place + "/login", group: aboutServers, summary: "Begin the hub's own login at a server",
		about: "A person opens the address within ten minutes, and logs in there. While a login is under way, the address is that of it. " +
			"How it went is told by `auth` of the server, which is connected as soon as it went well.",
		needs: hub.MayManage, hubwide: true, errors: refused,
	}, func(ctx context.Context, in *keyInput) (*loginOutput, error) { return begin(ctx, in.Key, nil) })
	add(d, operation{
		id: "logoutServer", method: http.MethodPost, path: place + "/logout", group: aboutServers, summary: "Forget the hub's own login at a server",
		about: "The authorization server is told, if it can be.",
		needs: hub.MayManage, hubwide: true, errors: refused[:2],
	}, func(ctx context.Context, in *keyInput) (*serverOutput, error) { return end(ctx, in.Key, nil) })
	add(d, operation{
		id: "loginServerOwn", method: http.MethodPost, path: place + "/login/own", group: aboutServers, summary: "Begin a login at a server for whoever asks",
		about: "For those who have names of their own here, by a token or a login; calls of theirs are then made with it. The address is for them alone.",
		needs: hub.MayCall, errors: refused,
	}, func(ctx context.Context, in *keyInput) (*loginOutput, error) {
		p := principal(ctx)
		return begin(ctx, in.Key, &p)
	})
	add(d, operation{
		id: "logoutServerOwn", method: http.MethodPost, path: place + "/logout/own", group: aboutServers, summary: "Forget the login at a server of whoever asks",
		needs: hub.MayCall, errors: refused[:2],
	}, func(ctx context.Context, in *keyInput) (*serverOutput, error) {
		p := principal(ctx)
		return end(ctx, in.Key, &p)
	})
}

// authView is how whoever asks is let in to a server; nil for one that takes no
// login.
func (d *Door) authView(ctx context.Context, s *control.Server) *api.ServerAuth {
	st, own, ok := d.opt.Control.Credentials(s.Definition, principal(ctx))
	if !ok {
		return nil
	}
	v := &api.ServerAuth{
		Type: "oauth", State: string(st.State), Grant: string(st.Grant), Owner: "hub", Shared: st.Shared,
		Issuer: st.Issuer, Scopes: st.Scopes, Renews: st.Renews,
	}
	if own {
		v.Owner = "own"
	} else if p := principal(ctx); !p.Hubwide() {
		v.Issuer, v.Scopes = "", nil // the hub's own are not for them
		return v
	}
	if !st.Expires.IsZero() {
		v.Expires = &st.Expires
	}
	if !st.Pending.IsZero() {
		v.Until = &st.Pending
	}
	if st.Fault != nil {
		v.Code, v.Reason = string(st.Fault.Code), st.Fault.In(lang(ctx))
	}
	return v
}

// whole is a server as whoever asks is told of it.
func (d *Door) whole(ctx context.Context, s control.Server) api.Server {
	v := serverView(lang(ctx), s)
	v.Auth = d.authView(ctx, &s)
	return v
}
