package fleet_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// badge is credentials that say whose they are.
type badge string

func (badge) Authorization(context.Context) (string, error) { return "", nil }

func (badge) Refused(context.Context, string, int, http.Header) (bool, error) { return false, nil }

// lodge is a server that lets people in one by one.
type lodge struct {
	dialer
	mu     sync.Mutex
	opened []string // by whose credentials connections were made
	shut   map[string]bool
	off    bool          // nobody has credentials of his own
	hold   chan struct{} // closed when connections may be made; nil for always
	learns bool          // by the first connection it is known that they have
}

func (l *lodge) dial(ctx context.Context, opt upstream.Options) (*upstream.Conn, error) {
	who := string(opt.Authorize(opt.Server).(badge))
	l.mu.Lock()
	l.opened = append(l.opened, who)
	l.off = l.off && !l.learns
	shut, hold := l.shut[who], l.hold
	l.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if shut {
		return nil, hub.E(message.UpstreamLoginNeeded, nil, "server", "s", "issuer", "i")
	}
	return l.dialer.dial(ctx, opt)
}

func (l *lodge) open(who string, yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shut[who] = !yes
}

func (l *lodge) fleet(t *testing.T) *fleet.Fleet {
	t.Helper()
	def := away()
	def.IdleStop = time.Hour
	f := run(t, fleet.Options{
		Servers: []hub.Server{def}, Dial: l.dial,
		Authorize: func(_ hub.Server, owner string) transport.Authorizer { return badge(owner) },
		Owner: func(_ string, p hub.Principal) string {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.off {
				return ""
			}
			return p.Subject
		},
	})
	return f
}

func named(id, subject string) *hub.Caller {
	return &hub.Caller{ID: id, Principal: hub.Principal{Subject: subject}}
}

// Who has credentials of his own has connections of his own, made with them; who
// has none gets none of others', and the server stays as it is.
func TestOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lodge{dialer: dialer{began: time.Now()}, shut: map[string]bool{}}
		f := l.fleet(t)
		shared := visit(t, f, nil).Conn()
		if visit(t, f, named("1", "")).Conn() != shared {
			t.Error("who has no name has a connection of his own")
		}
		ada, again, bob := visit(t, f, named("", "ada")).Conn(), visit(t, f, named("", "ada")).Conn(), visit(t, f, named("", "bob")).Conn()
		if ada == shared || ada != again || bob == ada || bob == shared {
			t.Error("connections are not apart")
		}
		if session := visit(t, f, named("2", "ada")).Conn(); session == ada || session == shared {
			t.Error("a conversation shares a connection with others")
		}
		if want := []string{"", "ada", "bob", "ada"}; !slices.Equal(l.opened, want) {
			t.Errorf("opened by %q", l.opened)
		}

		l.open("eve", false)
		for _, caller := range []*hub.Caller{named("", "eve"), named("3", "eve")} {
			if _, err := f.Acquire(t.Context(), "s", caller); !hub.IsCode(err, message.UpstreamLoginNeeded) {
				t.Errorf("%v", err)
			}
			if err := f.Subscribe(t.Context(), "s", "x://y", caller); !hub.IsCode(err, message.UpstreamLoginNeeded) {
				t.Errorf("subscribed: %v", err)
			}
		}
		if st := f.Status()[0]; st.State != hub.StateReady {
			t.Errorf("the server is %s", st.State)
		}
		l.open("eve", true)
		f.Dismiss("s", "eve")
		synctest.Wait()
		if visit(t, f, named("", "eve")).Conn() == shared {
			t.Error("after the login it is the shared one")
		}

		// A logout ends the connections of one, and of nobody else.
		use := take(t, f, named("", "ada"))
		f.Dismiss("s", "ada")
		f.Dismiss("s", "")
		f.Dismiss("none", "ada")
		use.Done(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if ada.Err() == nil && !closedNow(ada) || closedNow(bob) || closedNow(shared) {
			t.Error("the connections that have ended are not ada's")
		}
		if visit(t, f, named("", "ada")).Conn() == ada {
			t.Error("it is the one of before")
		}
	})
}

// A conversation that goes on when its caller gets credentials of his own does not
// go on by those of others, nor the other way round.
func TestOwnerChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lodge{dialer: dialer{began: time.Now()}, shut: map[string]bool{}, off: true}
		f := l.fleet(t)
		c := named("1", "ada")
		shared := visit(t, f, c).Conn()
		turn := func(off bool) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.off = off
		}
		turn(false)
		own := visit(t, f, c).Conn()
		if own == shared {
			t.Error("it goes on by the hub's")
		}
		turn(true)
		if visit(t, f, c).Conn() != shared {
			t.Error("it goes on by its own")
		}
	})
}

// Whose credentials are used is asked again once a server is there that was not: only
// then it may be known that there are several.
func TestOwnerOfColdServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lodge{dialer: dialer{began: time.Now()}, shut: map[string]bool{}, off: true, learns: true}
		f := l.fleet(t)
		own := visit(t, f, named("", "ada")).Conn()
		if own == visit(t, f, nil).Conn() {
			t.Error("the first call went out by the hub's credentials")
		}
		if want := []string{"", "ada"}; !slices.Equal(l.opened, want) {
			t.Errorf("opened by %q", l.opened)
		}
	})
}

// Who is found to use the hub's credentials while his own connection is made gets
// none that was made by his own.
func TestOwnerChangesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lodge{dialer: dialer{began: time.Now()}, shut: map[string]bool{}}
		f := l.fleet(t)
		shared := visit(t, f, nil).Conn()
		l.mu.Lock()
		l.hold = make(chan struct{})
		l.mu.Unlock()
		go func() {
			synctest.Wait() // for the connection that is being made
			l.mu.Lock()
			defer l.mu.Unlock()
			l.off = true
			close(l.hold)
		}()
		if visit(t, f, named("", "ada")).Conn() != shared {
			t.Error("the call went out by credentials that are not to be used any more")
		}
	})
}

// A server that wants a login is given up until there is one, and not tried again
// and again.
func TestLoginNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lodge{dialer: dialer{began: time.Now()}, shut: map[string]bool{"": true}}
		f := l.fleet(t)
		time.Sleep(time.Hour)
		synctest.Wait()
		st := f.Status()[0]
		if st.State != hub.StateFailed || st.Reason.Code != message.UpstreamLoginNeeded || st.Starts != 1 {
			t.Errorf("%s after %d starts: %v", st.State, st.Starts, st.Reason)
		}
		l.open("", true)
		if err := f.Start(t.Context(), "s"); err != nil {
			t.Error(err)
		}
	})
}

// closedNow reports whether a connection has ended, by whoever's doing.
func closedNow(c *upstream.Conn) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}
