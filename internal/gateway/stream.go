package gateway

import (
	"context"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

const listChanged = `{"jsonrpc":"2.0","method":"` + protocol.NotificationToolsList + `"}`

// Stream tells the caller of a session what happens outside of its requests,
// until ctx or the session ends or the hub stops. A session has one stream: a
// new one ends the one before, which its client has most likely lost.
func (g *Gateway) Stream(ctx context.Context, s *Session, out Out) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	if s.stream != nil {
		s.stream()
	}
	s.stream = cancel
	s.mu.Unlock()
	g.follow(ctx, func() { out.Notify([]byte(listChanged)) })
}

// Listen answers a subscriptions/listen request: it acknowledges what is
// honoured, tells of changes as long as ctx lasts, and returns the response
// for the case that the hub ends the subscription (2026-07-28,
// "Subscriptions").
func (g *Gateway) Listen(ctx context.Context, c *Caller, m *wire.Message, out Out) Answer {
	if err := checkParams(m); err != nil {
		return Fault(c.Era, m.ID.Of(m.Raw), hub.AsError(err))
	}
	filter := m.Member("notifications")
	if !filter.Exists() || m.Raw[filter.Start] != '{' {
		return Fault(c.Era, m.ID.Of(m.Raw), invalid(`"notifications" has to be an object`))
	}
	tools := string(wire.Lookup(m.Raw, filter, "toolsListChanged").Of(m.Raw)) == "true"
	id := string(m.ID.Of(m.Raw))
	tag := `"_meta":{"` + protocol.MetaSubscriptionID + `":` + id + `}`
	honoured := "{}"
	if tools {
		honoured = `{"toolsListChanged":true}`
	}
	news := g.news()
	out.Notify([]byte(`{"jsonrpc":"2.0","method":"` + protocol.NotificationListenAck + `","params":{` + tag + `,"notifications":` + honoured + `}}`))
	if tools {
		changed := []byte(`{"jsonrpc":"2.0","method":"` + protocol.NotificationToolsList + `","params":{` + tag + `}}`)
		g.followFrom(ctx, news, func() { out.Notify(changed) })
	}
	return result(m, []byte(`{"resultType":"complete",`+tag+`}`))
}

func (g *Gateway) follow(ctx context.Context, tell func()) { g.followFrom(ctx, g.news(), tell) }

// followFrom calls tell after each change since news was taken. Changes that
// come while tell is busy are told as one.
func (g *Gateway) followFrom(ctx context.Context, news <-chan struct{}, tell func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.closed:
			return
		case <-news:
			news = g.news()
			tell()
		}
	}
}
