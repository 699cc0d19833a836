package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// era is how a caller speaks.
type era string

const (
	legacy era = "2025-11-25"
	modern era = "2026-07-28"
)

// caller is an MCP client that is spoken by hand: what it sends and what it
// gets are bytes.
type caller struct {
	t       *testing.T
	http    *http.Client
	url     string
	era     era
	session string
}

// answer is the hub's answer to one call.
type answer struct {
	raw    []byte // the whole message
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    struct{ Code, Reason string }
	}
}

// connect opens a conversation with the hub.
func (h *running) connect(e era) *caller {
	h.t.Helper()
	return connect(h.t, h.http, h.URL()+"/mcp", e)
}

func connect(t *testing.T, client *http.Client, url string, e era) *caller {
	t.Helper()
	c := &caller{t: t, http: client, url: url, era: e}
	if e == modern {
		return c
	}
	res, err := c.post(t.Context(), []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"faults","version":"1"}}}`), "initialize", "")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	if c.session = res.Header.Get("Mcp-Session-Id"); c.session == "" {
		t.Fatalf("initialize: HTTP %d without a session", res.StatusCode)
	}
	return c
}

// call calls a tool; arguments is a JSON object as it is to be sent.
func (c *caller) call(name, arguments string) (answer, error) {
	return c.request("tools/call", name, fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments))
}

// request sends a request with the members of params, and those that the
// caller's era needs.
func (c *caller) request(method, name, members string) (answer, error) {
	meta := ""
	if c.era == modern {
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"faults","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		if members != "" {
			meta += ","
		}
	}
	return c.send(method, name, meta+members)
}

// send sends a request with exactly these members of params, and reads the
// answer.
func (c *caller) send(method, name, members string) (answer, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), deadline)
	defer cancel()
	res, err := c.post(ctx, []byte(`{"jsonrpc":"2.0","id":"one","method":"`+method+`","params":{`+members+`}}`), method, name)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	raw, err := response(res)
	if err != nil {
		return answer{}, fmt.Errorf("HTTP %d: %w", res.StatusCode, err)
	}
	a := answer{raw: raw}
	if err := json.Unmarshal(raw, &a); err != nil {
		return answer{}, fmt.Errorf("HTTP %d: %q: %w", res.StatusCode, raw, err)
	}
	if a.Result == nil && a.Error == nil {
		return answer{}, fmt.Errorf("HTTP %d: %s is no answer", res.StatusCode, raw)
	}
	return a, nil
}

func (c *caller) post(ctx context.Context, body []byte, method, name string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.era == modern {
		req.Header.Set("MCP-Protocol-Version", string(modern))
		req.Header.Set("Mcp-Method", method)
		if name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	return c.http.Do(req)
}

// response reads the JSON-RPC response out of an HTTP one: the body, or the last
// event of a stream.
func response(res *http.Response) ([]byte, error) {
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return io.ReadAll(res.Body)
	}
	var last []byte
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			last = bytes.TrimRight(data, "\r\n")
		}
		if err == io.EOF {
			return last, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// text is the first text of a result.
func (a answer) text() string {
	var result struct {
		Content []struct{ Text string }
	}
	if json.Unmarshal(a.Result, &result) != nil || len(result.Content) == 0 {
		return "no text: " + string(a.raw)
	}
	return result.Content[0].Text
}

// codes are the stable code and the JSON-RPC code of an error.
func (a answer) codes() (string, int) {
	if a.Error == nil {
		return "", 0
	}
	return a.Error.Data.Code, a.Error.Code
}
