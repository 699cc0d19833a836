package gateway

import (
	"slices"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

func unknownMethod(name string) *hub.Error {
	return hub.E(message.MethodUnknown, nil, "method", message.Quote(name))
}

func invalid(format string, args ...any) *hub.Error {
	return hub.E(message.ParamsInvalid, nil).With("detail", message.Say(format, args...))
}

// foreign is the error for a question of a server of the other era: what a result
// asks and what a request asks are not made into each other.
func foreign(server, caller protocol.Era) *hub.Error {
	latest := map[protocol.Era]protocol.Revision{protocol.Legacy: protocol.LatestLegacy, protocol.Modern: protocol.LatestModern}
	return hub.E(message.QuestionForeign, nil, "theirs", string(latest[server]), "ours", string(latest[caller]))
}

// Voice is how a caller is told of an error.
type Voice struct {
	Lang   message.Lang // "" stands for English
	Method string       // of the request; "" if it is not known
	Device bool         // see [Caller]
}

// Language is that in which a caller is told things: that of its profile, or else
// the one of the catalogue that its Accept-Language prefers, or else the hub's.
func (g *Gateway) Language(viewer hub.Viewer, accept string) message.Lang {
	if view, err := g.opt.Catalog.View(viewer); err == nil {
		if lang := view.Profile().Language; lang != "" {
			return lang
		}
	}
	return message.Prefer(accept, g.opt.Language())
}

// Fault is the function [Fault] for a message of a caller.
func (g *Gateway) Fault(c *Caller, m *wire.Message, e *hub.Error) Answer {
	as := Voice{Lang: g.Language(c.Viewer, c.Accept), Method: m.MethodName(), Device: c.Device}
	return Fault(c.Era, m.ID.Of(m.Raw), e, as)
}

// timestamp is the form of times in the data of errors.
const timestamp = "2006-01-02T15:04:05.000Z"

// Fault is the error response to the request with the raw id, nil for a
// message whose id is not known. Its text is the catalogue's. Its data holds
// the stable code, its class, one sentence for people who know nothing of MCP, the
// outcome "unknown" if the call may have taken effect, and the values that the text
// refers to.
func Fault(era protocol.Era, id []byte, e *hub.Error, as Voice) Answer {
	code := RPCCode(era, e.Code)
	if id == nil {
		id = []byte("null")
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"message":`...)
	b = wire.AppendString(b, e.In(as.Lang))
	b = append(b, `,"data":{"code":`...)
	b = wire.AppendString(b, string(e.Code))
	class := e.Class()
	b = append(b, `,"class":"`+string(class)+`","userMessage":`...)
	b = wire.AppendString(b, e.Sentence(as.Lang, as.Method))
	if class == message.ClassOutcome {
		b = append(b, `,"outcome":"`+string(hub.OutcomeUnknown)+`"`...)
	}
	if as.Device {
		b = append(b, `,"original_error":`...)
		b = wire.AppendString(b, e.In(message.English))
		b = append(b, `,"timestamp":"`+time.Now().UTC().Format(timestamp)+`"`...)
		if as.Method != "" {
			b = append(b, `,"method":`...)
			b = wire.AppendString(b, message.Quote(as.Method))
		}
	}
	if e.Code == message.VersionUnsupported {
		b = append(b, `,"requested":`...)
		b = wire.AppendString(b, e.Args["version"])
		b = append(b, `,"supported":`...)
		b = protocol.AppendRevisions(b)
	} else {
		b = appendArgs(b, e.Values(as.Lang), as.Device && as.Method != "")
	}
	return Answer{Raw: append(b, "}}}"...), Code: code}
}

// appendArgs adds the values that the text refers to, in a stable order. Those
// whose names the data has already are left out, method if that was given.
func appendArgs(b []byte, args message.Args, method bool) []byte {
	names := make([]string, 0, len(args))
	for name := range args {
		switch name {
		case "code", "class", "userMessage", message.ValueOutcome, "original_error", "timestamp":
		case "method":
			if !method {
				names = append(names, name)
			}
		default:
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

// RPCCode is the JSON-RPC code of an error of the hub's own. The modern era
// keeps the range in which legacy implementations had codes of their own.
func RPCCode(era protocol.Era, code message.Code) int {
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
	case message.ToolUnknown, message.ToolLike, message.PromptUnknown, message.GroupUnknown, message.ParamsInvalid, message.ArgumentsInvalid,
		message.CursorUnknown, message.MetaMissing:
		return protocol.CodeInvalidParams
	case message.ResourceUnknown, message.ResultGone:
		return protocol.TranslateCode(protocol.CodeNoResource, protocol.Legacy, era)
	case message.HeaderMismatch:
		return protocol.CodeHeaderMismatch
	case message.VersionUnsupported:
		return protocol.CodeVersion
	case message.Internal, message.HubLost: // this one is package bridge's
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
