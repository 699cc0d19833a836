package fleet

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// maxSubscriptions is how many resources of one server a caller may subscribe to.
const maxSubscriptions = 1000

// Subscribe has the caller told of changes of a server's resource, by its own
// URI, through Options.Updated, until Unsubscribe or Leave. The server is asked
// once for all callers that share a connection, and again whenever it is
// connected anew; as long as there is a subscription it is not ended for want of
// use. Subscribing twice is subscribing once.
//
// Subscribe gets a connection as [Fleet.Acquire] does, and waits, within ctx, for
// the server's answer. An error, which is a [*hub.Error], means that the caller
// is not subscribed. Subscriptions end with the server's place in the
// configuration, and when it is disabled.
func (f *Fleet) Subscribe(ctx context.Context, key, uri string, caller *hub.Caller) error {
	for {
		use, err := f.Acquire(ctx, key, caller)
		if err != nil {
			return err
		}
		err = use.server.subscribe(ctx, uri, caller, use.at)
		if !errors.Is(err, errElsewhere) {
			use.Done(err)
			return err
		}
		use.Done(hub.E(message.Cancelled, err)) // it says nothing about the server
	}
}

// Unsubscribe undoes Subscribe. If nobody else is subscribed the server is asked
// to tell no more, and Unsubscribe waits for that, within ctx. What is not
// subscribed to is left alone. The caller is not subscribed any more also if
// there is an error, which is a [*hub.Error].
func (f *Fleet) Unsubscribe(ctx context.Context, key, uri string, caller *hub.Caller) error {
	s, err := f.find(key)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guests[caller.ID]
	if g == nil {
		return nil
	}
	defer s.sweep(g)
	for _, b := range [...]*board{&g.board, &s.common} {
		if e := s.drop(b, uri, g); e != nil {
			return s.result(ctx, e)
		}
	}
	return nil
}

// errElsewhere says that a connection is not the one for a subscription any more.
var errElsewhere = errors.New("the connection is not there any more")

// subscribe has a caller subscribed who has a place on the connection.
func (s *server) subscribe(ctx context.Context, uri string, caller *hub.Caller, at *instance) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guest(caller)
	defer s.sweep(g)
	for {
		b := s.boardOf(g, at)
		switch e := s.barred(); {
		case g.subscribed(uri, g) || s.common.subscribed(uri, g):
			return nil
		case e != nil:
			return e
		case ctx.Err() != nil || g.left:
			return s.noAnswer(ctx)
		case b == nil:
			return errElsewhere
		case len(g.topics)+len(g.shared) >= maxSubscriptions:
			return hub.E(message.SubscriptionsTooMany, nil, "server", s.key, "limit", strconv.Itoa(maxSubscriptions))
		}
		e := s.join(b, uri, g)
		if e == nil {
			return nil
		}
		on := e.on
		if err := s.result(ctx, e); err != nil && on {
			s.drop(b, uri, g) // if it was ctx that ended
			return err
		}
	}
}

// boardOf is where the guest subscribes on the connection; nil if that is not one
// for it any more. The caller holds mu.
func (s *server) boardOf(g *guest, at *instance) *board {
	if g.at == at {
		return &g.board
	}
	if p := s.live.Load(); p != nil && slices.Contains(p.members, at) {
		return &s.common
	}
	return nil
}

// result waits for what comes of an errand, without mu, which the caller holds
// before and after.
func (s *server) result(ctx context.Context, e *errand) error {
	s.mu.Unlock()
	select {
	case <-e.done:
	case <-ctx.Done():
	}
	s.mu.Lock()
	select {
	case <-e.done: // also if ctx ended at the same moment
		return e.err
	default:
		return s.noAnswer(ctx)
	}
}

// noAnswer is for who has waited for a server's answer until ctx ended.
func (s *server) noAnswer(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return hub.E(message.Timeout, ctx.Err(), "server", s.key, "limit", "the time the call had")
	}
	return s.tooLate(ctx, nil, "")
}
