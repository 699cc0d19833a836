package broker_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/face/broker"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

// Requirement 39: several callers share one tool, each in its own words. The tool gets
// ids that say whose they are; each caller has its answers with its own, to the byte, 0
// among them.
func TestReq39BrokerCallers(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		var mu sync.Mutex
		var ids []string
		h.tool(func(r voice.Request) string {
			mu.Lock()
			ids = append(ids, string(r.ID))
			mu.Unlock()
			return says("")(r)
		})
		cloud, self, raw := h.caller(), h.caller(), h.caller()
		if _, got, err := voice.Cloud(t.Context(), cloud); err != nil || len(got) != 2 {
			t.Errorf("the cloud's words: %v (%v)", got, err)
		}
		if got, err := voice.XS(t.Context(), self); err != nil || len(got) != 2 {
			t.Errorf("the self-hosted backend's words: %v (%v)", got, err)
		}
		if text, _, err := voice.XSCall(t.Context(), self, 1, "add", `{"a":1}`); err != nil || text != `{"a":1}` {
			t.Errorf("%s (%v)", text, err)
		}
		if got, err := voice.GOH(t.Context(), raw, 7); err == nil || len(got) != 0 { // the tool speaks another revision, which is its business
			t.Errorf("%v", got)
		}
		own := []string{"0", "1", "1", "-0", "1.50", "9007199254740993", `"a_b_c"`, `"\u0031"`, `"x_n_1"`, `""`, `"说"`}
		for i, id := range own {
			send(t, raw, callOf(id, "add", fmt.Sprint(`{"n":`, i, `}`)))
			send(t, cloud, callOf(id, "add", fmt.Sprint(`{"cloud":`, i, `}`)))
		}
		for i, id := range own {
			if got := hear(t, raw, fmt.Sprint(`{\"n\":`, i, `}`)); !strings.Contains(got, `"id":`+strings.ReplaceAll(id, `\u0031`, `1`)+`,`) && !strings.Contains(got, `"id":`+id+`,`) {
				t.Errorf("%s was answered with %s", id, got)
			}
			hear(t, cloud, fmt.Sprint(`{\"cloud\":`, i, `}`))
		}
		if got := hear(t, raw, ""); !strings.Contains(got, `"id":8,`) { // of GOH's list
			t.Errorf("left over: %s", got)
		}
		for _, id := range ids {
			if !regexp.MustCompile(`^"[0-9a-f-]{36}_[ns]_.*"$`).MatchString(id) {
				t.Errorf("the tool was given the id %s", id)
			}
		}
	})
}

// Requirement 39: a second tool with the same token takes the place of the first, whose
// end then takes nothing away from it. With the original, callers reach nobody any more.
func TestReq39BrokerSecondToolStays(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		first := h.tool(func(r voice.Request) string {
			if r.Params.Name == "wait" {
				return ""
			}
			return says("first ")(r)
		})
		c := h.caller()
		send(t, c, callOf("3", "wait", `{}`))
		synctest.Wait()
		second := h.tool(says("second "))
		<-first.Over()
		if got := first.Err(); websocket.CloseStatus(got) != websocket.StatusNormalClosure || !strings.Contains(got.Error(), "新连接替换") {
			t.Errorf("the first one was closed with %v", got)
		}
		if got := hear(t, c, `"id":3,`); got != `{"jsonrpc":"2.0","id":3,"error":{"code":-32001,"message":"工具端未连接"}}` {
			t.Errorf("what the first one did not answer: %s", got)
		}
		time.Sleep(time.Minute)
		for range 3 {
			send(t, c, callOf("4", "add", `{}`))
			if got := hear(t, c, `"id":4,`); !strings.Contains(got, "second {}") {
				t.Errorf("%s", got)
			}
		}
		if got, err := h.ask(key+"__add", `{}`); err != nil || !strings.Contains(got, "second") {
			t.Errorf("the hub: %s (%v)", got, err)
		}
		second.Drop()
		synctest.Wait()
		send(t, c, callOf("5", "add", `{}`))
		hear(t, c, "-32001")
		h.tool(says("third "))
		send(t, c, callOf("6", "add", `{}`))
		if got := hear(t, c, `"id":6,`); !strings.Contains(got, "third {}") {
			t.Errorf("%s", got)
		}
	})
}

// Requirement 39: who has no good token is let in and closed at once, as the original
// does it, on either side.
func TestReq39BrokerTokens(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		good := h.devices.Token(mac, "")
		for name, tc := range map[string]struct {
			query string
			good  bool
		}{
			"with the id":            {"token=" + mac + "." + good, true},
			"with an escaped id":     {"token=aa%3Abb%3Acc%3Add%3Aee%3A01." + good, true},
			"the id beside":          {"token=" + good + "&device-id=" + mac, true},
			"of a program":           {"token=" + mac + "." + h.devices.Token(mac, "p1") + "&client-id=p1", true},
			"of another program":     {"token=" + mac + "." + h.devices.Token(mac, "p1") + "&client-id=p2", false},
			"none":                   {"", false},
			"without an id":          {"token=" + good, false},
			"of another device":      {"token=aa:bb:cc:dd:ee:02." + good, false},
			"of another device, too": {"token=" + good + "&device-id=aa:bb:cc:dd:ee:02", false},
			"rubbish":                {"token=a.b.c", false},
			"the id alone":           {"token=" + mac, false},
		} {
			for _, path := range []string{broker.PathTool, broker.PathCall, strings.TrimSuffix(broker.PathCall, "/")} {
				s := h.dial(path, tc.query)
				synctest.Wait()
				select {
				case <-s.Over():
					if got := websocket.CloseStatus(s.Err()); tc.good || got != websocket.StatusPolicyViolation {
						t.Errorf("%s at %s: closed with %v", name, path, s.Err())
					}
				default:
					if !tc.good {
						t.Errorf("%s at %s: let in", name, path)
					}
				}
				s.Drop()
			}
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://192.0.2.7"+broker.PathTool+"?"+h.token(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := h.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUpgradeRequired {
			t.Errorf("HTTP %d", res.StatusCode)
		}
	})
}

// Requirement 39: without its tool a caller is told so, by an error and nothing beside,
// and is served once the tool comes.
func TestReq39BrokerToolAway(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		c := h.caller()
		send(t, c, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		send(t, c, callOf("0", "add", `{}`))
		if got := hear(t, c, ""); got != `{"jsonrpc":"2.0","id":0,"error":{"code":-32001,"message":"工具端未连接"}}` {
			t.Errorf("%s", got)
		}
		h.tool(says(""))
		send(t, c, callOf("0", "add", `{}`))
		if got := hear(t, c, ""); !strings.Contains(got, `"result"`) || !strings.Contains(got, `"id":0,`) {
			t.Errorf("%s", got)
		}
	})
}

// Requirement 39: what a tool says by itself reaches those whom it concerns, and what it
// asks is answered.
func TestReq39BrokerNotifications(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		asked := make(chan voice.Request, 2)
		tool := h.tool(func(r voice.Request) string {
			asked <- r
			return ""
		})
		a, b := h.caller(), h.caller()
		synctest.Wait()
		note := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		send(t, tool, note)
		for _, c := range []*voice.Socket{a, b} {
			if got := hear(t, c, ""); got != note {
				t.Errorf("%s", got)
			}
		}
		with := func(id, token string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"wait","_meta":{"progressToken":` + token + `}}}`
		}
		send(t, a, with("1", "5"))
		ofA := <-asked
		send(t, b, with("1", "5"))
		ofB := <-asked
		if string(ofA.ID) == string(ofB.ID) || string(ofA.Params.Meta.ProgressToken) == string(ofB.Params.Meta.ProgressToken) {
			t.Fatalf("the tool cannot tell them: %s, %s", ofA.ID, ofB.ID)
		}
		send(t, tool, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+string(ofB.Params.Meta.ProgressToken)+`,"progress":1}}`)
		if got := hear(t, b, ""); got != `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}` {
			t.Errorf("%s", got)
		}
		send(t, b, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		synctest.Wait()
		send(t, tool, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		send(t, tool, `{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{}}`)
		send(t, tool, `{"jsonrpc":"2.0","id":`+string(ofA.ID)+`,"result":{}}`)
		if got := hear(t, a, ""); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("%s", got)
		}
		synctest.Wait()
		if left := slices.Concat(a.Heard(), b.Heard()); len(left) > 0 {
			t.Errorf("heard besides: %q", left)
		}
	})
}

// Requirement 39: what a caller cancels is cancelled by the id that the tool knows, and
// what a tool asks is answered to it.
func TestReq39BrokerTowardsTheTool(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		tool := h.dial(broker.PathTool, h.token())
		if got := hear(t, tool, `"initialize"`); !strings.Contains(got, `_n_`) && !strings.Contains(got, `_s_`) {
			t.Errorf("the hub's own words: %s", got)
		}
		c := h.caller()
		send(t, c, `{"jsonrpc":"2.0","id":"x","method":"prompts/list"}`)
		send(t, c, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`)
		asked, cancelled := hear(t, tool, `"prompts/list"`), hear(t, tool, `"notifications/cancelled"`)
		id := regexp.MustCompile(`"[0-9a-f-]{36}_s_x"`)
		if a, b := id.FindString(asked), id.FindString(cancelled); a == "" || a != b {
			t.Errorf("asked by %s, cancelled by %s", asked, cancelled)
		}
		send(t, tool, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		if got := hear(t, tool, `"p"`); got != `{"jsonrpc":"2.0","id":"p","result":{}}` {
			t.Errorf("%s", got)
		}
		send(t, tool, `{"jsonrpc":"2.0","id":0,"method":"roots/list"}`)
		if got := hear(t, tool, `"id":0,`); !strings.Contains(got, "-32601") {
			t.Errorf("%s", got)
		}
	})
}

// Requirement 39: a tool at its endpoint is a server in the catalog, for every client,
// as long as it is there and a while after that.
func TestReq39BrokerCatalog(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		tool := h.tool(says("hub "))
		if got := h.listed(); !slices.Equal(got, []string{key + "__add", key + "__wait"}) {
			t.Fatalf("listed: %q", got)
		}
		if got, err := h.ask(key+"__add", `{"a":1}`); err != nil || !strings.Contains(got, `hub {\"a\":1}`) {
			t.Errorf("%s (%v)", got, err)
		}
		tool.Drop()
		synctest.Wait()
		began := time.Now()
		if got, err := h.ask(key+"__add", `{}`); err == nil || err.Code != message.DeviceOffline || time.Since(began) > 50*time.Millisecond {
			t.Errorf("%s %v after %v", got, err, time.Since(began))
		}
		time.Sleep(9 * time.Minute)
		again := h.tool(says("again "))
		if got, err := h.ask(key+"__add", `{}`); err != nil || !strings.Contains(got, "again") {
			t.Errorf("%s (%v)", got, err)
		}
		time.Sleep(20 * time.Minute)
		if len(h.listed()) == 0 {
			t.Error("it is here, and not listed")
		}
		again.Close(1000, "")
		synctest.Wait()
		if len(h.listed()) == 0 {
			t.Error("it is not kept")
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if got := h.listed(); len(got) > 0 {
			t.Errorf("listed for ever: %q", got)
		}
	})
}

// Requirement 39: frames, callers, and calls under way are bounded; what is no message
// harms nobody.
func TestReq39BrokerLimits(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		h.tool(func(r voice.Request) string {
			if r.Params.Name == "wait" {
				return ""
			}
			return says("")(r)
		})
		c := h.caller()
		for _, text := range []string{"not json", "null", "5", `{"jsonrpc":"2.0"}`, `{"id":[1],"method":"x"}`, `{"id":1,"id":2,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, "[]"} {
			send(t, c, text)
		}
		if err := c.SendBinary([]byte(callOf("1", "add", `{}`))); err != nil {
			t.Fatal(err)
		}
		send(t, c, "["+callOf("1", "add", `{"n":1}`)+",5,"+callOf("2", "add", `{"n":2}`)+"]\n")
		hear(t, c, `"id":1,`)
		hear(t, c, `"id":2,`)
		synctest.Wait()
		if left := c.Heard(); len(left) > 0 {
			t.Errorf("rubbish was answered with %q", left)
		}

		for i := range 256 {
			send(t, c, callOf(fmt.Sprint(i), "wait", `{}`))
		}
		send(t, c, callOf("999", "wait", `{}`))
		if got := hear(t, c, ""); got != `{"jsonrpc":"2.0","id":999,"error":{"code":-32002,"message":"转发消息失败"}}` {
			t.Errorf("%s", got)
		}
		time.Sleep(6 * time.Minute)
		send(t, c, callOf("1000", "add", `{}`))
		hear(t, c, `"id":1000,`)

		var others []*voice.Socket
		for range 30 {
			others = append(others, h.caller())
		}
		synctest.Wait()
		over := h.caller()
		<-over.Over()
		if got := websocket.CloseStatus(over.Err()); got != websocket.StatusTryAgainLater {
			t.Errorf("one caller too many: %v", over.Err())
		}
		others[0].Drop()
		synctest.Wait()
		again := h.caller()
		send(t, again, callOf("1", "add", `{}`))
		hear(t, again, `"id":1,`)

		go func() { _ = c.Send(callOf("1", "add", `{"x":"`+strings.Repeat("x", 4<<20)+`"}`)) }()
		<-c.Over()
		if got := websocket.CloseStatus(c.Err()); got != websocket.StatusMessageTooBig {
			t.Errorf("a large frame: %v", c.Err())
		}
	})
}

// Requirement 39: who does not answer pings is given up, with room for others; who does
// stays.
func TestReq39BrokerHalfOpen(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		h.tool(says(""))
		c := h.caller()
		for range 30 { // which never read
			conn, _, err := websocket.Dial(t.Context(), "ws://192.0.2.7"+broker.PathCall+"?"+h.token(), &websocket.DialOptions{HTTPClient: h.client})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.CloseNow() })
		}
		synctest.Wait()
		over := h.caller()
		<-over.Over()
		time.Sleep(time.Minute)
		for _, s := range []*voice.Socket{c, h.caller()} {
			send(t, s, callOf("1", "add", `{}`))
			hear(t, s, `"id":1,`)
		}
	})
}

// Requirement 39, for the race detector: callers, the hub and tools that take each
// other's place, all at once. Every request is answered once.
func TestReq39BrokerAllAtOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		h.tool(says(""))
		var all sync.WaitGroup
		for range 8 {
			c := h.caller()
			all.Go(func() {
				for i := range 100 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					if got, err := c.Ask(ctx, fmt.Sprint(i), "tools/call", fmt.Sprintf(`{"name":"add","arguments":{"n":%d}}`, i)); err != nil || !strings.Contains(got, fmt.Sprintf(`{\"n\":%d}`, i)) && !strings.Contains(got, "-32001") {
						t.Errorf("%d: %s (%v)", i, got, err)
					}
					cancel()
				}
				if left := c.Heard(); len(left) > 0 {
					t.Errorf("answered twice: %q", left)
				}
			})
		}
		all.Go(func() {
			for range 50 {
				_, _ = h.ask(key+"__add", `{}`)
			}
		})
		for range 5 {
			h.tool(says(""))
		}
		all.Wait()
	})
}

// Requirement 39: those without a good token take nobody's place, and are not listened
// to.
func TestReq39BrokerRefusedAreFew(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		taken := 0
		var held []*websocket.Conn
		for range 40 { // which never read, and do not go
			conn, res, err := websocket.Dial(t.Context(), "ws://192.0.2.7"+broker.PathCall+"?token=a.b.c", &websocket.DialOptions{HTTPClient: h.client})
			if err != nil {
				if res == nil || res.StatusCode != http.StatusUnauthorized {
					t.Fatalf("refused with %v", err)
				}
				continue
			}
			t.Cleanup(func() { _ = conn.CloseNow() })
			held = append(held, conn)
			taken++
		}
		if taken != 16 {
			t.Errorf("%d connections without a good token are held", taken)
		}
		h.tool(says(""))
		c := h.caller()
		send(t, c, callOf("1", "add", `{}`))
		hear(t, c, `"id":1,`)
		go func() { _ = held[0].Write(t.Context(), websocket.MessageText, make([]byte, 4<<10)) }()
		_, _, err := held[0].Read(t.Context())
		if got := websocket.CloseStatus(err); got != websocket.StatusPolicyViolation && got != websocket.StatusMessageTooBig {
			t.Errorf("closed with %v", err)
		}
		time.Sleep(10 * time.Second)
		if conn, _, err := websocket.Dial(t.Context(), "ws://192.0.2.7"+broker.PathCall+"?token=a.b.c", &websocket.DialOptions{HTTPClient: h.client}); err != nil {
			t.Errorf("there is no room again: %v", err)
		} else {
			_ = conn.CloseNow()
		}
	})
}

// Requirement 39: an alias that is set later counts for the tool's next connection as
// well, and nothing is left under the name before.
func TestReq39BrokerAliasLater(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		first := h.tool(says("first "))
		h.broker.Apply(hub.Devices{Keep: time.Hour, Aliases: map[string]string{mac: "desk"}})
		first.Drop()
		synctest.Wait()
		h.tool(says("second "))
		if got, err := h.ask("tools-desk__add", `{}`); err != nil || !strings.Contains(got, "second") {
			t.Errorf("%s (%v)", got, err)
		}
		if got := h.listed(); len(got) != 0 {
			t.Errorf("under the name before: %q", got)
		}
	})
}
