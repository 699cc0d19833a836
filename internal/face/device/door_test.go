package device_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

// Requirement 28: who may come in is known before the upgrade.
func TestRequirement28Admission(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		other := "aa:bb:cc:dd:ee:02"
		mine := func(d *voice.Device) *voice.Device { return d }
		for name, tc := range map[string]struct {
			device *voice.Device
			token  string
			status int
		}{
			"on the list":              {voice.FW(mac), "", 101},
			"on the list, upper case":  {voice.FW(strings.ToUpper(mac)), "", 101},
			"on the list, by query":    {voice.DH(mac), "", 101},
			"a stranger":               {voice.FW(other), "", 401},
			"with a token":             {voice.FW(other), h.door.Token(other, voice.FW(other).Client), 101},
			"a token for any program":  {voice.FW(other), h.door.Token(other, ""), 101},
			"another program's token":  {voice.FW(other), h.door.Token(other, "another"), 401},
			"another device's token":   {voice.FW(other), h.door.Token(mac, voice.FW(other).Client), 401},
			"a token in the query":     {voice.DH(other), h.door.Token(other, ""), 101},
			"rubbish for a token":      {voice.FW(other), "x.y", 401},
			"a token without its time": {voice.FW(other), strings.Split(h.door.Token(other, ""), ".")[0], 401},
			"nameless":                 {voice.FW(""), "", 400},
			"a name of two":            {voice.FW("a|b"), h.door.Token("a|b", ""), 400},
		} {
			d := mine(tc.device)
			d.HTTP, d.Token = h.client, tc.token
			s, res, err := d.Dial(t.Context(), "ws://"+host+device.PathSocket)
			if res == nil {
				t.Fatalf("%s: %v", name, err)
			}
			if res.StatusCode != tc.status {
				t.Errorf("%s: HTTP %d, want %d", name, res.StatusCode, tc.status)
			}
			if err == nil {
				s.Drop()
			}
			synctest.Wait()
		}
	})
}

// Requirement 28: a token ends, and a page from elsewhere needs one.
func TestRequirement28TokenEndsAndForeignPages(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		other := "aa:bb:cc:dd:ee:02"
		status := func(header ...string) int {
			header = append(header, "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
			status, _, _ := h.request(http.MethodPost, device.PathSocket, "", header...) // which comes as far as the upgrade and no further
			return status
		}
		token := "Bearer " + h.door.Token(other, "")
		if got := status("Device-Id", other, "Authorization", token); got == 401 {
			t.Error("a fresh token is refused")
		}
		time.Sleep(29 * 24 * time.Hour)
		if got := status("Device-Id", other, "Authorization", token); got == 401 {
			t.Error("a token of 29 days is refused")
		}
		time.Sleep(25 * time.Hour)
		if got := status("Device-Id", other, "Authorization", token); got != 401 {
			t.Errorf("a token of more than 30 days: HTTP %d", got)
		}
		for origin, refused := range map[string]bool{
			"": false, "http://localhost:8006": false, "http://127.0.0.1": false, "http://evil.test": true, "http://" + host: false, "http://192.0.2.7": false, "http://192.0.2.8": true, "null": true,
		} {
			got := status("Device-Id", mac, "Origin", origin)
			if (got == 401) != refused {
				t.Errorf("a page of %q that says it is a device without a token: HTTP %d", origin, got)
			}
		}
	})
}

// Requirement 28: the OTA address tells the WebSocket and the time, and nothing else.
func TestRequirement28OTA(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		status, header, body := h.request(http.MethodPost, device.PathOTA, `{"version":2}`, "Device-Id", mac, "Client-Id", "c1")
		var a map[string]map[string]any
		if err := json.Unmarshal([]byte(body), &a); status != 200 || err != nil || len(a) != 2 {
			t.Fatalf("HTTP %d %s", status, body)
		}
		if a["websocket"]["url"] != "ws://"+host+"/xiaozhi/v1/" || a["server_time"]["timestamp"] != float64(time.Now().UnixMilli()) {
			t.Errorf("%s", body)
		}
		if header.Get("Access-Control-Allow-Origin") != "*" {
			t.Error("browsers cannot read it")
		}
		d := voice.FW(mac)
		d.Client, d.Token = "c1", a["websocket"]["token"].(string)
		h.here(d)

		if _, _, body = h.request(http.MethodPost, device.PathOTA, "", "Device-Id", "aa:bb:cc:dd:ee:02"); strings.Contains(body, "token") {
			t.Errorf("a stranger is given a token: %s", body)
		}
		h.door.Apply(usual())
		if _, _, body = h.request(http.MethodPost, device.PathOTA, "", "Device-Id", mac, "Origin", "http://evil.test"); strings.Contains(body, "token") {
			t.Errorf("a page from elsewhere is given a token: %s", body)
		}
		if status, _, said := h.request(http.MethodPost, device.PathOTA, ""); status != 400 || strings.TrimSpace(said) != hub.E(message.DeviceNameless, nil).In(message.English) {
			t.Errorf("nameless: HTTP %d %s", status, said)
		}
		req := h.make(http.MethodGet, device.PathOTA, "", "Device-Id", mac)
		req.Host = "evil.test" // a name that was pointed here
		if _, _, body = h.do(req); strings.Contains(body, "token") {
			t.Errorf("a page that is of the same origin by a trick is given a token: %s", body)
		}
		status, header, _ = h.request(http.MethodOptions, device.PathOTA, "", "Origin", "http://page.test")
		if allowed := header.Get("Access-Control-Allow-Headers"); status != 204 || !strings.Contains(allowed, "device-id") || !strings.Contains(allowed, "client-id") {
			t.Errorf("preflight: HTTP %d, %q", status, allowed)
		}
		conf := usual()
		conf.Websocket = "wss://voice.example/xiaozhi/v1/"
		h.door.Apply(conf)
		if _, _, body = h.request(http.MethodGet, device.PathOTA, "", "Device-Id", mac); !strings.Contains(body, conf.Websocket) {
			t.Errorf("%s", body)
		}
	})
}

// Requirement 29: every greeting is answered at once, and a device without MCP stays.
func TestRequirement29Hello(t *testing.T) {
	for name, tc := range map[string]struct {
		device *voice.Device
		audio  string // in the answer
		tools  int
	}{
		"firmware":         {voice.FW(mac), `"sample_rate":16000`, 4},
		"digital human":    {voice.DH(mac), `"sample_rate":24000`, 4},
		"Android":          {voice.AND(mac), `"sample_rate":16000`, 0},
		"Lumi":             {voice.Lumi(mac), `"sample_rate":16000`, 3},
		"Lumi of today":    {voice.LumiKt(mac), `"sample_rate":16000`, 0},
		"nothing but type": {&voice.Device{ID: mac, Hello: `{"type":"hello"}`}, `"sample_rate":24000`, 0},
		"odd members":      {&voice.Device{ID: mac, Hello: `{"type":"hello","version":3,"transport":"udp","audio_params":[1],"features":null}`}, `"sample_rate":24000`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				h := open(t, usual())
				began := time.Now()
				s := h.dial(tc.device)
				hello := s.Hear(t.Context(), `"hello"`)
				if took := time.Since(began); took > 200*time.Millisecond {
					t.Errorf("answered after %v", took)
				}
				var a struct {
					Type, Transport string
					Session         string `json:"session_id"`
					Version         int
					Audio           struct{ Format string } `json:"audio_params"`
				}
				if err := json.Unmarshal([]byte(hello), &a); err != nil || a.Type != "hello" || a.Transport != "websocket" || a.Version != 1 || a.Session == "" || a.Audio.Format != "opus" || !strings.Contains(hello, tc.audio) {
					t.Errorf("answered with %s", hello)
				}
				s.Speak(nil)
				synctest.Wait()
				st := h.status(mac)
				if !st.Online || st.Tools != tc.tools || len(h.tools(alias)) != tc.tools || (tc.tools == 0) != (st.Reason != nil) || st.Reason != nil && st.Reason.Code != message.DeviceWithoutMCP {
					t.Errorf("%+v, listed %q", st, h.tools(alias))
				}
				for _, text := range s.Heard() {
					if strings.Contains(text, "Authorization") {
						t.Errorf("what was no message comes back: %s", text)
					}
				}
			})
		})
	}
}

// What is refused is refused with a code, in the caller's language.
func TestRefusalsHaveCodes(t *testing.T) {
	in(t, func(t *testing.T) {
		type refusal struct {
			status int
			code   message.Code
			lang   message.Lang
		}
		var got refusal
		h := open(t, usual(), func(o *device.Options) {
			o.Refuse = func(w http.ResponseWriter, l message.Lang, status int, e *hub.Error) {
				got = refusal{status, e.Code, l}
				w.WriteHeader(status)
			}
		})
		for name, tc := range map[string]struct {
			method, path string
			header       []string
			want         refusal
		}{
			"nameless":       {"GET", device.PathSocket, nil, refusal{400, message.DeviceNameless, message.English}},
			"a stranger":     {"GET", device.PathSocket, []string{"Device-Id", "x", "Accept-Language", "zh-CN"}, refusal{401, message.DeviceRefused, message.Chinese}},
			"no WebSocket":   {"GET", device.PathSocket, []string{"Device-Id", mac}, refusal{426, message.UpgradeRequired, message.English}},
			"another method": {"DELETE", device.PathOTA, nil, refusal{405, message.HTTPMethodRefused, message.English}},
			"no pictures":    {"POST", device.PathVision, []string{"Accept-Language", "zh"}, refusal{404, message.PathUnknown, message.Chinese}},
			"another path":   {"GET", "/", nil, refusal{404, message.PathUnknown, message.English}},
		} {
			got = refusal{}
			if status, _, _ := h.request(tc.method, tc.path, "", tc.header...); status != tc.want.status || got != tc.want {
				t.Errorf("%s: HTTP %d, %+v", name, status, got)
			}
		}
	})
}

// Refusals are logged only as far as somebody wants to have them.
func TestRefusalsAreBounded(t *testing.T) {
	in(t, func(t *testing.T) {
		var log strings.Builder
		left := 2
		h := open(t, hub.Devices{}, func(o *device.Options) {
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			o.Notable = func(string) bool { left--; return left >= 0 }
		})
		for range 5 {
			if _, _, said := h.request(http.MethodGet, device.PathSocket, "", "Device-Id", mac); strings.TrimSpace(said) != hub.E(message.DeviceRefused, nil, "device", mac).In(message.English) {
				t.Errorf("told %s", said)
			}
		}
		if got := strings.Count(log.String(), "a device was refused"); got != 2 {
			t.Errorf("%d lines", got)
		}
	})
}
