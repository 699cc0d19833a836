package broker_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/face/broker"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/test/voice"
)

// pair is the query of whoever has a good token of a device.
func (h *house) pair(id string) string { return "token=" + id + "." + h.devices.Token(id, "") }

// toolOf connects a tool to the endpoint of a device.
func (h *house) toolOf(id string, run func(r voice.Request) string) *voice.Socket {
	h.t.Helper()
	s := h.dial(broker.PathTool, h.pair(id))
	go s.Serve(tools(), run)
	synctest.Wait()
	return s
}

// Requirement 31: an alias that is given to another device is that one's at once, for the
// tools at their endpoints as well, whether the tool of the first one is here or not; and
// who calls a tool by its own pair reaches that tool and no other.
func TestRequirement31AliasMoves(t *testing.T) {
	for _, gone := range []bool{false, true} {
		in(t, func(t *testing.T) {
			other := "aa:bb:cc:dd:ee:02"
			h := open(t)
			h.broker.Apply(hub.Devices{Keep: time.Hour, Aliases: map[string]string{mac: "kitchen"}})
			first := h.toolOf(mac, says("first "))
			h.toolOf(other, says("second "))
			ours, theirs := h.dial(broker.PathCall, h.pair(mac)), h.dial(broker.PathCall, h.pair(other))
			if got, err := h.ask("tools-kitchen__add", `{}`); err != nil || !strings.Contains(got, "first") {
				t.Errorf("before: %s (%v)", got, err)
			}
			if gone {
				first.Drop()
				synctest.Wait()
			}
			for _, aliases := range []map[string]string{{other: "kitchen"}, {mac: "kitchen", other: "hall"}, {other: "kitchen", mac: "hall"}} {
				h.broker.Apply(hub.Devices{Keep: time.Hour, Aliases: aliases})
				time.Sleep(3 * time.Second)
				synctest.Wait()
				for id, want := range map[string]string{mac: "first ", other: "second "} {
					name := "tools-" + aliases[id]
					if aliases[id] == "" {
						name = key
					}
					got, err := h.ask(name+"__add", `{}`)
					if gone && id == mac {
						if err == nil {
							t.Errorf("%v: what is gone is %s", aliases, got)
						}
						continue
					}
					if err != nil || !strings.Contains(got, want) {
						t.Errorf("gone %v, %v: %s is %s (%v)", gone, aliases, name, got, err)
					}
				}
				send(t, theirs, callOf("7", "add", `{}`))
				if got := hear(t, theirs, `"id":7,`); !strings.Contains(got, "second") {
					t.Errorf("gone %v, %v: the other pair hears %s", gone, aliases, got)
				}
				send(t, ours, callOf("7", "add", `{}`))
				if got := hear(t, ours, `"id":7,`); gone != strings.Contains(got, "-32001") || !gone && !strings.Contains(got, "first") {
					t.Errorf("gone %v, %v: the pair hears %s", gone, aliases, got)
				}
			}
		})
	}
}

// A tool whose key is that of a server of the configuration is listed nowhere, and its
// callers reach neither: it is said why. Once its device is called otherwise, they do.
func TestAliasTakenByAServer(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, hub.Server{Key: "tools-kitchen", Kind: hub.KindBuiltin, Enabled: true, AutoStart: true, Timeout: time.Minute})
		h.broker.Apply(hub.Devices{Keep: time.Hour, Aliases: map[string]string{mac: "kitchen"}})
		h.tool(says("own "))
		if got, err := h.ask("tools-kitchen__add", `{}`); err != nil || !strings.Contains(got, "configured") || h.ran.Load() != 1 {
			t.Fatalf("%s (%v)", got, err)
		}
		c := h.caller()
		send(t, c, callOf("1", "add", `{}`))
		if got := hear(t, c, `"id":1,`); !strings.Contains(got, string(message.DeviceAliasTaken)) || h.ran.Load() != 1 {
			t.Errorf("the server of the configuration ran %d calls; %s", h.ran.Load(), got)
		}
		h.broker.Apply(hub.Devices{Keep: time.Hour, Aliases: map[string]string{mac: "hall"}})
		time.Sleep(time.Second)
		synctest.Wait()
		send(t, c, callOf("2", "add", `{}`))
		if got := hear(t, c, `"id":2,`); !strings.Contains(got, "own") {
			t.Errorf("%s", got)
		}
	})
}

// Of two devices that would be called alike the second one's tool is listed nowhere, and
// its callers are told so; it is once there is room.
func TestNameIsTaken(t *testing.T) {
	in(t, func(t *testing.T) {
		other := "aa:bb:cc:dd:ee:00" // which sorts before
		h := open(t)
		h.broker.Apply(hub.Devices{Keep: time.Minute, Aliases: map[string]string{mac: "kitchen", other: "kitchen"}})
		first := h.tool(says("first "))
		h.toolOf(other, says("second "))
		theirs := h.dial(broker.PathCall, h.pair(other))
		for range 2 {
			send(t, theirs, callOf("1", "add", `{}`))
			if got := hear(t, theirs, `"id":1,`); !strings.Contains(got, string(message.DeviceAliasTaken)) {
				t.Errorf("the second hears %s", got)
			}
			if got, err := h.ask("tools-kitchen__add", `{}`); err != nil || !strings.Contains(got, "first") {
				t.Errorf("%s (%v)", got, err)
			}
			h.broker.Apply(hub.Devices{Keep: time.Minute, Aliases: map[string]string{mac: "kitchen", other: "kitchen"}})
			synctest.Wait()
		}
		first.Drop()
		time.Sleep(2 * time.Minute) // after which nothing is left of the first
		h.broker.Apply(hub.Devices{Keep: time.Minute, Aliases: map[string]string{mac: "kitchen", other: "kitchen"}})
		time.Sleep(3 * time.Second)
		send(t, theirs, callOf("2", "add", `{}`))
		if got := hear(t, theirs, `"id":2,`); !strings.Contains(got, "second") {
			t.Errorf("the second hears %s", got)
		}
	})
}

// What two programs may read otherwise than each other reaches no tool.
func TestAmbiguousFrames(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		tool, c := h.dial(broker.PathTool, h.token()), h.caller()
		synctest.Wait()
		for _, text := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"add","arguments":{}}}`,
			`{"jsonrpc":"2.0","id":2,"METHOD":"tools/call","method":"ping"}`, `{"jsonrpc":"2.0","id":3,"method":"ping","Params":{}}`,
			`{"jsonrpc":"2.0","id":4,"ID":5,"method":"ping"}`, `{"jsonrpc":"2.0","id":4,"method":"ping","method\u0000":"tools/call"}`,
		} {
			send(t, c, text)
		}
		send(t, c, `{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"x":1,"X":2}}`)
		synctest.Wait()
		heard := strings.Join(tool.Heard(), "\n")
		if strings.Contains(heard, "ping") || !strings.Contains(heard, `"params":{"x":1,"X":2}`) {
			t.Errorf("the tool heard %s", heard)
		}
	})
}

// Ids of devices have no upper and lower case, so that no rule about one is evaded by
// another spelling; nor does the rule's own spelling matter.
func TestSpellingsOfADevice(t *testing.T) {
	for _, spelled := range []string{mac, strings.ToUpper(mac)} {
		in(t, func(t *testing.T) {
			h := open(t)
			rules, faults := policy.Compile(hub.Policy{Rules: []hub.Rule{{ID: "no-adding", Effect: hub.VerdictDeny, Callers: []string{"device:" + spelled}, Tools: []string{"add"}}}})
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			h.rules.Store(rules)
			c := h.dial(broker.PathCall, h.pair(strings.ToUpper(mac)))
			h.tool(says(""))
			send(t, c, callOf("1", "add", `{}`))
			if got := hear(t, c, `"id":1,`); !strings.Contains(got, "no-adding") {
				t.Errorf("a rule for %s: %s", spelled, got)
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if len(h.ended) != 1 || h.ended[0].Subject != "device:"+mac {
				t.Errorf("on record is %+v", h.ended)
			}
		})
	}
}

// A caller is answered within the time that backends wait, counted from its call on, also
// where its tool takes its time to say what it has; and it is told of what it can do.
func TestLateFromTheBeginning(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		s := h.dial(broker.PathTool, h.token())
		go func() {
			time.Sleep(15 * time.Second) // before it says anything
			s.Serve(tools(), func(voice.Request) string { return "" })
		}()
		synctest.Wait()
		c := h.caller()
		began := time.Now()
		send(t, c, callOf("1", "wait", `{}`))
		got := hear(t, c, `"id":1,`)
		if took := time.Since(began); took > 26*time.Second {
			t.Errorf("answered after %v", took)
		}
		if strings.Contains(got, "hub_task_result") || strings.Contains(got, "task_id") || !strings.Contains(got, "The same call then gives the result") {
			t.Errorf("%s", got)
		}
		// One that says nothing at all is not waited for any longer.
		other := "aa:bb:cc:dd:ee:02"
		h.dial(broker.PathTool, h.pair(other))
		synctest.Wait()
		theirs := h.dial(broker.PathCall, h.pair(other))
		began = time.Now()
		send(t, theirs, callOf("1", "wait", `{}`))
		got = hear(t, theirs, `"id":1,`)
		if took := time.Since(began); took > 26*time.Second || !strings.Contains(got, `"error"`) {
			t.Errorf("after %v: %s", took, got)
		}
	})
}

// What a pair's callers have under way is bounded in bytes as well.
func TestCallsAreBoundedInBytes(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		h.tool(func(voice.Request) string { return "" })
		text := strings.Repeat("x", 1<<20)
		refused := 0
		for range 2 {
			c := h.caller()
			for i := range 12 {
				send(t, c, callOf(fmt.Sprint(i), "wait", `{"a":"`+text+`"}`))
			}
			synctest.Wait()
			for _, said := range c.Heard() {
				if strings.Contains(said, "-32002") {
					refused++
				}
			}
		}
		if refused < 8 || refused > 10 {
			t.Errorf("%d of 24 calls of 1 MiB are refused", refused)
		}
	})
}
