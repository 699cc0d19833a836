//go:build linux

package soak

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
)

// revision of MCP, as a caller speaks it: one of each era.
type revision string

const (
	legacy revision = "2025-11-25"
	modern revision = "2026-07-28"
)

// answer is what became of one call.
type answer struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    struct{ Code string }
	}
}

// text is the text of a result that is no error; false for any other.
func (a answer) text() (string, bool) {
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if a.Error != nil || json.Unmarshal(a.Result, &result) != nil || result.IsError || len(result.Content) != 1 {
		return "", false
	}
	return result.Content[0].Text, true
}

// code is the stable code of the hub's error, "" if there is none.
func (a answer) code() string {
	if a.Error == nil {
		return ""
	}
	return a.Error.Data.Code
}

func (a answer) String() string {
	if a.Error != nil {
		return fmt.Sprintf("%s %d %s", a.Error.Data.Code, a.Error.Code, a.Error.Message)
	}
	return string(a.Result)
}

// caller is an MCP client that is spoken by hand. Exactly one answer, with the
// id of the request, is what it takes for an answer. It is safe for concurrent
// use.
type caller interface {
	// call calls a tool with a JSON object.
	call(ctx context.Context, tool, arguments string) (answer, error)
	// close ends the conversation and every connection of it. The error is of
	// an answer that came unasked.
	close() error
}

// request is the text of a tools/call.
func request(r revision, id, tool, arguments string) string {
	meta := ""
	if r == modern {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"soak","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, id, tool, arguments, meta)
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}`

// overHTTP is a caller of streamable HTTP.
type overHTTP struct {
	client   *http.Client
	url      string
	revision revision
	session  string
	ids      atomic.Int64
}

func dialHTTP(ctx context.Context, url string, r revision) (*overHTTP, error) {
	c := &overHTTP{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}, url: url, revision: r}
	if r == modern {
		return c, nil
	}
	resp, err := c.post(ctx, http.MethodPost, initialize, "initialize", "")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if c.session = resp.Header.Get("Mcp-Session-Id"); c.session == "" {
		return nil, fmt.Errorf("initialize: HTTP %d without a session", resp.StatusCode)
	}
	return c, nil
}

func (c *overHTTP) post(ctx context.Context, verb, body, method, name string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, verb, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.revision == modern {
		req.Header.Set("Mcp-Protocol-Version", string(modern))
		req.Header.Set("Mcp-Method", method)
		req.Header.Set("Mcp-Name", name)
	}
	return c.client.Do(req)
}

func (c *overHTTP) call(ctx context.Context, tool, arguments string) (answer, error) {
	id := fmt.Sprint(c.ids.Add(1))
	resp, err := c.post(ctx, http.MethodPost, request(c.revision, id, tool, arguments), "tools/call", tool)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	raws, err := messages(resp)
	if err != nil || len(raws) != 1 {
		return answer{}, fmt.Errorf("HTTP %d with %d messages: %w", resp.StatusCode, len(raws), err)
	}
	return decode(raws[0], id)
}

// messages reads every message of an HTTP answer, a body or a stream of events.
func messages(resp *http.Response) ([][]byte, error) {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		raw, err := io.ReadAll(resp.Body)
		return [][]byte{raw}, err
	}
	var all [][]byte
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && len(bytes.TrimSpace(data)) > 0 {
			all = append(all, bytes.TrimSpace(data))
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		}
	}
}

func decode(raw []byte, id string) (answer, error) {
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("%.200q: %w", raw, err)
	}
	if string(a.ID) != id || (a.Result == nil) == (a.Error == nil) {
		return a, fmt.Errorf("the answer to %s is %.200q", id, raw)
	}
	return a, nil
}

func (c *overHTTP) close() error {
	if c.session != "" {
		if resp, err := c.post(context.Background(), http.MethodDelete, "", "", ""); err == nil {
			resp.Body.Close()
		}
	}
	c.client.CloseIdleConnections()
	return nil
}

// overSocket is a caller on one WebSocket, with many calls under way at once:
// there an answer that comes twice, or to nobody's question, shows.
type overSocket struct {
	ws       *websocket.Conn
	revision revision
	ids      atomic.Int64
	ended    chan struct{} // closed when nothing more comes

	mu      sync.Mutex
	waiting map[string]chan []byte // by the id of the request
	stray   error                  // of an answer to no question that was open
}

func dialSocket(ctx context.Context, url string, r revision) (*overSocket, error) {
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: []string{"mcp"}})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1)
	c := &overSocket{ws: ws, revision: r, ended: make(chan struct{}), waiting: make(map[string]chan []byte)}
	go c.read()
	if r == modern {
		return c, nil
	}
	_, err = c.ask(ctx, "0", initialize)
	if err == nil {
		err = ws.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	return c, err
}

// read hands each answer to who waits for it.
func (c *overSocket) read() {
	defer close(c.ended)
	for {
		_, raw, err := c.ws.Read(context.Background())
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err == nil {
			err = json.Unmarshal(raw, &m)
		}
		if err == nil && m.Method != "" {
			continue // a notification
		}
		c.mu.Lock()
		to, ok := c.waiting[string(m.ID)]
		delete(c.waiting, string(m.ID))
		if err == nil && !ok {
			err = fmt.Errorf("an answer to no question that is open: %.200q", raw)
			c.stray = err
		}
		c.mu.Unlock()
		if err != nil {
			return
		}
		to <- raw
	}
}

func (c *overSocket) ask(ctx context.Context, id, text string) (answer, error) {
	got := make(chan []byte, 1)
	c.mu.Lock()
	c.waiting[id] = got
	c.mu.Unlock()
	if err := c.ws.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		return answer{}, err
	}
	select {
	case raw := <-got:
		return decode(raw, id)
	case <-c.ended:
		return answer{}, errors.New("the socket has ended")
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

func (c *overSocket) call(ctx context.Context, tool, arguments string) (answer, error) {
	id := fmt.Sprint(c.ids.Add(1))
	return c.ask(ctx, id, request(c.revision, id, tool, arguments))
}

func (c *overSocket) close() error {
	_ = c.ws.Close(websocket.StatusNormalClosure, "")
	<-c.ended
	return c.stray
}
