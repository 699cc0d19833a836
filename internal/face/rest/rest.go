// Package rest is the door for the HTTP API: decode, check who asks, have
// control or the call pipeline do it, encode. It has no rules of its own.
//
// Reading and calling are open to whoever may reach the listener; a change
// needs an administrator. Errors are problem documents in the language that
// Accept-Language asks for.
package rest

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/journal"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Limits of a request's body, in bytes.
const (
	maxBody     = 1 << 20
	maxConfig   = 9 << 20  // a configuration file, as a JSON string
	maxCallBody = 64 << 20 // the same as over MCP
)

// Options are what the API is about.
type Options struct {
	Control *control.Control
	Call    *call.Pipeline
	Catalog *catalog.Catalog
	Journal *journal.Journal

	Version  string
	Started  time.Time
	Listen   func() string // URL of the listener; "" if there is none
	DataDir  string
	Sessions func() int // open MCP sessions
	Shutdown func()     // has the hub stop, soon
	Schema   func() []byte
}

// Door serves the API.
type Door struct {
	opt Options
	api huma.API
	mux *http.ServeMux

	closed chan struct{} // closed by Close
	end    sync.Once
}

// New returns the door.
func New(opt Options) *Door {
	d := &Door{opt: opt, mux: http.NewServeMux(), closed: make(chan struct{})}
	cfg := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Toolcrib", Version: "1",
				Description: "Servers, tools, calls and the configuration of one Toolcrib hub. " +
					"A change needs the administrator's token as a bearer token; reading and calling need none on the hub's own machine. " +
					"Texts are English or Chinese, by Accept-Language.",
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Servers: []*huma.Server{{URL: api.Base}},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					admin: {Type: "http", Scheme: "bearer", Description: "The administrator's token, made at the first start."},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{problems},

		RejectUnknownQueryParameters: true,
	}
	d.api = humago.NewWithPrefix(d.mux, api.Base, cfg)
	d.api.UseMiddleware(d.language, d.authorise, d.contentType)
	d.status()
	d.servers()
	d.tools()
	d.calls()
	d.config()
	d.secrets()
	spec := sync.OnceValue(d.OpenAPI)
	d.mux.HandleFunc("GET "+api.Base+"/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(spec()) // the client may be gone
	})
	d.mux.HandleFunc(api.Base+"/", func(w http.ResponseWriter, r *http.Request) {
		Refuse(w, r, http.StatusNotFound, hub.E(message.PathUnknown, nil, "path", message.Quote(r.URL.Path)))
	})
	return d
}

// Close ends the streams that would go on for ever. It may be called more than
// once.
func (d *Door) Close() { d.end.Do(func() { close(d.closed) }) }

// ServeHTTP serves everything below [api.Base].
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, pattern := d.mux.Handler(r)
	if method := r.Method; pattern == api.Base+"/" && method != http.MethodGet && d.serves(r) {
		Refuse(w, r, http.StatusMethodNotAllowed, hub.E(message.HTTPMethodRefused, nil, "method", message.Quote(method)))
		return
	}
	d.mux.ServeHTTP(w, r)
}

// serves reports whether the path is served for another method.
func (d *Door) serves(r *http.Request) bool {
	for _, method := range [...]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := d.mux.Handler(other); pattern != api.Base+"/" {
			return true
		}
	}
	return false
}

// OpenAPI is the description of the API, OpenAPI 3.1 as indented JSON. It is
// the same for every hub of this version.
func (d *Door) OpenAPI() []byte {
	raw, err := d.api.OpenAPI().MarshalJSON()
	if err != nil {
		panic(err) // the operations below are wrong
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		panic(err)
	}
	text, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

// admin is the security scheme of operations that change something.
const admin = "administrator"

// operation describes an operation that everybody may use who may come in.
func operation(id, method, path, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, MaxBodyBytes: maxBody,
		BodyReadTimeout: bodyLimit,
		Responses: map[string]*huma.Response{"default": {
			Description: "An error",
			Content: map[string]*huma.MediaType{"application/problem+json": {
				Schema: &huma.Schema{Ref: "#/components/schemas/Problem"},
			}},
		}},
	}
}

// change describes an operation that needs an administrator.
func change(id, method, path, summary string) huma.Operation {
	op := operation(id, method, path, summary)
	op.Security = []map[string][]string{{admin: {}}}
	return op
}

// bodyLimit is how long a client may take to send a body.
const bodyLimit = 30 * time.Second

type langKey struct{}

// lang is the language of the request.
func lang(ctx context.Context) message.Lang {
	if l, ok := ctx.Value(langKey{}).(message.Lang); ok {
		return l
	}
	return message.English
}

func (d *Door) language(ctx huma.Context, next func(huma.Context)) {
	l := message.FromHeader(ctx.Header("Accept-Language"))
	ctx.SetHeader("Content-Language", string(l))
	next(huma.WithValue(ctx, langKey{}, l))
}

// authorise lets only administrators change something.
func (d *Door) authorise(ctx huma.Context, next func(huma.Context)) {
	if len(ctx.Operation().Security) > 0 && auth.From(ctx.Context()).Role < hub.RoleAdmin {
		ctx.SetHeader("WWW-Authenticate", `Bearer realm="toolcrib"`)
		d.refuse(ctx, hub.E(message.AdminRequired, nil))
		return
	}
	next(ctx)
}

// contentType takes bodies of JSON only: a form or a text could come from a
// web page without the browser asking first.
func (d *Door) contentType(ctx huma.Context, next func(huma.Context)) {
	if ctx.Operation().RequestBody != nil {
		given := ctx.Header("Content-Type")
		if kind, _, err := mime.ParseMediaType(given); err != nil || kind != "application/json" {
			d.refuse(ctx, hub.E(message.TypeRefused, nil, "type", message.Quote(given)))
			return
		}
	}
	next(ctx)
}

// wantsEvents reports whether a client asks for an event stream.
func wantsEvents(accept string) bool { return strings.Contains(accept, "text/event-stream") }
