package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// A session belongs to the group at whose address it was opened: it sees that
// group's tools, and is unknown at any other address. All doors have groups.
func TestGroups(t *testing.T) {
	h := open(t)
	h.catalog.SetViews([]hub.Group{{Name: "sums", Servers: []string{"calculator"}}, {Name: "other"}}, nil)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	check := func(door, got string, group bool) {
		t.Helper()
		if !strings.Contains(got, "calculator__calculator") || strings.Contains(got, "lab__hold") == group {
			t.Errorf("%s: the tools are %s", door, got)
		}
	}

	at := func(path string) *poster {
		p := &poster{tb: t, h: h, path: path}
		p.session = p.do(t.Context(), http.MethodPost, initialize, "").Header.Get("Mcp-Session-Id")
		return p
	}
	all, sums := at("/mcp"), at("/mcp/sums")
	check("all", all.body(all.do(t.Context(), http.MethodPost, list, "")), false)
	check("group", sums.body(sums.do(t.Context(), http.MethodPost, list, "")), true)
	for _, path := range []string{"/mcp", "/mcp/other"} {
		sums.path = path
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			res := sums.do(t.Context(), method, list, "")
			if body := sums.body(res); res.StatusCode != http.StatusNotFound || code(body) != "session_unknown" {
				t.Errorf("%s of the group's session at %s: %s, %s", method, path, res.Status, body)
			}
		}
	}
	nowhere := &poster{tb: t, h: h, path: "/mcp/nowhere"}
	res := nowhere.do(t.Context(), http.MethodPost, initialize, "")
	if body := nowhere.body(res); code(body) != "group_unknown" || res.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("an unknown group: %s", body)
	}

	modernList := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s}}`, modern)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/mcp/sums", strings.NewReader(modernList))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/list"}}
	if res, err = h.client.Do(req); err != nil {
		t.Fatal(err)
	}
	check("modern", sums.body(res), true)

	s := h.dial(t, "?group=sums").greet()
	check("websocket", s.ask(list), true)
	check("websocket, modern", s.ask("%s", modernList), true)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if _, res, err := websocket.Dial(ctx, h.ws("?group=nowhere"), nil); err == nil || res == nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("a WebSocket to an unknown group: %v", err)
	}

	for _, path := range []string{"/sse?group=sums", "/sse/sums"} {
		e := h.listenAt(t, path, "")
		e.post(initialize)
		e.next()
		e.post(list)
		_, data := e.next()
		check(path, data, true)
	}
	e := &events{tb: t, h: h}
	if res := e.do(http.MethodGet, "/sse/nowhere", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("an event stream of an unknown group: %s", res.Status)
	}
}
