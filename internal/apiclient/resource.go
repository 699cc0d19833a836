package apiclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/api"
)

// Status tells about the hub.
func (c *Client) Status(ctx context.Context) (api.Status, error) {
	return get[api.Status](ctx, c, "/status", nil)
}

// Shutdown has the hub stop. It returns when the hub has agreed, not when it
// has stopped.
func (c *Client) Shutdown(ctx context.Context) error {
	return c.into(ctx, request{method: http.MethodPost, path: "/shutdown"}, nil)
}

// OpenAPI is the description of the API, as JSON.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "/openapi.json", nil)
}

// Servers lists every server, in the order of the configuration.
func (c *Client) Servers(ctx context.Context) (api.ServerList, error) {
	return get[api.ServerList](ctx, c, "/servers", nil)
}

// Server tells about one server.
func (c *Client) Server(ctx context.Context, key string) (api.Server, error) {
	return get[api.Server](ctx, c, serverPath(key), nil)
}

// ServerEntry is what the configuration file says about a server.
func (c *Client) ServerEntry(ctx context.Context, key string) (api.ServerEntry, error) {
	return get[api.ServerEntry](ctx, c, serverPath(key)+"/entry", nil)
}

// AddServer defines a server in the configuration.
func (c *Client) AddServer(ctx context.Context, add api.ServerAdd) (api.Server, error) {
	return change[api.Server](ctx, c, request{method: http.MethodPost, path: "/servers", body: add})
}

// ChangeServer replaces what the configuration says about a server.
func (c *Client) ChangeServer(ctx context.Context, key string, to api.ServerChange) (api.Server, error) {
	return change[api.Server](ctx, c, request{method: http.MethodPut, path: serverPath(key), body: to})
}

// RemoveServer takes a server out of the configuration and ends it.
func (c *Client) RemoveServer(ctx context.Context, key string) error {
	return c.into(ctx, request{method: http.MethodDelete, path: serverPath(key)}, nil)
}

// ServerAction does one of the actions of package api with a server and tells
// how the server is then.
func (c *Client) ServerAction(ctx context.Context, key, action string) (api.Server, error) {
	return change[api.Server](ctx, c, request{method: http.MethodPost, path: serverPath(key) + "/" + url.PathEscape(action), again: true})
}

// Log is what is kept of a server's log after the line with the number, which
// is 0 for all.
func (c *Client) Log(ctx context.Context, key string, after uint64) (api.Log, error) {
	return get[api.Log](ctx, c, serverPath(key)+"/log", logQuery(after))
}

func serverPath(key string) string { return "/servers/" + url.PathEscape(key) }

func logQuery(after uint64) url.Values {
	if after == 0 {
		return url.Values{}
	}
	return url.Values{"after": {strconv.FormatUint(after, 10)}}
}

// Tools lists the tools that are offered, of one server and one group or, where
// the key or the name is empty, of all.
func (c *Client) Tools(ctx context.Context, server, group string) (api.ToolList, error) {
	return get[api.ToolList](ctx, c, "/tools", within(server, group))
}

// Tool tells about one tool, with its whole definition.
func (c *Client) Tool(ctx context.Context, name string) (api.Tool, error) {
	return get[api.Tool](ctx, c, "/tools/"+url.PathEscape(name), nil)
}

// Call calls a tool and waits for its result. The call is cancelled when ctx
// ends.
func (c *Client) Call(ctx context.Context, call api.Call) (api.CallResult, error) {
	return change[api.CallResult](ctx, c, request{method: http.MethodPost, path: "/calls", body: call})
}

// Config is the text of the configuration file, with its secrets masked.
func (c *Client) Config(ctx context.Context) (api.ConfigText, error) {
	return get[api.ConfigText](ctx, c, "/config", nil)
}

// SetConfig puts a text in force and writes it, if the file is still the one
// with the etag; with dryRun it only tells what would change.
func (c *Client) SetConfig(ctx context.Context, upload api.ConfigUpload, etag string, dryRun bool) (api.ConfigCheck, error) {
	return change[api.ConfigCheck](ctx, c, request{
		method: http.MethodPut, path: "/config", query: dry(dryRun), body: upload, header: ifMatch(etag), again: dryRun,
	})
}

// CheckConfig tells what is wrong with a text and what it would change.
func (c *Client) CheckConfig(ctx context.Context, upload api.ConfigUpload) (api.ConfigCheck, error) {
	return change[api.ConfigCheck](ctx, c, request{method: http.MethodPost, path: "/config/check", body: upload, again: true})
}

// ReloadConfig has the hub read its configuration file again.
func (c *Client) ReloadConfig(ctx context.Context) (api.ConfigCheck, error) {
	return change[api.ConfigCheck](ctx, c, request{method: http.MethodPost, path: "/config/reload"})
}

// ConfigSchema is the JSON Schema of the configuration file.
func (c *Client) ConfigSchema(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "/config/schema", nil)
}

// Import takes the servers of another program's file over; with dryRun it
// only tells which ones it would take.
func (c *Client) Import(ctx context.Context, file api.Import, dryRun bool) (api.ImportResult, error) {
	return change[api.ImportResult](ctx, c, request{method: http.MethodPost, path: "/import", query: dry(dryRun), body: file, again: dryRun})
}

// Test tries a server out, step by step. That a step went badly is no error.
func (c *Client) Test(ctx context.Context, test api.Test) (api.TestResult, error) {
	return change[api.TestResult](ctx, c, request{method: http.MethodPost, path: "/test", body: test, again: true})
}

// Secrets lists the names of the sealed values.
func (c *Client) Secrets(ctx context.Context) (api.SecretList, error) {
	return get[api.SecretList](ctx, c, "/secrets", nil)
}

// SetSecret seals a value under a name.
func (c *Client) SetSecret(ctx context.Context, name, value string) error {
	return c.into(ctx, request{method: http.MethodPut, path: "/secrets/" + url.PathEscape(name), body: api.SecretValue{Value: value}}, nil)
}

// RemoveSecret forgets a sealed value.
func (c *Client) RemoveSecret(ctx context.Context, name string) error {
	return c.into(ctx, request{method: http.MethodDelete, path: "/secrets/" + url.PathEscape(name)}, nil)
}

func dry(run bool) url.Values {
	if !run {
		return nil
	}
	return url.Values{"dryRun": {"true"}}
}

// given is the query of the members that are not empty.
func given(members map[string]string) url.Values {
	query := url.Values{}
	for name, value := range members {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	return change[T](ctx, c, request{method: http.MethodGet, path: path, query: query})
}

func change[T any](ctx context.Context, c *Client, r request) (T, error) {
	var out T
	err := c.into(ctx, r, &out)
	return out, err
}
