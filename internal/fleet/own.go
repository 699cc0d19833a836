package fleet

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// guest is a caller as far as a server has something of its: subscriptions, and
// a connection of its own. All of it is under the server's mu. The connection
// belongs to a life of the server, and to keep, which runs as long as there is
// one or is to be one; what the caller has subscribed to on it outlives it.
type guest struct {
	caller *hub.Caller
	owner  string              // by whose credentials it is connected; "" for the hub's own
	board                      // its own connection, and what it has subscribed to there
	shared map[string]struct{} // URIs that it has subscribed to on the shared connections

	running bool               // keep does
	ending  bool               // and is about to return
	leave   context.CancelFunc // has keep return
	gone    chan struct{}      // closed when it has
	left    bool               // the caller is gone for good
	grace   bool               // the calls under way on the connection have time to end

	waiting int           // calls that wait for the connection
	wake    chan struct{} // one of them wants the next attempt now
	notes   chan remark   // to be told to the server once it is connected, in their order
	tries   int           // attempts to connect that have ended
	reason  *hub.Error    // why the last of them failed, or its connection has ended
	changed chan struct{} // closed and replaced with every change of what is here
}

// remark is a notification of a caller's.
type remark struct {
	method string
	raw    []byte
}

// maxRemarks bounds those that wait for a server which does not read.
const maxRemarks = 16

// tell wakes whoever waits for a change of the guest. The caller holds mu.
func (g *guest) tell() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// empty reports whether nothing of the guest is left. The caller holds mu.
func (g *guest) empty() bool {
	return !g.running && g.waiting == 0 && len(g.topics) == 0 && len(g.shared) == 0
}

// expel ends the guest's own connection. From now on no call gets it; those
// under way have time to end if grace says so. The caller holds mu.
func (s *server) expel(g *guest, grace bool) {
	if !g.running || g.ending {
		return
	}
	g.ending, g.grace = true, grace
	s.withdraw(g)
	g.leave()
}

// withdraw has no call get the guest's own connection any more. The caller holds
// mu.
func (s *server) withdraw(g *guest) {
	if g.at == nil {
		return
	}
	g.at.seal()
	s.used = max(s.used, g.at.last.Load())
	s.place(&g.board, nil)
}

// ownerOf names whose credentials the caller uses at the server.
func (s *server) ownerOf(caller *hub.Caller) string {
	if name := s.fleet.opt.Owner; name != nil && caller != nil {
		return name(s.key, caller.Principal)
	}
	return ""
}

// personal is the caller as a guest, who has a connection by credentials of his
// own; one without a conversation shares it with all that he asks for so.
func personal(caller *hub.Caller, owner string) *hub.Caller {
	if caller.ID != "" {
		return caller
	}
	return &hub.Caller{ID: "\x00" + owner, Principal: caller.Principal} // no conversation is called so
}

// parted reports whether a caller has connections of its own, by whose credentials
// they are.
func (s *server) parted(caller *hub.Caller, owner string) bool {
	return owner != "" || caller.Own() && s.apart.Load()
}

// guest returns the one of the caller, made if there is none. The caller holds
// mu.
func (s *server) guest(caller *hub.Caller) *guest {
	g := s.guests[caller.ID]
	if g == nil {
		g = &guest{
			caller: caller, wake: make(chan struct{}, 1), notes: make(chan remark, maxRemarks), changed: make(chan struct{}),
		}
		g.guest = g
		s.guests[caller.ID] = g
	}
	return g
}

// sweep forgets a guest of whom nothing is left. The caller holds mu.
func (s *server) sweep(g *guest) {
	if id := g.caller.ID; g.empty() && s.guests[id] == g {
		delete(s.guests, id)
	}
}

// reckon finds out whether callers that can be asked have connections of their
// own to the server. If they do not any more, what they have goes on on the
// shared ones. The caller holds mu.
func (s *server) reckon() {
	def := &s.def
	apart := s.legacy && def.Kind != hub.KindBuiltin && def.Kind != hub.KindDevice &&
		(def.Connection == hub.ConnectionPerCaller || def.Connection != hub.ConnectionShared && s.asking)
	if s.apart.Swap(apart) && !apart {
		s.merge()
	}
}

// merge moves the subscriptions of all guests to the shared connections, and
// ends those of their own. The caller holds mu.
func (s *server) merge() {
	for _, g := range s.guests {
		if g.owner != "" {
			continue // it stays what it is
		}
		for uri := range g.topics {
			if g.subscribed(uri, g) {
				s.enter(&s.common, uri, g)
			}
		}
		s.clear(&g.board)
		s.expel(g, true)
		s.sweep(g)
	}
	s.replay(&s.common)
}

// asked notes that the server has put a question, on a connection that was made
// by the version of its definition.
func (s *server) asked(version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking || s.version != version {
		return
	}
	s.asking = true
	before := s.apart.Load()
	if s.reckon(); s.apart.Load() && !before {
		s.book.add("it asks questions: callers that can be asked get connections of their own")
	}
}

// seat takes a place on a connection for a caller, which may be nil: one of its
// own if the server is one whose connections are so; see [Fleet.Acquire]. Whose
// credentials are used may turn out to be another matter while it waits: it begins
// anew then.
func (s *server) seat(ctx context.Context, of *hub.Caller) (*instance, error) {
	for {
		owner, caller := s.ownerOf(of), of
		if owner != "" {
			caller = personal(of, owner)
		}
		if s.parted(caller, owner) {
			// Without the shared ones, which may be away.
			if at := s.mine(caller.ID, owner); at != nil {
				return at, nil
			}
		}
		at := s.claim()
		if at == nil {
			var err error
			if at, err = s.await(ctx, byCall, s.down); err != nil {
				return nil, err
			}
		}
		if s.ownerOf(of) != owner {
			at.release(s.fleet.clock())
			continue
		}
		if !s.parted(caller, owner) {
			return at, nil
		}
		own, err := s.own(ctx, caller, owner)
		at.release(s.fleet.clock()) // which has kept the server until here
		switch {
		case s.ownerOf(of) != owner:
			if own != nil {
				own.release(s.fleet.clock())
			}
		case own != nil || err != nil:
			return own, err
		}
	}
}

// mine takes a place on the caller's own connection, if that is up and by the
// owner's credentials.
func (s *server) mine(id, owner string) *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.guests[id]; g != nil && g.owner == owner && g.at != nil && !g.at.over() && g.at.claim() {
		return g.at
	}
	return nil
}

// own takes a place on the caller's own connection, and waits for it if it is not
// up: all who wait share one attempt. It returns nothing at all if callers have
// none, or not in this life of the server. Somebody else holds the server.
func (s *server) own(ctx context.Context, caller *hub.Caller, owner string) (*instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var g *guest
	began := 0
	defer func() {
		if g != nil {
			s.sweep(g)
		}
	}()
	for {
		l := s.present
		switch e := s.barred(); {
		case e != nil:
			return nil, e
		case ctx.Err() != nil || g != nil && g.left:
			return nil, s.tooLate(ctx, nil, notReached)
		case !s.parted(caller, owner) || l == nil || l.ctx.Err() != nil:
			return nil, nil
		}
		if now := s.guest(caller); g != now {
			g, began = now, now.tries
		}
		if g.owner != owner {
			if s.expel(g, true); g.running { // it was made before somebody had logged in
				if err := s.attend(ctx, g.changed, notReached); err != nil {
					return nil, err
				}
				continue
			}
			g.owner = owner
		}
		if g.at != nil && !g.at.over() && g.at.claim() {
			return g.at, nil
		}
		if g.tries > began && g.reason != nil {
			if owner != "" && shutOut(g.reason) {
				return nil, g.reason // the server itself is well
			}
			return nil, s.down(g.reason)
		}
		if !g.running {
			if e := l.invite(g); e != nil {
				return nil, e
			}
		}
		poke(g.wake)
		g.waiting++
		err := s.attend(ctx, g.changed, notReached)
		g.waiting--
		if err != nil {
			return nil, err
		}
	}
}

// notReached is said of a server that was not connected in time.
const notReached = "it was not reached in time."

// invite has the guest get a connection of its own. There are only so many: one
// that nobody needs has to go for it. The caller holds mu, and the life has not
// ended.
func (l *life) invite(g *guest) *hub.Error {
	after, e := l.room(g)
	if e != nil {
		return e
	}
	ctx, leave := context.WithCancel(l.ctx)
	g.running, g.ending, g.leave, g.gone = true, false, leave, make(chan struct{})
	l.hosting.Go(func() { l.keep(ctx, g, after) })
	return nil
}

// room makes room for the guest's own connection, which is to wait for the
// channel if there is one. The caller holds mu.
func (l *life) room(g *guest) (after <-chan struct{}, e *hub.Error) {
	s := l.server
	most := s.def.MaxCallers
	if most <= 0 {
		most = hub.DefaultMaxCallers
	}
	count := 0
	var longest *guest
	var since int64
	for _, o := range s.guests {
		if o == g || !o.running || o.ending {
			continue
		}
		count++
		if len(o.topics) > 0 || o.waiting > 0 || o.at != nil && o.at.load.Load() != 0 {
			continue
		}
		last := int64(0) // it is not up, and nobody waits for it
		if o.at != nil {
			last = o.at.last.Load()
		}
		if longest == nil || last < since {
			longest, since = o, last
		}
	}
	switch {
	case count < most:
		return nil, nil
	case longest == nil:
		return nil, hub.E(message.CallersTooMany, nil, "server", s.key, "limit", strconv.Itoa(most))
	}
	s.expel(longest, false)
	return longest.gone, nil
}

// revive has the guests connected again that have subscribed to something. The
// caller holds mu, and the life has not ended.
func (l *life) revive() {
	for _, g := range l.guests {
		if len(g.topics) == 0 || g.running || g.owner == "" && !l.apart.Load() {
			continue
		}
		if e := l.invite(g); e != nil {
			l.book.add("warning: a caller's subscriptions are without a connection: " + e.Text(message.English).What)
		}
	}
}

// apiece is the guests' own connections that are up, in the order of their age.
// The caller holds mu.
func (s *server) apiece() []*instance {
	var all []*instance
	for _, g := range s.guests {
		if g.at != nil {
			all = append(all, g.at)
		}
	}
	slices.SortFunc(all, func(a, b *instance) int { return a.since.Compare(b.since) })
	return all
}

// Tell sends a notification of a caller's, which has the method, on all of its
// own connections: on each in the order of the calls of Tell. It does not wait;
// a connection that is being made gets it when it is there, and what a server
// that does not read leaves no room for is dropped. The bytes are copied.
func (f *Fleet) Tell(id, method string, raw []byte) {
	note := remark{method, bytes.Clone(raw)}
	for _, s := range f.now.Load().order {
		s.pass(id, note)
	}
}

func (s *server) pass(id string, note remark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guests[id]
	if g == nil || !g.running {
		return
	}
	select {
	case g.notes <- note:
	default:
		s.log.Debug("a notification of a caller's was dropped", "method", note.method)
	}
}

// Leave forgets a caller by its id: its subscriptions, and its own connections,
// which are closed in the background with the calls under way on them. What the
// caller still waits for has to be cancelled before; what it asks for afterwards
// begins anew once they are closed.
func (f *Fleet) Leave(id string) {
	for _, s := range f.now.Load().order {
		s.part(id)
	}
}

func (s *server) part(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guests[id]
	if g == nil {
		return
	}
	for uri := range g.shared {
		s.drop(&s.common, uri, g)
	}
	s.clear(&g.board)
	g.left = true
	s.expel(g, false)
	g.tell()
	s.sweep(g)
}

// Dismiss ends the connections to a server that were made by an owner's
// credentials, which are others now. What asks for one afterwards gets a new one;
// calls under way have time to end. The owner is not the hub itself.
func (f *Fleet) Dismiss(key, owner string) {
	s := f.now.Load().byKey[key]
	if s == nil || owner == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.guests {
		if g.owner == owner {
			s.expel(g, true)
		}
	}
}
