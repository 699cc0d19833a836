package e2e

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// overSocket is the Go SDK's way to speak on a stream, over a WebSocket.
type overSocket struct{ url string }

// Connect implements mcp.Transport.
func (o overSocket) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, _, err := websocket.Dial(ctx, o.url, &websocket.DialOptions{Subprotocols: []string{"mcp"}})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(-1)
	stream := websocket.NetConn(context.WithoutCancel(ctx), conn, websocket.MessageText)
	return (&mcp.IOTransport{Reader: stream, Writer: stream}).Connect(ctx)
}

// TestDoors has clients of the Go SDK come in by every door and call servers
// that are reached in every way: each sees the progress of its own calls, in
// order, and the results.
func TestDoors(t *testing.T) {
	t.Parallel()
	everything := rig.HTTP("everything", everythingAt(t, "sse")+"/sse")
	servers := goServers(t)
	hub := rig.StartHub(t, append(servers, everything)...)
	hub.AwaitReady()
	for _, door := range []struct {
		name, revision string
		transport      mcp.Transport
	}{
		{"sse", latestLegacy, &mcp.SSEClientTransport{Endpoint: hub.URL + "/sse"}},
		{"sse", "2024-11-05", &mcp.SSEClientTransport{Endpoint: hub.URL + "/sse"}},
		{"ws", latestLegacy, overSocket{hub.WebSocket()}},
		{"ws", modernRevision, overSocket{hub.WebSocket()}},
	} {
		t.Run(door.name+" "+door.revision, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			steps := map[any][]float64{}
			client := mcp.NewClient(&mcp.Implementation{Name: "doors", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					mu.Lock()
					defer mu.Unlock()
					steps[r.Params.ProgressToken] = append(steps[r.Params.ProgressToken], r.Params.Progress)
				},
			})
			session, err := client.Connect(t.Context(), door.transport, &mcp.ClientSessionOptions{ProtocolVersion: door.revision})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if got := session.InitializeResult().ProtocolVersion; got != door.revision {
				t.Errorf("the client negotiated %s", got)
			}
			for _, s := range servers {
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{
					Name: s.Key + "__count", Arguments: map[string]any{"text": "four"}, Meta: mcp.Meta{"progressToken": s.Key},
				})
				if err != nil || res.IsError {
					t.Errorf("%s: %+v, %v", s.Key, res, err)
					continue
				}
				// The SDK hands notifications over beside the results.
				rig.Await(t, "all progress of "+s.Key+" is there, in order", func() bool {
					mu.Lock()
					defer mu.Unlock()
					return slices.Equal(steps[s.Key], []float64{1, 2, 3, 4})
				})
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{
				Name: "everything__get-sum", Arguments: map[string]any{"a": 1, "b": 2},
			})
			if err != nil || res.IsError {
				t.Errorf("server-everything over SSE: %+v, %v", res, err)
			}
			// An error of the hub has its code behind every door.
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"}); rpcReason(err) != "tool_unknown" {
				t.Errorf("a tool that is not there: %v", err)
			}
		})
	}
}

// rpcReason is the stable code that the hub gives an error, as the SDK returns
// it.
func rpcReason(err error) string {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return ""
	}
	return (&rpcError{Data: e.Data}).reason()
}
