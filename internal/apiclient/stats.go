package apiclient

import (
	"context"

	"github.com/toolcrib/toolcrib/internal/api"
)

// Stats is what the hub has measured: how long operations take, and what the
// hub and the processes of its servers take.
func (c *Client) Stats(ctx context.Context) (api.Stats, error) {
	return get[api.Stats](ctx, c, "/stats", nil)
}
