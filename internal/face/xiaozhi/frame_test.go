package xiaozhi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
	"github.com/toolcrib/toolcrib/test/voice"
)

// Whatever a peer sends, each answer is a message, and is to a request's id.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		voice.CloudHello, voice.CloudCall(1, "calc__add", `{"a":1}`), voice.CloudCall(1, "hub_task_result", `{"task_id":"x"}`),
		`{"id":"2f02fcec_n_1","jsonrpc":"2.0","method":"tools/list","params":{"cursor":""}}`, `[{"id":1,"jsonrpc":"2.0","method":"ping"},7]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `not json`, `{"id":1,"method":"x","params":[]}`,
	} {
		f.Add([]byte(seed))
	}
	h := open(f, tools())
	for len(h.catalog.Snapshot().Entries()) == 0 {
		time.Sleep(time.Millisecond)
	}
	def := definition{Endpoint: words.WithDefaults(having("a"))}
	e := newEndpoint(h.set, def, "")
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := newConversation(e, nil, &def, nil)
		defer c.end(nil)
		c.take(raw, def.MaxMessage)
		c.all.Wait()
		for {
			answer, ok := c.out.take()
			if !ok {
				return
			}
			m, err := wire.Scan(answer, wire.Limits{})
			if err != nil || m.Kind != wire.Response && m.Kind != wire.Failure || len(answer) > words.MaxFrame {
				t.Fatalf("%s to %s: %v", answer, raw, err)
			}
			if id := string(m.ID.Of(answer)); !strings.Contains(string(raw), id) {
				t.Fatalf("answered %s: %s", id, raw)
			}
		}
	})
}

// A peer that is gone without a word is found also where the system takes what is
// written.
func TestReq19HalfOpenOnTCP(t *testing.T) {
	h := open(t, tools(), func(o *Options) { o.Dial = nil })
	peer := &voice.Endpoint{Deaf: true}
	web := httptest.NewServer(peer)
	defer web.Close()
	e := having("a", func(e *hub.Endpoint) {
		e.URL = "ws" + strings.TrimPrefix(web.URL, "http") + "/mcp/?token=x"
		e.Ping, e.PingTimeout, e.Delay, e.MaxDelay = 200*time.Millisecond, 100*time.Millisecond, time.Hour, time.Hour
	})
	h.set.Apply([]hub.Endpoint{e})
	s, err := peer.Next(wait(t))
	must(t, err)
	defer s.Drop()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if st := h.status("a"); st.State == hub.EndpointWaiting && st.Reason.Code == message.EndpointSilent {
			return
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%+v", h.status("a"))
		}
	}
}

// What a URL leaves to be filled in is looked up each time, and what cannot be is told.
func TestPlaceholders(t *testing.T) {
	filled, fault := "", errors.New("no such variable")
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.URL = "${env:XIAOZHI}" })})
		time.Sleep(time.Millisecond)
		if st := h.status("a"); st.State != hub.EndpointWaiting || st.Reason.Code != message.EndpointURLInvalid || !strings.Contains(st.Reason.Error(), "no such variable") {
			t.Errorf("%+v", st)
		}
		for _, wrong := range []string{"https://h/mcp", "h", "", "ws://"} {
			filled, fault = wrong, nil
			h.set.Reconnect("a")
			time.Sleep(time.Millisecond)
			if st := h.status("a"); st.Reason == nil || st.Reason.Code != message.EndpointURLInvalid {
				t.Errorf("%q: %+v", wrong, st)
			}
		}
		filled = "ws://peer/mcp/?token=filledinsecret"
		h.set.Reconnect("a")
		if s := h.next(); s.Query != "token=filledinsecret" || strings.Contains(fmt.Sprintf("%+v", h.status("a")), "filledin") {
			t.Errorf("%s, %+v", s.Query, h.status("a"))
		}
	}, func(o *Options) { o.Resolve = func(string) (string, []string, error) { return filled, nil, fault } })
}

// What is new about an endpoint that is reached as before needs no other connection.
func TestFollows(t *testing.T) {
	bubble(t, map[string]string{"calc": calculator + "," + tool("sub", "x")}, func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		if n := len(h.list(s)); n != 3 {
			t.Errorf("%d tools", n)
		}
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Deny = []string{"*sub"}; e.MaxResult = 600 })})
		if _, err := s.Hear(wait(t), "notifications/tools/list_changed"); err != nil {
			t.Error(err)
		}
		if n := len(h.list(s)); n != 2 {
			t.Errorf("%d tools", n)
		}
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Enabled = false })})
		<-s.Over()
		if st := h.status("a"); st.State != hub.EndpointDisabled || st.Connects != 1 || !strings.Contains(h.journal("a"), "connected") {
			t.Errorf("%+v\n%s", st, h.journal("a"))
		}
	})
}

// The hub says goodbye when it stops.
func TestStops(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		time.Sleep(time.Millisecond) // it knows of its connection as well
		h.quit()
		<-s.Over()
		if !strings.Contains(s.Err().Error(), "StatusGoingAway") {
			t.Error(s.Err())
		}
		time.Sleep(5 * time.Second)
		if st := h.status("a"); st.State != hub.EndpointStopped {
			t.Errorf("%+v", st)
		}
	})
}

// BenchmarkInitialize is a handshake while no server answers: it has to be far below
// 50 ms.
func BenchmarkInitialize(b *testing.B) {
	h := open(b, map[string]string{"calc": calculator})
	h.mu.Lock()
	h.down = true
	h.mu.Unlock()
	def := definition{Endpoint: words.WithDefaults(having("a"))}
	e := newEndpoint(h.set, def, "")
	c := newConversation(e, nil, &def, nil)
	for b.Loop() {
		for _, text := range []string{voice.CloudHello, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"id":1,"jsonrpc":"2.0","method":"tools/list","params":{}}`} {
			c.take([]byte(text), def.MaxMessage)
		}
		for range 2 {
			if raw, ok := c.out.take(); !ok || !json.Valid(raw) {
				b.Fatal("no answer")
			}
		}
	}
}

// BenchmarkIdle is what an endpoint takes that is connected and has nothing to do: up
// to 200 KiB.
func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		h := open(b, tools(), func(o *Options) { o.Dial = nil })
		peer := &voice.Endpoint{Deaf: true} // so that only this side counts, but for buffers of the peer's
		web := httptest.NewServer(peer)
		memory := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc + m.StackInuse
		}
		before := memory()
		const n = 100
		var all []hub.Endpoint
		for i := range n {
			all = append(all, having(fmt.Sprint("e", i), func(e *hub.Endpoint) {
				e.URL = "ws" + strings.TrimPrefix(web.URL, "http") + fmt.Sprintf("/mcp/?token=%d", i)
			}))
		}
		h.set.Apply(all)
		var sockets []*voice.Socket
		for range n {
			s, err := peer.Next(wait(b))
			must(b, err)
			sockets = append(sockets, s)
		}
		b.ReportMetric(float64(memory()-before)/n/1024, "KiB/endpoint")
		for _, s := range sockets {
			s.Drop()
		}
		web.Close()
		h.set.Apply(nil)
	}
}
