package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// fault is an error on its way out; problems makes a document of it.
type fault struct{ err error }

func (f *fault) Error() string  { return f.err.Error() }
func (f *fault) GetStatus() int { return statusOf(hub.AsError(f.err)) }

// failed makes the error of a handler of any error; nil stays nil.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &fault{err}
}

// problems turns errors, ours and those of the framework, into documents.
func problems(ctx huma.Context, _ string, v any) (any, error) {
	switch e := v.(type) {
	case *fault:
		return document(lang(ctx.Context()), e.err), nil
	case *huma.ErrorModel:
		return document(lang(ctx.Context()), invalid(e)), nil
	}
	return v, nil
}

// ContentType implements [huma.ContentTypeFilter].
func (f *fault) ContentType(string) string { return "application/problem+json" }

// invalid puts what the framework found wrong with a request into our words.
func invalid(e *huma.ErrorModel) *hub.Error {
	switch e.Status {
	case http.StatusRequestEntityTooLarge:
		return hub.E(message.BodyTooBig, nil, "limit", "as docs/api.md says")
	case http.StatusNotAcceptable:
		return hub.E(message.AcceptRefused, nil)
	}
	parts := make([]string, 0, len(e.Errors))
	for _, one := range e.Errors {
		// The value is left out: it may be a secret.
		parts = append(parts, strings.TrimSpace(one.Location+" "+one.Message))
	}
	if len(parts) == 0 {
		parts = append(parts, e.Detail)
	}
	return hub.E(message.BodyInvalid, nil, "detail", message.Quote(strings.Join(parts, "; ")))
}

// document is an error as a problem document.
func document(l message.Lang, err error) *api.Problem {
	e := hub.AsError(err)
	text := e.Text(l)
	p := &api.Problem{
		Type: "urn:toolcrib:" + string(e.Code), Title: text.What, Status: statusOf(e),
		Code: string(e.Code), Detail: text.String(), Remedy: text.Remedy,
	}
	if all, ok := errors.AsType[config.Problems](err); ok {
		p.Problems = configProblems(l, all)
	}
	return p
}

func configProblems(l message.Lang, all config.Problems) []api.ConfigProblem {
	list := make([]api.ConfigProblem, 0, len(all))
	for _, e := range all {
		p := api.ConfigProblem{Detail: e.Args["detail"]}
		if p.Detail == "" {
			p.Detail = e.Text(l).String()
		}
		p.Line, _ = strconv.Atoi(e.Args["line"]) // 0 for what has no place
		p.Column, _ = strconv.Atoi(e.Args["column"])
		list = append(list, p)
	}
	return list
}

// faultProblems is why a configuration is not in force, as a list.
func faultProblems(l message.Lang, err error) []api.ConfigProblem {
	if err == nil {
		return []api.ConfigProblem{}
	}
	if all, ok := errors.AsType[config.Problems](err); ok {
		return configProblems(l, all)
	}
	return []api.ConfigProblem{{Detail: hub.AsError(err).Text(l).String()}}
}

func warnings(all []config.Warning) []api.ConfigProblem {
	list := make([]api.ConfigProblem, 0, len(all))
	for _, w := range all {
		list = append(list, api.ConfigProblem{Line: w.Line, Column: w.Column, Detail: w.Detail})
	}
	return list
}

// statusOf is the HTTP status that goes with a code.
func statusOf(e *hub.Error) int {
	switch e.Code {
	case message.AdminRequired:
		return http.StatusUnauthorized
	case message.ServerUnknown, message.ToolUnknown, message.SecretUnknown, message.PathUnknown:
		return http.StatusNotFound
	case message.HTTPMethodRefused:
		return http.StatusMethodNotAllowed
	case message.AcceptRefused:
		return http.StatusNotAcceptable
	case message.ServerExists, message.ServerBuiltin, message.ConfigMissing, message.ConfigBroken,
		message.ServerDisabled, message.ServerStopped:
		return http.StatusConflict
	case message.ConfigStale:
		return http.StatusPreconditionFailed
	case message.ETagMissing:
		return http.StatusPreconditionRequired
	case message.BodyTooBig, message.MessageTooBig:
		return http.StatusRequestEntityTooLarge
	case message.TypeRefused:
		return http.StatusUnsupportedMediaType
	case message.ConfigInvalid, message.BodyInvalid, message.ParamsInvalid, message.MessageInvalid, message.MessageMalformed, message.SecretRefused:
		return http.StatusUnprocessableEntity
	case message.Timeout:
		return http.StatusGatewayTimeout
	case message.ServerDown, message.ShuttingDown:
		return http.StatusServiceUnavailable
	case message.Internal, message.ConfigUnreadable, message.ConfigUnwritable:
		return http.StatusInternalServerError
	}
	return http.StatusBadGateway // what is left is about a server
}

// refuse answers before an operation's handler is reached.
func (d *Door) refuse(ctx huma.Context, e *hub.Error) {
	p := document(lang(ctx.Context()), e)
	ctx.SetHeader("Content-Type", "application/problem+json")
	ctx.SetStatus(p.Status)
	enc := json.NewEncoder(ctx.BodyWriter())
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p) // the client may be gone
}

// Refuse answers a request with a problem document, outside of any operation.
func Refuse(w http.ResponseWriter, r *http.Request, status int, e *hub.Error) {
	l := message.FromHeader(r.Header.Get("Accept-Language"))
	p := document(l, e)
	p.Status = status
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Language", string(l))
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p) // the client may be gone
}
