package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/toolindex"
)

type (
	indexInput struct {
		Tag    string `query:"tag" doc:"Only those with this tag" example:"navigation"`
		Server string `query:"server" doc:"Only those of this server"`
		Tool   string `query:"tool" doc:"Only those of this name: the exposed one, or the servers' own"`
	}
	indexOutput       struct{ Body api.Index }
	indexUploadInput  struct{ Body api.IndexUpload }
	indexImportOutput struct{ Body api.IndexImport }
	driftOutput       struct{ Body api.Drift }
	acceptInput       struct {
		Key  string `path:"key" doc:"Key of the server, percent-encoded"`
		Body api.Accept
	}
)

// index registers what is about the tool index, and about what changed in it.
func (d *Door) index() {
	c := d.opt.Control
	add(d, operation{
		id: "getIndex", method: http.MethodGet, path: "/index", group: aboutTools,
		summary: "The tools that are offered, as programs choose among them",
		about: "Those of the server with the highest priority come first: of several servers that have a tool, the first is the one that a call reaches. " +
			"Tags are `notification`, `emergency`, `navigation` and `perception` by words of the name and description, " +
			"`read-only`, `destructive`, `idempotent` and `open-world` as the server says, and those of an imported index.",
		errors: []int{http.StatusUnprocessableEntity},
	}, func(ctx context.Context, in *indexInput) (*indexOutput, error) {
		view, err := d.opt.Catalog.View(viewer(ctx, ""))
		if err != nil {
			return nil, failed(err)
		}
		out := &indexOutput{api.Index{Entries: []api.IndexEntry{}}}
		for _, e := range c.Index(view, toolindex.Query{Tag: toolindex.Tag(in.Tag), Server: in.Server, Tool: in.Tool}) {
			out.Body.Entries = append(out.Body.Entries, indexView(e))
		}
		return out, nil
	})
	const export = "/index/export"
	add(d, operation{
		id: "exportIndex", method: http.MethodGet, path: export, group: aboutTools,
		summary: "All tools that are offered, as a tool index of version 1.0.0",
	}, func(ctx context.Context, _ *struct{}) (*documentOutput, error) {
		view, err := d.opt.Catalog.View(viewer(ctx, ""))
		if err != nil {
			return nil, failed(err)
		}
		return &documentOutput{"application/json", c.ExportIndex(view)}, nil
	})
	d.api.OpenAPI().Paths[export].Get.Responses["200"].Content = map[string]*huma.MediaType{
		"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}},
	}
	add(d, operation{
		id: "importIndex", method: http.MethodPost, path: "/index/import", group: aboutTools,
		summary: "Take over the lists of a tool index of version 1.0.0",
		about:   "For servers of which nothing else is known. As soon as a server says itself what it has, only that counts.",
		needs:   hub.MayManage, hubwide: true, limit: fileMiB,
		example: map[string]any{"text": `{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[]}`},
	}, func(_ context.Context, in *indexUploadInput) (*indexImportOutput, error) {
		done, err := c.ImportIndex([]byte(in.Body.Text), in.Body.Force)
		if err != nil {
			return nil, failed(err)
		}
		return &indexImportOutput{api.IndexImport{Servers: some(done.Servers), Skipped: some(done.Skipped), Tools: done.Tools}}, nil
	})
	add(d, operation{
		id: "getDrift", method: http.MethodGet, path: "/servers/{key}/drift", group: aboutServers,
		summary: "How the tools of a pinned server differ from what was accepted",
		errors:  []int{http.StatusNotFound},
	}, func(ctx context.Context, in *keyInput) (*driftOutput, error) {
		if _, _, err := d.reach(ctx, in.Key); err != nil {
			return nil, err
		}
		return d.drift(in.Key)
	})
	add(d, operation{
		id: "acceptTools", method: http.MethodPost, path: "/servers/{key}/accept", group: aboutServers,
		summary: "Accept tools of a pinned server as they are described now",
		about: "The answer is what is left to be accepted. With the digests that the drift told, what the server has changed since then is refused; " +
			"without, it is accepted unseen.",
		needs: hub.MayOperate, limit: 1, example: map[string]any{"digests": map[string]any{"search": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}},
		errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusInternalServerError},
	}, d.accept)
}

func (d *Door) accept(ctx context.Context, in *acceptInput) (*driftOutput, error) {
	err := d.own(ctx, in.Key)
	if err != nil {
		return nil, err
	}
	switch c := d.opt.Control; {
	case in.Body.Digests == nil:
		err = c.Accept(in.Key, in.Body.Tools)
	case in.Body.Tools != nil:
		err = unfit(message.Say("tools, digests: only one of them can be given"))
	default:
		err = c.AcceptSeen(in.Key, in.Body.Digests)
	}
	if err != nil {
		return nil, failed(err)
	}
	return d.drift(in.Key)
}

func (d *Door) drift(key string) (*driftOutput, error) {
	all, err := d.opt.Control.Drift(key)
	if err != nil {
		return nil, failed(err)
	}
	out := &driftOutput{api.Drift{Server: key, Tools: []api.ToolDrift{}}}
	for _, t := range all {
		out.Body.Tools = append(out.Body.Tools, api.ToolDrift{Tool: t.Tool, Change: string(t.Change), Diff: t.Diff, Digest: t.Digest})
	}
	return out, nil
}

func indexView(e toolindex.Entry) api.IndexEntry {
	v := api.IndexEntry{
		ServerID: e.Server, ToolName: e.Tool, Name: e.Name, Description: e.Description, InputSchema: e.InputSchema,
		Tags: []string{}, Blocking: e.Blocking, CostEstimate: string(e.Cost), LastUpdated: e.LastUpdated, Stale: e.Stale, Live: e.Live,
	}
	for _, t := range e.Tags {
		v.Tags = append(v.Tags, string(t))
	}
	return v
}
