package wire

import "strings"

// envelope is what is found of a message beside its spans.
type envelope struct {
	start   int
	version Span
	badID   Span // an id of a type that no id may have
	alike   Span // a key that differs from one of these members in its case only
}

// note records one member of the message, unless it is not of JSON-RPC.
func (e *envelope) note(m *Message, name []byte, value Span) (known bool) {
	switch string(name) {
	case "jsonrpc":
		e.version = value
	case "id":
		switch m.Raw[value.Start] {
		case '{', '[', 't', 'f':
			e.badID = value
		default:
			m.ID = value
		}
	case "method":
		m.Method = value
	case "params":
		m.Params = value
	case "result":
		m.Result = value
	case "error":
		m.Error = value
	default:
		return false
	}
	return true
}

// isAlike reports whether a name would be that of a member of JSON-RPC if case
// did not matter.
func isAlike(name []byte) bool {
	for _, own := range [...]string{"jsonrpc", "id", "method", "params", "result", "error"} {
		if strings.EqualFold(string(name), own) {
			return true
		}
	}
	return false
}

// classify tells the kind of a message by its members. See the table at Scan.
func (e *envelope) classify(m *Message) *Error {
	raw := m.Raw
	not := func(name string, at Span, detail string) *Error {
		if !at.Exists() {
			at.Start = e.start
		}
		return &Error{Reason: NotMessage, Offset: at.Start, Name: name, detail: detail}
	}
	if !e.version.Exists() || !isString(raw, e.version) || !KeyIs(raw, e.version, "2.0") {
		return not("jsonrpc", e.version, `it must be "2.0"`)
	}
	if e.badID.Exists() {
		return not("id", e.badID, "it must be a string or a number")
	}
	if e.alike.Exists() {
		name, _ := decoded(raw, e.alike, nil)
		return not(cutName(string(name)), e.alike, "it differs from a member of JSON-RPC in its case only")
	}
	hasID := m.ID.Exists() && raw[m.ID.Start] != 'n'

	if m.Method.Exists() {
		switch {
		case !isString(raw, m.Method):
			return not("method", m.Method, "it must be a string")
		case m.Result.Exists():
			return not("result", m.Result, "it cannot stand beside a method")
		case m.Error.Exists():
			return not("error", m.Error, "it cannot stand beside a method")
		case m.Params.Exists() && raw[m.Params.Start] != '{' && raw[m.Params.Start] != '[':
			return not("params", m.Params, "it must be an object or an array")
		case hasID:
			m.Kind = Request
		case m.ID.Exists():
			return not("id", m.ID, "it must not be null in a request")
		default:
			m.Kind = Notification
		}
		return nil
	}

	switch {
	case m.Params.Exists():
		return not("params", m.Params, "it cannot stand without a method")
	case m.Result.Exists() && m.Error.Exists():
		return not("error", m.Error, "it cannot stand beside a result")
	case m.Error.Exists() && raw[m.Error.Start] != '{':
		return not("error", m.Error, "it must be an object")
	case m.Error.Exists():
		m.Kind = Failure
	case !m.Result.Exists():
		return not("", Span{}, "it has neither a method nor a result nor an error")
	case !hasID:
		return not("id", m.ID, "a result must have one that is not null")
	default:
		m.Kind = Response
	}
	return nil
}

// isString reports whether a value is a string.
func isString(raw []byte, value Span) bool { return raw[value.Start] == '"' }
