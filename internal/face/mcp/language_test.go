package mcp_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

const chinese = "zh-CN,zh;q=0.9,en;q=0.5"

// Each door answers in the language that its requests ask for, and only the one
// that devices know gives what these look for in an error's data.
func TestLanguage(t *testing.T) {
	h := open(t)
	unknown := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none",` + modern + `}}`
	header := http.Header{"Accept-Language": {chinese}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	post := func(path, body string, more ...string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header.Clone()
		for i := 0; i < len(more); i += 2 {
			req.Header.Set(more[i], more[i+1])
		}
		res, err := h.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		got, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	const told, friendly = `没有名为“none”的工具。`, `"userMessage":"没有这项功能，请换个方式再试"`
	device := []string{`"original_error":"There is no tool named \"none\".`, `"method":"tools/call"`, `"timestamp":"`}
	said := func(where, got string, want ...string) {
		t.Helper()
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s has no %s", where, got, part)
			}
		}
	}

	got := post("/mcp", unknown, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "none")
	said("a call over HTTP", got, told, friendly, `"class":"unavailable"`)
	if strings.Contains(got, "original_error") || strings.Contains(got, "timestamp") {
		t.Errorf("over HTTP: %s", got)
	}
	said("no JSON", post("/mcp", "{"), "消息不是有效的 JSON：此处应有键（字节 1 处）。", `"class":"request"`)
	said("no session", post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`), "请求未带会话。")
	said("no type", post("/mcp", "{}", "Content-Type", "text/plain"), "不接受内容类型“text/plain”。")
	said("a bad initialize", post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`), `请求参数无效：\"protocolVersion\" 必须是字符串。`)
	said("in English", post("/mcp", "{", "Accept-Language", "en, zh;q=0.9"), "The message is not valid JSON: a key should stand here (at byte 1).")

	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(h.URL, "http")+"/ws/mcp", &websocket.DialOptions{HTTPHeader: header, HTTPClient: h.client})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	ask := func(raw string) string {
		t.Helper()
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(raw)); err != nil {
			t.Fatal(err)
		}
		for {
			_, got, err := conn.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got), listChanged) {
				return string(got)
			}
		}
	}
	said("a modern call over a WebSocket", ask(unknown), append(device, told, friendly)...)
	said("no JSON over a WebSocket", ask("{"), "消息不是有效的 JSON", `"original_error":"The message is not valid JSON`, `"timestamp":"`)
	ask(initialize)
	said("a call of a session over a WebSocket", ask(strings.Replace(unknown, ","+modern, "", 1)), append(device, told, friendly)...)

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/sse", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	res, err := h.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	data := func() string {
		t.Helper()
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return text
			}
		}
		t.Fatal("the stream has ended")
		return ""
	}
	endpoint := data()
	post(endpoint, unknown)
	got = data()
	said("a call over SSE", got, told, friendly)
	if strings.Contains(got, "original_error") {
		t.Errorf("over SSE: %s", got)
	}
}
