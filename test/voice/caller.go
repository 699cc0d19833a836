package voice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Line carries JSON-RPC between a caller and the tools: a [Socket], or a caller's side
// of an [EPS].
type Line interface {
	Send(text string) error
	Hear(ctx context.Context, part string) (string, error)
}

// Tool is a tool as a caller has heard of it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// CloudHello is what the cloud's broker sends first, as users' logs have it.
const CloudHello = `{"id":0,"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"sampling":{},"roots":{"listChanged":false}},"clientInfo":{"name":"xz-mcp-broker","version":"0.0.1"}}}`

// Cloud converses as the cloud's broker does up to the list of tools.
func Cloud(ctx context.Context, line Line) (hello string, tools []Tool, err error) {
	if err = line.Send(CloudHello); err != nil {
		return "", nil, err
	}
	if hello, err = line.Hear(ctx, `"id":0,`); err != nil {
		return "", nil, err
	}
	if err = line.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return "", nil, err
	}
	if err = line.Send(`{"id":1,"jsonrpc":"2.0","method":"tools/list","params":{}}`); err != nil {
		return "", nil, err
	}
	raw, err := line.Hear(ctx, `"id":1,`)
	if err != nil {
		return "", nil, err
	}
	tools, _, err = toolsOf(raw)
	return hello, tools, err
}

// CloudCall is a call as the broker sends it, with its extra key.
func CloudCall(id int, name, arguments string) string {
	return fmt.Sprintf(`{"id":%d,"jsonrpc":"2.0","method":"tools/call","params":{"name":%s,"arguments":%s,"serialNumber":null}}`, id, quote(name), arguments)
}

// XS converses as the self-hosted backend's handler of endpoints does: initialize,
// the notification and the list back to back, without waiting, and each page by the
// same id.
func XS(ctx context.Context, line Line) ([]Tool, error) {
	for _, text := range [...]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"roots":{"listChanged":true},"sampling":{}},"clientInfo":{"name":"XiaozhiMCPEndpointClient","version":"1.0.0"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	} {
		if err := line.Send(text); err != nil {
			return nil, err
		}
	}
	if _, err := line.Hear(ctx, `"id":1,`); err != nil {
		return nil, err
	}
	var all []Tool
	for {
		raw, err := line.Hear(ctx, `"id":2,`)
		if err != nil {
			return nil, err
		}
		tools, cursor, err := toolsOf(raw)
		if err != nil {
			return nil, err
		}
		if all = append(all, tools...); cursor == "" {
			return all, nil
		}
		if err := line.Send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":` + quote(cursor) + `}}`); err != nil {
			return nil, err
		}
	}
}

// XSCall calls a tool, with ids that begin at 1 again, and returns what the backend
// then has of it; see [XSRead].
func XSCall(ctx context.Context, line Line, id int, name, arguments string) (text, action string, err error) {
	if err := line.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s,"arguments":%s}}`, id, quote(name), arguments)); err != nil {
		return "", "", err
	}
	raw, err := line.Hear(ctx, fmt.Sprintf(`"id":%d,`, id))
	if err != nil {
		return "", "", err
	}
	return XSRead(raw)
}

// XSRead is what the self-hosted backend makes of the response to a call: the first
// text alone, and an error only by its own texts. A text that is a JSON object with
// the key "action" is an order to the backend.
func XSRead(raw string) (text, action string, err error) {
	var m struct {
		Error  *struct{ Message string }
		Result struct {
			IsError bool
			Error   string
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		return "", "", fmt.Errorf("the backend cannot read it: %w", err)
	}
	if m.Error != nil {
		return "", "", errors.New("MCP错误: " + m.Error.Message)
	}
	if m.Result.IsError {
		if m.Result.Error == "" {
			return "", "", errors.New("工具调用返回错误，但未提供具体错误信息")
		}
		return "", "", errors.New("工具调用错误: " + m.Result.Error)
	}
	if len(m.Result.Content) > 0 {
		text = m.Result.Content[0].Text
	}
	var order map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &order) == nil {
		action = string(order["action"])
	}
	return text, action, nil
}

// GOH converses as the backend in Go does: another revision, each message with a line
// break behind it.
func GOH(ctx context.Context, line Line, id int) ([]Tool, error) {
	for _, text := range [...]string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"mcp-go","version":"0.1.0"}}}`, id),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{}}`, id+1),
	} {
		if err := line.Send(text + "\n"); err != nil {
			return nil, err
		}
	}
	hello, err := line.Hear(ctx, fmt.Sprintf(`"id":%d,`, id))
	if err != nil {
		return nil, err
	}
	if !strings.Contains(hello, `"protocolVersion":"2025-06-18"`) {
		return nil, fmt.Errorf("the hub speaks another revision: %s", hello)
	}
	raw, err := line.Hear(ctx, fmt.Sprintf(`"id":%d,`, id+1))
	if err != nil {
		return nil, err
	}
	tools, _, err := toolsOf(raw)
	return tools, err
}

// toolsOf reads the response to tools/list.
func toolsOf(raw string) (tools []Tool, cursor string, err error) {
	var m struct {
		Error  *struct{ Message string }
		Result struct {
			Tools      []Tool
			NextCursor string
		}
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		return nil, "", err
	}
	if m.Error != nil {
		return nil, "", errors.New(m.Error.Message)
	}
	return m.Result.Tools, m.Result.NextCursor, nil
}
