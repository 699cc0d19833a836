// Package voice has fakes of what speaks the XiaoZhi dialects, made after what the
// real programs send. They stand outside the hub, and know nothing of it.
package voice

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Device is a fake of a voice device. Make one with [FW], [DH], [AND], [Lumi] or
// [LumiKt].
type Device struct {
	ID, Client string
	Token      string // shown as its dialect does; "" for none
	Tools      []DeviceTool

	// Run runs a tool: it returns the member of the answer, such as "result":{…}, or
	// "" for no answer at all. Calls are run one after the other, as firmware does.
	Run func(name string, arguments json.RawMessage) string

	// Unknown is the member of the answer to a call of a tool that it has not; nil for that
	// of firmware.
	Unknown func(name string) string

	// Lists is the member of the answer to each request for tools, in place of one by
	// Tools; "" is no answer. Nil for that.
	Lists func() string

	// HTTP dials; nil for the usual client.
	HTTP *http.Client

	Hello    string   // its greeting; "" for none
	Before   []string // texts that it sends before that
	Query    bool     // it says who it is in the query, as browsers have to
	Page     int      // bytes of a page of tools; 0 for all in one
	Strict   bool     // it takes whole numbers of 32 bits as ids alone, and drops everything else
	Mirrors  bool     // it answers with the session_id of the request or an empty one, and not with that of the greeting
	Unframed bool     // it says "jsonrpc" nowhere

	mu sync.Mutex // held while it answers, but for what Run and Lists do
}

// Change has the device become another one while it is connected.
func (d *Device) Change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// DeviceTool is a tool of a fake.
type DeviceTool struct {
	Name, Description string
	Schema            string // of its arguments; "" for an empty object
	People            bool   // it is listed only where tools for people are asked for
}

func (t DeviceTool) raw() string {
	schema := t.Schema
	if schema == "" {
		schema = `{"type":"object","properties":{}}`
	}
	audience := ""
	if t.People {
		audience = `,"annotations":{"audience":["user"]}`
	}
	return fmt.Sprintf(`{"name":%s,"description":%s,"inputSchema":%s%s}`, quote(t.Name), quote(t.Description), schema, audience)
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return string(b)
}

// commonTools are those of the firmware.
func commonTools() []DeviceTool {
	return []DeviceTool{
		{Name: "self.get_device_status", Description: "Provides the real-time information of the device. Use it before `self.audio_speaker.set_volume`."},
		{Name: "self.audio_speaker.set_volume", Description: "Set the volume of the audio speaker.", Schema: `{"type":"object","properties":{"volume":{"type":"integer","minimum":0,"maximum":100}},"required":["volume"]}`},
		{Name: "self.screen.set_brightness", Description: "Set the brightness of the screen.", Schema: `{"type":"object","properties":{"brightness":{"type":"integer","minimum":0,"maximum":100}},"required":["brightness"]}`},
		{Name: "self.camera.take_photo", Description: "Take a photo and explain it.", Schema: `{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}`},
		{Name: "self.get_system_info", Description: "Get the system information", People: true},
		{Name: "self.reboot", Description: "Reboot the system", People: true},
		{Name: "self.upgrade_firmware", Description: "Upgrade firmware from a specific URL", Schema: `{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}`, People: true},
	}
}

// textResult is a result with one text.
func textResult(text string) string {
	return `"result":{"content":[{"type":"text","text":` + quote(text) + `}],"isError":false}`
}

// FW is firmware of an ESP32, of 2026: headers, pages of 8000 bytes, ids of 32 bits,
// errors without a code whose message is not escaped, and no ping.
func FW(id string) *Device {
	return &Device{
		ID: id, Client: "9b0a2f7e-0000-4000-8000-" + strings.ReplaceAll(id, ":", ""), Tools: commonTools(), Page: 8000, Strict: true,
		Hello: `{"type":"hello","version":1,"features":{"mcp":true,"glyph_push":true},"transport":"websocket","audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}`,
		Run:   func(string, json.RawMessage) string { return textResult("true") },
	}
}

// DH is the digital human, a device in a browser: the query, a greeting of its own, an
// empty session_id, and a photo as a data: URL in a text.
func DH(id string) *Device {
	d := &Device{
		ID: id, Client: "web_test_client", Query: true, Mirrors: true,
		Hello: `{"type":"hello","device_id":"` + id + `","device_name":"Web","device_mac":"` + id + `","token":"your-token1","features":{"mcp":true,"emoji":true}}`,
		Tools: commonTools()[:4],
	}
	d.Run = func(name string, _ json.RawMessage) string {
		if name == "self.camera.take_photo" {
			return textResult(`{"success":true,"image":"data:image/jpeg;base64,` + strings.Repeat("QUJD", 40<<10) + `"}`)
		}
		return textResult(`{"success":true}`)
	}
	return d
}

// AND is the Android client on the web: lines of text before its greeting, which says
// nothing of MCP.
func AND(id string) *Device {
	return &Device{
		ID: id, Query: true, Before: []string{"Authorization: Bearer test-token", "Device-ID: " + id},
		Hello: `{"type":"hello","version":1,"transport":"websocket","audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}`,
	}
}

// What is wrong with a call by Lumi's codes, besides those of JSON-RPC.
const (
	LumiTimeout    = -32001
	LumiPermission = -32002
	LumiNotFound   = -32003
)

// Lumi is the app on a phone: tools of bare names, and errors that say in their data
// what was the matter, when, and of which method. A tool whose name is none of its own
// is not found; adjust_volume is not permitted, and open_app takes too long.
func Lumi(id string) *Device {
	d := &Device{
		ID: id, Client: "lumi-" + strings.ReplaceAll(id, ":", ""), Unknown: func(name string) string { return LumiFault(LumiNotFound, "Tool not found: "+name) },
		Hello: `{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket","audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}`,
		Tools: []DeviceTool{
			{Name: "get_battery", Description: "Tells how full the battery is."},
			{Name: "adjust_volume", Description: "Sets the volume.", Schema: `{"type":"object","properties":{"level":{"type":"integer","minimum":0,"maximum":100}},"required":["level"]}`},
			{Name: "open_app", Description: "Opens an app.", Schema: `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`},
		},
	}
	d.Run = func(name string, _ json.RawMessage) string {
		switch name {
		case "adjust_volume":
			return LumiFault(LumiPermission, "Permission denied")
		case "open_app":
			return LumiFault(LumiTimeout, "Tool call timed out")
		}
		return textResult("80")
	}
	return d
}

// LumiFault is an error of a call as Lumi writes it.
func LumiFault(code int, text string) string {
	return fmt.Sprintf(`"error":{"code":%d,"message":%s,"data":{"original_error":%s,"method":"tools/call","timestamp":"2026-01-02T03:04:05.678Z"}}`, code, quote(text), quote("Exception: "+text))
}

// LumiKt is Lumi of today: the id in the query and nothing else, no MCP, and binary
// frames with nothing in them.
func LumiKt(id string) *Device {
	return &Device{
		ID: id, Query: true,
		Hello: `{"type":"hello","version":1,"transport":"websocket","audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}`,
	}
}

// DeviceSocket is one connection of a fake.
type DeviceSocket struct {
	Device *Device

	conn  *websocket.Conn
	calls chan envelope
	done  chan struct{} // closed when the connection has ended
	err   error         // why; written before

	mu    sync.Mutex
	heard []string
	sound []string
	pings []time.Time
	greet string // session_id of the backend's greeting
	more  chan struct{}
}

// envelope is a frame of the backend.
type envelope struct {
	Type    string          `json:"type"`
	Session *string         `json:"session_id"`
	Payload json.RawMessage `json:"payload"`
}

// Dial connects to a backend's address, such as ws://host/xiaozhi/v1/, and greets it.
// The response is that of the HTTP request, also if that was refused.
func (d *Device) Dial(ctx context.Context, address string) (*DeviceSocket, *http.Response, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, fmt.Errorf("the backend's address: %w", err)
	}
	header := http.Header{}
	set := func(name, value string) {
		switch {
		case value == "":
		case d.Query:
			q := u.Query()
			q.Set(strings.ToLower(name), value)
			u.RawQuery = q.Encode()
		default:
			header.Set(name, value)
		}
	}
	if d.Token != "" {
		set("Authorization", "Bearer "+d.Token)
	}
	set("Device-Id", d.ID)
	set("Client-Id", d.Client)
	if !d.Query {
		set("Protocol-Version", "1")
	}
	s := &DeviceSocket{Device: d, calls: make(chan envelope, 64), done: make(chan struct{}), more: make(chan struct{})}
	conn, res, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{HTTPClient: d.HTTP, HTTPHeader: header, OnPingReceived: s.pinged})
	if err != nil {
		return nil, res, fmt.Errorf("dial the backend: %w", err)
	}
	conn.SetReadLimit(-1)
	s.conn = conn
	for _, text := range d.Before {
		s.Send(text)
	}
	if d.Hello != "" {
		s.Send(d.Hello)
	}
	go s.read()
	go s.work()
	return s, res, nil
}

// Send sends a text frame.
func (s *DeviceSocket) Send(text string) {
	_ = s.conn.Write(context.Background(), websocket.MessageText, []byte(text)) // the end shows in read
}

// Speak sends a binary frame, such as one of sound.
func (s *DeviceSocket) Speak(data []byte) {
	_ = s.conn.Write(context.Background(), websocket.MessageBinary, data)
}

// Close says goodbye.
func (s *DeviceSocket) Close() { _ = s.conn.Close(websocket.StatusNormalClosure, "") }

// Leave says goodbye with a code and a reason.
func (s *DeviceSocket) Leave(code int, reason string) {
	_ = s.conn.Close(websocket.StatusCode(code), reason)
}

// Drop ends the connection without a word.
func (s *DeviceSocket) Drop() { _ = s.conn.CloseNow() }

// Done is closed when the connection has ended.
func (s *DeviceSocket) Done() <-chan struct{} { return s.done }

// Err is why the connection has ended, once Done is closed.
func (s *DeviceSocket) Err() error { return s.err }

// Heard returns the text frames that the backend has sent so far.
func (s *DeviceSocket) Heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.heard...)
}

// Sounds returns the binary frames that the backend has sent so far.
func (s *DeviceSocket) Sounds() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.sound...)
}

// Pings returns when the backend has sent the WebSocket's pings so far.
func (s *DeviceSocket) Pings() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.pings...)
}

func (s *DeviceSocket) pinged(context.Context, []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pings = append(s.pings, time.Now())
	return true // it is answered
}

// Hear returns the first text frame of the backend with the part in it, and waits for
// it; "" if the connection or ctx ends before.
func (s *DeviceSocket) Hear(ctx context.Context, part string) string {
	for {
		s.mu.Lock()
		more := s.more
		for _, text := range s.heard {
			if strings.Contains(text, part) {
				s.mu.Unlock()
				return text
			}
		}
		s.mu.Unlock()
		select {
		case <-more:
		case <-s.done:
			return ""
		case <-ctx.Done():
			return ""
		}
	}
}

func (s *DeviceSocket) read() {
	defer close(s.done)
	defer close(s.calls)
	for {
		kind, raw, err := s.conn.Read(context.Background())
		if err != nil {
			s.err = err
			return
		}
		if kind != websocket.MessageText {
			s.mu.Lock()
			s.sound = append(s.sound, string(raw))
			s.mu.Unlock()
			continue
		}
		s.mu.Lock()
		s.heard = append(s.heard, string(raw))
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
		var e envelope
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		switch e.Type {
		case "hello":
			s.mu.Lock()
			if e.Session != nil {
				s.greet = *e.Session
			}
			s.mu.Unlock()
		case "mcp":
			s.calls <- e
		}
	}
}

// work answers one request after the other, as the main loop of a firmware does.
func (s *DeviceSocket) work() {
	for e := range s.calls {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Cursor    string          `json:"cursor"`
				People    bool            `json:"withUserTools"`
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(e.Payload, &m) != nil || strings.HasPrefix(m.Method, "notifications") {
			continue
		}
		if s.Device.Strict {
			var id float64
			if json.Unmarshal(m.ID, &id) != nil || id != math.Trunc(id) || id > math.MaxInt32 || bytes.HasPrefix(m.ID, []byte(`"`)) {
				continue // as firmware does, without a word
			}
		}
		said := ""
		switch m.Method {
		case "initialize":
			said = `"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1.0"}}`
		case "tools/list":
			said = s.Device.list(m.Params.Cursor, m.Params.People)
		case "tools/call":
			said = s.Device.call(m.Params.Name, m.Params.Arguments)
		default:
			said = `"error":{"message":"Method not implemented: ` + m.Method + `"}`
		}
		if said != "" {
			s.Answer(e.Session, string(m.ID), said)
		}
	}
}

// Answer sends an answer, whose member is such as "result":{…}, to a request with the
// session_id; nil is one that had none.
func (s *DeviceSocket) Answer(session *string, id, member string) {
	version := `"jsonrpc":"2.0",`
	if s.Device.Unframed {
		version = ""
	}
	s.mu.Lock()
	own := s.greet
	s.mu.Unlock()
	if s.Device.Mirrors {
		own = ""
		if session != nil {
			own = *session
		}
	}
	s.Send(`{"session_id":` + quote(own) + `,"type":"mcp","payload":{` + version + `"id":` + id + `,` + member + `}}`)
}

// list is a page of tools: from the one that the cursor names, as many as fit.
func (d *Device) list(cursor string, people bool) string {
	d.mu.Lock()
	tools, lists := d.Tools, d.Lists
	d.mu.Unlock()
	if lists != nil {
		return lists()
	}
	var page []string
	size, on := 30, cursor == ""
	for _, t := range tools {
		if t.People && !people {
			continue
		}
		if t.Name == cursor {
			on = true
		}
		if !on {
			continue
		}
		raw := t.raw()
		if d.Page > 0 && size+len(raw)+30 > d.Page {
			if len(page) == 0 {
				return `"error":{"message":"Failed to add tool ` + t.Name + ` because of payload size limit"}`
			}
			return `"result":{"tools":[` + strings.Join(page, ",") + `],"nextCursor":` + quote(t.Name) + `}`
		}
		page, size = append(page, raw), size+len(raw)+1
	}
	if len(page) == 0 {
		return `"error":{"message":"Failed to add tools: ` + cursor + `"}`
	}
	return `"result":{"tools":[` + strings.Join(page, ",") + `]}`
}

// call runs a tool. The message of the error is not escaped, as that of firmware.
func (d *Device) call(name string, arguments json.RawMessage) string {
	d.mu.Lock()
	tools, run := d.Tools, d.Run
	d.mu.Unlock()
	for _, t := range tools {
		if t.Name == name {
			return run(name, arguments)
		}
	}
	if d.Unknown != nil {
		return d.Unknown(name)
	}
	return `"error":{"message":"Unknown tool: "` + name + `""}`
}
