package device_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

// Requirement 39: what was filled into a backend's address is shown nowhere, whatever part
// of it that is; and it is what the secret is when the backend is dialled.
func TestReq39RelaySecrets(t *testing.T) {
	in(t, func(t *testing.T) {
		backend := &voice.Endpoint{}
		const text = "ws://192.0.2.9:8000/${secret:agent}/v1/?a=${secret:key}"
		conf := usual()
		conf.Relay = map[string]string{mac: text, "*": relayed}
		var log strings.Builder
		known := map[string]string{}
		h := relay(t, conf, backend, func(o *device.Options) {
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			o.Resolve = func(text string) (string, []string, error) {
				var values []string
				for _, name := range []string{"agent", "key"} {
					value := known[name]
					if value == "" {
						return "", nil, errors.New("${secret:" + name + "}: there is no such secret")
					}
					text, values = strings.ReplaceAll(text, "${secret:"+name+"}", value), append(values, value)
				}
				return text, values, nil
			}
		})
		seen := func() string {
			lines, _, _ := h.door.Log(mac, 0)
			var all strings.Builder
			for _, line := range lines {
				all.WriteString(line.Text + "\n")
			}
			st := h.status(mac)
			return fmt.Sprintf("%s%s%+v %v", log.String(), all.String(), st, st.Reason)
		}

		// Without the secret the backend is not reached; that of all others is not its own.
		s := h.dial(voice.FW(mac))
		if got := closedWith(t, s); got != websocket.StatusTryAgainLater {
			t.Errorf("closed with %d", got)
		}
		synctest.Wait()
		if st := h.status(mac); st.Reason == nil || st.Reason.Code != message.RelayUnreachable || !strings.Contains(st.Reason.In(message.English), "there is no such secret") {
			t.Errorf("it stays %+v", st)
		}
		for _, secret := range []string{"hush-hush", "psst-psst"} {
			known["agent"], known["key"] = secret, "key-of-"+secret
			s, b := h.both(voice.FW(mac), backend)
			if b.Path != "/"+secret+"/v1/" || b.Query != "a=key-of-"+secret {
				t.Errorf("dialled %s?%s", b.Path, b.Query)
			}
			if got := h.status(mac).Relay; got != "ws://192.0.2.9:8000/…/v1/?a=…"+secret[5:] {
				t.Errorf("it is shown as %s", got)
			}
			if text := seen(); strings.Contains(text, secret) {
				t.Errorf("it tells %s", text)
			}
			s.Drop()
			synctest.Wait()
		}
		known["agent"] = "a b-hush\x7f-hush" // which no address has
		_ = closedWith(t, h.dial(voice.FW(mac)))
		synctest.Wait()
		if text := seen(); strings.Contains(text, "hush-hush") || strings.Contains(text, "b-hush") {
			t.Errorf("it tells %s", text)
		}
	})
}

// What a backend calls of its device goes on at once, and is on record: what, by whom, and
// how it ended, also where no answer comes.
func TestReq39RelayCallsAreRecorded(t *testing.T) {
	in(t, func(t *testing.T) {
		backend := &voice.Endpoint{}
		var mu sync.Mutex
		ended := make(map[string]string)
		h := relay(t, usual(), backend, func(o *device.Options) {
			o.Witness = func(c hub.CallRecord, arguments []byte) func(hub.Outcome, *hub.Error, int) {
				if c.Subject != "relay:"+mac || c.Door != hub.DoorDevice || c.Server != alias || c.Name != c.Tool || c.Method != "tools/call" || c.Session == "" {
					t.Errorf("on record is %+v", c)
				}
				return func(outcome hub.Outcome, e *hub.Error, size int) {
					mu.Lock()
					defer mu.Unlock()
					how := c.Tool + string(arguments) + " " + string(outcome)
					if e != nil {
						how += " " + string(e.Code)
					}
					ended[how] = fmt.Sprint(size > 0)
				}
			}
		})
		d := voice.FW(mac)
		d.Run = func(name string, _ json.RawMessage) string {
			switch name {
			case "self.reboot":
				return ""
			case "self.screen.set_brightness":
				return `"result":{"content":[],"isError":true}`
			case "self.camera.take_photo":
				return `"error":{"message":"say "cheese""}`
			}
			return `"result":{"content":[]}`
		}
		s, b := h.both(d, backend)
		for i, call := range []string{
			`"tools/call","params":{"name":"self.audio_speaker.set_volume","arguments":{"volume":5}}`, `"tools/call","params":{"name":"self.screen.set_brightness"}`,
			`"tools/call","params":{"name":"self.camera.take_photo"}`, `"tools/list"`, `"tools/call","params":{"name":"self.reboot"}`,
		} {
			if err := b.Send(fmt.Sprintf(`{"type":"mcp","payload":{"jsonrpc":"2.0","id":%d,"method":%s}}`, i, call)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		s.Drop()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		want := map[string]string{
			`self.audio_speaker.set_volume{"volume":5} ok`: "true", `self.screen.set_brightness tool_error`: "true", `self.camera.take_photo tool_error`: "true",
			`self.reboot unknown ` + string(message.DeviceDropped): "false",
		}
		if !maps.Equal(ended, want) {
			t.Errorf("on record is %q", ended)
		}
	})
}

// Requirement 39: the session_id of an answer is what the device writes there: that of the
// greeting, or of a request, which may have had none.
func TestReq39RelaySessionOfAnswers(t *testing.T) {
	in(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			device        *voice.Device
			with, without string
		}{
			"firmware":      {voice.FW(mac), "s-1", "s-1"}, // of the greeting
			"digital human": {voice.DH(mac), "of-the-request", ""},
		} {
			backend := &voice.Endpoint{}
			h := relay(t, usual(), backend)
			_, b := h.both(tc.device, backend)
			for id, session := range map[string]string{"1": `"session_id":"of-the-request",`, "2": ""} {
				if err := b.Send(`{` + session + `"type":"mcp","payload":{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list"}}`); err != nil {
					t.Fatal(err)
				}
				want := tc.with
				if session == "" {
					want = tc.without
				}
				if got, err := b.Hear(t.Context(), `"id":`+id+`,`); err != nil || !strings.HasPrefix(got, `{"session_id":"`+want+`",`) {
					t.Errorf("%s: %.100s (%v)", name, got, err)
				}
			}
		}
	})
}
