package rest

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// problemType is the media type of errors (RFC 9457).
const problemType = "application/problem+json"

// fault is an error on its way out; problems makes a document of it.
type fault struct{ err error }

func (f *fault) Error() string { return f.err.Error() }

// GetStatus implements [huma.StatusError].
func (f *fault) GetStatus() int { return Status(hub.AsError(f.err).Code) }

// GetHeaders implements [huma.HeadersError]: whoever is to come again later is
// told when.
func (f *fault) GetHeaders() http.Header {
	if seconds := hub.AsError(f.err).Args["retry_after"]; seconds != "" {
		return http.Header{"Retry-After": {seconds}}
	}
	return nil
}

// ContentType implements [huma.ContentTypeFilter].
func (f *fault) ContentType(string) string { return problemType }

// failed makes the error of a handler of any error; nil stays nil, and so does what
// is one already.
func failed(err error) error {
	if err == nil {
		return nil
	}
	if f, is := errors.AsType[*fault](err); is {
		return f
	}
	return &fault{err}
}

// problems turns errors, ours and those of the framework, into documents.
func problems(ctx huma.Context, _ string, v any) (any, error) {
	as := voiceOf(ctx)
	switch e := v.(type) {
	case *fault:
		failedBy(ctx.Context(), hub.AsError(e.err).Code)
		return document(as, e.GetStatus(), e.err), nil
	case *huma.ErrorModel:
		failedBy(ctx.Context(), message.BodyInvalid)
		return document(as, e.Status, invalid(e)), nil
	}
	return v, nil
}

// invalid puts what the framework found wrong with a request into our words.
// Values are left out: they may be secrets.
func invalid(e *huma.ErrorModel) *hub.Error {
	const most = 5 // that are told
	var all message.Phrase
	for i, one := range e.Errors[:min(len(e.Errors), most)] {
		part := message.Say("%s: %s", message.Quote(one.Location), unmet(one.Message))
		if i == 0 {
			all = part
			continue
		}
		all = message.Say("%s; %s", all, part)
	}
	if all.Empty() {
		all = message.Term(e.Detail)
	}
	return unfit(all)
}

// unmet is what the framework says of one member.
func unmet(text string) message.Phrase {
	for _, form := range [...]string{
		"expected required property %s to be present", "expected value to be one of %s", "expected number >= %s", "expected number <= %s",
		"expected length >= %s", "expected length <= %s", "expected array length >= %s", "expected array length <= %s",
		"expected string to match pattern %s",
	} {
		before, after, _ := strings.Cut(form, "%s")
		if value, ok := strings.CutPrefix(text, before); ok && strings.HasSuffix(value, after) {
			return message.Say(form, strings.TrimSuffix(value, after))
		}
	}
	return message.Term(text)
}

// unfit is the error of a request that is not as it should be.
func unfit(detail message.Phrase) *hub.Error {
	return hub.E(message.BodyInvalid, nil).With("detail", detail)
}

// voice is how a caller is told of an error.
type voice struct {
	lang   message.Lang
	method string // of MCP, which the operation stands for; "" for none
	compat bool   // as other programs know it, with success and error besides
}

func voiceOf(ctx huma.Context) voice {
	v := voice{lang: lang(ctx.Context())}
	if op := ctx.Operation(); op != nil {
		v.compat = slices.Contains(op.Tags, aboutCompat)
		switch op.OperationID {
		case "call", "retryState", "proxyCall", "compatToolTest":
			v.method = protocol.MethodToolsCall
		case "listTools":
			v.method, v.compat = protocol.MethodToolsList, true
		}
	}
	return v
}

// document is an error as a problem document.
func document(as voice, status int, err error) *api.Problem {
	e := hub.AsError(err)
	text, class := e.Text(as.lang), e.Class()
	p := &api.Problem{
		Type: "urn:toolcrib:" + string(e.Code), Title: text.What, Status: status,
		Code: string(e.Code), Detail: text.String(), Remedy: text.Remedy,
		Class: string(class), UserMessage: e.Sentence(as.lang, as.method),
	}
	if class == message.ClassOutcome {
		p.Outcome = string(hub.OutcomeUnknown)
	}
	if all, ok := errors.AsType[config.Problems](err); ok {
		p.Problems = configProblems(as.lang, all)
	}
	if as.compat {
		p.Success, p.Error = new(bool), p.Detail
	}
	return p
}

func configProblems(l message.Lang, all config.Problems) []api.ConfigProblem {
	list := make([]api.ConfigProblem, 0, len(all))
	for _, e := range all {
		p := api.ConfigProblem{Detail: e.Values(l)["detail"]}
		if p.Detail == "" {
			p.Detail = e.In(l)
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
	return []api.ConfigProblem{{Detail: hub.AsError(err).In(l)}}
}

func warnings(l message.Lang, all []config.Warning) []api.ConfigProblem {
	list := make([]api.ConfigProblem, 0, len(all))
	for _, w := range all {
		list = append(list, api.ConfigProblem{Line: w.Line, Column: w.Column, Detail: w.In(l)})
	}
	return list
}

// Status is the HTTP status that goes with a code.
func Status(code message.Code) int {
	switch code {
	case message.AdminRequired, message.TokenRequired, message.TokenRefused:
		return http.StatusUnauthorized
	case message.HostRefused, message.OriginRefused, message.SameOriginNeeded, message.PolicyDenied, message.LoginForbidden, message.ApprovalOwn, message.ApprovalSecond, message.RoleRefused, message.ScopeRefused, message.HubwideRequired, message.GrantRefused:
		return http.StatusForbidden
	case message.LoginFailed, message.TokenInURL:
		return http.StatusBadRequest
	case message.HTTPMethodRefused:
		return http.StatusMethodNotAllowed
	case message.BodyLate:
		return http.StatusRequestTimeout
	case message.BodyTooBig:
		return http.StatusRequestEntityTooLarge
	case message.TypeRefused:
		return http.StatusUnsupportedMediaType
	case message.PathUnknown, message.ServerUnknown, message.ToolUnknown, message.ToolLike, message.ResourceUnknown, message.PromptUnknown, message.GroupUnknown,
		message.ResultGone, message.ApprovalUnknown, message.GrantUnknown, message.SecretUnknown, message.LeaseUnknown, message.CallUnknown, message.TokenUnknown, message.TenantUnknown, message.LoginOff,
		message.EndpointUnknown, message.BackendUnknown, message.DeviceUnknown:
		return http.StatusNotFound
	case message.ServerExists, message.ServerBuiltin, message.PresetKept, message.PresetFixed, message.UpstreamLoginUnused, message.UpstreamLoginNowhere, message.ConfigMissing, message.ConfigBroken,
		message.ServerDisabled, message.ServerStopped, message.NotOffered, message.ToolChanged, message.DriftStale,
		message.StateNotFailed, message.StateUnderWay, message.StateExhausted, message.StateNotKept,
		message.ApprovalStale, message.CallOvertaken, message.ApprovalForeign, message.ApprovalDecided, message.ApprovalUndecided, message.ApprovalConfirm, message.ApprovalChanged, message.ApprovalTaken, message.ApprovalExpired, message.TenantExists, message.TenantInUse, message.EndpointIdle:
		return http.StatusConflict
	case message.ConfigStale:
		return http.StatusPreconditionFailed
	case message.ETagMissing:
		return http.StatusPreconditionRequired
	case message.ConfigInvalid, message.EntryIgnored, message.BodyInvalid, message.ParamsInvalid, message.ArgumentsInvalid, message.CursorUnknown,
		message.SecretRefused, message.ImportKeyUnknown, message.ApprovalInvalid, message.GrantInvalid, message.IndexInvalid, message.AuditCursorUnknown, message.AuditHeadInvalid:
		return http.StatusUnprocessableEntity
	case message.UpstreamLoginBusy, message.UpstreamLoginsFull, message.TestsBusy, message.TokenThrottled, message.Limited, message.QueueFull, message.QueueExpired, message.CallersTooMany, message.ApprovalsFull:
		return http.StatusTooManyRequests
	case message.Timeout:
		return http.StatusGatewayTimeout
	case message.ServerDown, message.DeviceOffline, message.ServerBroken, message.LoginUnavailable, message.ShuttingDown,
		message.StoreFull, message.StoreBusy, message.StoreUnavailable, message.AuditUnwritable, message.AuditUnreadable, message.AuditJournalUnusable:
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
	failedBy(ctx.Context(), hub.AsError(err).Code)
	_ = encode(ctx.BodyWriter(), document(voiceOf(ctx), status, err)) // the client may be gone
}

// Refuse answers a request with a problem document in the language, outside of
// any operation.
func Refuse(w http.ResponseWriter, l message.Lang, status int, e *hub.Error) {
	refuseAs(w, voice{lang: l}, status, e)
}

// RefuseAt is [Refuse] of a request that was made at a path, which has a say in
// what else is in the document.
func RefuseAt(w http.ResponseWriter, path string, l message.Lang, status int, e *hub.Error) {
	refuseAs(w, voice{lang: l, compat: isCompat(path)}, status, e)
}

func refuseAs(w http.ResponseWriter, as voice, status int, e *hub.Error) {
	h := w.Header()
	h.Set("Content-Type", problemType)
	h.Set("Content-Language", string(as.lang))
	w.WriteHeader(status)
	_ = encode(w, document(as, status, e)) // the client may be gone
}
