package mcp

import (
	"errors"
	"net/http"
	"strings"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// conversation is what a message belongs to.
type conversation struct {
	era     protocol.Era
	opening bool            // it is an initialize request
	caller  *gateway.Caller // nil for opening ones
}

// conversation finds out in which era a message is sent, and by whom.
//
// A request is a modern one if its _meta names a protocol version, or if the
// header names a modern one; else it is a legacy one and needs a session, save
// for initialize (2026-07-28, "Backward Compatibility").
func (d *Door) conversation(r *http.Request, m *wire.Message) (conversation, *hub.Error) {
	header := protocol.Revision(r.Header.Get(protocol.HeaderVersion))
	meta := m.Member("_meta")
	named := wire.Span{}
	if meta.Exists() {
		named = wire.Lookup(m.Raw, meta, protocol.MetaVersion)
	}
	if header.Era() == protocol.Modern || m.Kind == wire.Request && named.Exists() {
		c, e := modern(r, m, header, meta, named)
		return conversation{era: protocol.Modern, caller: c}, e
	}
	if m.Kind == wire.Request && m.MethodName() == protocol.MethodInitialize {
		return conversation{era: protocol.Legacy, opening: true}, nil
	}
	s, e := d.session(r)
	if e != nil {
		return conversation{era: protocol.Legacy}, e
	}
	return conversation{era: protocol.Legacy, caller: s.Caller()}, nil
}

// session finds the legacy session that a request names.
func (d *Door) session(r *http.Request) (*gateway.Session, *hub.Error) {
	id := r.Header.Get(protocol.HeaderSession)
	if id == "" {
		return nil, hub.E(message.SessionMissing, nil)
	}
	s, ok := d.gateway.Session(id)
	if !ok {
		return nil, hub.E(message.SessionUnknown, nil)
	}
	if v := protocol.Revision(r.Header.Get(protocol.HeaderVersion)); v != "" && !v.Known() {
		return nil, unsupported(string(v))
	}
	return s, nil
}

// modern checks what every modern message carries, and that headers and body
// say the same (2026-07-28, "Server Validation").
func modern(r *http.Request, m *wire.Message, header protocol.Revision, meta, named wire.Span) (*gateway.Caller, *hub.Error) {
	caller := &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Era: protocol.Modern, Mirrored: r.Header.Values}
	if m.Kind != wire.Request {
		return caller, mirrored(r, m)
	}
	if !named.Exists() {
		return nil, hub.E(message.MetaMissing, nil, "member", protocol.MetaVersion)
	}
	version, ok := wire.String(m.Raw, named)
	if !ok {
		return nil, hub.E(message.MetaMissing, nil, "member", protocol.MetaVersion)
	}
	if header == "" {
		return nil, mismatch(protocol.HeaderVersion, "it is missing")
	}
	if string(header) != version {
		return nil, mismatch(protocol.HeaderVersion, "the body says "+message.Quote(version))
	}
	if rev := protocol.Revision(version); !rev.Known() || rev.Era() != protocol.Modern {
		return nil, unsupported(version)
	}
	if caps := wire.Lookup(m.Raw, meta, protocol.MetaCapabilities); !caps.Exists() || m.Raw[caps.Start] != '{' {
		return nil, hub.E(message.MetaMissing, nil, "member", protocol.MetaCapabilities)
	}
	if info := wire.Lookup(m.Raw, meta, protocol.MetaClientInfo); info.Exists() && m.Raw[info.Start] != '{' {
		return nil, hub.E(message.MetaMissing, nil, "member", protocol.MetaClientInfo)
	}
	caller.Level, _ = wire.String(m.Raw, wire.Lookup(m.Raw, meta, protocol.MetaLogLevel))
	return caller, mirrored(r, m)
}

// mirrored checks the headers that repeat method and name.
func mirrored(r *http.Request, m *wire.Message) *hub.Error {
	if m.Kind != wire.Request && m.Kind != wire.Notification {
		return nil
	}
	method := m.MethodName()
	if e := same(r.Header, protocol.HeaderMethod, method); e != nil {
		return e
	}
	member := protocol.NameMember(method)
	if member == "" || m.Kind != wire.Request {
		return nil
	}
	name, ok := wire.String(m.Raw, m.Member(member))
	if !ok {
		return hub.E(message.ParamsInvalid, nil, "detail", `"`+member+`" has to be a string`)
	}
	return same(r.Header, protocol.HeaderName, name)
}

func same(h http.Header, name, body string) *hub.Error {
	values := h[name]
	if len(values) == 0 {
		return mismatch(name, "it is missing")
	}
	if got, ok := protocol.DecodeHeader(strings.Trim(values[0], " \t")); !ok || got != body || len(values) > 1 {
		return mismatch(name, "the body says "+message.Quote(body))
	}
	return nil
}

func mismatch(header, detail string) *hub.Error {
	return hub.E(message.HeaderMismatch, nil, "header", header, "detail", detail)
}

func unsupported(version string) *hub.Error {
	return hub.E(message.VersionUnsupported, nil, "version", message.Quote(version), "known", protocol.KnownRevisions())
}

// scanFault says what is wrong with a message.
func scanFault(err error) *hub.Error {
	bad, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return hub.AsError(err)
	}
	code := message.MessageInvalid
	switch bad.Reason {
	case wire.Malformed, wire.NotUTF8:
		code = message.MessageMalformed
	case wire.TooLarge:
		return hub.E(message.MessageTooBig, err, "limit", bad.Error())
	}
	detail := bad.Error()
	for _, said := range []wire.Reason{wire.Malformed, wire.NotMessage} {
		// The text that detail goes into begins with this already.
		detail = strings.TrimLeft(strings.TrimPrefix(detail, said.String()), ": ")
	}
	return hub.E(code, err, "detail", detail)
}

// statusOf is the HTTP status of a refusal.
func statusOf(err error) int {
	switch hub.AsError(err).Code {
	case message.SessionUnknown:
		return http.StatusNotFound
	case message.MessageTooBig:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
