package rest

import (
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

// problemType is the media type of errors (RFC 9457).
const problemType = "application/problem+json"

// fault is an error on its way out; problems makes a document of it.
type fault struct{ err error }

func (f *fault) Error() string { return f.err.Error() }

// GetStatus implements [huma.StatusError].
func (f *fault) GetStatus() int { return statusOf(hub.AsError(f.err)) }

// ContentType implements [huma.ContentTypeFilter].
func (f *fault) ContentType(string) string { return problemType }

// failed makes the error of a handler of any error; nil stays nil.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &fault{err}
}

// problems turns errors, ours and those of the framework, into documents.
func problems(ctx huma.Context, _ string, v any) (any, error) {
	l := lang(ctx.Context())
	switch e := v.(type) {
	case *fault:
		return document(l, e.GetStatus(), e.err), nil
	case *huma.ErrorModel:
		return document(l, e.Status, invalid(e)), nil
	}
	return v, nil
}

// invalid puts what the framework found wrong with a request into our words.
// Values are left out: they may be secrets.
func invalid(e *huma.ErrorModel) *hub.Error {
	const most = 5 // that are told
	var parts []string
	for _, one := range e.Errors[:min(len(e.Errors), most)] {
		parts = append(parts, message.Quote(one.Location)+": "+one.Message)
	}
	if len(parts) == 0 {
		parts = append(parts, e.Detail)
	}
	return hub.E(message.BodyInvalid, nil, "detail", strings.Join(parts, "; "))
}

// document is an error as a problem document.
func document(l message.Lang, status int, err error) *api.Problem {
	e := hub.AsError(err)
	text := e.Text(l)
	p := &api.Problem{
		Type: "urn:toolcrib:" + string(e.Code), Title: text.What, Status: status,
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
	case message.ServerUnknown, message.ToolUnknown, message.ResourceUnknown, message.PromptUnknown, message.GroupUnknown,
		message.ResultGone, message.SecretUnknown, message.LeaseUnknown:
		return http.StatusNotFound
	case message.ServerExists, message.ServerBuiltin, message.ConfigMissing, message.ConfigBroken,
		message.ServerDisabled, message.ServerStopped, message.NotOffered, message.ToolChanged, message.DriftStale:
		return http.StatusConflict
	case message.ConfigStale:
		return http.StatusPreconditionFailed
	case message.ETagMissing:
		return http.StatusPreconditionRequired
	case message.ConfigInvalid, message.EntryIgnored, message.BodyInvalid, message.ParamsInvalid,
		message.SecretRefused, message.ImportKeyUnknown, message.IndexInvalid:
		return http.StatusUnprocessableEntity
	case message.TestsBusy:
		return http.StatusTooManyRequests
	case message.Timeout:
		return http.StatusGatewayTimeout
	case message.ServerDown, message.ServerBroken, message.ShuttingDown:
		return http.StatusServiceUnavailable
	case message.Internal, message.ConfigUnreadable, message.ConfigUnwritable, message.FileUnwritable:
		return http.StatusInternalServerError
	}
	return http.StatusBadGateway // what is left is about a server
}

// refuse answers without the operation's handler, or for it.
func refuse(ctx huma.Context, status int, err error) {
	ctx.SetHeader("Content-Type", problemType)
	ctx.SetStatus(status)
	_ = encode(ctx.BodyWriter(), document(lang(ctx.Context()), status, err)) // the client may be gone
}

// Refuse answers a request with a problem document, outside of any operation.
func Refuse(w http.ResponseWriter, r *http.Request, status int, e *hub.Error) {
	l := message.FromHeader(r.Header.Get("Accept-Language"))
	h := w.Header()
	h.Set("Content-Type", problemType)
	h.Set("Content-Language", string(l))
	w.WriteHeader(status)
	_ = encode(w, document(l, status, e)) // the client may be gone
}
