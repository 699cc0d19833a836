package xiaozhi

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

const (
	// DeviceHello is the greeting of a device that has tools.
	DeviceHello = `{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket","audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}`
	// DevicePing keeps a connection up at backends that close those on which nobody
	// speaks.
	DevicePing = `{"type":"ping"}`
)

// BackendList is how many bytes a page of tools may have, as in firmware.
const BackendList = 8000

// BackendFrame is how many of these bytes are for what goes around a page: its
// envelope, with the id of the session, and that of the request.
const BackendFrame = 256

// backendResult is how many bytes a result may have: what a page of text has, far
// below what backends lose the connection at.
const backendResult = 64 << 10

// maxSession is how many bytes the id of a session may have.
const maxSession = 1 << 10

// AsEndpoint is what a backend has in common with an endpoint, with what either
// leaves open filled in.
func AsEndpoint(b *hub.Backend) hub.Endpoint {
	e := hub.Endpoint{
		Name: b.Name, URL: b.URL, Enabled: b.Enabled, Group: b.Group, Allow: b.Allow, Deny: b.Deny,
		Deadline: b.Deadline, MaxResult: backendResult, MaxList: b.MaxList, Pages: true,
		// Backends ask for the list once in a connection.
		Refresh: hub.RefreshAlways,
		Delay:   b.Delay, MaxDelay: b.MaxDelay, DialTimeout: b.DialTimeout, Language: b.Language,
	}
	if e.MaxList <= 0 {
		e.MaxList = BackendList
	}
	e.MaxList = max(e.MaxList, 1<<10)
	if e.Delay <= 0 {
		e.Delay = 2 * time.Second
	}
	return WithDefaults(e)
}

// Greets reports whether a frame is the greeting of a backend that speaks on this
// connection: one that names another transport is for that.
func (e *Envelope) Greets() bool {
	if e.Type != "hello" {
		return false
	}
	at := wire.Lookup(e.Raw, wire.Value(e.Raw), "transport")
	name, ok := wire.String(e.Raw, at)
	return !at.Exists() || ok && name == "websocket"
}

// SessionID is the raw session_id of a frame; nil if it has none, or a longer one
// than there is reason for.
func (e *Envelope) SessionID() []byte {
	if len(e.Session) > maxSession {
		return nil
	}
	return e.Session
}

// Bearer is how a token stands in a header or a query; "" for none. One with a space
// in it says itself of which kind it is.
func Bearer(token string) string {
	if token == "" || strings.Contains(token, " ") {
		return token
	}
	return "Bearer " + token
}

// DeviceHeader has the headers by which a device says who it is.
func DeviceHeader(device, client, token string) http.Header {
	h := http.Header{"Protocol-Version": {"1"}, "Device-Id": {device}, "Client-Id": {client}}
	if token != "" {
		h.Set("Authorization", Bearer(token))
	}
	return h
}

// Discovered is what a backend says of where it is.
type Discovered struct {
	URL, Token string
	// Code is what a person enters in the backend's console for it to take the device;
	// "" if it has taken it.
	Code string
}

// ParseDiscovery reads the answer of a backend that a device has asked where it is.
// What it says of firmware and of other transports does not matter. It is false if
// there is no address in it.
func ParseDiscovery(raw []byte) (Discovered, bool) {
	var answer struct {
		Websocket  struct{ URL, Token string }
		Activation struct{ Code string }
	}
	if json.Unmarshal(raw, &answer) != nil {
		return Discovered{}, false
	}
	d := Discovered{URL: strings.TrimSpace(answer.Websocket.URL), Token: answer.Websocket.Token, Code: answer.Activation.Code}
	return d, d.URL != ""
}

// DeviceNames are names of tools as backends take them, in the order of the tools.
// They may have dots, as firmware's do, and are different even where a backend makes
// "_" of each. Of names that are one then, those with dots get a suffix that hangs on
// nothing but the name, whatever their order is.
func DeviceNames(tools []string) []string {
	flat := func(name string) string { return strings.ReplaceAll(name, ".", "_") }
	first := make(map[string]string, len(tools)) // by what a backend makes of it
	clash := make(map[string]bool)
	for _, name := range tools {
		if before, known := first[flat(name)]; known && before != name {
			clash[flat(name)] = true
		}
		first[flat(name)] = name
	}
	as := make([]string, len(tools))
	taken := make(map[string]bool, len(tools)) // what a backend makes of them
	for i, name := range tools {
		its := flat(name)
		if FitsName(its) && !taken[its] && (its == name || !clash[its]) {
			as[i], taken[its] = name, true
		}
	}
	for i, name := range tools {
		if as[i] != "" {
			continue
		}
		for attempt := 0; as[i] == "" || taken[as[i]]; attempt++ {
			as[i] = suffixed(name, attempt)
		}
		taken[as[i]] = true
	}
	return as
}
