package voice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Backend is a fake of a backend for devices, at which hubs dial in as one. Serve it
// over HTTP, take what dials in from Next, and converse with it by [BackendXS],
// [BackendGOA], [BackendGOH] or [BackendPlain]. What is posted to /xiaozhi/ota/ is
// answered with OTA, and kept.
type Backend struct {
	Endpoint
	OTA    string // JSON; "" is HTTP status 404
	Status int    // of the answer; 0 for 200

	mu    sync.Mutex
	asked []Asked
}

// Asked is a request of a device that asked where its backend is.
type Asked struct {
	Header http.Header
	Body   string
}

// ServeHTTP implements [http.Handler].
func (b *Backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/xiaozhi/ota/" {
		b.Endpoint.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body) // what came counts
	b.mu.Lock()
	b.asked = append(b.asked, Asked{r.Header, string(body)})
	answer, status := b.OTA, b.Status
	b.mu.Unlock()
	switch {
	case r.Method != http.MethodPost || answer == "":
		status = http.StatusNotFound
	case status == 0:
		status = http.StatusOK
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer) // the hub may be gone
}

// Change has it answer otherwise from now on.
func (b *Backend) Change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// Asked is what devices have asked so far.
func (b *Backend) Asked() []Asked {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Asked(nil), b.asked...)
}

// Discovery is the answer of a backend that names an address, as that in Python has
// it, with what devices of other kinds look for.
func Discovery(url, token string) string {
	return fmt.Sprintf(`{"server_time":{"timestamp":1767225600000,"timezone_offset":480},"firmware":{"version":"9.9.9","url":"http://h/x.bin"},"mqtt":{"endpoint":"mqtt.h","client_id":"c"},"websocket":{"url":%s,"token":%s}}`, quote(url), quote(token))
}

// Talk is a conversation of a backend with a device.
type Talk struct {
	*Socket
	Greeting string // the device's
	Hello    string // the device's answer to initialize, with its envelope
	Tools    []Tool
	Pages    []string // as they came, with their envelopes

	session string // raw, of what the backend sends; "" for none
	member  string // first in each envelope: dialects order them otherwise
}

// Frame is a message in an envelope of the dialect.
func (t *Talk) Frame(payload string) string {
	if t.session == "" {
		return `{"type":"mcp","payload":` + payload + `}`
	}
	return `{` + t.member + `,"session_id":` + t.session + `,"payload":` + payload + `}`
}

// Put sends a message in its envelope.
func (t *Talk) Put(payload string) error { return t.Send(t.Frame(payload)) }

// Request sends a request and returns its answer, with its envelope.
func (t *Talk) Request(ctx context.Context, id, method, params string) (string, error) {
	if params != "" {
		params = `,"params":` + params
	}
	if err := t.Put(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"` + params + `}`); err != nil {
		return "", err
	}
	return t.Hear(ctx, `"id":`+id+`,`)
}

// Call calls a tool and returns what the backend has of it; see [XSRead].
func (t *Talk) Call(ctx context.Context, id, name, arguments string) (string, error) {
	raw, err := t.Request(ctx, id, "tools/call", `{"name":`+quote(name)+`,"arguments":`+arguments+`}`)
	if err != nil {
		return "", err
	}
	text, _, err := XSRead(string(Opened(raw).Payload))
	return text, err
}

// Enveloped is a frame between a device and its backend.
type Enveloped struct {
	SessionID *string `json:"session_id"`
	Type      string
	Payload   json.RawMessage
}

// Opened is a frame, read; the zero value for what is none.
func Opened(raw string) (e Enveloped) {
	if json.Unmarshal([]byte(raw), &e) != nil {
		return Enveloped{}
	}
	return e
}

// greeting waits for the device's, which all of them want within 10 seconds and with
// the words that say it has tools.
func (t *Talk) greeting(ctx context.Context) error {
	var err error
	if t.Greeting, err = t.Hear(ctx, `"type":"hello"`); err != nil {
		return err
	}
	var hello struct {
		Transport string
		Features  struct{ MCP bool }
	}
	if err := json.Unmarshal([]byte(t.Greeting), &hello); err != nil || hello.Transport != "websocket" || !hello.Features.MCP {
		return fmt.Errorf("the device greets with %s", t.Greeting)
	}
	return nil
}

// backendInit is initialize as the backends in Python and the first in Go send it.
func backendInit(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"roots":{"listChanged":true},"sampling":{},"vision":{"url":"http://h/mcp/vision/explain","token":"visionsecrettoken"}},"clientInfo":{"name":"XiaozhiClient","version":"1.0.0"}}}`
}

// list asks for all pages of tools, by one id.
func (t *Talk) list(ctx context.Context, params string) error {
	seen := make(map[string]bool)
	for {
		raw, err := t.Request(ctx, "2", "tools/list", params)
		if err != nil {
			return err
		}
		t.Pages = append(t.Pages, raw)
		tools, cursor, err := toolsOf(string(Opened(raw).Payload))
		if err != nil {
			return err
		}
		if t.Tools = append(t.Tools, tools...); cursor == "" {
			return nil
		}
		if seen[cursor] {
			return errors.New("a cursor came twice: " + cursor)
		}
		seen[cursor] = true
		params = `{"cursor":` + quote(cursor) + `}`
	}
}

// BackendXS converses as the self-hosted backend in Python: it leaves the session out,
// waits a second before it asks for tools, and says initialize by the id 1.
func BackendXS(ctx context.Context, s *Socket) (*Talk, error) {
	t := &Talk{Socket: s}
	if err := t.greeting(ctx); err != nil {
		return nil, err
	}
	if err := s.Send(`{"type":"hello","version":1,"transport":"websocket","audio_params":{"format":"opus","sample_rate":24000,"channels":1,"frame_duration":60},"session_id":"7b1e0c52-9c1d-4b0e-8f0a-3a1c5f6d7e8f"}`); err != nil {
		return nil, err
	}
	if err := t.Put(backendInit("1")); err != nil {
		return nil, err
	}
	var err error
	if t.Hello, err = t.Hear(ctx, `"id":1,`); err != nil {
		return nil, err
	}
	time.Sleep(time.Second)
	return t, t.list(ctx, "")
}

// BackendGOA converses as the first backend in Go: it says initialize before anybody
// has greeted, and its session is the device's id.
func BackendGOA(ctx context.Context, s *Socket) (*Talk, error) {
	device := strings.ReplaceAll(s.Header.Get("Device-Id"), ":", "_")
	t := &Talk{Socket: s, session: quote("device-" + device), member: `"type":"mcp"`}
	if err := t.Put(backendInit("1")); err != nil {
		return nil, err
	}
	var err error
	if t.Hello, err = t.Hear(ctx, `"id":1,`); err != nil {
		return nil, err
	}
	if err := t.list(ctx, ""); err != nil {
		return nil, err
	}
	if err := t.greeting(ctx); err != nil {
		return nil, err
	}
	return t, s.Send(`{"type":"hello","version":1,"transport":"websocket","session_id":` + t.session + `,"audio_params":{"format":"opus","sample_rate":24000,"channels":1,"frame_duration":60}}`)
}

// BackendGOH converses as the second backend in Go: a later revision, and the
// notification after it.
func BackendGOH(ctx context.Context, s *Socket) (*Talk, error) {
	t := &Talk{Socket: s, session: `"c0ffee00-1234-4abc-8def-001122334455"`, member: `"type":"mcp"`}
	if err := t.greeting(ctx); err != nil {
		return nil, err
	}
	if err := s.Send(`{"type":"hello","text":"欢迎连接到小智服务器","session_id":` + t.session + `,"transport":"websocket","version":0,"audio_params":{"sample_rate":24000,"channels":1,"frame_duration":20,"format":"opus"}}`); err != nil {
		return nil, err
	}
	var err error
	t.Hello, err = t.Request(ctx, "1", "initialize", `{"protocolVersion":"2025-06-18","capabilities":{"vision":{"url":"http://h/vision","token":"visionsecrettoken"}},"clientInfo":{"name":"mcp-go","version":"0.1.0"}}`)
	if err != nil {
		return nil, err
	}
	if err := t.Put(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return nil, err
	}
	return t, t.list(ctx, `{}`)
}

// BackendPlain converses as the firmware's own documents have it.
func BackendPlain(ctx context.Context, s *Socket) (*Talk, error) {
	t := &Talk{Socket: s, session: `"s-1"`, member: `"type":"mcp"`}
	if err := t.greeting(ctx); err != nil {
		return nil, err
	}
	if err := s.Send(`{"type":"hello","transport":"websocket","session_id":"s-1"}`); err != nil {
		return nil, err
	}
	var err error
	if t.Hello, err = t.Request(ctx, "1", "initialize", `{"capabilities":{"vision":{"url":"http://h/vision","token":"visionsecrettoken"}}}`); err != nil {
		return nil, err
	}
	return t, t.list(ctx, `{"cursor":"","withUserTools":true}`)
}

// BackendNoise is what backends send besides, as text; what is not JSON among it is
// the echo of such a text.
func BackendNoise() []string {
	return []string{
		`{"type":"stt","text":"今天天气怎么样","session_id":"7b1e"}`, `{"type":"tts","state":"start","session_id":"7b1e"}`,
		`{"type":"tts","state":"sentence_start","text":"您好"}`, `{"type":"llm","emotion":"happy","text":"😊"}`,
		`{"type":"system","command":"reboot"}`, `{"type":"alert","status":"x","message":"y","emotion":"z"}`, `{"type":"custom","payload":{"a":1}}`,
		`{"type":"pong"}`, `{"type":"mcp"}`, `{"type":"mcp","payload":"text"}`, `{"type":"mcp","payload":{"id":7,"result":{}}}`, `{"type":7}`, `{}`,
		`认证失败`, `null`, `5`, `[]`, ``, `{"type":"mcp","payload":{`, `{"type":"hello","transport":"udp","session_id":"not-this"}`,
	}
}
