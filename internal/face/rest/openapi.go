package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
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
	aboutHub      = "Hub"
	aboutServers  = "Servers"
	aboutTools    = "Tools and calls"
	aboutContent  = "Resources and prompts"
	aboutRecord   = "Record of calls"
	aboutApproval = "Approval and rules"
	aboutGroups   = "Groups"
	aboutConfig   = "Configuration"
	aboutSecrets  = "Sealed values"
	aboutIdentity = "Tokens and tenants"
	aboutVoice    = "Voice assistants and devices"
)

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
				"What an operation needs is a right, told by its security scheme and as `x-toolcrib-right`; a role has some of them. " +
				"Looking around and calling need no token on the hub's own machine, unless the hub asks everybody for one. " +
				"Where `x-toolcrib-hubwide` is set, only principals of the hub itself are let in, and none of a tenant.\n\n" +
				"What belongs to another tenant is answered as what does not exist. " +
				"Texts are English or Chinese, by Accept-Language.",
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: api.Base}},
		Tags: []*huma.Tag{
			{Name: aboutHub}, {Name: aboutServers}, {Name: aboutTools}, {Name: aboutContent}, {Name: aboutRecord}, {Name: aboutApproval}, {Name: aboutGroups}, {Name: aboutConfig}, {Name: aboutSecrets}, {Name: aboutIdentity}, {Name: aboutVoice}, {Name: aboutCompat},
		},
		Components: &huma.Components{
			Schemas:         huma.NewMapRegistry(schemas, huma.DefaultSchemaNamer),
			Responses:       responses,
			SecuritySchemes: schemes(),
		},
	}
}

// refusals says what the statuses of errors mean, with the codes.
func refusals() map[int]string {
	return map[int]string{
		http.StatusBadRequest:     "`body_invalid`: the body is missing, or ends too early",
		http.StatusUnauthorized:   "`token_required` or `admin_required`: no token was shown, and one is needed",
		http.StatusForbidden:      "`approval_own`: nobody decides about their own calls; `approval_second`: a second person has to agree; `role_refused` or `admin_required`: the role of the token has not the right that is needed; `hubwide_required`: the token is a tenant's; `scope_refused`: the token is for something else; `grant_refused`: a token would allow more than that of who asks; `same_origin_needed`: a cookie without the page that it belongs to",
		http.StatusNotFound:       "`server_unknown`, `tool_unknown`, `resource_unknown`, `prompt_unknown`, `group_unknown`, `result_gone`, `secret_unknown`, `lease_unknown`, `call_unknown`, `approval_unknown`, `grant_unknown`, `token_unknown`, `tenant_unknown`, `endpoint_unknown`, `backend_unknown` or `device_unknown`",
		http.StatusRequestTimeout: "`body_late`: the body did not arrive in time",
		http.StatusConflict: "`endpoint_not_enabled`, `server_exists`, `server_builtin`, `preset_kept`, `preset_fixed`, `upstream_login_unused`, `upstream_login_no_address`, `server_disabled`, `server_stopped`, `not_offered`, `tool_changed`, `drift_stale`, `config_broken`, `config_missing`, " +
			"`approval_decided`, `approval_undecided`, `approval_foreign`, `approval_confirm`, `approval_changed`, `approval_taken`, `approval_expired`, " +
			"`state_not_failed`, `state_retries_exhausted`, `state_request_not_kept`, `state_under_way`, `tenant_exists` or `tenant_in_use`",
		http.StatusPreconditionFailed:    "`config_stale`: the file is another one than the request was made for",
		http.StatusRequestEntityTooLarge: "`body_too_big`",
		http.StatusUnsupportedMediaType:  "`content_type_refused`: only application/json is taken",
		http.StatusUnprocessableEntity: "`body_invalid`, `params_invalid`, `config_invalid` with every problem, `entry_ignored`, `approval_invalid`, `grant_invalid`, " +
			"`import_key_unknown`, `index_invalid`, `secret_refused`, `audit_cursor_unknown` or `audit_head_invalid`",
		http.StatusPreconditionRequired: "`etag_missing`: If-Match is needed",
		http.StatusTooManyRequests:      "`limited` or `queue_full`, with `Retry-After`; `queue_expired`, `too_many_own_connections`, `tests_busy`, `approvals_full` or `token_throttled`, `upstream_login_busy` or `upstream_logins_full`",
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
	needs            hub.Right
	hubwide          bool  // only for principals of the hub itself: it is about what all tenants share
	others           bool  // it is open to all for what is their own, and an act on what is somebody else's; see [Door.actOnOthers]
	reads            bool  // it changes nothing, whatever its method: it is done also if it cannot be recorded
	status           int   // of success; 0 for 200, or 204 without content
	limit            int64 // MiB of the body; 0 if there is none
	example          any   // of the body
	errors           []int // besides those that come with needs, hubwide and limit
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
	errors := append(slices.Clone(o.errors), protect(&op, &o)...)
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
