package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	modernRevision = "2026-07-28"
	latestLegacy   = "2025-11-25"

	// callLimit bounds every request of the tests; it only matters when
	// something is wrong.
	callLimit = 60 * time.Second
)

// caller is an MCP client that is spoken by hand, so that a test sees every
// message, header and status as it came. It is safe for concurrent use.
type caller struct {
	tb       testing.TB
	url      string
	http     *http.Client
	revision string
	session  string // legacy era only
	ids      atomic.Int64
}

// message is any JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
}

// String is the message as JSON.
func (m message) String() string {
	b, err := json.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// reason is the stable code that the hub gives its errors in data.code.
func (e *rpcError) reason() string {
	var data struct {
		Code string `json:"code"`
	}
	if e == nil || json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	return data.Code
}

// answer is the answer to one request, read as it comes.
type answer struct {
	status int
	header http.Header
	body   io.ReadCloser
	lines  *bufio.Reader // of an event stream, else nil
}

// connect opens a conversation in the revision: with initialize in the legacy
// era, with nothing in the modern one.
func connect(tb testing.TB, url, revision string) *caller {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	tb.Cleanup(transport.CloseIdleConnections)
	c := &caller{tb: tb, url: url, revision: revision, http: &http.Client{Transport: transport}}
	if c.modern() {
		return c
	}
	a := c.send(tb.Context(), "initialize", map[string]any{
		"protocolVersion": revision,
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "e2e", "version": "1"},
	}, nil)
	c.session = a.header.Get("Mcp-Session-Id")
	m := c.response(a)
	if m.Error != nil {
		tb.Fatalf("initialize: %s", m)
	}
	c.notify(tb.Context(), "notifications/initialized", nil)
	return c
}

func (c *caller) modern() bool { return c.revision >= modernRevision }

// send sends a request of the caller's revision with a new id.
func (c *caller) send(ctx context.Context, method string, params map[string]any, header http.Header) *answer {
	c.tb.Helper()
	return c.sendAs(ctx, c.ids.Add(1), method, params, header)
}

// sendAs is send with a given id.
func (c *caller) sendAs(ctx context.Context, id any, method string, params map[string]any, header http.Header) *answer {
	c.tb.Helper()
	a, err := c.try(ctx, id, method, params, header)
	if err != nil {
		c.tb.Fatalf("%s: %v", method, err)
	}
	return a
}

// try is sendAs for callers that expect to fail, or that are not the goroutine
// of the test.
func (c *caller) try(ctx context.Context, id any, method string, params map[string]any, header http.Header) (*answer, error) {
	if params == nil {
		params = map[string]any{}
	}
	h := make(http.Header)
	if c.modern() {
		meta, _ := params["_meta"].(map[string]any)
		whole := map[string]any{
			"io.modelcontextprotocol/protocolVersion":    c.revision,
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "e2e", "version": "1"},
		}
		for k, v := range meta {
			whole[k] = v
			if v == nil { // a test leaves it out
				delete(whole, k)
			}
		}
		params = with(params, "_meta", whole)
		h.Set("Mcp-Method", method)
		if name, ok := params["name"].(string); ok && method == "tools/call" {
			h.Set("Mcp-Name", headerValue(name))
		}
	}
	maps.Copy(h, header)
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	return c.post(ctx, body, h)
}

func with(params map[string]any, name string, value any) map[string]any {
	all := map[string]any{name: value}
	for k, v := range params {
		if k != name {
			all[k] = v
		}
	}
	return all
}

// headerValue is a value as it may stand in a header (2026-07-28, "Value
// Encoding").
func headerValue(s string) string {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
		}
	}
	return s
}

func (c *caller) notify(ctx context.Context, method string, params map[string]any) {
	c.tb.Helper()
	if params == nil {
		params = map[string]any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		c.tb.Fatal(err)
	}
	a, err := c.post(ctx, body, nil)
	if err != nil {
		c.tb.Fatalf("%s: %v", method, err)
	}
	defer a.close()
	if a.status != http.StatusAccepted {
		c.tb.Fatalf("%s was answered with HTTP %d, want 202", method, a.status)
	}
}

// post sends a body with the headers of the conversation, which header may
// replace; a header without values is left out.
func (c *caller) post(ctx context.Context, body []byte, header http.Header) (*answer, error) {
	return c.do(ctx, http.MethodPost, body, header)
}

func (c *caller) do(ctx context.Context, method string, body []byte, header http.Header) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" || c.modern() {
		req.Header.Set("Mcp-Protocol-Version", c.revision)
	}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	for k, v := range header {
		if len(v) == 0 {
			req.Header.Del(k)
			continue
		}
		req.Header[http.CanonicalHeaderKey(k)] = v
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	a := &answer{status: resp.StatusCode, header: resp.Header, body: resp.Body}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		a.lines = bufio.NewReader(resp.Body)
	}
	return a, nil
}

// next returns the next message of the answer, or io.EOF after the last.
func (a *answer) next() (message, error) {
	var m message
	if a.lines == nil {
		raw, err := io.ReadAll(a.body)
		if err != nil {
			return m, err
		}
		if len(raw) == 0 {
			return m, io.EOF
		}
		return m, json.Unmarshal(raw, &m)
	}
	var data []byte
	for {
		line, err := a.lines.ReadBytes('\n')
		if err != nil {
			return m, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		}
		if len(line) == 0 && len(data) > 0 {
			return m, json.Unmarshal(data, &m)
		}
	}
}

func (a *answer) close() {
	_, _ = io.Copy(io.Discard, a.body)
	_ = a.body.Close()
}

// all returns every message of the answer.
func (a *answer) all() ([]message, error) {
	defer a.close()
	var list []message
	for {
		m, err := a.next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, m)
	}
}

// response returns the only message of the answer.
func (c *caller) response(a *answer) message {
	c.tb.Helper()
	list, err := a.all()
	if err != nil || len(list) != 1 {
		c.tb.Fatalf("HTTP %d with %d messages (%v), want one", a.status, len(list), err)
	}
	return list[0]
}

// request sends a request and returns the response.
func (c *caller) request(method string, params map[string]any) message {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(c.tb.Context(), callLimit)
	defer cancel()
	return c.response(c.send(ctx, method, params, nil))
}

// tools lists all pages and returns the tools' names.
func (c *caller) tools() []string {
	c.tb.Helper()
	var names []string
	params := map[string]any{}
	for {
		m := c.request("tools/list", params)
		var list struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
			Next string `json:"nextCursor"`
		}
		if m.Error != nil {
			c.tb.Fatalf("tools/list: %s", m)
		}
		if err := json.Unmarshal(m.Result, &list); err != nil {
			c.tb.Fatal(err)
		}
		for _, t := range list.Tools {
			names = append(names, t.Name)
		}
		if list.Next == "" {
			return names
		}
		params = map[string]any{"cursor": list.Next}
	}
}

// call calls a tool and returns the response.
func (c *caller) call(tool string, args map[string]any) message {
	c.tb.Helper()
	params := map[string]any{"name": tool}
	if args != nil {
		params["arguments"] = args
	}
	return c.request("tools/call", params)
}

// text calls a tool and returns the text of its result, which must not be an
// error.
func (c *caller) text(tool string, args map[string]any) string {
	c.tb.Helper()
	m := c.call(tool, args)
	if m.Error != nil {
		c.tb.Fatalf("%s: %s", tool, m)
	}
	return resultText(c.tb, tool, m.Result)
}

// resultText is the text of a tool's result, which must not be an error.
func resultText(tb testing.TB, tool string, result json.RawMessage) string {
	tb.Helper()
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	}
	if err := json.Unmarshal(result, &r); err != nil || r.IsError {
		tb.Fatalf("%s answered %s", tool, result)
	}
	var b strings.Builder
	for _, part := range r.Content {
		b.WriteString(part.Text)
	}
	return b.String()
}

// structured calls a tool and reads the structuredContent of its result.
func (c *caller) structured(tool string, args map[string]any, into any) {
	c.tb.Helper()
	m := c.call(tool, args)
	if m.Error != nil {
		c.tb.Fatalf("%s: %s", tool, m)
	}
	var r struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		c.tb.Fatal(err)
	}
	if err := json.Unmarshal(r.Structured, into); err != nil {
		c.tb.Fatalf("%s answered %s: %v", tool, m.Result, err)
	}
}
