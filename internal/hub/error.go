package hub

import (
	"errors"
	"maps"
	"strings"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Error is an error that a person may be shown: a stable code, the values its
// text refers to, and the cause for the log. Values and text never hold a
// secret; the cause is never shown to a caller.
type Error struct {
	Code message.Code
	Args message.Args
	Err  error
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

// Values are what stands in the text in the language asked for: the Args and,
// where the text gives a reason that is not among them, the text of the cause.
// They are not to be changed.
func (e *Error) Values(lang message.Lang) message.Args {
	cause, ok := errors.AsType[*Error](e.Err)
	if _, given := e.Args["reason"]; given || !ok || !strings.Contains(message.For(lang, e.Code, nil).What, "{reason}") {
		return e.Args
	}
	args := make(message.Args, len(e.Args)+1)
	maps.Copy(args, e.Args)
	args["reason"] = cause.Text(lang).String()
	return args
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
