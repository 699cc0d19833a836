package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

// TestDevice has a device dial in with a token that an administrator has made: its
// tools are listed and called by a client of MCP as any, those for people by an
// operator alone, and when it has gone a call says so at once.
func TestDevice(t *testing.T) {
	t.Parallel()
	hub := rig.Serve(t, nil, "--config", rig.WriteConfig(t), "--listen", "127.0.0.1:0", "--device-listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	hub.AwaitReady()
	admin := hub.API()
	all, err := admin.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := all.Address

	const mac = "aa:bb:cc:dd:ee:01"
	ran := make(chan string, 10)
	d := voice.FW(mac)
	d.Run = func(name string, _ json.RawMessage) string {
		ran <- name
		return `"result":{"content":[{"type":"text","text":"true"}],"isError":false}`
	}
	_, res, err := d.Dial(t.Context(), address)
	if err == nil || res == nil || res.StatusCode != 401 {
		t.Fatalf("without a token: %v", err)
	}
	var problem api.Problem
	if err := json.NewDecoder(res.Body).Decode(&problem); err != nil || res.Header.Get("Content-Type") != "application/problem+json" || problem.Code != "device_refused" || !strings.Contains(problem.Detail, mac) {
		t.Errorf("without a token it is told %+v (%v)", problem, err)
	}
	token, err := admin.DeviceToken(t.Context(), mac, api.DeviceTokenWanted{Client: d.Client})
	if err != nil {
		t.Fatal(err)
	}
	d.Token = token.Token
	s, _, err := d.Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Drop()
	hub.AwaitState("device-aabbccddee01", "ready")

	c := connect(t, hub.MCP(), latestLegacy)
	tools := c.tools()
	at := slices.IndexFunc(tools, func(name string) bool { return strings.HasPrefix(name, "device-aabbccddee01__self_get_device_status") })
	if at < 0 || slices.ContainsFunc(tools, func(name string) bool { return strings.Contains(name, "reboot") }) {
		t.Fatalf("listed: %q", tools)
	}
	if got := c.text(tools[at], nil); got != "true" || <-ran != "self.get_device_status" {
		t.Errorf("answered %q", got)
	}
	if res, err := admin.CallDevice(t.Context(), mac, api.DeviceCall{Tool: "self.reboot"}); err != nil || res.IsError || <-ran != "self.reboot" {
		t.Errorf("a person's call: %+v %v", res, err)
	}
	if _, err := admin.Call(t.Context(), api.Call{Tool: "device-aabbccddee01__self.reboot"}); err == nil {
		t.Error("a program calls what is for people")
	}

	s.Drop()
	hub.AwaitState("device-aabbccddee01", "failed")
	began := time.Now()
	m := c.request("tools/call", map[string]any{"name": tools[at], "arguments": map[string]any{}})
	if said := m.String(); !strings.Contains(said, "not connected") || time.Since(began) > time.Second {
		t.Errorf("after %v: %s", time.Since(began), said)
	}
	if !slices.Contains(c.tools(), tools[at]) {
		t.Error("its tools are not listed any more")
	}
}
