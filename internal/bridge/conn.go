package bridge

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Conn is a connection to the hub.
type Conn struct {
	ws *websocket.Conn
}

// Connect opens a connection to the hub's WebSocket at url, by the client
// given, which may lead through a local socket; header is sent along, such as
// Authorization. ctx bounds the attempt. The connection is closed by [Run]. If the
// hub refuses it and says why, the error is that [*hub.Error].
func Connect(ctx context.Context, client *http.Client, url string, header http.Header) (*Conn, error) {
	ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient: client, HTTPHeader: header, Subprotocols: []string{"mcp"},
	})
	if err != nil {
		if why := refusal(resp); why != nil {
			return nil, fmt.Errorf("connect to the hub: %w", why)
		}
		return nil, fmt.Errorf("connect to the hub: %w", err)
	}
	ws.SetReadLimit(-1) // the hub is trusted with the size of what it sends
	return &Conn{ws}, nil
}

// refusal is what the hub says in place of a connection, in the form in which MCP's
// doors refuse requests; nil if there is nothing that this program understands.
func refusal(resp *http.Response) *hub.Error {
	if resp == nil {
		return nil
	}
	raw, err := io.ReadAll(resp.Body) // the beginning, which is kept
	if err != nil {
		return nil
	}
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil || m.Kind != wire.Failure {
		return nil
	}
	args := message.Args{}
	for one := range wire.Object(raw, wire.Lookup(raw, m.Error, "data")) {
		name, _ := wire.String(raw, one.Key)
		if text, ok := wire.String(raw, one.Value); ok {
			args[name] = text
		}
	}
	code := message.Code(args["code"])
	for _, other := range [...]string{"code", "class", "userMessage"} { // which are no values of the text
		delete(args, other)
	}
	if !message.Known(code) { // of a later version
		return nil
	}
	return &hub.Error{Code: code, Args: args}
}

func (c *Conn) read(ctx context.Context) ([]byte, error) {
	_, raw, err := c.ws.Read(ctx)
	return raw, err
}

// write sends one message. After an error the hub has not got it: it was not
// sent to its end.
func (c *Conn) write(ctx context.Context, raw []byte) error {
	return c.ws.Write(ctx, websocket.MessageText, raw)
}

// close tells the hub that the client has gone, and waits for it to say that it
// has heard, for some seconds at most.
func (c *Conn) close() { _ = c.ws.Close(websocket.StatusNormalClosure, "") }

// drop ends a connection that is of no use any more.
func (c *Conn) drop() { _ = c.ws.CloseNow() }
