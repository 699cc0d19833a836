package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/config"
)

// OpenAPI is the description of the API, OpenAPI 3.1 as indented JSON. It is
// the same for every hub of this version.
func (d *Door) OpenAPI() []byte {
	raw, err := d.api.OpenAPI().MarshalJSON()
	if err != nil {
		panic(err) // the operations are wrong
	}
	var text bytes.Buffer
	if err := json.Indent(&text, raw, "", "  "); err != nil {
		panic(err)
	}
	return append(text.Bytes(), '\n')
}

// The groups of operations.
const (
	aboutHub     = "Hub"
	aboutServers = "Servers"
	aboutTools   = "Tools and calls"
	aboutContent = "Resources and prompts"
	aboutRecord  = "Record of calls"
	aboutGroups  = "Groups"
	aboutConfig  = "Configuration"
	aboutSecrets = "Sealed values"
)

// admin is the security scheme of operations that need an administrator.
const admin = "administrator"

const schemas = "#/components/schemas/"

// description is what there is to say of the API as a whole.
func description() *huma.OpenAPI {
	responses := map[string]*huma.Response{"error": problemResponse("Any other error")}
	for status, text := range refusals() {
		responses[strconv.Itoa(status)] = problemResponse(text)
	}
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Toolcrib", Version: "1",
			Description: "Servers, tools, calls and the configuration of one Toolcrib hub. " +
				"What needs an administrator needs the administrator's token as a bearer token; all else needs none on the hub's own machine. " +
				"Texts are English or Chinese, by Accept-Language.",
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: api.Base}},
		Tags: []*huma.Tag{
			{Name: aboutHub}, {Name: aboutServers}, {Name: aboutTools}, {Name: aboutContent}, {Name: aboutRecord}, {Name: aboutGroups}, {Name: aboutConfig}, {Name: aboutSecrets},
		},
		Components: &huma.Components{
			Schemas:   huma.NewMapRegistry(schemas, huma.DefaultSchemaNamer),
			Responses: responses,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				admin: {Type: "http", Scheme: "bearer", Description: "The administrator's token, made at the first start."},
			},
		},
	}
}

// refusals says what the statuses of errors mean, with the codes.
func refusals() map[int]string {
	return map[int]string{
		http.StatusBadRequest:     "`body_invalid`: the body is missing, or ends too early",
		http.StatusUnauthorized:   "`admin_required`: no token was shown, and an administrator's is needed",
		http.StatusForbidden:      "`admin_required`: the token is not an administrator's",
		http.StatusNotFound:       "`server_unknown`, `tool_unknown`, `resource_unknown`, `prompt_unknown`, `group_unknown`, `result_gone`, `secret_unknown`, `lease_unknown` or `call_unknown`",
		http.StatusRequestTimeout: "`body_late`: the body did not arrive in time",
		http.StatusConflict: "`server_exists`, `server_builtin`, `server_disabled`, `server_stopped`, `not_offered`, `tool_changed`, `drift_stale`, `config_broken`, `config_missing`, " +
			"`state_not_failed`, `state_retries_exhausted`, `state_request_not_kept` or `state_under_way`",
		http.StatusPreconditionFailed:    "`config_stale`: the file is another one than the request was made for",
		http.StatusRequestEntityTooLarge: "`body_too_big`",
		http.StatusUnsupportedMediaType:  "`content_type_refused`: only application/json is taken",
		http.StatusUnprocessableEntity: "`body_invalid`, `params_invalid`, `config_invalid` with every problem, `entry_ignored`, " +
			"`import_key_unknown`, `index_invalid`, `secret_refused`, `audit_cursor_unknown` or `audit_head_invalid`",
		http.StatusPreconditionRequired: "`etag_missing`: If-Match is needed",
		http.StatusTooManyRequests:      "`limited` or `queue_full`, with `Retry-After`; `queue_expired`, `too_many_own_connections`, `tests_busy` or `token_throttled`",
		http.StatusInternalServerError:  "`config_unreadable`, `config_unwritable`, `file_unwritable` or `internal`",
		http.StatusBadGateway:           "Something about the server, by its code: `server_refused`, `server_exited`, `outcome_unknown` and others",
		http.StatusServiceUnavailable:   "`server_down` with the reason, `server_circuit_open`, `shutting_down`, `audit_unwritable`, `audit_unreadable`, `store_full`, `store_busy` or `store_unavailable`",
		http.StatusGatewayTimeout:       "`timeout`: the server did not answer in time",
	}
}

func problemResponse(text string) *huma.Response {
	return &huma.Response{
		Description: text,
		Content:     map[string]*huma.MediaType{problemType: {Schema: &huma.Schema{Ref: schemas + "Problem"}}},
	}
}

// operation is what is said of an operation.
type operation struct {
	id, method, path string
	group            string
	summary          string
	about            string // what there is to say beyond the summary
	admin            bool
	status           int   // of success; 0 for 200, or 204 without content
	limit            int64 // MiB of the body; 0 if there is none
	example          any   // of the body
	errors           []int // besides those that come with admin and limit
}

// add registers an operation.
func add[I, O any](d *Door, o operation, handle func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, Tags: []string{o.group}, Summary: o.summary, Description: o.about,
		DefaultStatus: o.status,
		Responses:     map[string]*huma.Response{"default": {Ref: "#/components/responses/error"}},
		// Both are seen to before; see decode and Door.body.
		SkipValidateBody: true,
		BodyReadTimeout:  -1,
	}
	errors := o.errors
	if o.admin {
		op.Security = []map[string][]string{{admin: {}}}
		errors = append(errors, http.StatusUnauthorized, http.StatusForbidden)
	}
	if o.limit > 0 {
		op.MaxBodyBytes = o.limit<<20 + 1 // the framework refuses as many as that
		op.RequestBody = &huma.RequestBody{
			Description: "At most " + strconv.FormatInt(o.limit, 10) + " MiB",
			Content:     map[string]*huma.MediaType{"application/json": {Example: o.example}},
		}
		errors = append(errors, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	}
	for _, status := range errors {
		code := strconv.Itoa(status)
		op.Responses[code] = &huma.Response{Ref: "#/components/responses/" + code}
	}
	huma.Register(d.api, op, handle)
}

// streamed says of an operation which answers it writes by hand: JSON of one
// shape or, if asked for, events of another.
func streamed[Whole, Event any](d *Door, id, text string) {
	for _, path := range d.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post} {
			if op == nil || op.OperationID != id {
				continue
			}
			op.Responses["200"] = &huma.Response{Description: text, Content: map[string]*huma.MediaType{
				"application/json":  {Schema: schemaOf[Whole](d)},
				"text/event-stream": {Schema: schemaOf[Event](d)},
			}}
		}
	}
}

// schemaOf enters a shape that only an answer made by hand has.
func schemaOf[T any](d *Door) *huma.Schema {
	return d.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// describe registers the descriptions of the API and of the configuration, and
// finishes the former.
func (d *Door) describe() {
	spec := sync.OnceValue(d.OpenAPI)
	document := func(id, path, kind, summary string, text func() []byte) {
		add(d, operation{id: id, method: http.MethodGet, path: path, group: aboutHub, summary: summary},
			func(context.Context, *struct{}) (*documentOutput, error) { return &documentOutput{kind, text()}, nil })
		d.api.OpenAPI().Paths[path].Get.Responses["200"].Content = map[string]*huma.MediaType{kind: {Schema: &huma.Schema{Type: huma.TypeObject}}}
	}
	document("getOpenAPI", "/openapi.json", "application/json", "This description", spec)
	document("getConfigSchema", "/config/schema", "application/schema+json", "The JSON Schema of the configuration file", config.Schema)

	schemaOf[api.Problem](d)
	shapes := d.api.OpenAPI().Components.Schemas.Map()
	// The framework's own shapes of errors are sent by nobody.
	delete(shapes, "ErrorModel")
	delete(shapes, "ErrorDetail")
	requests := d.requests()
	for name, shape := range shapes {
		if !requests[name] {
			shape.AdditionalProperties = nil // later versions may tell more
		}
		for _, p := range shape.Properties {
			p.Nullable = false // an empty list is empty
		}
	}
}

type documentOutput struct {
	Kind string `header:"Content-Type" hidden:"true"`
	Body []byte
}

// requests are the names of the shapes that come as bodies.
func (d *Door) requests() map[string]bool {
	names := make(map[string]bool)
	for _, path := range d.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{path.Post, path.Put} {
			if op != nil && op.RequestBody != nil {
				names[strings.TrimPrefix(op.RequestBody.Content["application/json"].Schema.Ref, schemas)] = true
			}
		}
	}
	return names
}
