package apiclient

import (
	"context"
	"net/http"
	"net/url"

	"github.com/toolcrib/toolcrib/internal/api"
)

// Login begins a login at a server: that of the hub, or one for whoever asks.
func (c *Client) Login(ctx context.Context, key string, own bool) (api.ServerLogin, error) {
	return change[api.ServerLogin](ctx, c, request{method: http.MethodPost, path: loginPath(key, "login", own)})
}

// Logout forgets the hub's login at a server, or that of whoever asks.
func (c *Client) Logout(ctx context.Context, key string, own bool) (api.Server, error) {
	return change[api.Server](ctx, c, request{method: http.MethodPost, path: loginPath(key, "logout", own), again: true})
}

func loginPath(key, action string, own bool) string {
	path := "/servers/" + url.PathEscape(key) + "/" + action
	if own {
		path += "/own"
	}
	return path
}
