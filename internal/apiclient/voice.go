package apiclient

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/toolcrib/toolcrib/internal/api"
)

// Dialled is a kind of voice assistants' backends that the hub dials.
type Dialled string

// The kinds.
const (
	Endpoints Dialled = "endpoints" // at which the hub is an MCP server
	Backends  Dialled = "backends"  // to which it is a device
)

// Dialled lists those of a kind, in the order of the configuration.
func (c *Client) Dialled(ctx context.Context, kind Dialled) ([]api.Endpoint, error) {
	if kind == Backends {
		list, err := get[api.BackendList](ctx, c, kind.path(), nil)
		return list.Backends, err
	}
	list, err := get[api.EndpointList](ctx, c, kind.path(), nil)
	return list.Endpoints, err
}

// DialledOne tells about one of them, and what the configuration file says about it.
func (c *Client) DialledOne(ctx context.Context, kind Dialled, name string) (api.Endpoint, error) {
	return get[api.Endpoint](ctx, c, kind.one(name), nil)
}

// SetDialled defines one of them, or replaces what the configuration says about it,
// if the configuration file is still the one with the etag; an empty one is for any.
func (c *Client) SetDialled(ctx context.Context, kind Dialled, name string, to api.EndpointChange, etag string) (api.Endpoint, error) {
	return change[api.Endpoint](ctx, c, request{method: http.MethodPut, path: kind.one(name), body: to, header: ifMatch(etag)})
}

// RemoveDialled takes one of them out of the configuration, and ends the connection.
func (c *Client) RemoveDialled(ctx context.Context, kind Dialled, name string) error {
	return c.into(ctx, request{method: http.MethodDelete, path: kind.one(name)}, nil)
}

// Reconnect has one of them dialled anew, and tells how it is then.
func (c *Client) Reconnect(ctx context.Context, kind Dialled, name string) (api.Endpoint, error) {
	return change[api.Endpoint](ctx, c, request{method: http.MethodPost, path: kind.one(name) + "/reconnect", again: true})
}

// DialledLog is what is kept of the log of one of them after the line with the number.
func (c *Client) DialledLog(ctx context.Context, kind Dialled, name string, after uint64) (api.Log, error) {
	return get[api.Log](ctx, c, kind.one(name)+"/log", logQuery(after))
}

// FollowDialledLog is [Client.FollowLog] for one of them.
func (c *Client) FollowDialledLog(ctx context.Context, kind Dialled, name string, after uint64) iter.Seq2[api.LogLine, error] {
	return c.followLog(ctx, kind.one(name), after)
}

func (k Dialled) path() string { return "/xiaozhi/" + string(k) }

func (k Dialled) one(name string) string { return k.path() + "/" + url.PathEscape(name) }

// Devices lists every device that has been here since the hub started.
func (c *Client) Devices(ctx context.Context) (api.DeviceList, error) {
	return get[api.DeviceList](ctx, c, "/devices", nil)
}

// Device tells about one device, by its id or its alias.
func (c *Client) Device(ctx context.Context, id string) (api.Device, error) {
	return get[api.Device](ctx, c, devicePath(id), nil)
}

// DeviceLog is what is kept of a device's log after the line with the number.
func (c *Client) DeviceLog(ctx context.Context, id string, after uint64) (api.Log, error) {
	return get[api.Log](ctx, c, devicePath(id)+"/log", logQuery(after))
}

// FollowDeviceLog is [Client.FollowLog] for a device.
func (c *Client) FollowDeviceLog(ctx context.Context, id string, after uint64) iter.Seq2[api.LogLine, error] {
	return c.followLog(ctx, devicePath(id), after)
}

// DeviceToken makes a token with which a device may dial in.
func (c *Client) DeviceToken(ctx context.Context, id string, wanted api.DeviceTokenWanted) (api.DeviceToken, error) {
	return change[api.DeviceToken](ctx, c, request{method: http.MethodPost, path: devicePath(id) + "/token", body: wanted, again: true})
}

// RevokeDeviceTokens has the tokens of a device let nobody in any more.
func (c *Client) RevokeDeviceTokens(ctx context.Context, id string) (api.DeviceRevoked, error) {
	return change[api.DeviceRevoked](ctx, c, request{method: http.MethodDelete, path: devicePath(id) + "/token", again: true})
}

// CallDevice has a person call a tool of a device, and waits for the result. The call
// is cancelled when ctx ends.
func (c *Client) CallDevice(ctx context.Context, id string, call api.DeviceCall) (api.CallResult, error) {
	return change[api.CallResult](ctx, c, request{method: http.MethodPost, path: devicePath(id) + "/call", body: call})
}

func devicePath(id string) string { return "/devices/" + url.PathEscape(id) }
