package fleet

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// Use is a connection in the hands of one call. Until Done the server is not
// ended for want of use, and the call counts as under way on it.
type Use struct {
	server *server
	at     *instance
	pass   pass
	done   atomic.Bool
}

// Conn is the connection. It may end at any time; the fleet owns and closes it.
func (u *Use) Conn() *upstream.Conn { return u.at.conn }

// Done ends the use. The error is what [upstream.Conn.Do] returned, nil if the
// server answered, whatever its answer was; by it the server's breaker knows
// whether calls reach the server. Done has to be called; only the first time
// counts.
func (u *Use) Done(err error) {
	if !u.done.CompareAndSwap(false, true) {
		return
	}
	s := u.server
	s.calls.Add(-1)
	u.at.release(s.fleet.clock())
	how := outcomeOf(err)
	if how == unanswered && u.at.over() && u.at.conn.Err() == nil {
		how = undecided // the hub has ended the connection
	}
	s.report(u.pass, how)
}

// outcomeOf says what the end of a call tells about its server. A server that
// answers with an error, also of HTTP, is there; and so is one that has only
// forgotten a session.
func outcomeOf(err error) outcome {
	e := hub.AsError(err)
	if e == nil {
		return answered
	}
	switch e.Code {
	case message.Timeout, message.OutcomeUnknown, message.ServerBadReply, message.ServerReplyTooBig, message.ServerHTTPStatus,
		message.ServerSilent, message.ServerUnreachable, message.ServerExited, message.ServerClosed:
		return unanswered
	case message.ServerRefused, message.ServerUnauthorized, message.UpstreamLoginNeeded, message.UpstreamScopeNeeded, message.UpstreamLoginFailed:
		return answered
	}
	return undecided
}

// Acquire returns a live connection to the server for one call. It starts a
// server that is idle, and waits, within ctx, for one that is on its way: for
// the outcome of the attempt under way or, if it is between two attempts, of the
// next one, which for a remote server is brought forward. Of several connections
// it is the one with the fewest calls under way.
//
// A server that is given up, that has ended and is not started again by itself,
// or that a person has disabled or stopped, is an error at once; one whose
// attempt fails is one then; and while the server's breaker is open Acquire
// fails with [message.ServerBroken]. The error is a [*hub.Error] with the reason.
//
// A shared connection that waits for nothing costs no lock.
//
// caller is who the connection is for, nil for nobody in particular. One that
// can be asked gets a connection of its own if the server is of the legacy era
// and one whose connections are so; see [hub.Connection]. It is made, once for
// all of the caller's calls that wait, when the server is ready, and declares
// what the caller declared; what the server asks and logs on it outside of calls
// goes to the caller. What the server asks as soon as it is connected has been
// answered when the first call gets the connection, if that takes no longer than
// 5 s and a quarter of the time that a call has. It ends when it was not used for
// as long as the server may be idle, with Leave, when a server that has too many
// needs it for another caller, and in the end as the server does. If all of those
// are in use, the error is [message.CallersTooMany].
func (f *Fleet) Acquire(ctx context.Context, key string, caller *hub.Caller) (*Use, error) {
	s, err := f.find(key)
	if err != nil {
		return nil, err
	}
	p, err := s.admit()
	if err != nil {
		return nil, err
	}
	s.calls.Add(1)
	at, err := s.seat(ctx, caller)
	if err != nil {
		s.calls.Add(-1)
		s.report(p, undecided)
		return nil, err
	}
	return &Use{server: s, at: at, pass: p}, nil
}

// Wait is Acquire for whoever needs the server to be ready, as one that tells
// its tools then, and no connection.
func (f *Fleet) Wait(ctx context.Context, key string) error {
	s, err := f.find(key)
	if err != nil {
		return err
	}
	return s.ready(ctx, byCall, s.down)
}

// ready waits until the server is ready; see await.
func (s *server) ready(ctx context.Context, event string, say func(*hub.Error) *hub.Error) error {
	at := s.claim()
	if at == nil {
		var err error
		if at, err = s.await(ctx, event, say); err != nil {
			return err
		}
	}
	at.release(s.fleet.clock())
	return nil
}

// admit asks the breaker. What else is wrong with the server is told first.
func (s *server) admit() (pass, error) {
	p, broken := s.breaker.allow(time.Now())
	if broken != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if e := s.barred(); e != nil {
			return pass{}, e
		}
		return pass{}, broken
	}
	if p.trial != 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.book.add("one call is let through to see whether the server answers again")
		s.tellAll()
	}
	return p, nil
}

// report tells the breaker how a call has ended.
func (s *server) report(p pass, how outcome) {
	if !s.breaker.report(time.Now(), p, how) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := "its calls are answered again"
	if s.breaker.state() != hub.BreakerClosed {
		text = "error: its calls fail; none is let through for " + s.def.Breaker.Cooldown.String()
	}
	s.book.add(text)
	s.tellAll()
}

// lease names what is counted for a holder.
type lease struct{ holder, tool string }

// Hold keeps a server from being ended for want of use until it has been
// released as often as it was held: for a holder, and for one of the server's
// tools, by its own name, or "" for the server as such. One that is idle is
// started, which Hold reports and does not wait for. The error is a [*hub.Error]:
// the server is not there, disabled or stopped, and then nothing is counted.
// What is counted ends with the server's place in the configuration.
func (f *Fleet) Hold(key, holder, tool string) (started bool, err error) {
	s, err := f.find(key)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.barred(); e != nil {
		return false, e
	}
	s.leases[lease{holder, tool}]++
	return s.need(byLease), nil
}

// Release undoes one Hold. What is not held is left alone.
func (f *Fleet) Release(key, holder, tool string) {
	s := f.now.Load().byKey[key]
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := lease{holder, tool}
	switch n := s.leases[l]; n {
	case 0:
		return
	case 1:
		delete(s.leases, l)
	default:
		s.leases[l] = n - 1
	}
	s.used = s.fleet.clock()
	s.retune()
}

// leased is what keeps the server running. The caller holds mu.
func (s *server) leased() []hub.Lease {
	if len(s.leases) == 0 {
		return nil
	}
	all := make([]hub.Lease, 0, len(s.leases))
	for l, n := range s.leases {
		all = append(all, hub.Lease{Holder: l.holder, Tool: l.tool, Count: n})
	}
	slices.SortFunc(all, func(a, b hub.Lease) int {
		return cmp.Or(cmp.Compare(a.Holder, b.Holder), cmp.Compare(a.Tool, b.Tool))
	})
	return all
}
