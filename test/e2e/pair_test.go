package e2e

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

// TestReq39RelayAndPair has a device whose frames go on to a backend, and an MCP server
// at an endpoint of the hub's: a client of MCP uses the tools of both, and so do the
// backends that they are for.
func TestReq39RelayAndPair(t *testing.T) {
	t.Parallel()
	backend := &voice.Endpoint{}
	far := httptest.NewServer(backend)
	defer far.Close()
	config := filepath.Join(t.TempDir(), "toolcrib.json")
	link := "ws" + strings.TrimPrefix(far.URL, "http") + "/xiaozhi/v1/"
	const mac, agent = "aa:bb:cc:dd:ee:01", "aa:bb:cc:dd:ee:02"
	text := `{"mcpServers": {}, "devices": {"allow": ["` + mac + `"], "relay": {"` + mac + `": "` + link + `"}}, "policy": ` + rig.Observed + `}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	hub := rig.Serve(t, nil, "--config", config, "--listen", "127.0.0.1:0", "--device-listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	hub.AwaitReady()
	admin := hub.API()
	all, err := admin.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	d := voice.FW(mac)
	d.Token = "of-the-backend"
	s, _, err := d.Dial(t.Context(), all.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Drop()
	b, err := backend.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Header.Get("Authorization"); got != "Bearer of-the-backend" {
		t.Errorf("the backend is shown %q", got)
	}
	if _, err := b.Hear(t.Context(), `"hello"`); err != nil {
		t.Fatal(err)
	}
	if err := b.Send(`{"type":"hello","transport":"websocket","session_id":"s"}`); err != nil {
		t.Fatal(err)
	}
	if err := b.Send(`{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"self.get_device_status","arguments":{}}}}`); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Hear(t.Context(), `"id":1,`); err != nil || !strings.Contains(got, "true") {
		t.Errorf("%s (%v)", got, err)
	}
	hub.AwaitState("device-aabbccddee01", "ready")

	token, err := admin.DeviceToken(t.Context(), agent, api.DeviceTokenWanted{})
	if err != nil {
		t.Fatal(err)
	}
	pair := strings.TrimSuffix(all.Address, "/xiaozhi/v1/") + "/mcp_endpoint/mcp/?token=" + agent + "." + token.Token
	tool, err := voice.Dial(t.Context(), nil, pair)
	if err != nil {
		t.Fatal(err)
	}
	defer tool.Drop()
	go tool.Serve([]voice.DeviceTool{{Name: "add", Description: "Adds."}}, func(r voice.Request) string {
		return `"result":{"content":[{"type":"text","text":"` + r.Params.Name + `"}]}`
	})
	hub.AwaitState("tools-device-aabbccddee02", "ready")
	caller, err := voice.Dial(t.Context(), nil, strings.Replace(pair, "/mcp/", "/call/", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Drop()
	if tools, err := voice.XS(t.Context(), caller); err != nil || len(tools) != 1 {
		t.Errorf("%v (%v)", tools, err)
	}
	if got, _, err := voice.XSCall(t.Context(), caller, 1, "add", `{}`); err != nil || got != "add" {
		t.Errorf("%s (%v)", got, err)
	}

	c := connect(t, hub.MCP(), latestLegacy)
	for part, want := range map[string]string{"device-aabbccddee01__self_get_device_status": "true", "tools-device-aabbccddee02__add": "add"} {
		at := slices.IndexFunc(c.tools(), func(name string) bool { return strings.HasPrefix(name, part) })
		if at < 0 {
			t.Fatalf("%s is not listed: %q", part, c.tools())
		}
		if got := c.text(c.tools()[at], nil); got != want {
			t.Errorf("%s: %q", part, got)
		}
	}
	st, err := admin.Devices(t.Context())
	if err != nil || len(st.Devices) != 1 || st.Devices[0].Relay != link {
		t.Errorf("%+v (%v)", st, err)
	}
}
