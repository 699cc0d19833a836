package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// counting is a server of the Go SDK, which shares no code with the hub or with
// the fault server.
func counting() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil)
	type arguments struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Counts the letters, with progress."},
		func(ctx context.Context, req *mcp.CallToolRequest, args arguments) (*mcp.CallToolResult, any, error) {
			for i := range args.Text {
				err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1),
				})
				if err != nil {
					return nil, nil, err
				}
			}
			return nil, map[string]int{"letters": len(args.Text)}, nil
		})
	return server
}

// listen serves until the end of the test and returns the URL.
func listen(t *testing.T, handler http.Handler) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	// Before Close, which waits for connections: the hub's stream is one.
	t.Cleanup(s.CloseClientConnections)
	return s.URL
}

// goServers serves the counting server in every way in which the hub can reach
// it.
func goServers(t *testing.T) []rig.Server {
	t.Helper()
	one := counting()
	server := func(*http.Request) *mcp.Server { return one }
	over := func(stateless bool) string {
		return listen(t, mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{Stateless: stateless}))
	}
	return []rig.Server{
		rig.HTTP("stateful", over(false)),
		rig.HTTP("stateless", over(true)),
		rig.HTTP("sse", listen(t, mcp.NewSSEHandler(server, nil))).With("type", "sse"),
		// The fallback of streamable HTTP to the older transport.
		rig.HTTP("fallback", listen(t, mcp.NewSSEHandler(server, nil))).With("type", "http"),
		rig.HTTP("ws", "ws"+strings.TrimPrefix(listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				return // it has been answered
			}
			stream := websocket.NetConn(r.Context(), conn, websocket.MessageText)
			_ = one.Run(r.Context(), &mcp.IOTransport{Reader: stream, Writer: stream}) // until the hub has gone
		})), "http")),
	}
}

// TestGoServer has callers of both eras use servers of both eras that are made
// with the Go SDK.
func TestGoServer(t *testing.T) {
	t.Parallel()
	servers := goServers(t)
	hub := rig.StartHub(t, servers...)
	hub.AwaitReady()
	matrix(t, hub.Door, servers, func(t *testing.T, c *caller, server string) {
		ctx, cancel := context.WithTimeout(t.Context(), callLimit)
		defer cancel()
		list, err := c.send(ctx, "tools/call", map[string]any{
			"name": server + "__count", "arguments": map[string]any{"text": "four"},
			"_meta": map[string]any{"progressToken": "mine"},
		}, nil).all()
		if err != nil || len(list) != 5 {
			t.Fatalf("the call was answered with %s (%v), want 4 times progress and a result", list, err)
		}
		for i, m := range list[:4] {
			if want := fmt.Sprintf(`{"progressToken":"mine","progress":%d}`, i+1); m.Method != "notifications/progress" || !sameJSON(t, m.Params, want) {
				t.Errorf("notification %d is %s, want progress %s", i+1, m, want)
			}
		}
		var result map[string]json.RawMessage
		if err := json.Unmarshal(list[4].Result, &result); err != nil || !sameJSON(t, result["structuredContent"], `{"letters":4}`) {
			t.Errorf("the result is %s", list[4])
		}
		// A legacy caller must not see what its era does not have.
		if _, modern := result["resultType"]; modern != c.modern() {
			t.Errorf("a caller of %s got the result %s", c.revision, list[4].Result)
		}
	})
}

func sameJSON(t *testing.T, got json.RawMessage, want string) bool {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		return false
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// recorder is a server of the modern era with one tool, whose arguments are to
// be mirrored into headers. It records the calls.
type recorder struct {
	calls chan recorded
}

type recorded struct {
	header http.Header
	params struct {
		Name string `json:"name"`
	}
}

const recorderTool = "größe"

func (s *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var m message
	if err != nil || json.Unmarshal(raw, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	result := ""
	switch m.Method {
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
	case "tools/list":
		result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"` + recorderTool + `","inputSchema":{"type":"object","properties":{
			"region":{"type":"string","x-mcp-header":"Region"},
			"count":{"type":"integer","x-mcp-header":"Count"},
			"dry":{"type":"boolean","x-mcp-header":"Dry-Run"},
			"deep":{"type":"object","properties":{"er":{"type":"string","x-mcp-header":"Deeper"}}},
			"plain":{"type":"string"}}}}]}`
	case "tools/call":
		call := recorded{header: r.Header}
		if err := json.Unmarshal(m.Params, &call.params); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.calls <- call
		result = `{"resultType":"complete","content":[]}`
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, strings.ReplaceAll(result, "\n", ""))
}

// TestMirroredHeaders: name and arguments of a call stand in the headers of
// what a modern server gets, whoever called; and a modern caller's own headers
// must agree with what it calls.
func TestMirroredHeaders(t *testing.T) {
	t.Parallel()
	rec := &recorder{calls: make(chan recorded, 16)}
	server := httptest.NewServer(rec)
	t.Cleanup(server.Close)
	hub := rig.StartHub(t, rig.HTTP("rec", server.URL))
	hub.AwaitReady()

	arguments := map[string]any{
		"region": "Zürich ", "count": 42, "dry": true, "deep": map[string]any{"er": "down here"}, "plain": "not mirrored",
	}
	mirrored := http.Header{
		"Mcp-Param-Region": {"=?base64?WsO8cmljaCA=?="}, "Mcp-Param-Count": {"42"},
		"Mcp-Param-Dry-Run": {"true"}, "Mcp-Param-Deeper": {"down here"},
	}
	params := func(args map[string]any) map[string]any {
		return map[string]any{"name": recorderTool, "arguments": args}
	}
	check := func(t *testing.T, want http.Header) {
		t.Helper()
		got := <-rec.calls
		if got.params.Name != recorderTool {
			t.Errorf("the server was called for %q, want %q", got.params.Name, recorderTool)
		}
		for k, v := range map[string]string{
			"Mcp-Protocol-Version": modernRevision, "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?Z3LDtsOfZQ==?=",
		} {
			if got.header.Get(k) != v {
				t.Errorf("the header %s is %q, want %q", k, got.header.Get(k), v)
			}
		}
		for k := range got.header {
			if strings.HasPrefix(k, "Mcp-Param-") && want[k] == nil {
				t.Errorf("there is a header %s: %q", k, got.header[k])
			}
		}
		for k, v := range want {
			if got.header.Get(k) != v[0] {
				t.Errorf("the header %s is %q, want %q", k, got.header[k], v)
			}
		}
	}
	send := func(t *testing.T, c *caller, args map[string]any, header http.Header) (int, message) {
		t.Helper()
		a := c.send(t.Context(), "tools/call", params(args), header)
		return a.status, c.response(a)
	}

	t.Run("legacy caller", func(t *testing.T) {
		if _, m := send(t, connect(t, hub.MCP(), latestLegacy), arguments, nil); m.Error != nil {
			t.Fatal(m)
		}
		check(t, mirrored)
	})
	t.Run("modern caller", func(t *testing.T) {
		c := connect(t, hub.MCP(), modernRevision)
		if status, m := send(t, c, arguments, mirrored); status != http.StatusOK || m.Error != nil {
			t.Fatalf("HTTP %d %s", status, m)
		}
		check(t, mirrored)
	})
	t.Run("nothing to mirror", func(t *testing.T) {
		c := connect(t, hub.MCP(), modernRevision)
		none := map[string]any{"region": nil, "deep": map[string]any{}, "plain": "x"}
		if status, m := send(t, c, none, nil); status != http.StatusOK || m.Error != nil {
			t.Fatalf("HTTP %d %s", status, m)
		}
		check(t, nil)
	})
	for name, wrong := range map[string]http.Header{
		"missing":       {"Mcp-Param-Region": nil},
		"another value": {"Mcp-Param-Count": {"43"}},
		"not decoded":   {"Mcp-Param-Region": {"=?base64?!?="}},
		"twice":         {"Mcp-Param-Dry-Run": {"true", "true"}},
	} {
		t.Run("header "+name, func(t *testing.T) {
			header := mirrored.Clone()
			maps.Copy(header, wrong)
			status, m := send(t, connect(t, hub.MCP(), modernRevision), arguments, header)
			if status != http.StatusBadRequest || m.Error == nil || m.Error.Code != -32020 {
				t.Errorf("HTTP %d %s, want 400 and -32020", status, m)
			}
			select {
			case <-rec.calls:
				t.Error("the call has reached the server")
			default:
			}
		})
	}
}
