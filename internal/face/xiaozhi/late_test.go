package xiaozhi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

// taking has the tools take a time, and answer with how often they were called.
func (h *house) taking(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = func(name, args string) string {
		time.Sleep(d)
		return fmt.Sprintf(`"result":{"content":[{"type":"text","text":"%d"}]}`, h.calls(name))
	}
}

// ticket is the id of the task that a result tells of.
func ticket(t *testing.T, raw string) string {
	t.Helper()
	said, fault, wrong := text(t, raw)
	found := regexp.MustCompile(`task_id "([a-z0-9]{10})"`).FindStringSubmatch(said)
	if found == nil || !wrong || fault != said || !strings.Contains(said, "hub_task_result") {
		t.Fatalf("no task: %s", raw)
	}
	return found[1]
}

func TestReq17LateResult(t *testing.T) {
	for _, way := range []string{"an equal call", "the task's id"} {
		t.Run(way, func(t *testing.T) {
			bubble(t, tools(), func(t *testing.T, h *house) {
				h.taking(40 * time.Second)
				h.set.Apply([]hub.Endpoint{having("a"), having("b")})
				s, other := h.next(), h.next()
				if strings.Contains(s.Query, "token=b-") {
					s, other = other, s
				}
				began := time.Now()
				id := ticket(t, h.callTool(s, "0", "calc__add", `{"a":1,"b":[2]}`))
				if took := time.Since(began); took != 25*time.Second {
					t.Errorf("answered after %v", took)
				}
				pick := func(on *voice.Socket) string {
					if way == "an equal call" {
						return h.callTool(on, "1", "calc__add", ` { "b" : [2], "a":1 }`)
					}
					return h.callTool(on, "1", "hub_task_result", `{"task_id":"`+id+`"}`)
				}
				if way != "an equal call" {
					if said, _, wrong := text(t, pick(other)); !wrong || !strings.Contains(said, "no task") {
						t.Errorf("another endpoint got %q", said)
					}
				}
				// Whoever comes before it has ended waits for it.
				if said, _, wrong := text(t, pick(s)); wrong || said != "1" {
					t.Errorf("got %q", said)
				}
				if took := time.Since(began); took != 40*time.Second || h.calls("add") != 1 {
					t.Errorf("after %v, by %d calls", took, h.calls("add"))
				}
				// It answers no further equal call.
				if said, _, wrong := text(t, h.callTool(s, "2", "calc__add", `{"a":1,"b":[2]}`)); !wrong || h.calls("add") != 2 {
					t.Errorf("got %q by %d calls", said, h.calls("add"))
				}
				synctest.Wait()
				if heard := s.Heard(); len(heard) > 0 {
					t.Errorf("answered twice: %q", heard)
				}
				if st := h.status("a"); st.TimedOut != 2 || st.Running != 0 {
					t.Errorf("%+v", st)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestReq17KeptForTenMinutes(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.taking(40 * time.Second)
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		id := ticket(t, h.callTool(s, "0", "calc__add", `{}`))
		time.Sleep(10 * time.Minute)
		if said, _, _ := text(t, h.callTool(s, "0", "hub_task_result", `{"task_id":"`+strings.ToUpper(id)+` "}`)); said != "1" {
			t.Errorf("got %q", said)
		}
		time.Sleep(20 * time.Second)
		if said, _, wrong := text(t, h.callTool(s, "0", "hub_task_result", `{"task_id":"`+id+`"}`)); !wrong || !strings.Contains(said, "not kept any more") {
			t.Errorf("got %q", said)
		}
		for _, arguments := range []string{`{}`, `{"task_id":7}`, `{"task_id":""}`, `{"x":1}`} {
			if said, _, wrong := text(t, h.callTool(s, "0", "hub_task_result", arguments)); !wrong {
				t.Errorf("%s: %q", arguments, said)
			}
		}
	})
}

// Who asks for a task that takes its time is told so before the deadline.
func TestReq17StillRuns(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.taking(3 * time.Minute)
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Deadline = 9 * time.Second })})
		s := h.next()
		id := ticket(t, h.callTool(s, "0", "calc__add", `{}`))
		for range 3 {
			began := time.Now()
			said, _, wrong := text(t, h.callTool(s, "0", "hub_task_result", `{"task_id":"`+id+`"}`))
			if took := time.Since(began); took > 9*time.Second || !wrong || !strings.Contains(said, message.For(message.English, message.TaskRuns, message.Args{"task": id}).What) {
				t.Errorf("after %v: %q", took, said)
			}
			if again := ticket(t, h.callTool(s, "0", "calc__add", `{}`)); again != id {
				t.Errorf("another task: %s", again)
			}
		}
		if h.calls("add") != 1 {
			t.Errorf("%d calls", h.calls("add"))
		}
		time.Sleep(3 * time.Minute)
	})
}

func TestReq17CancelledIfConfigured(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.taking(40 * time.Second)
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.CancelLate = true })})
		s := h.next()
		began := time.Now()
		said, _, wrong := text(t, h.callTool(s, "0", "calc__add", `{}`))
		if took := time.Since(began); took != 25*time.Second || !wrong || !strings.Contains(said, "was cancelled") {
			t.Errorf("after %v: %q", took, said)
		}
		if list := h.ask(s, "1", "tools/list", ""); strings.Contains(list, "hub_task_result") {
			t.Error("the tool for tasks is listed")
		}
		time.Sleep(time.Minute)
		if heard := s.Heard(); len(heard) > 0 {
			t.Errorf("answered twice: %q", heard)
		}
		if st := h.status("a"); st.TimedOut != 1 {
			t.Errorf("%d calls reached their deadline", st.TimedOut)
		}
	})
}

// How long a call may take is as the backend bears it, unless that is said.
func TestReq17Profiles(t *testing.T) {
	for _, tt := range []struct {
		profile hub.EndpointProfile
		own     time.Duration
		want    time.Duration
		as      hub.EndpointProfile
	}{
		{"", 0, 25 * time.Second, hub.ProfileXiaoZhi},
		{hub.ProfileXiaoZhi, 0, 25 * time.Second, hub.ProfileXiaoZhi},
		{hub.ProfileCloud, 0, 290 * time.Second, hub.ProfileCloud},
		{hub.ProfileCloudShort, 0, 9 * time.Second, hub.ProfileCloudShort},
		{hub.ProfileSelfHosted, 0, 25 * time.Second, hub.ProfileSelfHosted},
		{hub.ProfileCloud, 20 * time.Second, 20 * time.Second, hub.ProfileCloud},
	} {
		bubble(t, tools(), func(t *testing.T, h *house) {
			h.taking(10 * time.Minute)
			h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Profile, e.Deadline = tt.profile, tt.own })})
			s := h.next()
			began := time.Now()
			ticket(t, h.callTool(s, "0", "calc__add", `{}`))
			if took := time.Since(began); took != tt.want || h.status("a").Profile != tt.as {
				t.Errorf("%q, %v: answered after %v, as %q", tt.profile, tt.own, took, h.status("a").Profile)
			}
			time.Sleep(10 * time.Minute)
		})
	}
}

// A call that is still in the queue at its deadline is answered that there was no room,
// without a task. It counts as one that was late; one that the peer cancels does not.
func TestReq17LateInTheQueue(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.taking(40 * time.Second)
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Concurrency, e.CancelLate = 1, true })})
		s := h.next()
		must(t, s.Send(voice.CloudCall(1, "calc__add", `{"n":1}`)))
		synctest.Wait()
		must(t, s.Send(voice.CloudCall(2, "calc__add", `{"n":2}`)))
		synctest.Wait()
		must(t, s.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`))
		began := time.Now()
		raw := h.callTool(s, "3", "calc__add", `{"n":3}`)
		if took := time.Since(began); took != 25*time.Second || !strings.Contains(raw, `"code":-32000`) || strings.Contains(raw, "task") {
			t.Errorf("after %v: %s", took, raw)
		}
		if n := h.calls("add"); n != 1 {
			t.Errorf("%d calls", n)
		}
		time.Sleep(time.Minute)
		if st := h.status("a"); st.TimedOut != 2 || st.Running != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// What was under way when the connection was lost is there for the next one.
func TestReq17OutlivesTheConnection(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.taking(10 * time.Second)
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		must(t, s.Send(voice.CloudCall(1, "calc__add", "{}")))
		synctest.Wait()
		s.Drop()
		s = h.next()
		if said, _, wrong := text(t, h.callTool(s, "1", "calc__add", "{}")); wrong || said != "1" || h.calls("add") != 1 {
			t.Errorf("got %q by %d calls", said, h.calls("add"))
		}
		// But not what the peer has cancelled.
		must(t, s.Send(voice.CloudCall(2, "calc__add", `{"x":1}`)))
		synctest.Wait()
		must(t, s.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`))
		synctest.Wait()
		if n := h.status("a").Running; n != 0 {
			t.Errorf("%d run", n)
		}
		h.callTool(s, "3", "calc__add", `{"x":1}`)
		if h.calls("add") != 3 || len(s.Heard()) > 0 {
			t.Errorf("%d calls, %q", h.calls("add"), s.Heard())
		}
	})
}

func TestFriendlyErrors(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Language = message.Chinese })})
		s := h.next()
		raw := h.callTool(s, "1", "calc__nothing", "{}")
		if !strings.Contains(raw, `"code":-32602`) || !strings.Contains(raw, "没有名为") {
			t.Errorf("%s", raw)
		}
		h.mu.Lock()
		h.answer = func(string, string) string { return `"result":7` }
		h.mu.Unlock()
		for _, arguments := range []string{`7`, `"x"`} {
			if raw := h.callTool(s, "1", "calc__add", arguments); !strings.Contains(raw, "-32602") {
				t.Errorf("%s", raw)
			}
		}
		if raw := h.ask(s, "1", "tools/call", `{"name":7}`); !strings.Contains(raw, "-32602") {
			t.Errorf("%s", raw)
		}
		if raw := h.ask(s, "1", "tools/call", `[1]`); !strings.Contains(raw, "-32602") {
			t.Errorf("%s", raw)
		}
		if raw := h.callTool(s, "1", "calc__add", "{}"); !json.Valid([]byte(raw)) {
			t.Errorf("%s", raw)
		}
	})
}
