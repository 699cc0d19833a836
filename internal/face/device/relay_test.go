package device_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

const (
	relayed      = "ws://192.0.2.9:8000/xiaozhi/v1/?from=hub&token=a-token-of-the-operator"
	backendHello = `{"type":"hello","version":1,"transport":"websocket","session_id":"s-\u0031","audio_params":{"format":"opus","sample_rate":24000}}`
)

// relay makes a house whose devices have a backend of their own, which is the handler.
func relay(t *testing.T, conf hub.Devices, backend http.Handler, adjust ...func(*device.Options)) *house {
	t.Helper()
	ln := rig.NewListener(net.Pipe)
	server := &http.Server{Handler: backend, ReadHeaderTimeout: time.Minute}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(ln) })
	pool := &http.Transport{DialContext: ln.Dial}
	t.Cleanup(func() {
		pool.CloseIdleConnections()
		_ = server.Close()
		served.Wait()
	})
	if conf.Relay == nil {
		conf.Relay = map[string]string{"*": relayed}
	}
	return openTo(t, conf, &http.Client{Transport: pool}, adjust...)
}

// both connects a fake through the hub to its backend, which greets it.
func (h *house) both(d *voice.Device, backend *voice.Endpoint) (*voice.DeviceSocket, *voice.Socket) {
	h.t.Helper()
	s := h.dial(d)
	b, err := backend.Next(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(b.Drop)
	if _, err := b.Hear(h.t.Context(), `"hello"`); err != nil {
		h.t.Fatal(err)
	}
	if err := b.Send(backendHello); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	return s, b
}

// Requirement 39: what is no MCP goes on as it came, both ways, and who the device is
// is told as it tells it.
func TestReq39RelayFramesUntouched(t *testing.T) {
	in(t, func(t *testing.T) {
		backend := &voice.Endpoint{}
		h := relay(t, usual(), backend)
		d := voice.FW(mac)
		d.Token = "token-of-the-backend"
		s := h.dial(d)
		b, err := backend.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Drop)
		for header, want := range map[string]string{"Authorization": "Bearer token-of-the-backend", "Device-Id": mac, "Client-Id": d.Client, "Protocol-Version": "1"} {
			if got := b.Header.Get(header); got != want {
				t.Errorf("%s: %q", header, got)
			}
		}
		if b.Query != "from=hub&token=a-token-of-the-operator" || b.Path != "/xiaozhi/v1/" {
			t.Errorf("dialled %s?%s", b.Path, b.Query)
		}
		fromDevice := []string{`{"type":"listen","session_id":"x","state":"detect","text":"你好 \u4f60"}`, `{"type":"ping"}`, "Authorization: Bearer x", `{"type":"mcp"}`, "{"}
		synctest.Wait()
		if got := b.Heard(); !slices.Equal(got, []string{d.Hello}) {
			t.Errorf("the backend heard %q", got)
		}
		for _, text := range fromDevice {
			s.Send(text)
		}
		s.Speak([]byte("\x00\x01opus\xff"))
		s.Speak(nil)
		synctest.Wait()
		if got, want := b.Heard(), slices.Concat([]string{d.Hello}, fromDevice, []string{"\x00\x01opus\xff", ""}); !slices.Equal(got, want) {
			t.Errorf("the backend heard %q", got)
		}
		fromBackend := []string{backendHello, `{"type":"tts", "state":"start"}`, "plain", `{"type":"mcp","payload":[]}`}
		for _, text := range fromBackend {
			if err := b.Send(text); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.SendBinary([]byte("\xffsound")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		heard := slices.DeleteFunc(s.Heard(), func(text string) bool { return strings.Contains(text, `"jsonrpc"`) }) // of the hub
		if !slices.Equal(heard, fromBackend) {
			t.Errorf("the device heard %q", heard)
		}
		if got := s.Sounds(); !slices.Equal(got, []string{"\xffsound"}) {
			t.Errorf("the device heard the sounds %q", got)
		}
		st := h.status(mac)
		if st.Tools != 4 || st.Audio != 2 || st.Relay != "ws://192.0.2.9:8000/xiaozhi/v1/?from=…&token=…ator" {
			t.Errorf("%+v", st)
		}
		// The session of the hub's requests is that of the backend.
		if got := s.Hear(t.Context(), `"tools/list"`); !strings.HasPrefix(got, `{"session_id":"s-\u0031",`) {
			t.Errorf("the hub asks by %s", got)
		}
	})
}

// Requirement 39: the hub and the backend use the device's tools at once. Each has the
// answers to its own requests, with its own ids to the byte, and nothing of the other's.
func TestReq39RelayIDs(t *testing.T) {
	in(t, func(t *testing.T) {
		backend := &voice.Endpoint{}
		h := relay(t, usual(), backend)
		d := voice.FW(mac)
		var mu sync.Mutex
		var ran []string
		d.Run = func(name string, arguments json.RawMessage) string {
			mu.Lock()
			ran = append(ran, string(arguments))
			mu.Unlock()
			time.Sleep(10 * time.Millisecond)
			return `"result":{"content":[{"type":"text","text":` + fmt.Sprintf("%q", arguments) + `}],"isError":false}`
		}
		s, b := h.both(d, backend)
		call := func(id string, volume int) string {
			return fmt.Sprintf(`{"session_id":"s-1","type":"mcp","payload":{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"self.audio_speaker.set_volume","arguments":{"volume":%d}}}}`, id, volume)
		}
		if err := b.Send(`{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"vision":{"url":"http://v"}}}}}`); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Hear(t.Context(), `"id":1,`); err != nil || !strings.Contains(got, `"serverInfo":{"name":"fake"`) {
			t.Errorf("initialize was answered with %s (%v)", got, err)
		}
		ids := []string{"0", "1", "1", "2", `"a_b_c"`, `"<uuid>_n_2"`, "9007199254740993", "-5", "1.0", `"\u0031"`}
		var calls sync.WaitGroup
		for i := range 10 {
			calls.Go(func() {
				got := h.ask(alias+"__self.audio_speaker.set_volume", fmt.Sprintf(`{"volume":%d}`, i))
				if !strings.Contains(got.result, fmt.Sprintf(`{\"volume\":%d}`, i)) {
					t.Errorf("call %d of the hub: %+v", i, got)
				}
			})
		}
		for i, id := range ids {
			if err := b.Send(call(id, 50+i)); err != nil {
				t.Fatal(err)
			}
		}
		calls.Wait()
		for i, id := range ids {
			got, err := b.Hear(t.Context(), fmt.Sprintf(`{\"volume\":%d}`, 50+i))
			if err != nil || !strings.Contains(got, `"id":`+id+`,`) {
				t.Errorf("the call %s of the backend: %s (%v)", id, got, err)
			}
		}
		synctest.Wait()
		if left := b.Heard(); len(left) > 0 {
			t.Errorf("the backend heard what is not its own: %q", left)
		}
		if len(ran) != 20 {
			t.Errorf("%d calls were run", len(ran))
		}
		last := 0.0
		for _, text := range s.Heard() {
			var e struct{ Payload struct{ ID *float64 } }
			if json.Unmarshal([]byte(text), &e) == nil && e.Payload.ID != nil {
				if *e.Payload.ID <= last {
					t.Errorf("the id %v after %v", *e.Payload.ID, last)
				}
				last = *e.Payload.ID
			}
		}
		if st := h.status(mac); st.Junk != 0 || st.Late != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// Requirement 39: an error that firmware writes as no JSON reaches the backend mended;
// the backend's cancel names the call as the device knows it; a notification of the
// device goes on; the hub's own answers that come too late do not.
func TestReq39RelayOddities(t *testing.T) {
	in(t, func(t *testing.T) {
		backend := &voice.Endpoint{}
		h := relay(t, usual(), backend)
		d := voice.FW(mac)
		s, b := h.both(d, backend)
		send := func(payload string) {
			t.Helper()
			if err := b.Send(`{"type":"mcp","payload":` + payload + `}`); err != nil {
				t.Fatal(err)
			}
		}
		send(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"none","arguments":{}}}`)
		got, err := b.Hear(t.Context(), `"id":"x"`)
		var e struct {
			Session string `json:"session_id"`
			Payload struct{ Error struct{ Message string } }
		}
		if err != nil || json.Unmarshal([]byte(got), &e) != nil || e.Payload.Error.Message != `Unknown tool: "none"` || e.Session != "s-1" {
			t.Errorf("%s (%v)", got, err)
		}
		d.Run = func(string, json.RawMessage) string { return "" }
		send(`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"self.screen.set_brightness","arguments":{"brightness":1}}}`)
		send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`)
		synctest.Wait()
		var asked, cancelled struct {
			Payload struct {
				ID     int
				Params struct{ RequestID int }
			}
		}
		_ = json.Unmarshal([]byte(s.Hear(t.Context(), `{"brightness":1}`)), &asked)
		_ = json.Unmarshal([]byte(s.Hear(t.Context(), `notifications/cancelled`)), &cancelled)
		if asked.Payload.ID == 0 || asked.Payload.ID == 77 || cancelled.Payload.Params.RequestID != asked.Payload.ID {
			t.Errorf("call %d was cancelled as %d", asked.Payload.ID, cancelled.Payload.Params.RequestID)
		}
		note := `{"session_id":"s-1","type":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/state","params":{"on":true}}}`
		s.Send(note)
		s.Answer(nil, "1", `"result":{}`)     // which the hub has had already
		s.Answer(nil, "99999", `"result":{}`) // which nobody has asked for
		synctest.Wait()
		if got := b.Heard(); !slices.Equal(got, []string{note}) {
			t.Errorf("the backend heard %q", got)
		}
		if st := h.status(mac); st.Late != 1 || st.Junk != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// Requirement 39: as one side closes, so does the other, and what the hub waits for
// fails at once.
func TestReq39RelayCloses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		device bool // it is the device that ends it
		code   int  // 0: without a word
	}{
		{"backend 1000", false, 1000},
		{"backend 4004", false, 4004},
		{"backend 1011", false, 1011},
		{"backend breaks", false, 0},
		{"device 1000", true, 1000},
		{"device breaks", true, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				backend := &voice.Endpoint{}
				h := relay(t, usual(), backend)
				d := voice.FW(mac)
				d.Run = func(string, json.RawMessage) string { return "" }
				s, b := h.both(d, backend)
				waits := make(chan answer, 1)
				go func() { waits <- h.ask(alias+"__self.get_device_status", `{}`) }()
				synctest.Wait()
				var over error
				switch {
				case tc.device && tc.code == 0:
					s.Drop()
				case tc.device:
					s.Close()
				case tc.code == 0:
					b.Drop()
				default:
					b.Close(tc.code, "why")
				}
				if tc.device {
					<-b.Over()
					over = b.Err()
				} else {
					<-s.Done()
					over = s.Err()
				}
				want := websocket.StatusCode(tc.code)
				if want == 0 {
					want = -1
				}
				if got := websocket.CloseStatus(over); got != want {
					t.Errorf("the other side was closed with %v, want %v: %v", got, want, over)
				}
				if got := <-waits; got.err == nil || got.took > 50*time.Millisecond {
					t.Errorf("the call of the hub: %+v", got)
				}
				synctest.Wait()
				if st := h.status(mac); st.Online {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// Requirement 39: the connection that a new one replaces takes its backend's along.
func TestReq39RelayReplaced(t *testing.T) {
	in(t, func(t *testing.T) {
		backend := &voice.Endpoint{}
		h := relay(t, usual(), backend)
		s, b := h.both(voice.FW(mac), backend)
		_, again := h.both(voice.FW(mac), backend)
		<-s.Done()
		<-b.Over()
		if a, b := websocket.CloseStatus(s.Err()), websocket.CloseStatus(b.Err()); a != 1000 || b != 1000 {
			t.Errorf("closed with %v, %v", a, b)
		}
		if got := h.ask(alias+"__self.get_device_status", `{}`); got.err != nil {
			t.Errorf("%+v", got)
		}
		select {
		case <-again.Over():
			t.Error("the new one is closed as well")
		default:
		}
	})
}

// Requirement 39: a device whose backend is not there is sent away to come again, and
// no other address than that of the settings is dialled.
func TestReq39RelayNotReached(t *testing.T) {
	for name, backend := range map[string]http.Handler{
		"refused": &voice.Endpoint{Status: func(*http.Request) int { return 401 }},
		"moved": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "elsewhere") {
				t.Error("another address was dialled")
			}
			http.Redirect(w, r, "/elsewhere/", http.StatusTemporaryRedirect)
		}),
		"silent": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				h := relay(t, usual(), backend)
				began := time.Now()
				s := h.dial(voice.FW(mac))
				<-s.Done()
				if got, took := websocket.CloseStatus(s.Err()), time.Since(began); got != websocket.StatusTryAgainLater || took > 6*time.Second {
					t.Errorf("closed with %v after %v", got, took)
				}
				synctest.Wait()
				st := h.status(mac)
				if st.Online || st.Reason == nil || st.Reason.Code != message.RelayUnreachable || strings.Contains(st.Reason.Error(), "token-of-the-operator") {
					t.Errorf("%+v", st)
				}
				if heard := s.Heard(); len(heard) > 0 {
					t.Errorf("it was told %q", heard)
				}
			})
		})
	}
}

// Requirement 39: what a device says of itself in the query goes on there, and a token
// of the hub's goes nowhere.
func TestReq39RelayQueryAndTokens(t *testing.T) {
	in(t, func(t *testing.T) {
		backend := &voice.Endpoint{}
		conf := usual()
		conf.Relay = map[string]string{strings.ToUpper(mac): "ws://192.0.2.9/x?a=%2F"}
		h := relay(t, conf, backend)
		d := voice.DH(mac)
		d.Token = "t k"
		_, b := h.both(d, backend)
		if b.Query != "a=%2F&authorization=Bearer+t+k&device-id=aa%3Abb%3Acc%3Add%3Aee%3A01&client-id=web_test_client" || b.Header.Get("Device-Id") != "" {
			t.Errorf("dialled ?%s", b.Query)
		}
		d = voice.FW(mac)
		d.Token = h.door.Token(mac, "")
		_, b = h.both(d, backend)
		if got := b.Header.Get("Authorization"); got != "" || strings.Contains(b.Query, d.Token) {
			t.Errorf("the hub's token goes on: %q", got)
		}
		for _, old := range []string{"", mac + ".", "my.web.client."} {
			d = voice.FW(mac) // which needs none, and shows one that is not good any more
			d.Token = old + strings.Repeat("A", 43) + ".1700000000"
			_, b = h.both(d, backend)
			if got := b.Header.Get("Authorization"); got != "" {
				t.Errorf("an old token of the hub's goes on: %q", got)
			}
		}
		// A device with no backend is the hub's alone.
		other := "aa:bb:cc:dd:ee:02"
		d = voice.FW(other)
		d.Token = h.door.Token(other, "")
		if s := h.dial(d); s.Hear(t.Context(), `"hello"`) == "" {
			t.Error("it is not answered")
		}
		if st := h.status(other); st.Relay != "" {
			t.Errorf("%+v", st)
		}
	})
}

// Requirement 39: a backend that answers nothing any more, without a word, is given up
// although the hub keeps the device's connection alive.
func TestReq39RelayHalfOpen(t *testing.T) {
	in(t, func(t *testing.T) {
		backend := &voice.Endpoint{Deaf: true}
		h := relay(t, usual(), backend)
		d := voice.FW(mac)
		s := h.dial(d)
		b, err := backend.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Drop)
		began := time.Now()
		<-s.Done()
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("after %v", took)
		}
	})
}

// Requirement 39, for the race detector: sounds both ways, calls of both, and an end in
// the middle.
func TestReq39RelayAllAtOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		backend := &voice.Endpoint{}
		h := relay(t, usual(), backend)
		s, b := h.both(voice.FW(mac), backend)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		loop := func(f func(i int)) {
			all.Go(func() {
				for i := 0; ctx.Err() == nil && i < 300; i++ {
					f(i)
				}
			})
		}
		loop(func(int) { s.Speak(make([]byte, 2000)) })
		loop(func(int) { _ = b.SendBinary(make([]byte, 2000)) })
		loop(func(i int) {
			_ = b.Send(fmt.Sprintf(`{"type":"mcp","payload":{"id":%d,"method":"tools/call","params":{"name":"self.get_device_status","arguments":{}}}}`, i))
		})
		for range 4 {
			loop(func(int) { h.ask(alias+"__self.get_device_status", `{}`) })
		}
		time.Sleep(time.Millisecond)
		if _, err := b.Hear(t.Context(), `"id":20,`); err != nil {
			t.Error(err)
		}
		b.Close(4001, "enough")
		<-s.Done()
		if got := websocket.CloseStatus(s.Err()); got != 4001 {
			t.Errorf("closed with %v: %v", got, s.Err())
		}
		cancel()
		all.Wait()
	})
}
