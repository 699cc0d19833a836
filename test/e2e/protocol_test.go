package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// TestRevisions: every revision with sessions is spoken as it is asked for, and
// whoever asks for another one is offered the newest.
func TestRevisions(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t)
	hub.AwaitReady()
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"1999-01-01": latestLegacy, "2099-01-01": latestLegacy, "": latestLegacy, "latest": latestLegacy,
		modernRevision: latestLegacy, // initialize belongs to the legacy era
	} {
		t.Run("asked for "+asked, func(t *testing.T) {
			c := &caller{tb: t, url: hub.MCP(), revision: latestLegacy, http: http.DefaultClient}
			a := c.send(t.Context(), "initialize", map[string]any{
				"protocolVersion": asked, "capabilities": map[string]any{},
				"clientInfo": map[string]any{"name": "e2e", "version": "1"},
			}, http.Header{"Connection": {"close"}})
			m := c.response(a)
			var result struct {
				Version string `json:"protocolVersion"`
			}
			if err := json.Unmarshal(m.Result, &result); err != nil || result.Version != want {
				t.Fatalf("initialize was answered with %s, want the revision %s", m, want)
			}
			c.session, c.revision = a.header.Get("Mcp-Session-Id"), want
			if len(c.tools()) == 0 || c.text("calculator__calculator", map[string]any{"expression": "1+1"}) == "" {
				t.Error("the session lists and calls nothing")
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestBatch: batches exist in the first two revisions and in no later one.
func TestBatch(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t)
	hub.AwaitReady()
	const (
		ping   = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
		call   = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"calculator__calculator","arguments":{"expression":"6*7"}}}`
		wrong  = `{"jsonrpc":"2.0","id":8,"method":"no/such"}`
		notice = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	)
	post := func(t *testing.T, revision, body string) (int, []byte) {
		t.Helper()
		a, err := connect(t, hub.MCP(), revision).post(t.Context(), []byte(body), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.close()
		raw, err := io.ReadAll(a.body)
		if err != nil {
			t.Fatal(err)
		}
		return a.status, raw
	}
	for _, revision := range []string{"2024-11-05", "2025-03-26"} {
		status, raw := post(t, revision, "["+strings.Join([]string{ping, notice, call, wrong, `{"jsonrpc":"2.0","id":9}`}, ",")+"]")
		var list []message
		if err := json.Unmarshal(raw, &list); err != nil || status != http.StatusOK || len(list) != 4 {
			t.Fatalf("%s: HTTP %d %s, want 4 answers", revision, status, raw)
		}
		answers := map[string]message{}
		for _, m := range list {
			answers[string(m.ID)] = m
		}
		if m := answers[`"p"`]; string(m.Result) != "{}" {
			t.Errorf("%s: ping in a batch: %s", revision, m)
		}
		if m := answers["7"]; !strings.Contains(string(m.Result), "42") {
			t.Errorf("%s: a call in a batch: %s", revision, m)
		}
		if m := answers["8"]; m.Error == nil || m.Error.Code != -32601 {
			t.Errorf("%s: an unknown method in a batch: %s", revision, m)
		}
		if status, raw := post(t, revision, "["+notice+","+notice+"]"); status != http.StatusAccepted || len(raw) > 0 {
			t.Errorf("%s: a batch of notifications: HTTP %d %s, want 202", revision, status, raw)
		}
		if status, raw := post(t, revision, "[]"); status != http.StatusBadRequest || !strings.Contains(string(raw), "-32600") {
			t.Errorf("%s: an empty batch: HTTP %d %s, want 400 and -32600", revision, status, raw)
		}
	}
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		status, raw := post(t, revision, "["+ping+"]")
		if status != http.StatusBadRequest || !strings.Contains(string(raw), "batch_refused") {
			t.Errorf("%s: a batch: HTTP %d %s, want 400", revision, status, raw)
		}
	}
}

// TestSessions: a session lasts from initialize to DELETE, and who comes
// without one, or with another's, is told so.
func TestSessions(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t)
	hub.AwaitReady()
	c, other := connect(t, hub.MCP(), latestLegacy), connect(t, hub.MCP(), latestLegacy)
	if c.session == "" || c.session == other.session {
		t.Fatalf("two sessions have the ids %q and %q", c.session, other.session)
	}
	stream, err := c.do(t.Context(), http.MethodGet, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.body.Close()

	status := func(method string, header http.Header) (int, string) {
		t.Helper()
		var body []byte
		if method == http.MethodPost {
			body = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		}
		a, err := c.do(t.Context(), method, body, header)
		if err != nil {
			t.Fatal(err)
		}
		defer a.close()
		m, err := a.next()
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return a.status, m.Error.reason()
	}
	none := http.Header{"Mcp-Session-Id": nil}
	unknown := http.Header{"Mcp-Session-Id": {"nobody"}}
	version := http.Header{"Mcp-Protocol-Version": {"1999-01-01"}}
	for _, c := range []struct {
		method string
		header http.Header
		status int
		reason string
	}{
		{http.MethodPost, nil, http.StatusOK, ""},
		{http.MethodPost, none, http.StatusBadRequest, "session_missing"},
		{http.MethodPost, unknown, http.StatusNotFound, "session_unknown"},
		{http.MethodPost, version, http.StatusBadRequest, "version_unsupported"},
		{http.MethodGet, none, http.StatusBadRequest, "session_missing"},
		{http.MethodGet, unknown, http.StatusNotFound, "session_unknown"},
		{http.MethodDelete, none, http.StatusBadRequest, "session_missing"},
		{http.MethodDelete, unknown, http.StatusNotFound, "session_unknown"},
		{http.MethodDelete, nil, http.StatusNoContent, ""},
		// After its end:
		{http.MethodPost, nil, http.StatusNotFound, "session_unknown"},
		{http.MethodGet, nil, http.StatusNotFound, "session_unknown"},
		{http.MethodDelete, nil, http.StatusNotFound, "session_unknown"},
	} {
		if got, reason := status(c.method, c.header); got != c.status || reason != c.reason {
			t.Errorf("%s with %v: HTTP %d %q, want %d %q", c.method, c.header, got, reason, c.status, c.reason)
		}
	}
	if _, err := stream.next(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream of an ended session ended with %v", err)
	}
	if len(other.tools()) == 0 {
		t.Error("the other session lists no tools")
	}
}

// TestModernErrors: what the revision 2026-07-28 refuses, with which code and
// status.
func TestModernErrors(t *testing.T) {
	t.Parallel()
	const (
		version      = "io.modelcontextprotocol/protocolVersion"
		capabilities = "io.modelcontextprotocol/clientCapabilities"
	)
	hub := rig.StartHub(t)
	hub.AwaitReady()
	c := connect(t, hub.MCP(), modernRevision)
	call := map[string]any{"name": "calculator__calculator", "arguments": map[string]any{"expression": "1"}}
	meta := func(params map[string]any, name string, value any) map[string]any {
		return with(params, "_meta", map[string]any{name: value})
	}
	for _, test := range []struct {
		name         string
		method       string
		params       map[string]any
		header       http.Header
		status, code int
	}{
		{"all right", "tools/call", call, nil, 200, 0},
		{"name in Base64", "tools/call", call, http.Header{"Mcp-Name": {"=?base64?Y2FsY3VsYXRvcl9fY2FsY3VsYXRvcg==?="}}, 200, 0},
		{"another method", "tools/call", call, http.Header{"Mcp-Method": {"tools/list"}}, 400, -32020},
		{"no method", "tools/call", call, http.Header{"Mcp-Method": nil}, 400, -32020},
		{"another name", "tools/call", call, http.Header{"Mcp-Name": {"calculator__other"}}, 400, -32020},
		{"no name", "tools/call", call, http.Header{"Mcp-Name": nil}, 400, -32020},
		{"two names", "tools/call", call, http.Header{"Mcp-Name": {"calculator__calculator", "calculator__calculator"}}, 400, -32020},
		{"name in broken Base64", "tools/call", call, http.Header{"Mcp-Name": {"=?base64?!?="}}, 400, -32020},
		{"another revision", "tools/call", call, http.Header{"Mcp-Protocol-Version": {"2025-11-25"}}, 400, -32020},
		{"no revision in the header", "tools/call", call, http.Header{"Mcp-Protocol-Version": nil}, 400, -32020},
		{"no revision in the body", "tools/call", meta(call, version, nil), nil, 400, -32602},
		{"a revision that is no string", "tools/call", meta(call, version, 20260728), nil, 400, -32602},
		{
			"an unknown revision", "tools/call", meta(call, version, "2099-01-01"),
			http.Header{"Mcp-Protocol-Version": {"2099-01-01"}},
			400, -32022,
		},
		{"no capabilities", "tools/call", meta(call, capabilities, nil), nil, 400, -32602},
		{"capabilities that are no object", "tools/call", meta(call, capabilities, "all"), nil, 400, -32602},
		{"an unknown method", "no/such", nil, nil, 404, -32601},
		{"initialize", "initialize", nil, nil, 404, -32601},
		{"ping", "ping", nil, nil, 404, -32601},
		{"logging/setLevel", "logging/setLevel", map[string]any{"level": "info"}, nil, 404, -32601},
		{"an unknown tool", "tools/call", with(call, "name", "no such tool"), nil, 400, -32602},
		{"a tool without a name", "tools/call", with(call, "name", nil), http.Header{"Mcp-Name": {""}}, 400, -32602},
		{"an unknown cursor", "tools/list", map[string]any{"cursor": "x"}, nil, 400, -32602},
		{"a subscription to nothing", "subscriptions/listen", nil, nil, 400, -32602},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), callLimit)
			defer cancel()
			a := c.sendAs(ctx, test.name, test.method, test.params, test.header)
			m := c.response(a)
			code := 0
			if m.Error != nil {
				code = m.Error.Code
			}
			if a.status != test.status || code != test.code {
				t.Errorf("HTTP %d %s, want %d with the code %d", a.status, m, test.status, test.code)
			}
			if want := fmt.Sprintf("%q", test.name); string(m.ID) != want {
				t.Errorf("the answer is to %s, want %s", m.ID, want)
			}
			if test.code == -32022 {
				checkSupported(t, m)
			}
		})
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		a, err := c.do(t.Context(), method, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		a.close()
		if a.status != http.StatusMethodNotAllowed {
			t.Errorf("%s was answered with HTTP %d, want 405: the modern era has no sessions", method, a.status)
		}
	}
}

// checkSupported checks what a client needs to find a revision in common.
func checkSupported(t *testing.T, m message) {
	t.Helper()
	var data struct {
		Requested string   `json:"requested"`
		Supported []string `json:"supported"`
	}
	if err := json.Unmarshal(m.Error.Data, &data); err != nil {
		t.Fatal(err)
	}
	if data.Requested != "2099-01-01" || !slices.Contains(data.Supported, modernRevision) {
		t.Errorf("the data of the error is %s", m.Error.Data)
	}
}

// TestRefusals: what is refused before anybody looks for a method.
func TestRefusals(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t)
	hub.AwaitReady()
	c := connect(t, hub.MCP(), latestLegacy)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, test := range []struct {
		name, method, body string
		header             http.Header
		status             int
		reason             string
	}{
		{"all right", http.MethodPost, list, nil, 200, ""},
		{"a local page", http.MethodPost, list, http.Header{"Origin": {"http://localhost:3000"}}, 200, ""},
		{"a foreign page", http.MethodPost, list, http.Header{"Origin": {"https://example.com"}}, 403, "origin_refused"},
		{"a page of no origin", http.MethodPost, list, http.Header{"Origin": {"null"}}, 403, "origin_refused"},
		{"another content type", http.MethodPost, list, http.Header{"Content-Type": {"text/plain"}}, 415, "content_type_refused"},
		{"an Accept of neither", http.MethodPost, list, http.Header{"Accept": {"text/html"}}, 406, "accept_refused"},
		{"a stream that is not accepted", http.MethodGet, "", http.Header{"Accept": {"application/json"}}, 406, "accept_refused"},
		{"another HTTP method", http.MethodPut, list, nil, 405, "http_method_refused"},
		{"no JSON", http.MethodPost, `{"jsonrpc":`, nil, 400, "message_malformed"},
		{"nothing", http.MethodPost, "", nil, 400, "message_malformed"},
		{"no JSON-RPC", http.MethodPost, `{"hello":"world"}`, nil, 400, "message_invalid"},
		{"a key twice", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, nil, 400, "message_invalid"},
		{
			"an argument twice", http.MethodPost,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calculator__calculator","arguments":{"expression":"1","expression":"2"}}}`,
			nil, 400, "message_invalid",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, err := c.do(t.Context(), test.method, []byte(test.body), test.header)
			if err != nil {
				t.Fatal(err)
			}
			m := c.response(a)
			if a.status != test.status || m.Error.reason() != test.reason {
				t.Errorf("HTTP %d %s, want %d %q", a.status, m, test.status, test.reason)
			}
		})
	}

	// A name that resolves to this machine is not this machine's name.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, hub.MCP(), strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.example.com"
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a request for another host was answered with HTTP %d, want 403", resp.StatusCode)
	}
}
