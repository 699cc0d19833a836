package gateway

import (
	"context"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// exchange is the way back to the caller of one request.
type exchange struct {
	caller *Caller
	out    Out
}

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
			return true
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

// Ask refuses: no caller is asked yet, and no server was told that it may.
func (x *exchange) Ask(_ context.Context, q hub.Question) {
	q.Answer(nil, hub.E(message.NotAskable, nil))
}
