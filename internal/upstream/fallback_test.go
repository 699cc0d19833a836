package upstream_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// A server of the older transport is found behind a URL of which nothing is
// known but that it is HTTP.
func TestFallback(t *testing.T) {
	sdk := sdkServer()
	handler := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return sdk }, nil)
	legacy := protocol.Legacy
	for _, status := range []int{400, 404, 405} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.RawQuery == "" {
				w.WriteHeader(status)
				return
			}
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(srv.Close)
		for _, era := range []*protocol.Era{nil, &legacy} {
			opt := options(at(srv.URL + "/sse"))
			opt.Era = era
			c := dial(t, opt)
			if got := do(t, c, "echo", `{"text":"hello"}`); got != "hello" || c.Era() != protocol.Legacy {
				t.Errorf("%d: echo answered %q, in %s", status, got, c.Protocol())
			}
		}
	}
}

// Where there is no older transport either, a person hears of the first thing
// that went wrong.
func TestFallbackFaults(t *testing.T) {
	for _, tt := range []struct {
		name string
		post int
		body string
		get  http.HandlerFunc
		code message.Code
		says string
	}{
		{"nothing there", 404, "", http.NotFound, message.ServerHTTPStatus, "404"},
		{"a page instead", 405, "", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, message.ServerHTTPStatus, "405"},
		{"wants a key", 405, "", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, message.ServerUnauthorized, "401 to a GET, and 405 to a POST"},
		{"points elsewhere", 404, "", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "event: endpoint\ndata: https://example.org/m\n\n")
		}, message.ServerFallback, "HTTP 404 to a POST"},
		{"says no more", 405, "", func(w http.ResponseWriter, _ *http.Request) { events(w, "event: endpoint\ndata: ?p\n\n") }, message.ServerFallback, "HTTP 405 to a POST"},
		{"speaks MCP", 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }, message.ServerHTTPStatus, "400"},
		{"is broken", 500, "", func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }, message.ServerHTTPStatus, "500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					tt.get(w, r)
					return
				}
				w.WriteHeader(tt.post)
				fmt.Fprint(w, tt.body)
			}))
			defer srv.Close()
			c, err := upstream.Dial(t.Context(), options(at(srv.URL)))
			if err == nil {
				c.Close(t.Context())
				t.Fatal("it came about")
			}
			e := hub.AsError(err)
			if text := e.Text(message.English).String(); e.Code != tt.code || !strings.Contains(text, tt.says) {
				t.Errorf("got %s: %v; it says %q", e.Code, err, text)
			}
		})
	}
}
