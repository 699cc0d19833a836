package apiclient

import (
	"context"
	"net/http"
	"net/url"

	"github.com/toolcrib/toolcrib/internal/api"
)

// Me is who the client is to the hub.
func (c *Client) Me(ctx context.Context) (api.Me, error) { return get[api.Me](ctx, c, "/me", nil) }

// Tokens lists the API tokens that the client may see.
func (c *Client) Tokens(ctx context.Context) (api.TokenList, error) {
	return get[api.TokenList](ctx, c, "/tokens", nil)
}

// CreateToken makes an API token.
func (c *Client) CreateToken(ctx context.Context, want api.TokenRequest) (api.TokenGrant, error) {
	return change[api.TokenGrant](ctx, c, request{method: http.MethodPost, path: "/tokens", body: want})
}

// RevokeToken has an API token, by its id, let nobody in any more.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.into(ctx, request{method: http.MethodDelete, path: "/tokens/" + url.PathEscape(id), again: true}, nil)
}

// Tenants lists the tenants.
func (c *Client) Tenants(ctx context.Context) (api.TenantList, error) {
	return get[api.TenantList](ctx, c, "/tenants", nil)
}

// CreateTenant makes a tenant.
func (c *Client) CreateTenant(ctx context.Context, want api.TenantRequest) (api.Tenant, error) {
	return change[api.Tenant](ctx, c, request{method: http.MethodPost, path: "/tenants", body: want})
}

// RemoveTenant removes a tenant that has no tokens any more.
func (c *Client) RemoveTenant(ctx context.Context, name string) error {
	return c.into(ctx, request{method: http.MethodDelete, path: "/tenants/" + url.PathEscape(name)}, nil)
}
