package gateway

import (
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// Feed is a connection on which a session's caller is told what belongs to none
// of its requests, or what it has missed of one.
type Feed interface {
	// Event sends a message as the event with the id; "" for none. The first
	// call has no message: it begins the stream, and the client may resume
	// behind the event with the id. The bytes may be kept and must not be
	// changed. After an error nothing more can be sent.
	Event(id string, raw []byte) error
}

// reader is the connection that a session's standing stream is sent on.
type reader struct{ end context.CancelFunc }

// resumable reports whether the session's streams can be resumed: those that
// are HTTP responses of their own. Where the conversation is one connection, it
// ends with that.
func (s *Session) resumable() bool { return s.principal.Door == hub.DoorMCP }

// primes reports whether a stream begins with an event that has no data. Clients
// of earlier revisions take that for a message (2025-11-25, "Sending Messages to
// the Server").
func (s *Session) primes() bool { return s.revision >= protocol.Rev20251125 }

// Push tells the session's caller something outside of its requests: on the
// standing stream, or when one is opened. It never waits, and the messages keep
// their order. As long as a message is not sent, a newer one with the same key,
// unless that is "", takes its place. The bytes are kept and must not be changed.
//
// Of more than 256 messages or 256 KiB that nobody takes, the oldest with a key
// are dropped, and if there are none, the oldest.
func (s *Session) Push(raw []byte, key string) { s.queue.put(raw, key) }

// announce tells the sessions which lists have changed.
func (g *Gateway) announce(which hub.ListSet) {
	open := g.open()
	var raw [len(changes)][]byte
	for n, change := range changes {
		raw[n] = []byte(`{"jsonrpc":"2.0","method":"` + change.method + `"}`)
	}
	for i, s := range g.all() {
		yield(i)
		news := g.newsFor(open, s.viewer, &s.reads, which)
		for n, change := range changes {
			if news&change.lists != 0 && s.told.Has(change.lists) {
				s.Push(raw[n], change.method)
			}
		}
	}
}

// Stream sends what a session's caller is told outside of its requests, until
// ctx or the session ends, the client cannot be written to, or the hub stops. A
// session has one such stream: a new one takes over, since its client has most
// likely lost the one before.
//
// last is the id of the last event that the client has got, "" for none. Then
// what came after that on the same stream, as far as it is kept, comes first; if
// the stream is that of a request, Stream returns behind its response. An error
// means that nothing was sent: there is no such stream any more, which is an
// EventUnknown, since another stream's events would not be the ones that the
// client misses, or the session had ended before.
func (g *Gateway) Stream(ctx context.Context, s *Session, last string, out Feed) *hub.Error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var missed []*event
	if last != "" {
		t, seq, ok := g.history.attach(&s.log, last, cancel)
		switch {
		case !ok:
			return hub.E(message.EventUnknown, nil, "event", message.Quote(last))
		case t.number != standing:
			g.resume(ctx, s, t, seq, out)
			return nil
		}
	}
	me := &reader{cancel}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return hub.E(message.SessionUnknown, nil)
	}
	if s.reader != nil {
		s.reader.end()
	}
	s.reader, s.read = me, true
	// What the one before has taken is recorded by now, and it takes no more.
	from := ""
	if s.resumable() {
		if from = last; last != "" {
			missed = g.history.missed(&s.log, last)
		} else {
			from = g.history.position(g.history.stand(&s.log))
		}
	}
	s.mu.Unlock()
	defer s.release(me)
	if err := out.Event(s.prime(from), nil); err != nil {
		return nil
	}
	for _, e := range missed {
		if ctx.Err() != nil || out.Event(e.id(), e.raw) != nil {
			return nil
		}
	}
	g.stand(ctx, s, me, out)
	return nil
}

// stand sends what is pushed, until the stream ends.
func (g *Gateway) stand(ctx context.Context, s *Session, me *reader, out Feed) {
	for {
		id, raw, more := g.take(s, me)
		if raw != nil {
			if out.Event(id, raw) != nil {
				return
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-g.closed:
			return
		case <-more:
		}
	}
}

// take takes the next message for the reader and records it, both before another
// one can take over. If there is none, more is closed when there is.
func (g *Gateway) take(s *Session, me *reader) (id string, raw []byte, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != me {
		return "", nil, nil
	}
	raw, more = s.queue.take()
	if raw != nil && s.resumable() {
		id = g.history.record(g.history.stand(&s.log), raw)
	}
	return id, raw, more
}

// opened reports whether the client has ever opened the standing stream.
func (s *Session) opened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read
}

func (s *Session) release(me *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == me {
		s.reader = nil
	}
}

// prime is the id for the client to begin with, "" if it does not take one.
func (s *Session) prime(id string) string {
	if !s.primes() {
		return ""
	}
	return id
}

// resume sends the events of a request's stream behind one of them, and those
// that follow until its response.
func (g *Gateway) resume(ctx context.Context, s *Session, t *track, seq uint64, out Feed) {
	if out.Event(s.prime(eventID(t.number, seq)), nil) != nil {
		return
	}
	for {
		events, over, more := g.history.after(t, seq)
		for _, e := range events {
			if ctx.Err() != nil || out.Event(e.id(), e.raw) != nil {
				return
			}
			seq = e.seq
		}
		if len(events) > 0 {
			continue
		}
		if over {
			g.history.finish(t, true, time.Now())
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-g.closed:
			return
		case <-more:
		}
	}
}

// promised is of whose changes a caller with the view is promised to be told.
func promised(view *catalog.View, has protocol.Capabilities) hub.ListSet {
	if view.Profile().Deaf {
		return 0
	}
	lists := hub.ListTools
	if has.Resources {
		lists |= hub.ListResources
	}
	if has.Prompts {
		lists |= hub.ListPrompts
	}
	return lists
}
