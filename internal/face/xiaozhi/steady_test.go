package xiaozhi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
	"github.com/toolcrib/toolcrib/test/voice"
)

func must2[T, U any](v T, _ U) T { return v }

// The minute that makes the pauses short again is one of a connection: not of waiting
// for a place to dial, nor of dialling.
func TestReq20WaitingIsNotHealthy(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.peer.Status = func(*http.Request) int {
			time.Sleep(70 * time.Second)
			return 0
		}
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.DialTimeout = 2 * time.Minute })})
		want := time.Second
		for i, pause := range h.retries(4, func(s *voice.Socket) { s.Close(1011, "oops") }) {
			if pause < want*8/10 || pause > want*12/10 {
				t.Errorf("pause %d is %v, not about %v", i, pause, want)
			}
			want *= 2
		}
	})
}

// A healthy connection that is ended from here counts as one too.
func TestReq20HealthyThenAsked(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		h.retries(5, func(s *voice.Socket) { s.Close(1011, "oops") })
		h.next()
		time.Sleep(2 * time.Minute)
		h.set.Reconnect("a")
		if p := h.retries(1, func(s *voice.Socket) { s.Drop() }); p[0] > 1200*time.Millisecond {
			t.Errorf("waited %v", p)
		}
	})
}

// A backend that greets and closes in good order at once is asked ever more rarely.
func TestReq26GreetsAndCloses(t *testing.T) {
	lesson(t, tools(), func(t *testing.T, s *school) {
		s.set.Apply([]hub.Backend{being("a")})
		for i := range 4 {
			s.talk(voice.BackendXS).Close(1000, "")
			synctest.Wait()
			retry, want := time.Until(s.stands("a").Retry), time.Duration(i+1)*2*time.Second
			if retry < want*8/10 || retry > want*12/10 {
				t.Errorf("pause %d is %s, not about %s", i, retry, want)
			}
		}
	})
}

// A change of how often it is asked whether the peer is there holds at once.
func TestFollowsPing(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.peer.Deaf = true
		with := func(ping, timeout time.Duration) []hub.Endpoint {
			return []hub.Endpoint{having("a", func(e *hub.Endpoint) {
				e.Ping, e.PingTimeout, e.Delay, e.MaxDelay = ping, timeout, time.Hour, time.Hour
			})}
		}
		h.set.Apply(with(time.Hour, time.Hour))
		h.next()
		time.Sleep(time.Minute)
		h.set.Apply(with(2*time.Second, time.Second))
		time.Sleep(4 * time.Second)
		if st := h.status("a"); st.State != hub.EndpointWaiting || st.Reason.Code != message.EndpointSilent || st.Connects != 1 {
			t.Errorf("not found: %+v", st)
		}
	})
}

// A change of how many calls are carried out at once holds for those that wait.
func TestFollowsConcurrency(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		release := make(chan struct{})
		h.answer = func(string, string) string {
			<-release
			return `"result":{"content":[{"type":"text","text":"x"}]}`
		}
		with := func(n int) []hub.Endpoint {
			return []hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Concurrency, e.Queue, e.Deadline = n, 1, time.Hour })}
		}
		h.set.Apply(with(1))
		s := h.next()
		send := func(id string) {
			must(t, s.Send(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"calc__add","arguments":{"n":`+id+`}}}`))
			synctest.Wait()
		}
		send("1")
		send("2")
		if n := h.calls("add"); n != 1 {
			t.Errorf("%d at once", n)
		}
		h.set.Apply(with(3))
		synctest.Wait()
		if n := h.calls("add"); n != 2 {
			t.Errorf("%d at once of 3", n)
		}
		send("3")
		if n, st := h.calls("add"), h.status("a"); n != 3 || st.Connects != 1 {
			t.Errorf("%d at once: %+v", n, st)
		}
		h.set.Apply(with(1))
		send("4") // is refused: three are under way
		if got, err := s.Hear(wait(t), `"id":4,`); err != nil || !strings.Contains(got, "error") {
			t.Errorf("%s, %v", got, err)
		}
		close(release)
		synctest.Wait()
		send("5")
		if got, err := s.Hear(wait(t), `"id":5,`); err != nil || !strings.Contains(got, "result") {
			t.Errorf("%s, %v", got, err)
		}
	})
}

// Who asks for a connection that is being made anyway asks for no other after it.
func TestReconnectWhileDialled(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.peer.Status = func(*http.Request) int {
			time.Sleep(time.Second)
			return 0
		}
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Delay, e.MaxDelay = 20*time.Second, 20*time.Second })})
		time.Sleep(500 * time.Millisecond)
		h.set.Reconnect("a")
		s := h.next()
		time.Sleep(time.Second)
		s.Drop()
		h.none(10 * time.Second)
	})
}

// What was taken away while the hub was about to dial it is not dialled.
func TestStoppedBeforeItStarts(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		one := newEndpoint(h.set, definition{Endpoint: words.WithDefaults(having("a"))}, "")
		one.stop(hub.EndpointDisabled)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		one.start(ctx)
		h.none(time.Minute)
		if st := one.status(); st.State != hub.EndpointDisabled {
			t.Errorf("%+v", st)
		}
	})
}

// An endpoint is not connected while its connection is being closed, nor being
// connected when nobody runs it.
func TestStateWhileClosing(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.peer.Deaf = true // it does not say goodbye
		h.set.Apply([]hub.Endpoint{having("a")})
		h.next()
		synctest.Wait()
		h.set.Reconnect("a")
		synctest.Wait()
		if st := h.status("a"); st.State != hub.EndpointConnecting {
			t.Errorf("while it is closed: %+v", st)
		}
		h.next()
		synctest.Wait()
		h.quit()
		synctest.Wait()
		if st := h.status("a"); st.State != hub.EndpointStopped {
			t.Errorf("while the hub stops: %+v", st)
		}
		time.Sleep(5 * time.Second)
		h.set.Apply([]hub.Endpoint{having("a"), having("b")})
		if st := h.status("b"); st.State != hub.EndpointStopped {
			t.Errorf("after the end: %+v", st)
		}
	})
	idle := New(Options{})
	one := newEndpoint(idle, definition{Endpoint: words.WithDefaults(having("a"))}, "")
	if one.now.State != hub.EndpointStopped {
		t.Errorf("before the start: %s", one.now.State)
	}
}
