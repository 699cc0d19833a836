package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

type (
	contentsInput struct {
		Server string `query:"server" doc:"Only those of this server"`
		Group  string `query:"group" doc:"Those of this group"`
	}
	resourceListOutput struct{ Body api.ResourceList }
	promptListOutput   struct{ Body api.PromptList }
	resourceReadInput  struct{ Body api.ResourceRead }
	promptGetInput     struct{ Body api.PromptGet }
	answerOutput       struct{ Body api.Answer }
)

// unanswered are the statuses of a request that a server has not answered well.
func unanswered() []int {
	return []int{
		http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}
}

// resources registers what is about resources.
func (d *Door) resources() {
	add(d, operation{
		id: "listResources", method: http.MethodGet, path: "/resources", group: aboutContent,
		summary: "Every resource and every template that is offered, in the order of MCP's lists",
		errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, func(ctx context.Context, in *contentsInput) (*resourceListOutput, error) {
		view, err := d.opt.Catalog.View(viewer(ctx, in.Group))
		if err != nil {
			return nil, failed(err)
		}
		states := d.states()
		out := &resourceListOutput{api.ResourceList{Resources: []api.Resource{}, Templates: []api.ResourceTemplate{}}}
		for _, e := range within(view, view.Snapshot().Resources(), serverOfResource) {
			if in.Server == "" || in.Server == e.Server {
				out.Body.Resources = append(out.Body.Resources, resourceView(e, states))
			}
		}
		for _, e := range within(view, view.Snapshot().Templates(), serverOfResource) {
			if in.Server == "" || in.Server == e.Server {
				out.Body.Templates = append(out.Body.Templates, templateView(e, states))
			}
		}
		return out, nil
	})
	add(d, operation{
		id: "readResource", method: http.MethodPost, path: "/resources/read", group: aboutContent, needs: hub.MayCall, summary: "Read a resource",
		about: "It need not be listed: servers have resources that their templates or links in their results lead to.",
		limit: 1, example: map[string]any{"uri": "file:///srv/notes.txt"}, errors: unanswered(),
	}, func(ctx context.Context, in *resourceReadInput) (*answerOutput, error) {
		b := begin(protocol.MethodResourcesRead)
		b = wire.AppendString(append(b, `"uri":`...), in.Body.URI)
		return d.ask(ctx, b)
	})
}

// prompts registers what is about prompts.
func (d *Door) prompts() {
	add(d, operation{
		id: "listPrompts", method: http.MethodGet, path: "/prompts", group: aboutContent,
		summary: "Every prompt that is offered, in the order of MCP's prompts/list",
		errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, func(ctx context.Context, in *contentsInput) (*promptListOutput, error) {
		view, err := d.opt.Catalog.View(viewer(ctx, in.Group))
		if err != nil {
			return nil, failed(err)
		}
		states := d.states()
		out := &promptListOutput{api.PromptList{Prompts: []api.Prompt{}}}
		for _, e := range within(view, view.Snapshot().Prompts(), serverOfPrompt) {
			if in.Server == "" || in.Server == e.Server.Key {
				out.Body.Prompts = append(out.Body.Prompts, promptView(e, states))
			}
		}
		return out, nil
	})
	add(d, operation{
		id: "getPrompt", method: http.MethodPost, path: "/prompts/get", group: aboutContent, needs: hub.MayCall, summary: "Get a prompt that is filled in",
		limit: 1, example: map[string]any{"name": "everything__simple-prompt", "arguments": map[string]any{"city": "Hangzhou"}},
		errors: unanswered(),
	}, func(ctx context.Context, in *promptGetInput) (*answerOutput, error) {
		b := begin(protocol.MethodPromptsGet)
		b = wire.AppendString(append(b, `"name":`...), in.Body.Name)
		if len(in.Body.Arguments) > 0 {
			b = append(append(b, `,"arguments":`...), in.Body.Arguments...)
		}
		return d.ask(ctx, b)
	})
}

// begin is the beginning of a request, in its params.
func begin(method string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{`)
}

// ask finishes a request and has it answered. The caller cannot be asked
// anything meanwhile.
func (d *Door) ask(ctx context.Context, b []byte) (*answerOutput, error) {
	began := time.Now()
	m, err := request(append(b, `,"_meta":{"`+protocol.MetaCapabilities+`":{}}}}`...))
	if err != nil {
		return nil, failed(err)
	}
	req := &call.Request{Principal: principal(ctx), Viewer: viewer(ctx, ""), Message: m, Lang: lang(ctx), Exchange: silent{}}
	res, err := d.opt.Call.Do(ctx, req)
	if err != nil {
		return nil, failed(err)
	}
	answer, err := answered(req, res)
	if err != nil {
		return nil, failed(err)
	}
	return &answerOutput{api.Answer{
		Server: res.Server, Result: answer.Result.Of(answer.Raw), Duration: milliseconds(time.Since(began)),
	}}, nil
}

func resourceView(e *catalog.ResourceEntry, states map[string]hub.State) api.Resource {
	return api.Resource{
		URI: e.URI, Server: e.Server, Name: text(e.Raw, "name"), Title: text(e.Raw, "title"),
		Description: text(e.Raw, "description"), MIMEType: text(e.Raw, "mimeType"), State: string(states[e.Server]),
	}
}

func templateView(e *catalog.ResourceEntry, states map[string]hub.State) api.ResourceTemplate {
	return api.ResourceTemplate{
		URITemplate: e.URI, Server: e.Server, Name: text(e.Raw, "name"), Title: text(e.Raw, "title"),
		Description: text(e.Raw, "description"), MIMEType: text(e.Raw, "mimeType"), State: string(states[e.Server]),
	}
}

func promptView(e *catalog.PromptEntry, states map[string]hub.State) api.Prompt {
	v := api.Prompt{
		Name: e.Exposed, Server: e.Server.Key, Prompt: e.Prompt.Name, Title: text(e.Raw, "title"),
		Description: text(e.Raw, "description"), Arguments: []api.PromptArgument{}, State: string(states[e.Server.Key]),
	}
	for arg := range wire.Array(e.Raw, wire.Lookup(e.Raw, wire.Value(e.Raw), "arguments")) {
		raw := json.RawMessage(arg.Of(e.Raw))
		v.Arguments = append(v.Arguments, api.PromptArgument{
			Name: text(raw, "name"), Title: text(raw, "title"), Description: text(raw, "description"),
			Required: string(wire.Lookup(raw, wire.Value(raw), "required").Of(raw)) == "true",
		})
	}
	return v
}
