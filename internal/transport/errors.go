package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

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

// ClosedError says that the peer ended a WebSocket, and with which close code
// and reason (RFC 6455, section 7.4). The reason is the peer's own text.
type ClosedError struct {
	Code   int
	Reason string
}

func (e *ClosedError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("closed with the code %d: %s", e.Code, e.Reason), ": ")
}

// ProxyError says that a proxy answered, and opened no way to the server.
type ProxyError struct{ Status int }

func (e *ProxyError) Error() string {
	return fmt.Sprintf("the proxy refused with HTTP status %d %s", e.Status, http.StatusText(e.Status))
}

// EndpointError says that a server wants messages to be sent to another
// origin than its own, where its credentials must not go.
type EndpointError struct{ Origin string }

func (e *EndpointError) Error() string {
	return fmt.Sprintf("messages are to be sent to another origin, %q", e.Origin)
}

// ErrUpgrade says that the answer to a WebSocket's opening request does not
// open one, whatever its status says.
var ErrUpgrade = errors.New("the answer opens no WebSocket")

// neverLeft reports whether an error of an HTTP client proves that no byte of
// the request reached the server. The list is closed on purpose (an error that
// is not on it may hide a call that was carried out):
//
//   - the connection could not be opened (dial, name resolution, a proxy that is
//     not there or refuses);
//   - the TLS handshake did not complete;
//   - a connection that was used before turned out to be closed at the first
//     byte. net/http then wants to send the request again, and says so with an
//     error that has no type since it may not (see request).
func neverLeft(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	if _, ok := errors.AsType[*ProxyError](err); ok {
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

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*TooLargeError](err)
	return ok
}
