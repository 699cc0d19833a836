package apiclient

import (
	"context"
	"net/http"
	"net/url"

	"github.com/toolcrib/toolcrib/internal/api"
)

// Leases is every lease that keeps a server running.
func (c *Client) Leases(ctx context.Context) (api.LeaseList, error) {
	return get[api.LeaseList](ctx, c, "/leases", nil)
}

// Lease has the hub keep servers running for a holder, in place of all that the
// holder had it keep before. It starts those that are idle and waits for none.
func (c *Client) Lease(ctx context.Context, holder string, needs api.LeaseRequest) (api.LeaseGrant, error) {
	return change[api.LeaseGrant](ctx, c, request{method: http.MethodPut, path: leasePath(holder), body: needs, again: true})
}

// Release ends all leases of a holder.
func (c *Client) Release(ctx context.Context, holder string) error {
	return c.into(ctx, request{method: http.MethodDelete, path: leasePath(holder)}, nil)
}

func leasePath(holder string) string { return "/leases/" + url.PathEscape(holder) }
