package broker_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/test/voice"
)

// A call of a caller's goes the way of all calls: the rules hold, it is on record under
// the name of the device whose token it is, and the caller cancels it and gives it up.
func TestReq39BrokerCallsAreJudgedAndRecorded(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		var mu sync.Mutex
		var ran []string
		tool := h.tool(func(r voice.Request) string {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, r.Params.Name)
			if r.Params.Name == "wait" {
				return ""
			}
			return says("")(r)
		})
		rules, faults := policy.Compile(hub.Policy{Rules: []hub.Rule{{ID: "no-adding", Effect: hub.VerdictDeny, Doors: []hub.Door{hub.DoorDevice}, Callers: []string{"device:" + mac}, Tools: []string{"add"}}}})
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		c := h.caller()
		send(t, c, callOf("0", "add", `{"a":1}`))
		if got := hear(t, c, ""); got != `{"jsonrpc":"2.0","id":0,"result":{"content":[{"type":"text","text":"{\"a\":1}"}],"isError":false}}` {
			t.Errorf("%s", got)
		}
		h.rules.Store(rules)
		send(t, c, callOf(`"b"`, "add", `{}`))
		if got := hear(t, c, `"id":"b",`); !strings.Contains(got, "no-adding") || !strings.Contains(got, `"isError":true`) {
			t.Errorf("%s", got)
		}
		send(t, c, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"add","arguments":{}}}`) // which has no answer
		send(t, c, callOf("3", "none", `{}`))
		if got := hear(t, c, `"id":3,`); !strings.Contains(got, string(message.ToolUnknown)) {
			t.Errorf("%s", got)
		}
		send(t, c, `{"jsonrpc":"2.0","id":4,"method":"tools/call"}`)
		if got := hear(t, c, `"id":4,`); !strings.Contains(got, string(message.ParamsInvalid)) {
			t.Errorf("%s", got)
		}

		// What is cancelled is not answered, and the tool is told; so it is of a caller who goes.
		send(t, c, callOf("5", "wait", `{}`))
		synctest.Wait()
		send(t, c, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"enough"}}`)
		synctest.Wait()
		cancellations := func() int { return strings.Count(strings.Join(tool.Notes(), "\n"), `"notifications/cancelled"`) }
		if got := cancellations(); got != 1 || !strings.Contains(strings.Join(tool.Notes(), "\n"), "enough") {
			t.Errorf("the tool is told of %d cancellations", got)
		}
		send(t, c, callOf("6", "wait", `{"b":1}`))
		synctest.Wait()
		c.Drop()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := cancellations(); got != 2 {
			t.Errorf("the tool is told of %d cancellations", got)
		}
		if mu.Lock(); !slices.Equal(ran, []string{"add", "wait", "wait"}) {
			t.Errorf("the tool ran %q", ran)
		}
		mu.Unlock()
		h.mu.Lock()
		defer h.mu.Unlock()
		for i, want := range []struct {
			tool, code string
			outcome    hub.Outcome
		}{{"add", "", hub.OutcomeOK}, {"add", string(message.PolicyDenied), hub.OutcomeFailed}} {
			if r := h.ended[i]; r.Subject != "device:"+mac || r.Door != hub.DoorDevice || r.Server != key || r.Tool != want.tool || r.Outcome != want.outcome || r.Code != want.code {
				t.Errorf("on record is %+v", r)
			}
		}
		if got := len(h.ended); got != 4 { // add, add, wait, wait
			t.Errorf("%d calls on record: %+v", got, h.ended)
		}
	})
}

// A call that takes longer than backends wait is answered that it goes on, and the same
// call gets what came of it.
func TestReq39BrokerLateCall(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		h.tool(func(r voice.Request) string {
			time.Sleep(28 * time.Second)
			return says("late ")(r)
		})
		c := h.caller()
		send(t, c, callOf("1", "wait", `{"a":1}`))
		_, told, _ := strings.Cut(hub.E(message.CallLateEqual, nil, "tool", "").In(message.English), `""`) // what follows the name
		if got := hear(t, c, `"id":1,`); strings.Contains(got, "late ") || strings.Contains(got, `"error"`) || !strings.Contains(got, told) {
			t.Errorf("%s", got)
		}
		time.Sleep(10 * time.Second)
		began := time.Now()
		send(t, c, callOf("2", "wait", `{"a":1}`))
		if got := hear(t, c, `"id":2,`); !strings.Contains(got, `late {\"a\":1}`) || time.Since(began) > time.Second {
			t.Errorf("%s after %v", got, time.Since(began))
		}
	})
}
