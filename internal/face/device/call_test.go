package device_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

const status = alias + "__self.get_device_status"

// hangs has a fake not answer calls until it is let go.
func hangs(d *voice.Device) (let func()) {
	held := make(chan struct{})
	d.Run = func(string, json.RawMessage) string {
		<-held
		return `"result":{"content":[{"type":"text","text":"late"}],"isError":false}`
	}
	var once sync.Once
	return func() { once.Do(func() { close(held) }) }
}

// Requirement 32: a device that has gone is listed for a while, and its calls fail at
// once.
func TestRequirement32Offline(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		s := h.here(voice.FW(mac))
		s.Close()
		synctest.Wait()
		if st := h.status(mac); st.Online || st.Reason == nil {
			t.Errorf("%+v", st)
		}
		for range 2 {
			if a := h.ask(status, `{}`); a.err == nil || a.err.Code != message.DeviceOffline || a.took > 50*time.Millisecond {
				t.Errorf("after %v: %v", a.took, a.err)
			}
		}
		time.Sleep(9 * time.Minute)
		if got := h.tools(alias); len(got) != 4 {
			t.Errorf("listed: %q", got)
		}
		h.here(voice.FW(mac))
		if a := h.ask(status, `{}`); a.err != nil || !strings.Contains(a.result, "true") {
			t.Errorf("back again: %+v", a)
		}
		time.Sleep(5 * time.Minute)
		if got := h.tools(alias); len(got) != 4 {
			t.Errorf("the clock of its absence runs on: %q", got)
		}
	})
}

// Requirement 32: when its time is over the tools are not listed any more; without
// such a time at once.
func TestRequirement32Vanishes(t *testing.T) {
	for _, keep := range []time.Duration{0, 10 * time.Minute} {
		in(t, func(t *testing.T) {
			conf := usual()
			conf.Keep = keep
			h := open(t, conf)
			s := h.here(voice.FW(mac))
			s.Drop()
			time.Sleep(keep + time.Millisecond)
			synctest.Wait()
			if got := h.tools(alias); len(got) != 0 {
				t.Errorf("%v: listed: %q", keep, got)
			}
			if a := h.ask(status, `{}`); a.err == nil || a.took > 50*time.Millisecond {
				t.Errorf("%v: after %v: %v", keep, a.took, a.err)
			}
			h.here(voice.FW(mac))
			if a := h.ask(status, `{}`); a.err != nil {
				t.Errorf("%v: back again: %v", keep, a.err)
			}
		})
	}
}

// Requirement 32: a device that comes back and has no tools any more keeps those that
// it had for no longer than one that has gone.
func TestRequirement32BackWithoutTools(t *testing.T) {
	for name, keep := range map[string]time.Duration{"at once": 0, "a while": 10 * time.Minute} {
		for _, first := range []string{"gone before", "replaced"} {
			in(t, func(t *testing.T) {
				conf := usual()
				conf.Keep = keep
				h := open(t, conf)
				s := h.here(voice.FW(mac))
				if first == "gone before" {
					s.Drop()
					synctest.Wait()
				}
				h.dial(voice.LumiKt(mac))
				time.Sleep(max(keep, time.Minute) + time.Second)
				synctest.Wait()
				if got := h.tools(alias); len(got) != 0 || !h.status(mac).Online {
					t.Errorf("%s, %s: listed %q", name, first, got)
				}
			})
		}
	}
}

// Requirement 32: that devices come and go is told as such, so that callers are told
// of it less often; that a device comes back with the same tools is not told at all.
func TestRequirement32ComingAndGoingIsToldAsSuch(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		events := h.events.Subscribe(1000)
		defer events.Close()
		changes := func() (n int) {
			for {
				select {
				case e := <-events.C():
					if changed, ok := e.(hub.ToolsChanged); ok {
						if n++; !changed.Devices {
							t.Error("it is told as any other change")
						}
					}
				default:
					return n
				}
			}
		}
		s := h.here(voice.FW(mac))
		if n := changes(); n == 0 {
			t.Error("that it came is not told")
		}
		s.Drop()
		synctest.Wait()
		h.here(voice.FW(mac))
		if n := changes(); n != 0 {
			t.Errorf("%d changes, and there is none", n)
		}
	})
}

// Requirement 33: the new connection of a device wins, what the old one still had to
// do fails at once, and its end takes nothing away from the new one.
func TestRequirement33NewSocketWins(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.FW(mac)
		let := hangs(d)
		old := h.here(d)
		came, served := make(chan answer, 1), make(chan error, 1)
		r, w := io.Pipe()
		go func() { served <- h.door.Serve(t.Context(), alias, r, w) }()
		go func() { came <- h.ask(status, `{}`) }()
		synctest.Wait()
		began := time.Now()
		h.here(voice.FW(mac))
		a := <-came
		if a.err == nil || time.Since(began) > 50*time.Millisecond {
			t.Errorf("the call of the old connection: %+v after %v", a, time.Since(began))
		}
		if err := hub.AsError(<-served); err == nil || !hub.IsCode(err.Err, message.DeviceReplaced) {
			t.Errorf("the server of the old connection ends with %v", err)
		}
		<-old.Done()
		if websocket.CloseStatus(old.Err()) != websocket.StatusNormalClosure {
			t.Errorf("the old one is closed with %v", old.Err())
		}
		let()
		time.Sleep(10 * time.Second) // what the old one still does about its end
		synctest.Wait()
		if st := h.status(mac); !st.Online || st.Connects != 2 {
			t.Errorf("%+v", st)
		}
		if a := h.ask(status, `{}`); a.err != nil || !strings.Contains(a.result, "true") {
			t.Errorf("the new one is not used: %+v", a)
		}
	})
}

// Requirement 35: one call at a time, 16 wait, and what comes too late is discarded.
func TestRequirement35Queue(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.FW(mac)
		let := hangs(d)
		s := h.here(d)
		asked := func() (n int) {
			for _, text := range s.Heard() {
				if strings.Contains(text, "tools/call") {
					n++
				}
			}
			return n
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		codes := map[message.Code]int{}
		for range 20 {
			all.Go(func() {
				a := h.ask(status, `{}`)
				mu.Lock()
				defer mu.Unlock()
				code := message.Code("")
				if a.err != nil {
					code = a.err.Code
				}
				codes[code]++
			})
		}
		synctest.Wait()
		if n := asked(); n != 1 || codes[message.QueueFull] != 3 {
			t.Errorf("%d calls at the device, %v", n, codes)
		}
		let()
		all.Wait()
		if n := asked(); n != 17 || codes[""] != 17 {
			t.Errorf("%d calls at the device, %v", n, codes)
		}
		if st := h.status(mac); st.Calls != 17 || st.Late != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// Requirement 35: the time that a call has.
func TestRequirement35Timeout(t *testing.T) {
	for tool, limit := range map[string]time.Duration{"self.get_device_status": 30 * time.Second, "self.camera.take_photo": time.Minute} {
		in(t, func(t *testing.T) {
			h := open(t, usual())
			d := voice.FW(mac)
			let := hangs(d)
			h.here(d)
			a := h.ask(alias+"__"+tool, `{"question":"what?"}`)
			if a.err == nil || a.took != limit {
				t.Errorf("%s: after %v: %v", tool, a.took, a.err)
			}
			synctest.Wait() // until the device's server has heard of it
			let()
			synctest.Wait()
			if st := h.status(mac); st.Late != 1 {
				t.Errorf("%s: late %d", tool, st.Late)
			}
			d.Change(func() {
				d.Run = func(string, json.RawMessage) string {
					return `"result":{"content":[{"type":"text","text":"good"}],"isError":false}`
				}
			})
			if a := h.ask(status, `{}`); !strings.Contains(a.result, "good") {
				t.Errorf("the next call got %+v", a)
			}
		})
	}
}

// Requirement 36: what Lumi says of its errors reaches the caller, with its codes.
func TestRequirement36LumiErrors(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		s := h.here(voice.Lumi(mac))
		if got := h.ask(alias+"__get_battery", `{}`); got.result != `{"content":[{"type":"text","text":"80"}],"isError":false}` {
			t.Errorf("%+v", got)
		}
		fault := func(code int, text string) string {
			return fmt.Sprintf(`{"code":%d,"message":%q,"data":{"original_error":"Exception: %s","method":"tools/call","timestamp":"2026-01-02T03:04:05.678Z"}}`, code, text, text)
		}
		for call, want := range map[string]string{
			`adjust_volume {"level":5}`: fault(voice.LumiPermission, "Permission denied"), `open_app {"name":"x"}`: fault(voice.LumiTimeout, "Tool call timed out"),
			`get_battery {}`: fault(voice.LumiNotFound, "Tool not found: get_battery"),
		} {
			name, arguments, _ := strings.Cut(call, " ")
			if name == "get_battery" { // it is listed still, and not there any more
				s.Device.Change(func() { s.Device.Tools = s.Device.Tools[1:] })
			}
			if got := h.ask(alias+"__"+name, arguments); got.fault != want {
				t.Errorf("%s: %+v", call, got)
			}
			if name == "get_battery" {
				s.Device.Change(func() { s.Device.Tools = voice.Lumi(mac).Tools })
			}
		}
		if st := h.status(mac); !st.Online || st.Junk != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// Requirement 36: errors and results as clients of MCP know them.
func TestRequirement36Normalised(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.FW(mac)
		said := ""
		d.Run = func(string, json.RawMessage) string { return said }
		s := h.here(d)
		big := strings.Repeat("QUJD", 100<<10)
		for name, tc := range map[string]struct{ said, result, code, text string }{
			"text":                {said: `"result":{"content":[{"type":"text","text":"true"}],"isError":false}`, result: `{"content":[{"type":"text","text":"true"}],"isError":false}`},
			"bare":                {said: `"result":true`, result: `{"content":[{"type":"text","text":"true"}],"isError":false}`},
			"bare text":           {said: `"result":"a \"b\""`, result: `{"content":[{"type":"text","text":"a \"b\""}],"isError":false}`},
			"error without code":  {said: `"error":{"message":"no"}`, code: "-32000", text: "no"},
			"error with code":     {said: `"error":{"code":-32602,"message":"no","data":{"x":1}}`, code: "-32602", text: "no"},
			"error as text":       {said: `"error":"no"`, code: "-32000", text: "no"},
			"error without words": {said: `"error":{"code":"x"}`, code: "-32000", text: "the device reports an error"},
			"broken JSON":         {said: `"error":{"message":"Unknown "self.x" tool"}`, code: "-32000", text: `Unknown "self.x" tool`},
			"broken, Chinese":     {said: `"error":{"message":"没有"工具"` + "\n" + `"}`, code: "-32000", text: "没有\"工具\"\n"},
			"firmware's picture": {
				said:   `"result":{"content":[{"type":"image","image":"{\"type\":\"image\",\"mimeType\":\"image/jpeg\",\"data\":\"QUJD\"}"}],"isError":false}`,
				result: `{"content":[{"type":"image","data":"QUJD","mimeType":"image/jpeg"}],"isError":false}`,
			},
			"data: URL": {
				said:   `"result":{"content":[{"type":"text","text":"data:image/png;base64,` + big + `"}],"isError":false}`,
				result: `{"content":[{"type":"image","data":"` + big + `","mimeType":"image/png"}],"isError":false}`,
			},
			"data: URL in a text": {
				said:   `"result":{"content":[{"type":"text","text":"{\"image\":\"data:image/png;base64,QUJD\"}"}],"isError":false}`,
				result: `{"content":[{"type":"text","text":"{\"image\":\"[picture]\"}"},{"type":"image","data":"QUJD","mimeType":"image/png"}],"isError":false}`,
			},
			"no picture at all": {
				said:   `"result":{"content":[{"type":"image","image":"oh"}],"isError":false}`,
				result: `{"content":[{"type":"image","image":"oh"}],"isError":false}`,
			},
		} {
			said = tc.said
			a := h.ask(status, `{}`)
			if tc.code == "" {
				if a.result != tc.result {
					t.Errorf("%s: %.300s %v", name, a.result, a.err)
				}
				continue
			}
			var fault struct {
				Code    json.Number
				Message string
			}
			if err := json.Unmarshal([]byte(a.fault), &fault); err != nil || fault.Code.String() != tc.code || fault.Message != tc.text {
				t.Errorf("%s: %s %s %v", name, a.fault, a.result, a.err)
			}
		}
		s.Send("not json")
		s.Send(`{"type":"mcp","payload":{"id":99999,"result":{}}}`)
		synctest.Wait()
		if st := h.status(mac); !st.Online || st.Junk != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// Requirement 37: sound is discarded, and what is too large ends the connection.
func TestRequirement37Sound(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		s := h.here(voice.FW(mac))
		for range 100 {
			s.Speak(make([]byte, 2000))
			s.Speak(nil)
		}
		if a := h.ask(status, `{}`); a.err != nil {
			t.Error(a.err)
		}
		if st := h.status(mac); st.Audio != 200 || st.Junk != 0 {
			t.Errorf("%+v", st)
		}
		go s.Send(`{"type":"listen","text":"` + strings.Repeat("x", 1<<20) + `"}`)
		<-s.Done()
		if websocket.CloseStatus(s.Err()) != websocket.StatusMessageTooBig {
			t.Errorf("closed with %v", s.Err())
		}
	})
}

// A device that lies about ids, or answers what nobody has asked, hurts nobody.
func TestStrangeAnswers(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		s := h.here(voice.FW(mac))
		for _, text := range []string{
			`{}`, `null`, `5`, `[]`, `{"type":5}`, `{"type":"mcp"}`, `{"type":"mcp","payload":[]}`, `{"type":"mcp","payload":{"id":1,"result":{}}}`,
			`{"type":"mcp","payload":{"id":null,"result":{}}}`, `{"type":"mcp","payload":{"id":-1}}`, `{"type":"mcp","payload":{"id":1e300}}`,
			`{"type":"mcp","payload":{"method":"notifications/state","params":{}}}`, `{"type":"mcp","payload":{"id":3,"method":"tools/list"}}`,
			`{"type":"hello"}`, `{"type":"ping"}`, `{"type":"listen","state":"start"}`, `{"type":"abort"}`, `{"type":"goodbye"}`,
		} {
			s.Send(text)
		}
		if s.Hear(t.Context(), `"pong"`) == "" {
			t.Error("no pong")
		}
		if a := h.ask(status, `{}`); a.err != nil {
			t.Error(a.err)
		}
		lines, _, ok := h.door.Log(alias, 0)
		if !ok || len(lines) == 0 || len(lines) > 30 {
			t.Errorf("%d lines in its log", len(lines))
		}
	})
}

// Nothing that a device sends is in its log, but what kind of message it was.
func TestLogHasNoWords(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		s := h.dial(voice.AND(mac))
		s.Send("Authorization: Bearer sesame")
		s.Send(`{"type":"listen","text":"sesame"}`)
		synctest.Wait()
		lines, _, _ := h.door.Log(mac, 0)
		if text := fmt.Sprint(lines); strings.Contains(text, "sesame") {
			t.Errorf("%s", text)
		}
	})
}

// A door that is shut says so to the devices, and waits for none that says nothing.
func TestRunEnds(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, hub.Devices{Allow: []string{mac, "b"}, Keep: time.Minute})
		s := h.here(voice.FW(mac))
		h.here(voice.DH("b"))
		began := time.Now()
		h.end()
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("shut after %v", took)
		}
		<-s.Done()
		if websocket.CloseStatus(s.Err()) != websocket.StatusGoingAway {
			t.Errorf("closed with %v", s.Err())
		}
		d := voice.FW(mac)
		d.HTTP = h.client
		if _, _, err := d.Dial(t.Context(), "ws://"+host+device.PathSocket); err == nil {
			t.Error("a device comes in by a door that is shut")
		}
	})
}

// A device that leaves "jsonrpc" out is understood.
func TestUnframed(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.DH(mac)
		d.Unframed = true
		h.here(d)
		if a := h.ask(status, `{}`); a.err != nil || !strings.Contains(a.result, "success") {
			t.Errorf("%+v", a)
		}
	})
}
