package rest

import (
	"context"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

type (
	toolsInput struct {
		Server string `query:"server" doc:"Only those of this server"`
		Group  string `query:"group" doc:"Those of this group, by the names that they have there"`
	}
	toolListOutput struct{ Body api.ToolList }
	toolInput      struct {
		Name string `path:"name" doc:"Exposed name, or the tool's own if that is clear"`
	}
	toolOutput struct{ Body api.Tool }
)

// tools registers what is about tools.
func (d *Door) tools() {
	add(d, operation{
		id: "listTools", method: http.MethodGet, path: "/tools", group: aboutTools,
		summary: "Every tool that is offered, in the order of MCP's tools/list",
		errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, func(ctx context.Context, in *toolsInput) (*toolListOutput, error) {
		view, err := d.opt.Catalog.View(viewer(ctx, in.Group))
		if err != nil {
			return nil, failed(err)
		}
		states := d.states()
		out := &toolListOutput{api.ToolList{Success: true, Tools: []api.Tool{}}}
		for _, e := range view.Tools() {
			if in.Server == "" || in.Server == e.Server.Key {
				t := toolView(e, states)
				t.InputSchema = inputSchema(e.Raw)
				out.Body.Tools = append(out.Body.Tools, t)
			}
		}
		return out, nil
	})
	add(d, operation{
		id: "getTool", method: http.MethodGet, path: "/tools/{name}", group: aboutTools, summary: "One tool, with its schemas",
		errors: []int{http.StatusNotFound, http.StatusConflict},
	}, func(ctx context.Context, in *toolInput) (*toolOutput, error) {
		view, err := d.opt.Catalog.View(viewer(ctx, ""))
		if err != nil {
			return nil, failed(err)
		}
		e, ok := view.Tool(in.Name)
		if !ok {
			if e, ok = view.Blocked(in.Name); ok {
				return nil, failed(hub.E(message.ToolChanged, nil, "server", message.Quote(e.Server.Key), "tool", message.Quote(e.Tool.Name)))
			}
			return nil, failed(hub.E(message.ToolUnknown, nil, "tool", message.Quote(in.Name)))
		}
		t := toolView(e, d.states())
		t.Definition = e.Raw
		return &toolOutput{t}, nil
	})
}

// states are the states of the servers by their keys.
func (d *Door) states() map[string]hub.State {
	states := make(map[string]hub.State)
	for _, s := range d.opt.Control.Servers() {
		states[s.Definition.Key] = s.Status.State
	}
	return states
}

func toolView(e *catalog.Entry, states map[string]hub.State) api.Tool {
	t := api.Tool{
		Name: e.Exposed, Server: e.Server.Key, Tool: e.Tool.Name,
		ReadOnly: e.Tool.ReadOnly, Idempotent: e.Tool.Idempotent, State: string(states[e.Server.Key]),
	}
	t.Description, t.Title = text(e.Raw, "description"), text(e.Raw, "title")
	if t.Title == "" {
		t.Title = text(e.Raw, "annotations", "title")
	}
	return t
}

// text is a text in a description; "" if there is none.
func text(raw []byte, path ...string) string {
	at := wire.Value(raw)
	for _, name := range path {
		at = wire.Lookup(raw, at, name)
	}
	found, _ := wire.String(raw, at)
	return found
}
