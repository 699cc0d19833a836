package apiclient

import (
	"context"
	"net/http"
	"net/url"

	"github.com/toolcrib/toolcrib/internal/api"
)

// Groups lists every group, in the order of the configuration.
func (c *Client) Groups(ctx context.Context) (api.GroupList, error) {
	return get[api.GroupList](ctx, c, "/groups", nil)
}

// Group tells about one group.
func (c *Client) Group(ctx context.Context, name string) (api.Group, error) {
	return get[api.Group](ctx, c, groupPath(name), nil)
}

// SetGroup defines a group, or replaces what the configuration says about it, if
// the configuration file is still the one with the etag; an empty one is for any.
func (c *Client) SetGroup(ctx context.Context, name string, to api.GroupDefinition, etag string) (api.Group, error) {
	return change[api.Group](ctx, c, request{method: http.MethodPut, path: groupPath(name), body: to, header: ifMatch(etag)})
}

// RemoveGroup takes a group out of the configuration, under the same condition.
func (c *Client) RemoveGroup(ctx context.Context, name, etag string) error {
	return c.into(ctx, request{method: http.MethodDelete, path: groupPath(name), header: ifMatch(etag)}, nil)
}

func groupPath(name string) string { return "/groups/" + url.PathEscape(name) }

func ifMatch(etag string) map[string]string {
	if etag == "" {
		return nil
	}
	return map[string]string{"If-Match": etag}
}

// Resources lists the resources and templates that are offered, of one server and
// one group or, where the key or the name is empty, of all.
func (c *Client) Resources(ctx context.Context, server, group string) (api.ResourceList, error) {
	return get[api.ResourceList](ctx, c, "/resources", within(server, group))
}

// ReadResource reads a resource and waits for what is in it.
func (c *Client) ReadResource(ctx context.Context, uri string) (api.Answer, error) {
	return change[api.Answer](ctx, c, request{method: http.MethodPost, path: "/resources/read", body: api.ResourceRead{URI: uri}, again: true})
}

// Prompts lists the prompts that are offered, as Resources does.
func (c *Client) Prompts(ctx context.Context, server, group string) (api.PromptList, error) {
	return get[api.PromptList](ctx, c, "/prompts", within(server, group))
}

// GetPrompt gets a prompt that is filled in.
func (c *Client) GetPrompt(ctx context.Context, prompt api.PromptGet) (api.Answer, error) {
	return change[api.Answer](ctx, c, request{method: http.MethodPost, path: "/prompts/get", body: prompt, again: true})
}

// within is the query for what one server and one group have.
func within(server, group string) url.Values {
	return given(map[string]string{"server": server, "group": group})
}
