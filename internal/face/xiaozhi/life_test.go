package xiaozhi

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

// none fails if somebody connects within a time.
func (h *house) none(within time.Duration) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if s, err := h.peer.Next(ctx); err == nil {
		h.t.Errorf("connected with %s within %v", s.Query, within)
	}
}

func TestReq9OneSessionForEachAddress(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		same := having("twin", func(e *hub.Endpoint) { e.URL = " " + having("a").URL + "\n" })
		h.set.Apply([]hub.Endpoint{having("a"), having("b"), same})
		first, second := h.next(), h.next()
		if first.Query == second.Query {
			t.Errorf("twice %s", first.Query)
		}
		h.none(time.Minute)
		st := h.status("twin")
		if st.State != hub.EndpointDisabled || st.Reason == nil || st.Reason.Code != message.EndpointDuplicate || !strings.Contains(h.logged(), "same address") {
			t.Errorf("%+v", st)
		}
		// When the one goes the other takes its place, and the old socket is closed first.
		old := first
		if !strings.Contains(old.Query, "token=a-") {
			old = second
		}
		h.set.Apply([]hub.Endpoint{having("b"), same})
		s := h.next()
		<-old.Over()
		synctest.Wait()
		if s.Query != strings.TrimPrefix(having("a").URL, "ws://peer/mcp/?") || h.status("twin").State != hub.EndpointConnected {
			t.Errorf("%s %+v", s.Query, h.status("twin"))
		}
		if h.status("b").Connects != 1 {
			t.Error("b was dialled anew for nothing")
		}
	})
}

// The old socket's close is awaited before the address is dialled again, but of a
// peer that does not answer it no longer than two seconds.
func TestReq9AwaitedNoLonger(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.peer.Deaf = true
		h.set.Apply([]hub.Endpoint{having("a")})
		h.next()
		synctest.Wait()
		began := time.Now()
		h.set.Apply([]hub.Endpoint{having("b", func(e *hub.Endpoint) { e.URL = having("a").URL })})
		h.next()
		if took := time.Since(began); took < 1900*time.Millisecond || took > 2100*time.Millisecond {
			t.Errorf("dialled after %v", took)
		}
		h.set.Apply(nil)
		if len(h.set.Statuses()) != 0 {
			t.Error("it is still there")
		}
	})
}

func TestQueryIsKeptToTheByte(t *testing.T) {
	for _, query := range []string{"token=a+b/c==", "token=a%2Bb%2Fc%3D%3D", "x=%zz&token=%2b+%20", "token=中文", "a=1;b=2&&c", "token=" + strings.Repeat("A+/", 300) + "=="} {
		bubble(t, tools(), func(t *testing.T, h *house) {
			e := having("a")
			e.URL = "ws://peer/mcp_endpoint/mcp/?" + query
			h.set.Apply([]hub.Endpoint{e})
			if s := h.next(); s.Query != query || s.Path != "/mcp_endpoint/mcp/" {
				t.Errorf("%q came as %q", query, s.Query)
			}
		})
	}
}

func TestReq10NothingHasToBeThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, tools())
		synctest.Wait()
		h.mu.Lock()
		h.down = true
		for key := range h.out { // as if all were killed
			for w := range h.out[key] {
				must(t, w.(io.Closer).Close())
			}
		}
		h.mu.Unlock()
		synctest.Wait()
		for _, st := range h.fleet.Status() {
			if st.State.Running() || st.Instances > 0 {
				t.Fatalf("%s is %s", st.Key, st.State)
			}
		}
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		began := time.Now()
		hello, list, err := voice.Cloud(wait(t), s)
		must(t, err)
		if took := time.Since(began); took > 50*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if !strings.Contains(hello, `"protocolVersion":"2024-11-05"`) || !strings.Contains(hello, `"serverInfo":{"name":"toolcrib"`) || len(list) < 1 || list[0].Name != "calc__add" {
			t.Errorf("%s, %v", hello, list)
		}
		if said, _, wrong := text(t, h.callTool(s, "9", "calc__add", "{}")); !wrong || h.calls("add") != 0 {
			t.Errorf("a server that is not there said %q", said)
		}
	})
}

// What somebody has stopped is not there either, and the handshake goes as ever.
func TestReq10AllStopped(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		for _, s := range h.servers {
			must(t, h.fleet.Stop(wait(t), s.Key))
		}
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		began := time.Now()
		hello, list, err := voice.Cloud(wait(t), s)
		must(t, err)
		if took := time.Since(began); took > 50*time.Millisecond || !strings.Contains(hello, `"serverInfo"`) || len(list) < 1 || list[0].Name != "calc__add" {
			t.Errorf("after %v: %s, %v", took, hello, list)
		}
	})
}

func TestReq10NoServerEverCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, map[string]string{})
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		_, list, err := voice.Cloud(wait(t), s)
		must(t, err)
		if len(list) != 1 || list[0].Name != "hub_task_result" {
			t.Errorf("%v", list)
		}
	})
}

func TestReq11Interleaved(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		if got := h.ask(s, "5", "tools/list", ""); !strings.Contains(got, "calc__add") {
			t.Errorf("before any initialize: %s", got)
		}
		var eps voice.EPS
		eps.Join(s)
		for round := range 3 {
			for _, who := range []string{"2f02fcec-1", "2f02fcec-2"} {
				line := eps.Caller(who)
				list, err := voice.XS(wait(t), line)
				must(t, err)
				if len(list) < 1 {
					t.Errorf("%v", list)
				}
				for id := 1; id <= 3; id++ { // those of the handshake again
					text, _, err := voice.XSCall(wait(t), line, id, "calc__add", fmt.Sprintf(`{"a":%d,"b":%d}`, round, id))
					if must(t, err); text != "add" {
						t.Errorf("got %q", text)
					}
				}
			}
		}
		must(t, eps.Caller("x").Send("not json"))
		if list, err := voice.GOH(wait(t), eps.Caller("goh"), 1); err != nil || len(list) < 1 {
			t.Errorf("%v, %v", list, err)
		}
		if st := h.status("a"); st.Callers != 7 || st.Connects != 1 || st.Calls != 18 || st.Junk != 1 || st.Peer != "mcp-go" {
			t.Errorf("%+v", st)
		}
	})
}

func TestReq12Revisions(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		for asked, want := range map[string]string{
			`"2024-11-05"`: "2024-11-05", `"2025-03-26"`: "2025-03-26", `"2025-06-18"`: "2025-06-18",
			`"2025-11-25"`: "2024-11-05", `"2026-07-28"`: "2024-11-05", `"1"`: "2024-11-05", `7`: "2024-11-05", `null`: "2024-11-05",
		} {
			if got := h.ask(s, "0", "initialize", `{"protocolVersion":`+asked+`}`); !strings.Contains(got, `"protocolVersion":"`+want+`"`) {
				t.Errorf("%s: %s", asked, got)
			}
		}
		if got := h.ask(s, "0", "initialize", ``); !strings.Contains(got, `"2024-11-05"`) {
			t.Errorf("without params: %s", got)
		}
	})
}

func TestReq19HalfOpen(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.peer.Deaf = true
		h.set.Apply([]hub.Endpoint{having("a")})
		h.next()
		synctest.Wait()
		began := time.Now()
		for h.status("a").State == hub.EndpointConnected {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(began); took > 45*time.Second {
			t.Errorf("found after %v", took)
		}
		if st := h.status("a"); st.Reason == nil || st.Reason.Code != message.EndpointSilent || st.CloseCode != 1006 {
			t.Errorf("%+v", st)
		}
		h.next()
	})
}

func TestReq19SilentBroker(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a"), having("b")})
		for range 2 {
			s := h.next()
			client := "XiaozhiMCPEndpointClient"
			if strings.Contains(s.Query, "token=a-") {
				client = "xz-mcp-broker"
			}
			h.ask(s, "0", "initialize", `{"clientInfo":{"name":"`+client+`"}}`)
		}
		began := time.Now()
		s := h.next()
		if took := time.Since(began); took < 150*time.Second || took > 190*time.Second || !strings.Contains(s.Query, "token=a-") {
			t.Errorf("%s after %v", s.Query, took)
		}
		// A ping each minute keeps it.
		h.ask(s, "0", "initialize", `{"clientInfo":{"name":"xz-mcp-broker"}}`)
		for range 10 {
			time.Sleep(time.Minute)
			h.ask(s, "1", "ping", "")
		}
		if st := h.status("a"); st.Connects != 2 || st.LastPing.IsZero() || h.status("b").Connects != 1 {
			t.Errorf("%+v", st)
		}
	})
}

func TestReq21Status(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		events := h.bus.Subscribe(100)
		defer events.Close()
		e := having("a")
		// exp is 2000-01-08: the clock of a bubble begins at 2000-01-01.
		e.URL = "ws://peer/mcp/?token=eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjk0NzMxODQwMH0.c2lnbmF0dXJl"
		h.set.Apply([]hub.Endpoint{e, having("off", func(e *hub.Endpoint) { e.Enabled = false })})
		s := h.next()
		_, _, err := voice.Cloud(wait(t), s)
		must(t, err)
		h.callTool(s, "1", "calc__add", "{}")
		h.ask(s, "2", "ping", "")
		st := h.status("a")
		if st.State != hub.EndpointConnected || st.URL != "ws://peer/mcp/?token=…dXJl" || st.Callers != 1 || st.Peer != "xz-mcp-broker" || st.Calls != 1 || st.Connects != 1 ||
			st.LastPing.IsZero() || st.LastHeard.IsZero() || st.Tools != 2 || st.ListSize == 0 || st.Reason != nil || st.Since.IsZero() {
			t.Errorf("%+v", st)
		}
		if st.TokenExpires.Format(time.DateOnly) != "2000-01-08" || len(st.Warnings) != 1 || st.Warnings[0].Code != message.EndpointTokenEnds {
			t.Errorf("it ends %v: %v", st.TokenExpires, st.Warnings)
		}
		time.Sleep(8 * 24 * time.Hour)
		if w := h.status("a").Warnings; len(w) != 1 || w[0].Code != message.EndpointTokenEnded {
			t.Errorf("%v", w)
		}
		if st := h.status("off"); st.State != hub.EndpointDisabled || h.set.Reconnect("off") || h.set.Reconnect("nobody") {
			t.Errorf("%+v", st)
		}
		var states []hub.EndpointState
		for len(events.C()) > 0 {
			if e, ok := (<-events.C()).(hub.EndpointChanged); ok && e.Status.Name == "a" && len(states) < 2 {
				states = append(states, e.Status.State)
			}
		}
		if fmt.Sprint(states) != "[connecting connected]" {
			t.Errorf("events: %v", states)
		}
		lines, changed := h.set.Log("a", 0)
		if len(lines) == 0 || changed == nil || lines[0].Seq != 1 {
			t.Errorf("%v", lines)
		}
		if more, _ := h.set.Log("a", lines[len(lines)-1].Seq); len(more) != 0 {
			t.Errorf("%v", more)
		}
		if none, ch := h.set.Log("nobody", 0); none != nil || ch != nil {
			t.Error("a log of nobody")
		}
	})
}
