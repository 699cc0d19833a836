package gateway

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/call"
)

// maxLeft is how many requests of a session may go on after their clients have
// gone. They take what any request takes, and nobody may ever ask for them.
const maxLeft = 64

// Post is an HTTP request in a session that brought a request, or a batch, which
// is answered by the HTTP response. That one's end does not end the request
// (2025-11-25, "Sending Messages to the Server"): its client may come back for
// what it has missed, by [Gateway.Stream].
type Post struct {
	gateway *Gateway
	session *Session
	track   *track // nil as long as there is no event stream

	left, over bool // guarded by the session's lock
}

// Post begins a request in a session, which is not idle until End.
func (g *Gateway) Post(s *Session) *Post {
	s.busy.Add(1)
	return &Post{gateway: g, session: s}
}

// Record keeps a message that is sent on the event stream of the response, and
// returns the id of its event; the bytes are kept. Without a message it opens
// that stream, as it is to be done first, and returns the id that the client may
// resume from before it has got any; "" if it takes none. detach is called, at
// most once and without waiting for anything, when another connection takes the
// stream over. Not for concurrent use.
func (p *Post) Record(raw []byte, detach func()) string {
	if raw == nil {
		p.track = p.gateway.history.open(&p.session.log, detach)
		return p.session.prime(eventID(p.track.number, 0))
	}
	return p.gateway.history.record(p.track, raw)
}

// Left says that the client has gone. It reports false if too many requests of
// the session go on without one, or the session has ended; then this one is to be
// cancelled.
func (p *Post) Left() bool {
	s := p.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.over || p.left {
		return true
	}
	p.left = true
	s.left++
	return s.left <= maxLeft && !s.ended
}

// Cancel ends the call of a session whose request has the raw id, if there is
// one.
func (g *Gateway) Cancel(s *Session, id []byte) {
	g.opt.Call.Calls().Cancel(call.Key{Session: s.id, ID: RequestKey(id)}, nil)
}

// End says that the request has been answered, and whether its client was there
// to the end. Nothing is recorded any more.
func (p *Post) End(there bool) {
	s := p.session
	s.mu.Lock()
	p.over = true
	if p.left {
		s.left--
	}
	s.mu.Unlock()
	if p.track != nil {
		p.gateway.history.finish(p.track, there, time.Now())
	}
	s.leave()
}
