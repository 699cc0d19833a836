package gateway

import (
	"bytes"
	"context"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// exchange is the way back to a caller: of one request, or of a session as long
// as it lasts.
type exchange struct {
	gateway *Gateway
	caller  *Caller
	out     Out
}

// aside is the way to the caller of a session outside of its requests.
type aside struct{ session *Session }

// Notify implements [Out].
func (a aside) Notify(raw []byte) { a.session.Push(bytes.Clone(raw), "") }

// Notify passes on what the caller wants to hear: progress always, log lines
// from its level on. A modern caller that names no level wants none
// (2026-07-28, "Logging"); a legacy one that never set a level gets what the
// server chose to send (2025-11-25, "Logging").
func (x *exchange) Notify(raw []byte) {
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil || m.Kind != wire.Notification {
		return
	}
	if m.MethodName() == protocol.NotificationMessage && !x.wants(&m) {
		return
	}
	x.out.Notify(raw)
}

func (x *exchange) wants(m *wire.Message) bool {
	level := x.caller.Level
	if x.caller.Session != nil {
		if level = x.caller.Session.Level(); level == "" {
			return !x.caller.Session.gone.Load() // its end unsets the level
		}
	}
	from, ok := protocol.Level(level)
	if !ok {
		return false
	}
	name, _ := wire.String(m.Raw, m.Member("level"))
	rank, known := protocol.Level(name)
	return !known || rank >= from
}

// Ask puts a question to the caller of a session. In the modern era, which has no
// requests to callers, nobody can be asked so: what the hub itself asks goes by its
// answers, see [call.Request].
func (x *exchange) Ask(ctx context.Context, q hub.Question) {
	if x.caller.Session == nil {
		q.Answer(nil, foreign(protocol.Legacy, protocol.Modern))
		return
	}
	x.gateway.ask(ctx, x.caller.Session, x.out, q)
}
