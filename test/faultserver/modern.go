package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The protocol's own keys in _meta (revision 2026-07-28).
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// checkModern refuses what revision 2026-07-28 does not allow in a request.
func checkModern(m message) *rpcError {
	var version string
	if raw := m.meta(metaVersion); raw != nil {
		_ = json.Unmarshal(raw, &version)
	} else if m.Method == "initialize" {
		var p struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(m.Params, &p)
		return unsupportedVersion(p.ProtocolVersion)
	}
	switch {
	case version == "":
		return &rpcError{Code: codeBadParams, Message: "_meta lacks " + metaVersion}
	case version != modern:
		return unsupportedVersion(version)
	case m.meta(metaCapabilities) == nil:
		return &rpcError{Code: codeBadParams, Message: "_meta lacks " + metaCapabilities}
	case m.Method == "initialize":
		return &rpcError{Code: codeUnknownMethod, Message: "Method not found: initialize"}
	}
	return nil
}

func unsupportedVersion(requested string) *rpcError {
	return &rpcError{
		Code:    codeBadVersion,
		Message: "Unsupported protocol version",
		Data:    encode(map[string]any{"supported": []string{modern}, "requested": requested}),
	}
}

// checkHeaders compares the headers of revision 2026-07-28 with the body that
// they describe. A header value may be wrapped as =?base64?...?= and has to be
// unwrapped before it is compared.
func checkHeaders(h http.Header, m message) *rpcError {
	var version string
	_ = json.Unmarshal(m.meta(metaVersion), &version)
	want := []struct{ header, value string }{
		{"MCP-Protocol-Version", version},
		{"Mcp-Method", m.Method},
		{"Mcp-Name", m.name()},
	}
	for _, w := range want {
		if got := unwrap(h.Get(w.header)); got != w.value {
			return &rpcError{
				Code:    codeHeaderMismatch,
				Message: fmt.Sprintf("header %s is %q, the body says %q", w.header, got, w.value),
			}
		}
	}
	return nil
}

func unwrap(value string) string {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	inner, ok2 := strings.CutSuffix(inner, "?=")
	if !ok || !ok2 {
		return value
	}
	b, err := base64.StdEncoding.DecodeString(inner)
	if err != nil {
		return value
	}
	return string(b)
}

func (s *server) discover() json.RawMessage {
	return fmt.Appendf(nil, `{"supportedVersions":[%q],"capabilities":%s,`+
		`"instructions":"Goes wrong on request.","ttlMs":0,"cacheScope":"private",`+
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"faultserver","version":"1.0.0"}}}`, modern, s.capabilities())
}

// complete adds the resultType that every result of revision 2026-07-28 has;
// the other bytes stay as they are.
func complete(result json.RawMessage) json.RawMessage {
	if strings.Contains(string(result), `"resultType":"input_required"`) {
		return result
	}
	if string(result) == "{}" {
		return json.RawMessage(`{"resultType":"complete"}`)
	}
	return append([]byte(`{"resultType":"complete",`), result[1:]...)
}

// subscribe serves subscriptions/listen until the caller ends it: it
// acknowledges what it honours (the list of tools, and with -wide resources),
// then tells the changes, each tagged with the id of the request.
func (s *server) subscribe(ctx context.Context, r request) (json.RawMessage, *rpcError) {
	var p struct {
		Notifications struct {
			ToolsListChanged      bool     `json:"toolsListChanged"`
			ResourceSubscriptions []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return nil, &rpcError{Code: codeBadParams, Message: "subscriptions/listen: " + err.Error()}
	}
	honoured := map[string]any{}
	if p.Notifications.ToolsListChanged {
		honoured["toolsListChanged"] = true
	}
	if s.opt.wide && len(p.Notifications.ResourceSubscriptions) > 0 {
		honoured["resourceSubscriptions"] = p.Notifications.ResourceSubscriptions
	}
	r.notify(notification("notifications/subscriptions/acknowledged", map[string]any{
		"_meta":         map[string]any{metaSubscription: r.ID},
		"notifications": honoured,
	}))
	if len(honoured) > 0 {
		stop := s.listen(&listener{subscription: r.ID, send: r.notify})
		defer stop()
	}
	<-ctx.Done()
	return nil, nil
}
