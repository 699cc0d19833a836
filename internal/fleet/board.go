package fleet

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// board is what is subscribed to on the connections of one scope: on those that
// all callers share, or on the own ones of one caller. Of several connections the
// first has all of it. It is under the server's mu.
type board struct {
	guest  *guest            // whose own connections they are; nil for those of all
	at     *instance         // which has the subscriptions; nil while there is none
	topics map[string]*topic // by the URI
}

// topic is one resource that is subscribed to.
type topic struct {
	uri     string
	callers []string  // ids, in their order; never changed in place
	on      *instance // whose server was asked to tell; it may have ended
	errand  *errand   // under way; nil if there is none
	gone    bool      // it is on no board any more
}

// errand is a request to subscribe or to unsubscribe. There is one at a time for
// a topic, and for all who wait for it.
type errand struct {
	at    *instance
	on    bool     // to subscribe
	fresh []*guest // who are subscribed only if it goes well
	done  chan struct{}
	err   error // once done
}

// has reports whether a caller is among those who subscribe.
func (t *topic) has(id string) bool {
	_, ok := slices.BinarySearch(t.callers, id)
	return ok
}

// waits reports whether the guest is subscribed only if what is under way goes
// well.
func (t *topic) waits(g *guest) bool { return t.errand != nil && slices.Contains(t.errand.fresh, g) }

// subscribed reports whether the guest has subscribed to a resource, for good.
func (b *board) subscribed(uri string, g *guest) bool {
	t := b.topics[uri]
	return t != nil && t.has(g.caller.ID) && !t.waits(g)
}

// enter puts a guest down for a resource. The caller holds mu.
func (s *server) enter(b *board, uri string, g *guest) *topic {
	t := b.topics[uri]
	if t == nil {
		t = &topic{uri: uri}
		if b.topics == nil {
			b.topics = make(map[string]*topic)
		}
		b.topics[uri] = t
	}
	if at, ok := slices.BinarySearch(t.callers, g.caller.ID); !ok {
		t.callers = slices.Insert(slices.Clone(t.callers), at, g.caller.ID)
		s.subscriptions++
	}
	if b.guest == nil {
		if g.shared == nil {
			g.shared = make(map[string]struct{})
		}
		g.shared[uri] = struct{}{}
	}
	return t
}

// join subscribes a guest on a board that has a connection, and returns the
// errand to wait for; nil if the server tells of the resource already. After one
// that is not to subscribe, join is to be called once more. The caller holds mu.
func (s *server) join(b *board, uri string, g *guest) *errand {
	if t := b.topics[uri]; t != nil && t.errand != nil && !t.errand.on {
		return t.errand
	}
	t := s.enter(b, uri, g)
	if t.on == b.at {
		return nil
	}
	if t.errand == nil {
		s.send(b, t)
	}
	if !t.waits(g) {
		t.errand.fresh = append(t.errand.fresh, g)
	}
	return t.errand
}

// drop takes a guest from those who have subscribed to a resource. If it was the
// last one, it returns the errand to have the server tell no more, unless that is
// not needed or cannot be yet. The caller holds mu.
func (s *server) drop(b *board, uri string, g *guest) *errand {
	t := b.topics[uri]
	if t == nil || !s.strike(b, t, g) {
		return nil
	}
	if e := t.errand; e != nil {
		e.fresh = slices.DeleteFunc(e.fresh, func(o *guest) bool { return o == g })
	}
	return s.tidy(b, t)
}

// strike takes a guest off a topic, and reports whether it was on it. The caller
// holds mu.
func (s *server) strike(b *board, t *topic, g *guest) bool {
	at, ok := slices.BinarySearch(t.callers, g.caller.ID)
	if !ok {
		return false
	}
	t.callers = slices.Delete(slices.Clone(t.callers), at, at+1)
	if b.guest == nil {
		delete(g.shared, t.uri)
	}
	if b.at != nil {
		b.at.last.Store(s.fleet.clock())
	}
	s.lessen(1)
	return true
}

// lessen accounts for subscriptions that have ended, which may have kept the
// server running. The caller holds mu.
func (s *server) lessen(n int) {
	s.subscriptions -= n
	s.used = s.fleet.clock()
	s.retune()
}

// tidy ends a topic that nobody has subscribed to. The caller holds mu.
func (s *server) tidy(b *board, t *topic) *errand {
	switch {
	case len(t.callers) > 0 || t.errand != nil:
		return nil
	case t.on != nil && t.on == b.at:
		s.send(b, t)
		return t.errand
	}
	t.gone = true
	delete(b.topics, t.uri)
	if b.guest != nil {
		s.retune() // it has kept the connection
		s.sweep(b.guest)
	}
	return nil
}

// send asks the server to tell of the topic or, if nobody has subscribed to it,
// not to. The caller holds mu, nothing is under way, and the board has a
// connection.
func (s *server) send(b *board, t *topic) {
	e := &errand{at: b.at, on: len(t.callers) > 0, done: make(chan struct{})}
	t.errand = e
	limit := s.def.Timeout
	if limit <= 0 {
		limit = hub.DefaultTimeout
	}
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		ask := e.at.conn.Unsubscribe
		if e.on {
			ask = e.at.conn.Subscribe
		}
		err := ask(ctx, t.uri)
		s.mu.Lock()
		before, callers := t.on, t.callers
		s.conclude(b, t, err, ctx.Err() != nil)
		s.mu.Unlock()
		if e.on && err == nil && before != nil && before != e.at {
			s.outdate(t.uri, callers) // what the connection before would have told is not known
		}
	})
}

// conclude is what comes of an errand. If the server was late to answer, it may
// tell all the same. The caller holds mu.
func (s *server) conclude(b *board, t *topic, err error, late bool) {
	e := t.errand
	t.errand, e.err = nil, err
	defer close(e.done)
	if t.gone {
		return
	}
	switch {
	case !e.on:
		t.on = nil
	case err == nil:
		t.on = e.at
	default:
		for _, g := range e.fresh {
			s.strike(b, t, g)
			s.sweep(g)
		}
		if late && len(t.callers) == 0 {
			t.on = e.at // so that it is asked not to
		}
		if len(t.callers) > 0 && e.at == b.at && !e.at.over() {
			s.book.add("warning: a resource was not subscribed to again: " + hub.AsError(err).Text(message.English).String())
		}
	}
	// The connection may be another one meanwhile, or somebody has come.
	if len(t.callers) > 0 && b.at != nil && t.on != b.at && (!e.on || e.at != b.at) {
		s.send(b, t)
		return
	}
	s.tidy(b, t)
}

// place has everything on the board subscribed to on another connection; nil if
// there is none now. The caller holds mu.
func (s *server) place(b *board, at *instance) {
	if b.at == at {
		return
	}
	b.at = at
	s.replay(b)
}

// replay subscribes to what is on the board and not subscribed to on its
// connection, in the background and one after the other, so that a server is not
// flooded. The caller holds mu.
func (s *server) replay(b *board) {
	at := b.at
	if at == nil || len(b.topics) == 0 {
		return
	}
	s.work.Go(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		var all []*topic
		for _, t := range b.topics {
			all = append(all, t)
		}
		slices.SortFunc(all, func(a, b *topic) int { return strings.Compare(a.uri, b.uri) })
		for _, t := range all {
			if b.at != at {
				return // another one has begun
			}
			if t.gone || t.errand != nil || t.on == at || len(t.callers) == 0 {
				continue
			}
			s.send(b, t)
			done := t.errand.done
			s.mu.Unlock()
			<-done
			s.mu.Lock()
		}
	})
}

// forget ends all subscriptions, of a server that is not to be had any more. The
// caller holds mu.
func (s *server) forget() {
	s.clear(&s.common)
	for _, g := range s.guests {
		g.shared = nil
		s.clear(&g.board)
		s.sweep(g)
	}
}

// clear takes everything off a board, whose connection is about to end. The
// caller holds mu.
func (s *server) clear(b *board) {
	for uri, t := range b.topics {
		t.gone = true
		s.lessen(len(t.callers))
		delete(b.topics, uri)
	}
}

// updated passes on that a resource has changed, and who has subscribed to it on
// the board; also if nobody has, since the resource may be kept somewhere. It is
// called by the reader of a connection, so that each of them hears of the changes
// in their order.
func (s *server) updated(b *board, uri string, raw []byte) {
	tell := s.fleet.opt.Updated
	if tell == nil {
		return
	}
	s.mu.Lock()
	callers := b.audience(uri)
	s.mu.Unlock()
	tell(s.key, callers, raw)
}

// missed tells all who have subscribed to something on the board that it may have
// changed: the news of a connection were away.
func (s *server) missed(b *board) {
	s.mu.Lock()
	told := make(map[string][]string, len(b.topics))
	for uri, t := range b.topics {
		told[uri] = t.callers
	}
	s.mu.Unlock()
	for _, uri := range slices.Sorted(maps.Keys(told)) {
		s.outdate(uri, told[uri])
	}
}

// outdate tells callers that a resource may have changed.
func (s *server) outdate(uri string, callers []string) {
	if s.fleet.opt.Updated != nil && len(callers) > 0 {
		s.fleet.opt.Updated(s.key, callers, upstream.Updated(uri))
	}
}

// audience is who has subscribed to a resource or, if nobody has, to one that it
// is a part of (2025-11-25, "Resource Updated Notification": it may be a
// sub-resource of the one that was subscribed to). The caller holds mu.
func (b *board) audience(uri string) []string {
	if t := b.topics[uri]; t != nil {
		return t.callers
	}
	var all []string
	for _, t := range b.topics {
		if partOf(uri, t.uri) {
			all = append(all, t.callers...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// partOf reports whether a URI goes on where the other one ends, and there a path,
// a query or a fragment begins.
func partOf(uri, whole string) bool {
	rest, ok := strings.CutPrefix(uri, whole)
	if !ok || whole == "" || rest == "" {
		return false
	}
	return strings.ContainsRune("/?#", rune(rest[0])) || strings.ContainsRune("/?#", rune(whole[len(whole)-1]))
}
