package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// TestPrivateLinks has a client that cannot read resources call a tool whose
// result leads to this machine: it is fetched only if whoever started the hub
// has allowed that.
func TestPrivateLinks(t *testing.T) {
	t.Parallel()
	page := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "within")
	}))
	server := mcp.NewServer(&mcp.Implementation{Name: "links", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "link", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{URI: page + "/", Name: "page"}}}, nil
		})
	url := listen(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	path := filepath.Join(t.TempDir(), "toolcrib.json")
	text := fmt.Sprintf(`{"mcpServers": {"l": {"url": %q}}, "clients": [{"client": "LINKY*", "embedLinks": true}]}`, url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, flags := range map[string][]string{"refused": nil, "allowed": {"--allow-private-links"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := rig.Serve(t, nil, append([]string{"--config", path, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir()}, flags...)...)
			client := mcp.NewClient(&mcp.Implementation{Name: "linky-client", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: hub.MCP()}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "l__link"})
			if err != nil {
				t.Fatal(err)
			}
			embedded, _ := res.Content[0].(*mcp.EmbeddedResource)
			switch {
			case flags == nil && (embedded != nil || len(res.Content) != 2):
				t.Errorf("it was fetched: %+v", res.Content)
			case flags != nil && (embedded == nil || embedded.Resource.Text != "within"):
				t.Errorf("it was not fetched: %+v", res.Content)
			}
		})
	}
}
