package rest

import (
	"context"
	"net/http"
	"slices"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Dialled tells about the voice assistants' backends of one kind that the hub dials.
// Without its functions none is dialled.
type Dialled struct {
	Statuses  func() []hub.EndpointStatus
	Log       func(name string, after uint64) (lines []hub.LogLine, more <-chan struct{}) // both nil for one that is not dialled
	Reconnect func(name string) bool                                                      // false for one that is not dialled
}

type (
	endpointListOutput struct{ Body api.EndpointList }
	backendListOutput  struct{ Body api.BackendList }
	endpointOutput     struct {
		ETag string `header:"ETag" doc:"Of the configuration file"`
		Body api.Endpoint
	}
	endpointInput struct {
		Name string `path:"name" doc:"As the configuration has it"`
	}
	endpointSetInput struct {
		Name    string `path:"name" doc:"1 to 64 letters, digits, - and _"`
		IfMatch string `header:"If-Match" doc:"ETag of the configuration file, if it has to be the same still"`
		Body    api.EndpointChange
	}
	endpointRemoveInput struct {
		Name    string `path:"name" doc:"As the configuration has it"`
		IfMatch string `header:"If-Match" doc:"ETag of the configuration file, if it has to be the same still"`
	}
	endpointLogInput struct {
		Name   string `path:"name" doc:"As the configuration has it"`
		After  uint64 `query:"after" doc:"Only lines after the one with this number"`
		Follow bool   `query:"follow" doc:"Answer with an event stream that goes on"`
	}
)

// dialled registers what is about voice assistants' backends that the hub dials.
func (d *Door) dialled() {
	add(d, operation{
		id: "listEndpoints", method: http.MethodGet, path: "/xiaozhi/endpoints", group: aboutVoice, needs: hub.MayOperate, hubwide: true,
		summary: "Every endpoint at which the hub is an MCP server, in the order of the configuration",
	}, func(ctx context.Context, _ *struct{}) (*endpointListOutput, error) {
		return &endpointListOutput{api.EndpointList{Endpoints: d.dialledViews(ctx, config.Endpoints)}}, nil
	})
	add(d, operation{
		id: "listBackends", method: http.MethodGet, path: "/xiaozhi/backends", group: aboutVoice, needs: hub.MayOperate, hubwide: true,
		summary: "Every backend to which the hub is a device, in the order of the configuration",
	}, func(ctx context.Context, _ *struct{}) (*backendListOutput, error) {
		return &backendListOutput{api.BackendList{Backends: d.dialledViews(ctx, config.Backends)}}, nil
	})
	d.dialledOf(config.Endpoints, "Endpoint", "an endpoint", map[string]any{"url": "wss://api.xiaozhi.me/mcp/?token=TOKEN", "group": "home"})
	d.dialledOf(config.Backends, "Backend", "a backend", map[string]any{"url": "wss://xiaozhi.example.com/xiaozhi/v1/", "token": "TOKEN"})
}

// dialledOf registers what is about those of one kind.
func (d *Door) dialledOf(kind config.Dialled, id, one string, example any) {
	place := "/xiaozhi/" + string(kind) + "/{name}"
	refused := []int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusInternalServerError}
	absent := []int{http.StatusNotFound}
	add(d, operation{
		id: "get" + id, method: http.MethodGet, path: place, group: aboutVoice, needs: hub.MayOperate, hubwide: true,
		summary: "One of them: how " + one + " stands, and what the configuration file says about it",
		errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusInternalServerError},
	}, func(ctx context.Context, in *endpointInput) (*endpointOutput, error) {
		return d.dialledOne(ctx, kind, in.Name)
	})
	add(d, operation{
		id: "set" + id, method: http.MethodPut, path: place, group: aboutVoice, needs: hub.MayManage, hubwide: true, limit: 1, errors: refused,
		summary: "Define " + one + ", or replace what the configuration file says about it",
		about:   "Tokens are sealed before they are written. One that is reached in the same way as before stays connected.",
		example: map[string]any{"entry": example},
	}, func(ctx context.Context, in *endpointSetInput) (*endpointOutput, error) {
		if _, err := d.opt.Control.SetDialled(kind, in.Name, in.Body.Entry, in.IfMatch); err != nil {
			return nil, failed(err)
		}
		return d.dialledOne(ctx, kind, in.Name)
	})
	add(d, operation{
		id: "remove" + id, method: http.MethodDelete, path: place, group: aboutVoice, needs: hub.MayManage, hubwide: true,
		errors:  slices.Concat(refused, absent),
		summary: "Take " + one + " out of the configuration file, and end the connection to it",
		about:   "Sealed values that only it has used are deleted.",
	}, func(_ context.Context, in *endpointRemoveInput) (*struct{}, error) {
		return nil, failed(d.opt.Control.RemoveDialled(kind, in.Name, in.IfMatch))
	})
	add(d, operation{
		id: "reconnect" + id, method: http.MethodPost, path: place + "/reconnect", group: aboutVoice, needs: hub.MayOperate, hubwide: true,
		errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusInternalServerError},
		summary: "Close the connection to " + one + ", and dial it at once",
	}, func(ctx context.Context, in *endpointInput) (*endpointOutput, error) {
		if _, err := d.dialledView(ctx, kind, in.Name); err != nil {
			return nil, failed(err)
		}
		if again := d.dialling(kind).Reconnect; again == nil || !again(in.Name) {
			return nil, failed(hub.E(message.EndpointIdle, nil, "name", message.Quote(in.Name)))
		}
		return d.dialledOne(ctx, kind, in.Name)
	})
	add(d, operation{
		id: "get" + id + "Log", method: http.MethodGet, path: place + "/log", group: aboutVoice, needs: hub.MayOperate, hubwide: true,
		errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity},
		summary: "The end of the log of " + one + ", and what comes next",
		about: "The last lines are kept while the hub runs. With `follow=true` the answer is an event stream: " +
			"an event named `line` for each of them and each that comes, until it is removed or the hub stops.",
	}, func(ctx context.Context, in *endpointLogInput) (*streamOutput, error) {
		return d.tail(in.After, in.Follow, func(after uint64) (lines []hub.LogLine, more <-chan struct{}, err error) {
			if _, err := d.dialledView(ctx, kind, in.Name); err != nil {
				return nil, nil, err
			}
			if log := d.dialling(kind).Log; log != nil {
				lines, more = log(in.Name, after)
			}
			return lines, more, nil
		})
	})
	streamed[api.Log, api.LogLine](d, "get"+id+"Log", "The lines, oldest first; or one in each event")
}

func (d *Door) dialling(kind config.Dialled) *Dialled {
	if kind == config.Endpoints {
		return &d.opt.Endpoints
	}
	return &d.opt.Backends
}

// dialledOne is one of them, with its entry.
func (d *Door) dialledOne(ctx context.Context, kind config.Dialled, name string) (*endpointOutput, error) {
	v, err := d.dialledView(ctx, kind, name)
	if err != nil {
		return nil, failed(err)
	}
	entry, etag, err := d.opt.Control.Dialled(kind, name)
	if err != nil {
		return nil, failed(err)
	}
	v.Entry, v.ETag = entry, etag
	return &endpointOutput{etag, v}, nil
}

func (d *Door) dialledView(ctx context.Context, kind config.Dialled, name string) (api.Endpoint, error) {
	for _, v := range d.dialledViews(ctx, kind) {
		if v.Name == name {
			return v, nil
		}
	}
	return api.Endpoint{}, control.UnknownDialled(kind, name)
}

// dialledViews are all of a kind: what is configured of each, and how it stands if it
// is dialled here.
func (d *Door) dialledViews(ctx context.Context, kind config.Dialled) []api.Endpoint {
	statuses := make(map[string]hub.EndpointStatus)
	if tell := d.dialling(kind).Statuses; tell != nil {
		for _, st := range tell() {
			statuses[st.Name] = st
		}
	}
	cfg := d.opt.Control.Source().Config
	all := []api.Endpoint{}
	one := func(name, url, group string, enabled bool, profile hub.EndpointProfile) {
		st, dialled := statuses[name]
		if !dialled {
			st = hub.EndpointStatus{Name: name, URL: config.MaskURL(url), Profile: profile, State: hub.EndpointStopped}
			if !enabled {
				st.State = hub.EndpointDisabled
			}
		}
		v := endpointView(lang(ctx), &st)
		v.Enabled, v.Group = enabled, group
		all = append(all, v)
	}
	if kind == config.Endpoints {
		for _, e := range cfg.Endpoints {
			one(e.Name, e.URL, e.Group, e.Enabled, e.Profile)
		}
		return all
	}
	for _, b := range cfg.Backends {
		one(b.Name, b.URL, b.Group, b.Enabled, "")
	}
	return all
}

func endpointView(l message.Lang, st *hub.EndpointStatus) api.Endpoint {
	v := api.Endpoint{
		Name: st.Name, URL: st.URL, Profile: string(st.Profile), State: string(st.State), Since: st.Since, Retry: st.Retry,
		Peer: st.Peer, Callers: st.Callers, CloseCode: st.CloseCode, CloseReason: st.CloseReason, Connects: st.Connects,
		LastHeard: st.LastHeard, LastPing: st.LastPing, TokenExpires: st.TokenExpires,
		Tools: st.Tools, ListBytes: st.ListSize, Warnings: []api.EndpointWarning{},
		Calls: st.Calls, Running: st.Running, Truncated: st.Truncated, TimedOut: st.TimedOut, Junk: st.Junk,
	}
	if st.Reason != nil {
		text := st.Reason.Text(l)
		v.Code, v.Reason, v.Remedy = string(st.Reason.Code), text.What, text.Remedy
	}
	for _, w := range st.Warnings {
		text := w.Text(l)
		v.Warnings = append(v.Warnings, api.EndpointWarning{Code: string(w.Code), Text: text.What, Remedy: text.Remedy})
	}
	return v
}
