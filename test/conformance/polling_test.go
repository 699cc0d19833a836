package conformance

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// The suite's server keeps no events, so that the scenario about streams that are
// ended in the middle of a call has nothing to check there. This server keeps
// them: the hub goes on where the stream was ended, and its own caller has a
// stream that can be resumed.
func TestPolling(t *testing.T) {
	const name = "server-sse-polling"
	server := mcp.NewServer(&mcp.Implementation{Name: "polling", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "test_reconnection"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 100 * time.Millisecond})
		<-time.After(200 * time.Millisecond) // longer than the hub answers without a stream
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "resumed"}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	fixture := httptest.NewServer(handler)
	t.Cleanup(fixture.Close)
	hub := rig.StartHub(t, rig.HTTP("fixture", fixture.URL).With("bareNames", true))
	hub.AwaitReady()
	for _, version := range []string{"conformance-0.1", "conformance-0.2"} {
		results, text, code := suite(t, run{suite: version, args: []string{"--scenario", name}}, hub.MCP())
		if s := results[name]; code != 0 || s.passed < 2 || len(s.faults) > 0 {
			t.Errorf("%s: exit %d, %d checks passed, and %v:\n%s", version, code, s.passed, s.faults, text)
		}
	}
}
