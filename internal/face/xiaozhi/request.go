package xiaozhi

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// request answers a request, now or later.
func (c *conversation) request(m *asked) {
	c.contained(m, func() {
		if m.Params.Exists() && m.Raw[m.Params.Start] != '{' {
			c.refuse(m, hub.E(message.ParamsInvalid, nil).With("detail", message.Say(`"params" has to be an object`)))
			return
		}
		switch name := m.MethodName(); name {
		case protocol.MethodPing:
			c.endpoint.tally.pinged.Store(time.Now().UnixNano())
			c.answer(m, []byte("{}"))
		case protocol.MethodInitialize:
			c.initialize(m)
		case protocol.MethodToolsList:
			c.list(m)
		case protocol.MethodToolsCall:
			c.call(m)
		default:
			c.refuse(m, hub.E(message.MethodUnknown, nil, "method", message.Quote(name)))
		}
	})
}

// notification takes a notification. None is ever answered.
func (c *conversation) notification(m *asked) {
	if m.MethodName() != protocol.NotificationCancelled {
		return
	}
	if id := m.Member("requestId"); id.Exists() {
		c.cancel(string(id.Of(m.Raw)), m.Raw)
	}
}

// initialize answers at once: nothing has to be there for it but the hub. Peers say
// it again whenever somebody else begins to use the connection, so that it changes
// nothing.
func (c *conversation) initialize(m *asked) {
	revision := protocol.Rev20241105
	asked, _ := wire.String(m.Raw, m.Member("protocolVersion"))
	switch protocol.Revision(asked) {
	case protocol.Rev20250326, protocol.Rev20250618:
		revision = protocol.Revision(asked)
	}
	name, _ := wire.String(m.Raw, wire.Lookup(m.Raw, m.Member("clientInfo"), "name"))
	c.callers.Add(1)
	c.endpoint.met(message.Quote(words.Redact(name, c.secrets)))
	b := append([]byte(nil), `{"protocolVersion":"`+string(revision)+`","capabilities":{"tools":{"listChanged":true}},"serverInfo":`...)
	b = append(b, c.endpoint.set.opt.ServerInfo...)
	c.answer(m, append(b, '}'))
}

// met notes what the peer calls itself.
func (e *endpoint) met(name string) {
	e.mu.Lock()
	first := name != e.peer
	e.peer = name
	e.mu.Unlock()
	if first && name != "" {
		e.journal.add(hub.LevelInfo, "the peer is "+name)
	}
}

// list answers with the tools that the endpoint is offered.
func (c *conversation) list(m *asked) {
	o, err := c.endpoint.offer()
	if err != nil {
		c.refuse(m, hub.AsError(err))
		return
	}
	cursor := ""
	if at := m.Member("cursor"); at.Exists() && m.Raw[at.Start] != 'n' {
		var ok bool
		if cursor, ok = wire.String(m.Raw, at); !ok {
			c.refuse(m, hub.E(message.ParamsInvalid, nil).With("detail", message.Say(`"cursor" has to be a string`)))
			return
		}
	}
	page, ok := o.page(cursor, o.def.pageSize())
	if !ok {
		c.refuse(m, hub.E(message.CursorUnknown, nil))
		return
	}
	c.mu.Lock()
	c.listed = o.sum
	c.mu.Unlock()
	c.answer(m, page)
}

// answer sends the result of a request or, if that is larger than any peer bears,
// what there is to say about it.
func (c *conversation) answer(m *asked, result []byte) {
	id := m.ID.Of(m.Raw)
	if size := responseRoom + len(id) + len(result); size > words.MaxFrame {
		e := hub.E(message.ResponseTooBig, nil, "size", number(size), "limit", number(words.MaxFrame))
		lang := c.endpoint.language()
		result = words.Shape{Max: words.DefaultResult, Lang: lang}.Text(e.In(lang), true).Raw
	}
	c.reply(m, response(id, result))
}

// responseRoom is how many bytes a response has besides its id and its result.
const responseRoom = len(`{"jsonrpc":"2.0","id":,"result":}`)

// response is a response with a raw id.
func response(id, result []byte) []byte {
	b := make([]byte, 0, responseRoom+len(id)+len(result))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"result":`...)
	b = append(b, result...)
	return append(b, '}')
}

// refuse sends an error of the hub's own.
func (c *conversation) refuse(m *asked, e *hub.Error) {
	lang := c.endpoint.language()
	fault := gateway.Fault(protocol.Legacy, m.ID.Of(m.Raw), e, gateway.Voice{Lang: lang, Method: m.MethodName(), Device: c.device != nil})
	if len(fault.Raw) > words.MaxFrame {
		fault = gateway.Fault(protocol.Legacy, m.ID.Of(m.Raw), hub.E(message.ResponseTooBig, nil, "size", number(len(fault.Raw)), "limit", number(words.MaxFrame)), gateway.Voice{Lang: lang})
	}
	c.reply(m, fault.Raw)
}
