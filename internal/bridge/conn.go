package bridge

import (
	"context"
	"fmt"
	"net/http"

	"github.com/coder/websocket"
)

// Conn is a connection to the hub.
type Conn struct {
	ws *websocket.Conn
}

// Connect opens a connection to the hub's WebSocket at url, by the client
// given, which may lead through a local socket; header is sent along, such as
// Authorization. ctx bounds the attempt. The connection is closed by [Run].
func Connect(ctx context.Context, client *http.Client, url string, header http.Header) (*Conn, error) {
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient: client, HTTPHeader: header, Subprotocols: []string{"mcp"},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the hub: %w", err)
	}
	ws.SetReadLimit(-1) // the hub is trusted with the size of what it sends
	return &Conn{ws}, nil
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
