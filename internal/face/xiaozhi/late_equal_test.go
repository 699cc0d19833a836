package xiaozhi

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/test/voice"
)

// What a peer says a while after the connection was lost is another wish.
func TestReq17UnreadForAMinute(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.taking(10 * time.Second)
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		must(t, s.Send(voice.CloudCall(1, "calc__add", "{}")))
		synctest.Wait()
		s.Drop()
		s = h.next()
		time.Sleep(2 * time.Minute)
		if said, _, wrong := text(t, h.callTool(s, "1", "calc__add", "{}")); wrong || said != "2" || h.calls("add") != 2 {
			t.Errorf("got %q by %d calls", said, h.calls("add"))
		}
	})
}

// Results are not for whoever gets the endpoint's name next, but for an endpoint that
// is enabled again.
func TestReq17AnotherAssistant(t *testing.T) {
	moved := func(e *hub.Endpoint) { e.URL += "-moved" }
	for name, next := range map[string]func(h *house){
		"removed": func(h *house) {
			h.set.Apply(nil)
			h.set.Apply([]hub.Endpoint{having("a", moved)})
		},
		"another address": func(h *house) { h.set.Apply([]hub.Endpoint{having("a", moved)}) },
		"enabled again": func(h *house) {
			h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Enabled = false })})
			h.set.Apply([]hub.Endpoint{having("a")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tools(), func(t *testing.T, h *house) {
				h.taking(40 * time.Second)
				h.set.Apply([]hub.Endpoint{having("a")})
				s := h.next()
				kept := ticket(t, h.callTool(s, "0", "calc__add", `{"x":1}`))
				time.Sleep(20 * time.Second)
				runs := ticket(t, h.callTool(s, "0", "calc__add", `{"x":2}`))
				next(h)
				s = h.next()
				for _, id := range []string{kept, runs} {
					said, _, wrong := text(t, h.callTool(s, "1", "hub_task_result", `{"task_id":"`+id+`"}`))
					if same := name == "enabled again"; wrong == same || !same && !strings.Contains(said, "no task") {
						t.Errorf("got %q", said)
					}
				}
				if name != "enabled again" {
					ticket(t, h.callTool(s, "1", "calc__add", `{"x":1}`))
					ticket(t, h.callTool(s, "1", "calc__add", `{"x":2}`))
					if n := h.calls("add"); n != 4 {
						t.Errorf("%d calls", n)
					}
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// A tool that an endpoint is not offered is not called in the place of its equal in a
// pool either.
func TestReq15NoOtherOfThePool(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*hub.Endpoint)
		only   string
	}{
		"denied":  {func(e *hub.Endpoint) { e.Deny = []string{"s2__*"} }, "s1"},
		"allowed": {func(e *hub.Endpoint) { e.Allow = []string{"s1__*"} }, "s1"},
		"both":    {func(e *hub.Endpoint) { e.Allow = []string{"pool__*"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, map[string]string{"s1": calculator, "s2": calculator}, func(t *testing.T, h *house) {
				for i := range h.servers {
					h.servers[i].Pool = "pool"
					if h.servers[i].Key == "s2" {
						h.servers[i].Priority = -1
					}
				}
				h.catalog.SetServers(h.servers)
				synctest.Wait()
				h.set.Apply([]hub.Endpoint{having("a", tt.change)})
				s := h.next()
				if said, _, wrong := text(t, h.callTool(s, "0", "pool__add", `{}`)); wrong || said != "add" {
					t.Errorf("got %q", said)
				}
				must(t, h.fleet.Stop(wait(t), "s1"))
				said, _, wrong := text(t, h.callTool(s, "1", "pool__add", `{}`))
				if wrong != (tt.only == "s1") || tt.only == "s1" && h.calls("add") != 1 {
					t.Errorf("got %q by %d calls", said, h.calls("add"))
				}
			})
		})
	}
}

// A call that went on at a stand-in is not made once more by the tool that it stood in
// for.
func TestReq24StandInGoesOn(t *testing.T) {
	for name, after := range map[string]time.Duration{"under way": 0, "kept": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			lesson(t, map[string]string{"device": tool("adjust_volume", "x"), "amp": tool("adjust_volume", "y")}, func(t *testing.T, s *school) {
				for i := range s.servers {
					s.servers[i].BareNames = s.servers[i].Key == "amp"
				}
				s.catalog.SetServers(s.servers)
				synctest.Wait()
				s.set.Apply([]hub.Backend{being("a")})
				talk := s.talk(voice.BackendXS)
				s.taking(40 * time.Second)
				must(t, s.fleet.Stop(wait(t), "device"))
				if _, err := talk.Call(wait(t), "1", "adjust_volume", `{}`); err == nil || !strings.Contains(err.Error(), "task_id") {
					t.Fatalf("not late: %v", err)
				}
				must(t, s.fleet.Start(wait(t), "device"))
				synctest.Wait()
				time.Sleep(after)
				if got, err := talk.Call(wait(t), "2", "adjust_volume", `{}`); err != nil || got != "1" || s.calls("adjust_volume") != 1 {
					t.Errorf("%q, %v by %d calls", got, err, s.calls("adjust_volume"))
				}
			})
		})
	}
}

// A call whose turn comes when the connection has ended, or its time is up, is not made.
func TestReq17NotBegunAfterTheEnd(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		h.next()
		e := h.set.find("a")
		def := e.def.Load()
		c := newConversation(e, nil, def, nil)
		m, err := wire.Scan([]byte(voice.CloudCall(1, "calc__add", `{}`)), wire.Limits{})
		must(t, err)
		for range 40 { // in none of which chance may have it begin
			if _, err := c.make(t.Context(), &asked{m, nil}, def, time.Now().Add(-time.Hour)); !hub.IsCode(err, message.EndpointBusy) {
				t.Errorf("too late: %v", err)
			}
		}
		c.end(nil)
		for range 40 {
			if _, err := c.make(c.ctx, &asked{m, nil}, def, time.Now()); !hub.IsCode(err, message.Cancelled) {
				t.Errorf("after the end: %v", err)
			}
		}
		time.Sleep(time.Minute)
		if n := h.calls("add"); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

// What is said of a call that is cancelled names the limit that is configured, also if
// it has waited for its turn.
func TestReq17CancelledNamesTheLimit(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.taking(15 * time.Second)
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.CancelLate, e.Concurrency = true, 1 })})
		s := h.next()
		must(t, s.Send(voice.CloudCall(1, "calc__add", `{"n":1}`)))
		synctest.Wait()
		if said, _, wrong := text(t, h.callTool(s, "2", "calc__add", `{"n":2}`)); !wrong || !strings.Contains(said, "25s") {
			t.Errorf("said %q", said)
		}
		time.Sleep(time.Minute)
	})
}
