package upstream_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// sdkServer is a server of the official SDK, which speaks both eras and has
// something of everything.
func sdkServer() *mcp.Server {
	type text struct {
		Text string `json:"text"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{
		PageSize: 2,
		SubscribeHandler: func(_ context.Context, r *mcp.SubscribeRequest) error {
			if r.Params.URI == "test:///none" {
				return errors.New("no such resource here")
			}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"completed"}}}, nil
		},
	})
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "touch"}, func(ctx context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		err := s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: in.Text})
		return &mcp.CallToolResult{}, nil, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: in.Text})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: got.Action}}}, nil, nil
	})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "read"}}}, nil
	}
	for _, name := range []string{"a", "b", "\u00fc"} {
		s.AddResource(&mcp.Resource{Name: name, URI: "test:///" + name}, read)
		s.AddPrompt(&mcp.Prompt{Name: name}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "prompt " + r.Params.Name}, nil
		})
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: "test:///t/{id}"}, read)
	return s
}

func sdkHTTP(t *testing.T, stateless bool) hub.Server {
	t.Helper()
	s := sdkServer()
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return at(srv.URL)
}

func sdkInProcess(ctx context.Context, _ string, r io.ReadCloser, w io.WriteCloser) error {
	return sdkServer().Run(ctx, &mcp.IOTransport{Reader: r, Writer: w})
}

// The era of every kind of server is found, and the conversation works in it.
func TestEra(t *testing.T) {
	modern, legacy := protocol.Modern, protocol.Legacy
	for _, tt := range []struct {
		name   string
		server func(t *testing.T) hub.Server
		known  *protocol.Era
		want   protocol.Revision
	}{
		{"legacy process", func(t *testing.T) hub.Server { return stdio(t) }, nil, protocol.Rev20251125},
		{"modern process", func(t *testing.T) hub.Server { return stdio(t, "-fault", "modernonly") }, nil, protocol.Rev20260728},
		{"modern process, known as such", func(t *testing.T) hub.Server { return stdio(t, "-fault", "modernonly") }, &modern, protocol.Rev20260728},
		{"modern process, known as legacy", func(t *testing.T) hub.Server { return stdio(t, "-fault", "modernonly") }, &legacy, protocol.Rev20260728},
		// It exits when anything comes before initialize.
		{"process that knows no other question", func(t *testing.T) hub.Server { return stdio(t, "-fault", "silentunknown") }, nil, protocol.Rev20251125},
		{"in process, of both eras", func(*testing.T) hub.Server { return hub.Server{Key: "s", Kind: hub.KindBuiltin} }, nil, protocol.Rev20251125},
		{"legacy HTTP", func(t *testing.T) hub.Server { return remote(t) }, nil, protocol.Rev20251125},
		{"legacy HTTP, known as such", func(t *testing.T) hub.Server { return remote(t) }, &legacy, protocol.Rev20251125},
		{"HTTP that knows no other question", func(t *testing.T) hub.Server { return remote(t, "-fault", "silentunknown") }, nil, protocol.Rev20251125},
		{"modern HTTP", func(t *testing.T) hub.Server { return remote(t, "-fault", "modernonly") }, nil, protocol.Rev20260728},
		{"HTTP that was legacy before", func(t *testing.T) hub.Server { return remote(t, "-fault", "modernonly") }, &legacy, protocol.Rev20260728},
		{"HTTP of the SDK, with sessions", func(t *testing.T) hub.Server { return sdkHTTP(t, false) }, nil, protocol.Rev20251125},
		{"HTTP of the SDK, of both eras", func(t *testing.T) hub.Server { return sdkHTTP(t, true) }, nil, protocol.Rev20260728},
		{"SSE of the SDK", sdkSSE, nil, protocol.Rev20251125},
		{"SSE of the SDK, taken for modern", sdkSSE, &modern, protocol.Rev20251125},
		{"WebSocket of the SDK", sdkWebSocket, nil, protocol.Rev20251125},
		{"modern WebSocket", func(t *testing.T) hub.Server { return overWebSocket(t, "-fault", "modernonly") }, nil, protocol.Rev20260728},
		{"WebSocket that knows no other question", func(t *testing.T) hub.Server { return overWebSocket(t, "-fault", "silentunknown") }, nil, protocol.Rev20251125},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := options(tt.server(t))
			opt.Era, opt.Serve = tt.known, sdkInProcess
			c := dial(t, opt)
			if got := c.Hello().Revision; got != tt.want || c.Era() != tt.want.Era() {
				t.Errorf("found %s (%s), want %s", got, c.Era(), tt.want)
			}
			tools, err := c.Tools(t.Context())
			if err != nil || len(tools) == 0 {
				t.Errorf("%d tools, %v", len(tools), err)
			}
			if got := do(t, c, "echo", `{"text":"hello"}`); got != "hello" {
				t.Errorf("echo answered %q", got)
			}
		})
	}
}

// A server that is lost and found again may have become one of another era:
// what was known of it is a guess, and no more.
func TestEraIsAGuess(t *testing.T) {
	modern := protocol.Modern
	opt := options(remote(t))
	opt.Era = &modern
	if c := dial(t, opt); c.Era() != protocol.Legacy {
		t.Errorf("found %s", c.Era())
	}
}
