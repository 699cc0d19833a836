package apiclient

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/api"
)

// Index lists the tools that are offered and have the tag, the server and the
// name asked for; what is empty leaves nothing out.
func (c *Client) Index(ctx context.Context, tag, server, tool string) (api.Index, error) {
	return get[api.Index](ctx, c, "/index", given(map[string]string{"tag": tag, "server": server, "tool": tool}))
}

// ExportIndex is the file with all tools that are offered.
func (c *Client) ExportIndex(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "/index/export", nil)
}

// ImportIndex takes the lists of a file over.
func (c *Client) ImportIndex(ctx context.Context, upload api.IndexUpload) (api.IndexImport, error) {
	return change[api.IndexImport](ctx, c, request{method: http.MethodPost, path: "/index/import", body: upload, again: true})
}

// Drift is how the tools of a pinned server differ from what was accepted.
func (c *Client) Drift(ctx context.Context, key string) (api.Drift, error) {
	return get[api.Drift](ctx, c, serverPath(key)+"/drift", nil)
}

// Accept accepts tools of a pinned server that Drift told of, as they were
// then: if one is described otherwise by now, none is accepted. Nil accepts all,
// whatever the server says now. What is left to be accepted is returned.
func (c *Client) Accept(ctx context.Context, key string, seen []api.ToolDrift) (api.Drift, error) {
	var body api.Accept
	for _, t := range seen {
		if body.Digests == nil {
			body.Digests = make(map[string]string)
		}
		body.Digests[t.Tool] = t.Digest
	}
	return change[api.Drift](ctx, c, request{method: http.MethodPost, path: serverPath(key) + "/accept", body: body})
}
