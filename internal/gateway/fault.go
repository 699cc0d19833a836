package gateway

import (
	"slices"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

func unknownMethod(name string) *hub.Error {
	return hub.E(message.MethodUnknown, nil, "method", message.Quote(name))
}

func invalid(detail string) *hub.Error {
	return hub.E(message.ParamsInvalid, nil, "detail", detail)
}

// foreign is the error for a question of a server of the other era: what a result
// asks and what a request asks are not made into each other.
func foreign(server, caller protocol.Era) *hub.Error {
	latest := map[protocol.Era]protocol.Revision{protocol.Legacy: protocol.LatestLegacy, protocol.Modern: protocol.LatestModern}
	return hub.E(message.QuestionForeign, nil, "theirs", string(latest[server]), "ours", string(latest[caller]))
}

// Fault is the error response to the request with the raw id, nil for a
// message whose id is not known. Its text is the catalogue's, its data holds
// the stable code.
func Fault(era protocol.Era, id []byte, e *hub.Error) Answer {
	code := codeOf(era, e.Code)
	if id == nil {
		id = []byte("null")
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"message":`...)
	b = wire.AppendString(b, e.Text(message.English).String())
	b = append(b, `,"data":{"code":`...)
	b = wire.AppendString(b, string(e.Code))
	if e.Code == message.VersionUnsupported {
		b = append(b, `,"requested":`...)
		b = wire.AppendString(b, e.Args["version"])
		b = append(b, `,"supported":`...)
		b = protocol.AppendRevisions(b)
	} else {
		b = appendArgs(b, e.Values(message.English))
	}
	return Answer{Raw: append(b, "}}}"...), Code: code}
}

// appendArgs adds the values that the text refers to, in a stable order.
func appendArgs(b []byte, args message.Args) []byte {
	names := make([]string, 0, len(args))
	for name := range args {
		if name != "code" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		b = append(b, ',')
		b = wire.AppendString(b, name)
		b = append(b, ':')
		b = wire.AppendString(b, args[name])
	}
	return b
}

// codeOf is the JSON-RPC code of an error of the hub's own. The modern era
// keeps the range in which legacy implementations had codes of their own.
func codeOf(era protocol.Era, code message.Code) int {
	switch code {
	case message.MessageMalformed:
		return protocol.CodeParse
	case message.MessageInvalid, message.MessageTooBig, message.BatchRefused,
		message.TypeRefused, message.AcceptRefused, message.HTTPMethodRefused,
		message.HostRefused, message.OriginRefused, message.UpgradeRequired,
		message.TokenRequired, message.TokenRefused, message.TokenThrottled:
		return protocol.CodeInvalidRequest
	case message.MethodUnknown, message.NotOffered:
		return protocol.CodeMethodUnknown
	case message.ToolUnknown, message.PromptUnknown, message.GroupUnknown, message.ParamsInvalid, message.CursorUnknown, message.MetaMissing:
		return protocol.CodeInvalidParams
	case message.ResourceUnknown, message.ResultGone:
		return protocol.TranslateCode(protocol.CodeNoResource, protocol.Legacy, era)
	case message.HeaderMismatch:
		return protocol.CodeHeaderMismatch
	case message.VersionUnsupported:
		return protocol.CodeVersion
	case message.Internal:
		return protocol.CodeInternal
	}
	if era == protocol.Modern {
		return protocol.CodeInternal
	}
	switch code {
	case message.Timeout:
		return protocol.CodeRequestTimeout
	case message.SessionUnknown, message.SessionMissing, message.StreamUnknown, message.EventUnknown, message.NotInitialized:
		return protocol.CodeInvalidRequest
	}
	return protocol.CodeUnavailable
}

// relayedFault passes on an error that a server answered with: message, data
// and all, but for the code where the eras differ.
func relayedFault(reply *wire.Message, edits []wire.Edit, from, to protocol.Era) Answer {
	at := wire.Lookup(reply.Raw, reply.Error, "code")
	code, err := strconv.Atoi(string(at.Of(reply.Raw)))
	if err != nil {
		code = protocol.CodeInternal
	}
	if translated := protocol.TranslateCode(code, from, to); translated != code {
		code = translated
		edits = append(edits, wire.Replace(at, strconv.AppendInt(nil, int64(code), 10)))
	}
	return Answer{Raw: reply.Raw, Edits: edits, Code: code}
}
