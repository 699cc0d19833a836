package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// lost is why the stream of a remote server ended.
func (c *Conn) lost(err error) error { return c.remoteFault(err) }

// remoteFault explains why there is no connection to a remote server, or none
// any more.
func (c *Conn) remoteFault(err error) *hub.Error {
	err = c.hide(err)
	at := c.where()
	if closed, ok := errors.AsType[*transport.ClosedError](err); ok {
		// The reason is the server's own text, so that the cause is not kept.
		return hub.E(message.ServerClosed, nil, "url", at, "detail", message.Quote(c.secrets.Redact(closed.Error())))
	}
	switch {
	case errors.Is(err, transport.ErrIdle):
		return hub.E(message.ServerIdle, err, "url", at)
	case errors.Is(err, errClosed), errors.Is(err, io.EOF):
		return hub.E(message.ServerClosed, err, "url", at).With("detail", message.Say("it gave no reason"))
	}
	if issuer, ok := unknownIssuer(err); ok {
		return hub.E(message.ServerCertificate, err, "url", at, "issuer", issuer)
	}
	return hub.E(message.ServerUnreachable, err, "url", at).With("detail", netDetail(err))
}

// unknownIssuer returns who issued a certificate, if nobody here knows them.
// Systems that verify by themselves have errors of their own for that.
func unknownIssuer(err error) (string, bool) {
	bad, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok || len(bad.UnverifiedCertificates) == 0 {
		return "", false
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "", false
	}
	if _, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return "", false
	}
	return message.Quote(bad.UnverifiedCertificates[len(bad.UnverifiedCertificates)-1].Issuer.String()), true
}

// netDetail says in plain words what is wrong with a connection.
func netDetail(err error) message.Phrase {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		return message.Say("the proxy: %s", wayDetail(err))
	}
	return wayDetail(err)
}

// wayDetail is netDetail, be it the way to the server or to the proxy.
func wayDetail(err error) message.Phrase {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return message.Say("the host name %s is not known", message.Quote(dns.Name))
		}
		return message.Say("the host name %s could not be looked up", message.Quote(dns.Name))
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return message.Say("it does not answer in TLS; is it http, not https?")
	}
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return message.Say("no answer in time")
	}
	text := strings.TrimPrefix(err.Error(), transport.ErrNotSent.Error()+": ")
	if op, ok := errors.AsType[*net.OpError](err); ok {
		// The innermost error is the system's, such as "connection refused".
		var inner error = op
		for errors.Unwrap(inner) != nil {
			inner = errors.Unwrap(inner)
		}
		text = inner.Error()
	}
	return message.Term(message.Quote(strings.TrimPrefix(text, "tls: failed to verify certificate: ")))
}

// fallbackFault explains why a server was reached in neither of two ways; then
// is what went wrong with the second one.
func (c *Conn) fallbackFault(e *fallbackError, then *hub.Error) *hub.Error {
	status := message.Say("an error")
	if bad, ok := errors.AsType[*transport.StatusError](e.first); ok {
		status = message.Verbatim(strconv.Itoa(bad.Status))
	}
	switch then.Code {
	case message.Cancelled:
		return then
	case message.ServerUnauthorized:
		return hub.E(then.Code, e, "server", c.opt.Server.Key, "url", c.where()).
			With("status", message.Say("%s to a GET, and %s to a POST", then.Args["status"], status))
	}
	return hub.E(message.ServerFallback, e, "url", c.where()).
		With("status", status).With("reason", message.Say("%s", what{then}))
}

// what is what happened, without what to do about it.
type what struct{ *hub.Error }

// In is the text in a language.
func (w what) In(lang message.Lang) string { return w.Text(lang).What }
