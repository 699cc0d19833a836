package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	fake "github.com/toolcrib/toolcrib/test/voice"
)

// An endpoint from its definition to its end, with a peer that is really there.
func TestEndpoint(t *testing.T) {
	h := open(t, "{\n  \"mcpServers\": {}, // none\n}\n")
	peer := &fake.Endpoint{}
	server := httptest.NewServer(peer)
	defer server.Close()
	url := "ws" + strings.TrimPrefix(server.URL, "http")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()

	var v api.Endpoint
	a := h.change(http.MethodPut, "/xiaozhi/endpoints/home", `{"entry":{"url":"`+url+`/mcp/?token=one+secret/=","allow":["calc*"],"profile":"self-hosted","requiredTools":["calculator"]}}`).into(http.StatusOK, &v)
	if v.Name != "home" || !v.Enabled || v.ETag == "" || a.header.Get("ETag") != v.ETag || strings.Contains(string(a.body), "secret/") ||
		!strings.Contains(string(v.Entry), "${secret:xiaozhi.endpoints.home.url}") {
		t.Errorf("it is %s", a.body)
	}
	if text := h.text(); strings.Contains(text, "one+secret") || !strings.Contains(text, "// none") {
		t.Errorf("the file is %s", text)
	}
	socket, err := peer.Next(ctx)
	must(t, err)
	if _, tools, err := fake.Cloud(ctx, socket); err != nil || len(tools) == 0 {
		t.Fatalf("%+v, %v", tools, err)
	}
	state := func(want string) {
		t.Helper()
		for v.State != want {
			if ctx.Err() != nil {
				t.Fatalf("it stays %+v", v)
			}
			time.Sleep(time.Millisecond)
			a = h.do(ask{method: http.MethodGet, path: "/xiaozhi/endpoints/home", token: h.admin}).into(http.StatusOK, &v)
		}
	}
	state("connected")
	if v.Peer == "" || v.Callers != 1 || v.Connects != 1 || v.Tools == 0 || !strings.HasPrefix(v.URL, url) || strings.Contains(v.URL, "secret") || v.Since.IsZero() {
		t.Errorf("it is %s", a.body)
	}
	if v.Profile != "self-hosted" {
		t.Errorf("its profile is %q", v.Profile)
	}
	// What it needs is held for as long as it is connected.
	var held api.LeaseList
	h.do(ask{method: http.MethodGet, path: "/leases", token: h.admin}).into(http.StatusOK, &held)
	if len(held.Leases) != 1 || held.Leases[0].Server != "calculator" || held.Leases[0].Holder != "endpoint:home" || held.Leases[0].Subject != "xiaozhi:home" {
		t.Errorf("held are %+v", held)
	}
	var list api.EndpointList
	h.do(ask{method: http.MethodGet, path: "/xiaozhi/endpoints", token: h.admin}).into(http.StatusOK, &list)
	if len(list.Endpoints) != 1 || list.Endpoints[0].State != "connected" || list.Endpoints[0].Entry != nil {
		t.Errorf("the list is %+v", list)
	}
	var log api.Log
	h.do(ask{method: http.MethodGet, path: "/xiaozhi/endpoints/home/log", token: h.admin}).into(http.StatusOK, &log)
	if len(log.Lines) == 0 {
		t.Error("the log is empty")
	}

	// Another token with the entry as it is, and being asked to, have it dialled anew.
	h.change(http.MethodPut, "/xiaozhi/endpoints/home", `{"entry":{"url":"`+url+`/mcp/?token=other","allow":["calc*"]}}`).into(http.StatusOK, &v)
	if socket, err = peer.Next(ctx); err != nil {
		t.Fatal(err)
	}
	if _, _, err := fake.Cloud(ctx, socket); err != nil {
		t.Fatal(err)
	}
	state("connected")
	h.change(http.MethodPost, "/xiaozhi/endpoints/home/reconnect", "").into(http.StatusOK, nil)
	if _, err = peer.Next(ctx); err != nil {
		t.Fatal(err)
	}

	set := func(path, etag, body string) *answer {
		return h.do(ask{method: http.MethodPut, path: path, token: h.admin, body: body, header: map[string]string{"If-Match": etag}})
	}
	set("/xiaozhi/endpoints/home", `"other"`, `{"entry":{}}`).refused(http.StatusPreconditionFailed, message.ConfigStale)
	p := set("/xiaozhi/endpoints/bad.name", "", `{"entry":{"url":"ws://h"}}`).refused(http.StatusUnprocessableEntity, message.ConfigInvalid)
	if len(p.Problems) != 1 || p.Problems[0].Line == 0 {
		t.Errorf("the problems are %+v", p.Problems)
	}
	set("/xiaozhi/endpoints/home", v.ETag, `{"entry":{"url":"`+url+`","enabled":false}}`).into(http.StatusOK, &v)
	if v.State != "disabled" || v.Enabled {
		t.Errorf("it is %+v", v)
	}
	h.change(http.MethodPost, "/xiaozhi/endpoints/home/reconnect", "").refused(http.StatusConflict, message.EndpointIdle)
	h.change(http.MethodDelete, "/xiaozhi/endpoints/home", "").into(http.StatusNoContent, nil)
	for _, one := range []ask{
		{method: http.MethodGet, path: "/xiaozhi/endpoints/home"},
		{method: http.MethodGet, path: "/xiaozhi/endpoints/home/log"},
		{method: http.MethodPost, path: "/xiaozhi/endpoints/home/reconnect"},
		{method: http.MethodDelete, path: "/xiaozhi/endpoints/home"},
	} {
		one.token = h.admin
		h.do(one).refused(http.StatusNotFound, message.EndpointUnknown)
	}
}

// A backend has its token sealed, and one that is switched off is not dialled.
func TestBackend(t *testing.T) {
	h := open(t, `{"xiaozhi":{"backends":{"off":{"url":"wss://h/?token=SECRET","enabled":false}}}}`)
	var v api.Endpoint
	h.change(http.MethodPut, "/xiaozhi/backends/school", `{"entry":{"ota":"https://h/ota","token":"SECRET","enabled":false}}`).into(http.StatusOK, &v)
	if v.State != "disabled" || !strings.Contains(string(v.Entry), "${secret:xiaozhi.backends.school.token}") {
		t.Errorf("it is %+v", v)
	}
	var list api.BackendList
	a := h.do(ask{method: http.MethodGet, path: "/xiaozhi/backends", token: h.admin}).into(http.StatusOK, &list)
	if len(list.Backends) != 2 || list.Backends[0].State != "disabled" || strings.Contains(string(a.body), "SECRET") {
		t.Errorf("the list is %s", a.body)
	}
	h.change(http.MethodPost, "/xiaozhi/backends/school/reconnect", "").refused(http.StatusConflict, message.EndpointIdle)
	h.do(ask{method: http.MethodGet, path: "/xiaozhi/backends/none", token: h.admin}).refused(http.StatusNotFound, message.BackendUnknown)
}

// A device dials in with the token that it was given; people call its tools, also
// those that nobody else can.
func TestDevices(t *testing.T) {
	h := open(t, `{"devices":{"aliases":{"aa:bb:cc:dd:ee:01":"kitchen"}}}`)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	const id = "aa:bb:cc:dd:ee:01"
	var token api.DeviceToken
	h.change(http.MethodPost, "/devices/"+id+"/token", `{}`).into(http.StatusOK, &token)
	if left := time.Until(token.Expires); left < 29*24*time.Hour || token.Token == "" {
		t.Errorf("the token is %+v", token)
	}
	h.change(http.MethodPost, "/devices/a%7Cb/token", `{}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	esp := fake.FW(id)
	esp.Token = token.Token
	socket, _, err := esp.Dial(ctx, h.deviceAddress)
	must(t, err)
	defer socket.Drop()
	var v api.Device
	for v.Tools == 0 {
		if ctx.Err() != nil {
			t.Fatalf("it stays %+v", v)
		}
		time.Sleep(time.Millisecond)
		var list api.DeviceList
		if h.do(ask{method: http.MethodGet, path: "/devices", token: h.admin}).into(http.StatusOK, &list); len(list.Devices) > 0 {
			v = list.Devices[0]
		}
	}
	if v.ID != id || v.Alias != "kitchen" || !v.Online || len(v.UserTools) == 0 {
		t.Errorf("it is %+v", v)
	}
	h.do(ask{method: http.MethodGet, path: "/devices/kitchen", token: h.admin}).into(http.StatusOK, &v)
	var result api.CallResult
	h.change(http.MethodPost, "/devices/kitchen/call", `{"tool":"`+v.UserTools[0]+`"}`).into(http.StatusOK, &result)
	if result.Server != "kitchen" || result.IsError {
		t.Errorf("the result is %+v", result)
	}
	h.change(http.MethodPost, "/devices/"+strings.ToUpper(id)+"/call", `{"tool":"self.get_device_status","arguments":{}}`).into(http.StatusOK, &result)
	h.call(`{"tool":"kitchen__`+v.UserTools[0]+`"}`).refused(http.StatusNotFound, message.ToolUnknown)
	var log api.Log
	h.do(ask{method: http.MethodGet, path: "/devices/kitchen/log", token: h.admin}).into(http.StatusOK, &log)
	for _, one := range []string{"", "/log"} {
		h.do(ask{method: http.MethodGet, path: "/devices/none" + one, token: h.admin}).refused(http.StatusNotFound, message.DeviceUnknown)
	}
	h.change(http.MethodPost, "/devices/none/call", `{"tool":"x"}`).refused(http.StatusNotFound, message.DeviceUnknown)

	// A token by the alias is the device's own; none is made that no device could show.
	h.change(http.MethodPost, "/devices/kitchen/token", `{}`).into(http.StatusOK, &token)
	if !h.devices.Verify(id, "", token.Token, time.Now()) {
		t.Error("the token by the alias is not the device's")
	}
	h.change(http.MethodPost, "/devices/two%20words/token", `{}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	h.change(http.MethodPost, "/devices/"+id+"/token", `{"client":"two words"}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)

	// To revoke what a device was given sends it away, and is on record.
	h.change(http.MethodDelete, "/devices/two%20words/token", "").refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	for _, unknown := range []string{"kitchn", "device-aabbccddee0", "nobody_s_client"} { // which would seem to be dealt with
		h.change(http.MethodDelete, "/devices/"+unknown+"/token", "").refused(http.StatusNotFound, message.DeviceUnknown)
	}
	var of api.DeviceRevoked
	h.change(http.MethodDelete, "/devices/kitchen/token", "").into(http.StatusOK, &of)
	if of.Device != id || token.Device != id {
		t.Errorf("those of %q are revoked, and one of %q was made", of.Device, token.Device)
	}
	select {
	case <-socket.Done():
	case <-ctx.Done():
		t.Error("the device stays")
	}
	for _, old := range []string{esp.Token, token.Token} {
		if h.devices.Verify(id, "", old, time.Now()) {
			t.Error("a token that was revoked is good")
		}
	}
	var acts api.ActList
	h.change(http.MethodGet, "/audit/acts?operation=revokeDeviceTokens", "").into(http.StatusOK, &acts)
	if len(acts.Acts) != 5 || acts.Acts[0].Target != "id=kitchen" || acts.Acts[0].Outcome != "ok" {
		t.Errorf("on record is %+v", acts.Acts)
	}
}

// What is called of a device runs on the device, or nowhere: not on a server of the
// configuration that is called as the device is.
func TestDeviceCallIsTheDevices(t *testing.T) {
	h := open(t, `{"mcpServers":{"kitchen":{"command":`+quote(rig.FaultServer(t))+`,"env":{"GORACE":"atexit_sleep_ms=0"}}},"devices":{"aliases":{"aa:bb:cc:dd:ee:01":"kitchen"}}}`)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var server api.Server
	h.change(http.MethodPost, "/servers/kitchen/start", "").into(http.StatusOK, &server)
	const id = "aa:bb:cc:dd:ee:01"
	esp := fake.FW(id)
	esp.Token = h.devices.Token(id, "")
	socket, _, err := esp.Dial(ctx, h.deviceAddress)
	must(t, err)
	defer socket.Drop()
	var v api.Device
	for v.Code != string(message.DeviceAliasTaken) {
		if ctx.Err() != nil {
			t.Fatalf("it stays %+v", v)
		}
		time.Sleep(time.Millisecond)
		if a := h.do(ask{method: http.MethodGet, path: "/devices/" + id, token: h.admin}); a.status == http.StatusOK {
			a.into(http.StatusOK, &v)
		}
	}
	h.change(http.MethodPost, "/devices/"+id+"/call", `{"tool":"echo","arguments":{"text":"x"}}`).refused(http.StatusServiceUnavailable, message.DeviceOffline)
}
