package apiclient

import (
	"context"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/api"
)

// Presets lists every server that cannot be deleted: those that are part of the
// program, and those that are known by name and may be off.
func (c *Client) Presets(ctx context.Context) (api.CompatServerList, error) {
	list, err := get[api.CompatServerList](ctx, c, "/mcp", nil)
	var presets []api.CompatServer
	for _, row := range list.Servers {
		if row.IsPreset {
			presets = append(presets, row)
		}
	}
	list.Servers = presets
	return list, err
}

// TryTools calls some tools, and waits until each has answered or failed, which is
// no error.
func (c *Client) TryTools(ctx context.Context, batch api.CompatBatch) (api.CompatBatchResult, error) {
	return change[api.CompatBatchResult](ctx, c, request{method: http.MethodPost, path: "/mcp-test/stdio/tools/batch", body: batch})
}
