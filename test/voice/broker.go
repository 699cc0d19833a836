package voice

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// Dial connects to an endpoint pair, at the one side or the other, as programs that know
// nothing but its address do. What it returns is a [Line].
func Dial(ctx context.Context, client *http.Client, address string) (*Socket, error) {
	conn, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: client}) //nolint:bodyclose // the library closes it
	if err != nil {
		return nil, fmt.Errorf("dial the endpoint: %w", err)
	}
	conn.SetReadLimit(-1)
	s := &Socket{conn: conn, over: make(chan struct{}), more: make(chan struct{})}
	go s.read()
	return s, nil
}

// Request is what a tool is asked.
type Request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		Arguments json.RawMessage
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
}

// Serve answers as an MCP server with these tools, until the connection ends: run is the
// member of the answer to a call, such as "result":{…}, or "" for none. Each call is a
// goroutine of its own.
func (s *Socket) Serve(tools []DeviceTool, run func(r Request) string) {
	for {
		text, err := s.Hear(context.Background(), "")
		if err != nil {
			return
		}
		var r Request
		if json.Unmarshal([]byte(text), &r) != nil {
			continue
		}
		if r.ID == nil {
			s.mu.Lock()
			s.notes = append(s.notes, text)
			s.mu.Unlock()
			continue
		}
		switch r.Method {
		case "initialize":
			s.Reply(r, `"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"tool","version":"1"}}`)
		case "tools/list":
			all := make([]string, 0, len(tools))
			for _, t := range tools {
				all = append(all, t.raw())
			}
			s.Reply(r, `"result":{"tools":[`+strings.Join(all, ",")+`]}`)
		case "tools/call":
			go func() {
				if said := run(r); said != "" {
					s.Reply(r, said)
				}
			}()
		case "ping":
			s.Reply(r, `"result":{}`)
		default:
			s.Reply(r, `"error":{"code":-32601,"message":"no such method"}`)
		}
	}
}

// Notes returns the notifications that Serve has come upon so far.
func (s *Socket) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.notes...)
}

// Reply answers a request by the member, as it is.
func (s *Socket) Reply(r Request, member string) {
	_ = s.Send(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,` + member + `}`) // the end shows in Hear
}
