package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// TooLargeError says that a peer sent a message of more than Limit bytes.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a message of more than %d bytes", e.Limit)
}

// StatusError is an HTTP answer with a status that is no success.
type StatusError struct {
	Status int
	Header http.Header
	// Body is the start of the answer's body, up to 64 KiB; modern servers
	// send a JSON-RPC error in it.
	Body []byte
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("HTTP status %d %s", e.Status, http.StatusText(e.Status))
}

// Message returns the JSON-RPC error that the body holds, if it does.
func (e *StatusError) Message() (wire.Message, bool) {
	m, err := wire.Scan(e.Body, wire.Limits{})
	return m, err == nil && m.Kind == wire.Failure
}

// ContentTypeError is a successful answer that is neither JSON nor an event
// stream.
type ContentTypeError struct{ Type string }

func (e *ContentTypeError) Error() string {
	return fmt.Sprintf("an answer of the content type %q", e.Type)
}

// ErrIdle says that a stream brought nothing for longer than allowed.
var ErrIdle = errors.New("the stream was silent for too long")

// neverLeft reports whether an error of an HTTP client proves that no byte of
// the request reached the server. The list is closed on purpose (an error that
// is not on it may hide a call that was carried out):
//
//   - the connection could not be opened (dial, name resolution, proxy refusal
//     of the dial);
//   - the TLS handshake did not complete;
//   - a connection that was used before turned out to be closed at the first
//     byte. net/http then wants to send the request again, and says so with an
//     error that has no type since it may not (see request).
func neverLeft(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	return plain(err).Error() == "net/http: cannot rewind body after connection loss"
}
