package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolcrib/toolcrib/internal/auth"
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

// viewer is who is told why a message is refused, as far as it is known.
func (c conversation) viewer() hub.Viewer {
	if c.caller == nil {
		return hub.Viewer{}
	}
	return c.caller.Viewer
}

// conversation finds out in which era an HTTP request is made, and by whom.
//
// A request is a modern one if its _meta names a protocol version, or if the
// header names a modern one; else it is a legacy one and needs a session, save
// for initialize (2026-07-28, "Backward Compatibility").
func (d *Door) conversation(r *http.Request, m *wire.Message) (conversation, *hub.Error) {
	header := protocol.Revision(r.Header.Get(protocol.HeaderVersion))
	said := readMeta(m)
	if header.Era() == protocol.Modern || said.version.Exists() {
		c, e := modern(r, m, header, said)
		return conversation{era: protocol.Modern, caller: c}, e
	}
	if opens(m) {
		return conversation{era: protocol.Legacy, opening: true}, nil
	}
	s, e := d.session(r)
	if e != nil {
		return conversation{era: protocol.Legacy}, e
	}
	return conversation{era: protocol.Legacy, caller: inside(r, s)}, nil
}

// opens reports whether a legacy request opens a session.
func opens(m *wire.Message) bool {
	return m.Kind == wire.Request && m.MethodName() == protocol.MethodInitialize
}

// groupParam names a group, in paths and queries.
const groupParam = "group"

// session finds the legacy session that a request names. It belongs to who
// opened it, at the address where it was opened; for everybody else and
// elsewhere there is none.
func (d *Door) session(r *http.Request) (*gateway.Session, *hub.Error) {
	id := r.Header.Get(protocol.HeaderSession)
	if id == "" {
		return nil, hub.E(message.SessionMissing, nil)
	}
	s, ok := d.gateway.Session(id)
	if !ok || !isSame(s.Principal(), principal(r, hub.DoorMCP)) || s.Group() != r.PathValue(groupParam) {
		return nil, hub.E(message.SessionUnknown, nil)
	}
	if v := protocol.Revision(r.Header.Get(protocol.HeaderVersion)); v != "" && !v.Known() {
		return nil, unsupported(string(v))
	}
	return s, nil
}

// principal is who makes a request.
func principal(r *http.Request, door hub.Door) hub.Principal {
	p := auth.From(r.Context())
	p.Door = door
	return p
}

// modern checks what every modern message over HTTP carries, and that headers
// and body say the same (2026-07-28, "Server Validation").
func modern(r *http.Request, m *wire.Message, header protocol.Revision, said meta) (*gateway.Caller, *hub.Error) {
	from, group := principal(r, hub.DoorMCP), r.PathValue(groupParam)
	if !said.version.Exists() {
		switch {
		case !header.Known():
			return nil, unsupported(string(header))
		case m.Kind == wire.Request:
			return nil, hub.E(message.MetaMissing, nil, "member", protocol.MetaVersion)
		}
		return &gateway.Caller{Principal: from, Viewer: viewer(from, group), Era: protocol.Modern, Accept: language(r)}, mirrored(r, m)
	}
	version, e := said.revision(m)
	if e != nil {
		return nil, e
	}
	if header == "" {
		return nil, mismatch(protocol.HeaderVersion, "it is missing")
	}
	if string(header) != version {
		return nil, mismatch(protocol.HeaderVersion, "the body says %s", message.Quote(version))
	}
	caller, e := said.caller(m, version, from, group)
	if e != nil {
		return nil, e
	}
	caller.Mirrored, caller.Accept = r.Header.Values, language(r)
	return caller, mirrored(r, m)
}

// meta is what a request says of its conversation in its own _meta.
type meta struct {
	all     wire.Span
	version wire.Span // exists only in modern requests
}

// readMeta finds what a message says of its conversation. Notifications and
// responses say nothing.
func readMeta(m *wire.Message) meta {
	var said meta
	if m.Kind != wire.Request {
		return said
	}
	if said.all = m.Member("_meta"); said.all.Exists() {
		said.version = wire.Lookup(m.Raw, said.all, protocol.MetaVersion)
	}
	return said
}

// revision is the protocol version that a modern request is sent in.
func (said meta) revision(m *wire.Message) (string, *hub.Error) {
	version, ok := wire.String(m.Raw, said.version)
	if !ok {
		return "", hub.E(message.MetaMissing, nil, "member", protocol.MetaVersion)
	}
	return version, nil
}

// caller checks what every modern request says of its client (2026-07-28,
// "Per-Request Metadata"), and returns who sent it, at the address of the group.
func (said meta) caller(m *wire.Message, version string, from hub.Principal, group string) (*gateway.Caller, *hub.Error) {
	if rev := protocol.Revision(version); !rev.Known() || rev.Era() != protocol.Modern {
		return nil, unsupported(version)
	}
	if caps := wire.Lookup(m.Raw, said.all, protocol.MetaCapabilities); !caps.Exists() || m.Raw[caps.Start] != '{' {
		return nil, hub.E(message.MetaMissing, nil, "member", protocol.MetaCapabilities)
	}
	info := wire.Lookup(m.Raw, said.all, protocol.MetaClientInfo)
	if info.Exists() && m.Raw[info.Start] != '{' {
		return nil, hub.E(message.MetaMissing, nil, "member", protocol.MetaClientInfo)
	}
	sight := viewer(from, group)
	sight.Client = gateway.ClientName(m.Raw, info)
	caller := &gateway.Caller{Principal: from, Viewer: sight, Era: protocol.Modern}
	caller.Level, _ = wire.String(m.Raw, wire.Lookup(m.Raw, said.all, protocol.MetaLogLevel))
	return caller, nil
}

// answer has the gateway answer a request of a conversation that is open.
func (d *Door) answer(ctx context.Context, c *gateway.Caller, m *wire.Message, out gateway.Out) gateway.Answer {
	if listens(c.Era, m) {
		ctx, release := auth.Hold(ctx)
		defer release()
		return d.gateway.Listen(ctx, c, m, out)
	}
	if c.Session != nil {
		defer c.Session.Enter()()
	}
	return d.gateway.Request(ctx, c, m, out)
}

// listens reports whether a request is one that stays to be told of changes.
func listens(era protocol.Era, m *wire.Message) bool {
	return era == protocol.Modern && m.MethodName() == protocol.MethodListen
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
		return invalid(`"%s" has to be a string`, member)
	}
	return same(r.Header, protocol.HeaderName, name)
}

func same(h http.Header, name, body string) *hub.Error {
	values := h[name]
	if len(values) == 0 {
		return mismatch(name, "it is missing")
	}
	if got, ok := protocol.DecodeHeader(strings.Trim(values[0], " \t")); !ok || got != body || len(values) > 1 {
		return mismatch(name, "the body says %s", message.Quote(body))
	}
	return nil
}

func mismatch(header, format string, args ...any) *hub.Error {
	return hub.E(message.HeaderMismatch, nil, "header", header).With("detail", message.Say(format, args...))
}

func invalid(format string, args ...any) *hub.Error {
	return hub.E(message.ParamsInvalid, nil).With("detail", message.Say(format, args...))
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
		// Of bytes there are not too many: they were counted as they came.
		return hub.E(message.MessageTooBig, err).With("limit", message.Say("%d messages in one batch", wire.MaxBatch))
	}
	return hub.E(code, err).With("detail", scanDetail(bad))
}

// scanDetail says what exactly is wrong, and where.
func scanDetail(bad *wire.Error) message.Phrase {
	reason := bad.Reason.String()
	rest := strings.TrimSuffix(strings.TrimPrefix(bad.Error(), reason), fmt.Sprintf(" (at byte %d)", bad.Offset))
	if bad.Reason == wire.Malformed || bad.Reason == wire.NotMessage {
		// The text that this goes into begins with the reason already.
		if rest = strings.TrimLeft(rest, ": "); rest == "" {
			return message.Say("(at byte %d)", bad.Offset)
		}
		if name, text, ok := strings.Cut(rest, ": "); ok && bad.Name != "" {
			return message.Say("%s: %s (at byte %d)", name, message.Term(text), bad.Offset)
		}
		return message.Say("%s (at byte %d)", message.Term(rest), bad.Offset)
	}
	return message.Say("%s%s (at byte %d)", message.Term(reason), rest, bad.Offset)
}

// statusOf is the HTTP status of a refusal.
func statusOf(err error) int {
	switch hub.AsError(err).Code {
	case message.SessionUnknown, message.StreamUnknown, message.GroupUnknown:
		return http.StatusNotFound
	case message.MessageTooBig:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
