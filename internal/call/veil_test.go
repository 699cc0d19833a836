package call

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Why a server does not run is told to those alone who have it for themselves, also
// before it has listed anything.
func TestDownIsVeiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := []hub.Server{builtin("all"), builtin("both"), builtin("mine"), builtin("hubs")}
		for i := range servers {
			servers[i].Kind, servers[i].Command = hub.KindStdio, "/planted/nowhere"
		}
		servers[0].Tenants, servers[1].Tenants, servers[2].Tenants = []string{"*"}, []string{"acme", "other"}, []string{"acme"}
		c := newCrib(t, nil, servers...)
		for _, tt := range []struct {
			tool, tenant string
			told         bool
		}{
			{"all__x", "acme", false},
			{"both__x", "acme", false},
			{"mine__x", "acme", true},
			{"hubs__x", "", true},
		} {
			m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tt.tool+`"}}`), wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			p := hub.Principal{Subject: "ann", Door: hub.DoorStdio, Role: hub.RoleCaller, Tenant: tt.tenant}
			_, err = c.Do(t.Context(), &Request{Principal: p, Session: "session", Message: &m, Exchange: &caller{}})
			if !hub.IsCode(err, message.ServerDown) || strings.Contains(err.Error(), "planted") != tt.told {
				t.Errorf("%s of %q is told %v", tt.tool, tt.tenant, err)
			}
		}
	})
}

// What is said of an answer over HTTP does not say where the server is.
func TestAddressIsVeiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := builtin("all")
		shared.Tenants = []string{"*"}
		c := newCrib(t, nil, shared)
		for _, told := range []*hub.Error{
			hub.E(message.ServerHTTPStatus, nil, "url", "https://planted.example", "status", "500"),
			hub.E(message.ServerUnauthorized, nil, "url", "https://planted.example", "status", "401"),
			hub.E(message.ServerEndpoint, nil, "url", "https://planted.example", "origin", "https://planted.example"),
			doubtful(hub.E(message.ServerDown, hub.E(message.ServerRefused, nil, "detail", "planted"), "server", "all")),
		} {
			r := &run{server: &shared}
			if got := hub.AsError(c.veiled(r, told)); got != told {
				t.Errorf("%v is veiled for the hub's own", told)
			}
			r.Principal.Tenant = "acme"
			got := hub.AsError(c.veiled(r, told))
			if got.Code != told.Code || got.Class() != told.Class() || strings.Contains(got.Error(), "planted") || !strings.Contains(got.Error(), "all") {
				t.Errorf("%v is told as %v", told, got)
			}
		}
	})
}
