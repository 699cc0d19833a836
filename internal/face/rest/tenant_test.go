package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Why a server that several share does not run says how it is set up: a tenant is
// told that it does not, and no more, by every way in which it is told of servers.
func TestWhyASharedServerFails(t *testing.T) {
	h := &shared{open(t, `{"mcpServers":{
		"everybodys":{"command":"./planted-none","args":["planted-arg"],"tenants":"*"},
		"two":{"command":"./planted-none","tenants":["acme","zzrival"],"env":{"K":"${env:PLANTED_UNSET}"}},
		"own":{"command":"./mine-none","tenants":"acme"}}}`), t, nil}
	for _, key := range []string{"everybodys", "two", "own"} {
		h.ask(who(hub.RoleAdmin, ""), http.MethodPost, "/servers/"+key+"/start", nil, false)
	}
	paths := []string{"/servers", "/servers/everybodys", "/servers/two", "/events?after=1&kinds=server.changed", "/mcp", "/host/servers", "/status"}
	for _, role := range hub.Roles {
		for _, path := range paths {
			a := h.ask(who(role, acme), http.MethodGet, path, nil, strings.HasPrefix(path, "/events"))
			if a.status != http.StatusOK || strings.Contains(strings.ToLower(a.text), "planted") {
				t.Errorf("%s by a tenant's %s: %d %s", path, role, a.status, a.text)
			}
		}
	}
	for path, want := range map[string]string{
		"/servers/everybodys": `"code":"server_down"`, "/servers/own": "mine-none", "/events?after=1&kinds=server.changed": "mine-none", "/events?after=1": `"key":"two"`,
	} {
		if a := h.ask(who(hub.RoleViewer, acme), http.MethodGet, path, nil, strings.HasPrefix(path, "/events")); !strings.Contains(a.text, want) {
			t.Errorf("%s does not tell %s: %s", path, want, a.text)
		}
	}
	for _, path := range []string{"/servers/two", "/servers", "/events?after=1"} {
		if a := h.ask(who(hub.RoleOperator, ""), http.MethodGet, path, nil, strings.HasPrefix(path, "/events")); !strings.Contains(strings.ToLower(a.text), "planted") {
			t.Errorf("%s does not tell whoever looks after it: %s", path, a.text)
		}
	}
}
