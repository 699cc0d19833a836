package call

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Two callers of one name that are of two tenants have nothing in common that is
// kept for one of them.
func TestOneNameInTwoTenants(t *testing.T) {
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","requestState":"state"}}`), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(tenant string) *run {
		p := hub.Principal{Subject: "robot", Tenant: tenant, Door: hub.DoorREST, Role: hub.RoleCaller}
		return &run{Request: Request{Principal: p, Message: &m}, server: &hub.Server{Kind: hub.KindStdio}}
	}
	tenants := []string{"", "a", "b"}
	for name, key := range map[string]func(*run) any{
		"who":      func(r *run) any { return who(r) },
		"whose":    func(r *run) any { return whose(&r.Principal) },
		"scope":    func(r *run) any { return r.scope() },
		"public":   func(r *run) any { return r.public() },
		"question": func(r *run) any { id, _ := r.question(r.Message); return id },
	} {
		seen := make(map[any]string)
		for _, tenant := range tenants {
			k := key(of(tenant))
			if other, twice := seen[k]; twice {
				t.Errorf("%s is the same for %q and %q", name, tenant, other)
			}
			seen[k] = tenant
			if again := key(of(tenant)); again != k {
				t.Errorf("%s is another one each time", name)
			}
		}
	}

	seen := newMentions()
	seen.hint("h", "x:1")
	seen.add("a", "as", "x:1")
	seen.add("b", "bs", "x:1")
	for tenant, want := range map[string]string{"a": "as", "b": "bs", "": "h", "c": "h"} {
		if got, ok := seen.of(tenant, "x:1"); !ok || got != want {
			t.Errorf("%q is told of %q, want %q", tenant, got, want)
		}
	}
}

// Whose view a call looks through is its principal's, whatever its door says.
func TestViewIsThePrincipals(t *testing.T) {
	s := everything()
	theirs := builtin("s")
	theirs.Tenants = []string{"rival"}
	c := newCrib(t, map[string]func(*peer){"s": s.serve}, theirs)
	_, err := c.ask("tools/call", `"name":"s__echo"`, func(r *Request) {
		r.Principal.Tenant, r.Viewer = "acme", hub.Viewer{Tenant: "rival"}
	})
	if !hub.IsCode(err, "tool_unknown") {
		t.Errorf("another tenant's tool: %v", err)
	}
}
