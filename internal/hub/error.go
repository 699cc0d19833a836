package hub

import (
	"errors"
	"maps"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Error is an error that a person may be shown: a stable code, the values its
// text refers to, and the cause for the log. Values and text never hold a
// secret; the cause is never shown to a caller.
type Error struct {
	Code    message.Code
	Args    message.Args              // in English
	Phrases map[string]message.Phrase // those of the Args that are words of ours
	Err     error
}

// E returns an error with the code, the cause (which may be nil) and pairs of
// name and value for the text. There is no constructor that takes a text: all
// texts are in the catalogue.
func E(code message.Code, cause error, pairs ...string) *Error {
	e := &Error{Code: code, Err: cause}
	if len(pairs) > 0 {
		e.Args = make(message.Args, len(pairs)/2)
		for i := 0; i+1 < len(pairs); i += 2 {
			e.Args[pairs[i]] = pairs[i+1]
		}
	}
	return e
}

// With adds a value that is said in the language of the text, and returns e. It
// is for whoever makes the error: nobody else may have it yet.
func (e *Error) With(name string, said message.Phrase) *Error {
	if e.Args == nil {
		e.Args = make(message.Args, 1)
	}
	if e.Phrases == nil {
		e.Phrases = make(map[string]message.Phrase, 1)
	}
	e.Args[name], e.Phrases[name] = said.String(), said
	return e
}

// Error is the English text and, for the log, the cause.
func (e *Error) Error() string {
	s := e.Text(message.English).What
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Text is what a person is told, in the language asked for.
func (e *Error) Text(lang message.Lang) message.Text {
	return message.For(lang, e.Code, e.Values(lang))
}

// In is the whole text as one, in the language asked for.
func (e *Error) In(lang message.Lang) string { return e.Text(lang).String() }

// Values are what stands in the text in the language asked for: the Args and,
// where the text gives a reason that is not among them, the text of the cause.
// They are not to be changed.
func (e *Error) Values(lang message.Lang) message.Args {
	args := e.Args
	if lang != message.English && len(e.Phrases) > 0 {
		args = maps.Clone(args)
		for name, said := range e.Phrases {
			args[name] = said.In(lang)
		}
	}
	cause, ok := errors.AsType[*Error](e.Err)
	if _, given := e.Args["reason"]; given || !ok || !strings.Contains(message.For(lang, e.Code, nil).What, "{reason}") {
		return args
	}
	with := make(message.Args, len(args)+1)
	maps.Copy(with, args)
	with["reason"] = cause.In(lang)
	return with
}

// Class is of what kind the error is: [message.ClassOutcome] if the call may have
// taken effect, whatever the code; else that of its code or, where that only says
// that a server refused, that of the server's answer.
func (e *Error) Class() message.Class {
	if e.Args[message.ValueOutcome] == string(OutcomeUnknown) {
		return message.ClassOutcome
	}
	switch e.Code {
	case message.ServerHTTPStatus:
		if status, err := strconv.Atoi(e.Args["status"]); err == nil {
			return message.ClassOfStatus(status)
		}
	case message.ServerRefused:
		if code, err := strconv.Atoi(e.Args["answer"]); err == nil {
			return message.ClassOfAnswer(e.Args["method"], code, e.Args["detail"])
		}
	}
	return message.ClassOf(e.Code)
}

// Sentence is one sentence about the error, for a person who knows nothing of MCP:
// that of its code, or else of its class; where the class says nothing it is about
// the method.
func (e *Error) Sentence(lang message.Lang, method string) string {
	if class := e.Class(); class != message.ClassOf(e.Code) {
		return class.Sentence(lang, method)
	}
	return message.Friendly(lang, e.Code, method)
}

// AsError returns err as an *Error: err itself if it is one or wraps one, else
// an internal error with err as its cause. AsError(nil) is nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return E(message.Internal, err)
}

// IsCode reports whether err is or wraps an *Error with the code.
func IsCode(err error, code message.Code) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}
