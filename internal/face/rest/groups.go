package rest

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type (
	groupListOutput struct{ Body api.GroupList }
	groupOutput     struct {
		ETag string `header:"ETag" doc:"Of the configuration file"`
		Body api.Group
	}
	groupInput struct {
		Name string `path:"name" doc:"Name of the group"`
	}
	groupSetInput struct {
		Name    string `path:"name" doc:"Name of the group: 1 to 64 letters, digits, - and _"`
		IfMatch string `header:"If-Match" doc:"ETag of the configuration file, if it has to be the same still"`
		Body    api.GroupDefinition
	}
	groupRemoveInput struct {
		Name    string `path:"name" doc:"Name of the group"`
		IfMatch string `header:"If-Match" doc:"ETag of the configuration file, if it has to be the same still"`
	}
)

// groups registers what is about groups.
func (d *Door) groups() {
	const place = "/groups/{name}"
	refused := []int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusInternalServerError}
	add(d, operation{
		id: "listGroups", method: http.MethodGet, path: "/groups", group: aboutGroups,
		summary: "Every group, in the order of the configuration",
	}, func(ctx context.Context, _ *struct{}) (*groupListOutput, error) {
		see, err := d.sight(ctx)
		if err != nil {
			return nil, err
		}
		out := &groupListOutput{api.GroupList{Groups: []api.Group{}}}
		for _, g := range d.opt.Control.Groups() {
			if d.narrowGroup(see, &g) {
				out.Body.Groups = append(out.Body.Groups, d.groupView(ctx, g))
			}
		}
		return out, nil
	})
	add(d, operation{
		id: "getGroup", method: http.MethodGet, path: place, group: aboutGroups, summary: "One group",
		errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, in *groupInput) (*groupOutput, error) { return d.group(ctx, in.Name) })
	add(d, operation{
		id: "setGroup", method: http.MethodPut, path: place, group: aboutGroups,
		summary: "Define a group, or replace what the configuration file says about it",
		about:   "It holds at once: whoever is connected to the group is told that its lists have changed.",
		needs:   hub.MayManage, hubwide: true, limit: 1, errors: refused,
		example: map[string]any{"servers": []string{"files"}, "tools": []string{"git__git_*"}},
	}, func(ctx context.Context, in *groupSetInput) (*groupOutput, error) {
		b := &in.Body
		if _, err := d.opt.Control.SetGroup(hub.Group{
			Name: in.Name, Description: b.Description, Servers: b.Servers, Tools: b.Tools, Exclude: b.Exclude, Rename: b.Rename,
		}, in.IfMatch); err != nil {
			return nil, failed(err)
		}
		return d.group(ctx, in.Name)
	})
	add(d, operation{
		id: "removeGroup", method: http.MethodDelete, path: place, group: aboutGroups,
		summary: "Take a group out of the configuration file",
		needs:   hub.MayManage, hubwide: true, errors: slices.Concat(refused, []int{http.StatusNotFound}),
	}, func(_ context.Context, in *groupRemoveInput) (*struct{}, error) {
		return nil, failed(d.opt.Control.RemoveGroup(in.Name, in.IfMatch))
	})
}

func (d *Door) group(ctx context.Context, name string) (*groupOutput, error) {
	see, err := d.sight(ctx)
	if err != nil {
		return nil, err
	}
	g, etag, err := d.opt.Control.Group(name)
	if err != nil {
		return nil, failed(err)
	}
	if !d.narrowGroup(see, &g) {
		return nil, failed(hub.E(message.GroupUnknown, nil, "group", message.Quote(name)))
	}
	v := d.groupView(ctx, g)
	v.ETag = etag
	return &groupOutput{etag, v}, nil
}

// narrowGroup leaves of a group what names servers and tools that whoever asks
// sees, and reports whether the group is one for it.
func (d *Door) narrowGroup(see *sight, g *hub.Group) bool {
	if see.all && see.who.Scope == "" || !see.view.Narrow() {
		return true
	}
	view, err := d.opt.Catalog.View(hub.Viewer{Group: g.Name, Tenant: see.who.Tenant, Scope: see.who.Scope})
	if err != nil {
		return false
	}
	foreign := func(pattern string) bool { return !see.view.Fits(pattern) }
	g.Servers = slices.DeleteFunc(slices.Clone(g.Servers), func(key string) bool { return !view.Sees(key) })
	g.Tools = slices.DeleteFunc(slices.Clone(g.Tools), foreign)
	g.Exclude = slices.DeleteFunc(slices.Clone(g.Exclude), foreign)
	g.Rename = maps.Clone(g.Rename)
	maps.DeleteFunc(g.Rename, func(name, _ string) bool { return foreign(name) })
	return true
}

// mcpPath is where MCP clients find what there is; a group is below it.
const mcpPath = "/mcp"

func (d *Door) groupView(ctx context.Context, g hub.Group) api.Group {
	v := api.Group{
		Name: g.Name, Description: g.Description, Servers: some(g.Servers), Tools: some(g.Tools), Exclude: some(g.Exclude),
		Rename: g.Rename, Path: mcpPath + "/" + g.Name,
	}
	if v.Rename == nil {
		v.Rename = map[string]string{}
	}
	if base := d.opt.Listen(); base != "" {
		v.URL = base + v.Path
	}
	// One that has gone at this moment offers nothing.
	if view, err := d.opt.Catalog.View(viewer(ctx, g.Name)); err == nil {
		snapshot := view.Snapshot()
		v.Offers = api.Offers{
			Tools: len(view.Tools()), Resources: len(within(view, snapshot.Resources(), serverOfResource)),
			Templates: len(within(view, snapshot.Templates(), serverOfResource)), Prompts: len(within(view, snapshot.Prompts(), serverOfPrompt)),
		}
	}
	return v
}

// within are those of the entries whose servers are in the view.
func within[E any](view *catalog.View, all []E, server func(E) string) []E {
	return slices.DeleteFunc(slices.Clone(all), func(e E) bool { return !view.Has(server(e)) })
}

func serverOfResource(e *catalog.ResourceEntry) string { return e.Server }
func serverOfPrompt(e *catalog.PromptEntry) string     { return e.Server.Key }
