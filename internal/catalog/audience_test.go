package catalog_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// of is a server of tenants, in the order in which it is asked for.
func of(key string, order int, tenants ...string) hub.Server {
	s := server(key)
	s.Order, s.Tenants = order, tenants
	return s
}

// tenanted is a catalog in which each server has a bare name, a URI and a prompt
// that all others have, too.
func tenanted(t testing.TB, servers ...hub.Server) *catalog.Catalog {
	t.Helper()
	c := open(t, catalog.Options{Bus: new(bus.Bus)})
	furnish(t, c, servers...)
	return c
}

func furnish(t testing.TB, c *catalog.Catalog, servers ...hub.Server) {
	t.Helper()
	for i := range servers {
		servers[i].BareNames = true
	}
	c.SetServers(servers)
	for _, s := range servers {
		c.Listed(s, hub.Lists{
			Asked: hub.ListAll, Instructions: "About " + s.Key + ".",
			Tools: [][]byte{
				[]byte(`{"name":"search","description":"Finds in ` + s.Key + `.","inputSchema":{"type":"object"}}`),
				[]byte(`{"name":"` + s.Key + `_tool","inputSchema":{"type":"object"}}`),
			},
			Resources: [][]byte{[]byte(`{"uri":"notes://all","name":"` + s.Key + `"}`)},
			Templates: [][]byte{[]byte(`{"uriTemplate":"notes://{x}","name":"` + s.Key + `"}`)},
			Prompts:   [][]byte{[]byte(`{"name":"greet"}`)},
		})
	}
}

// shown is all that a viewer can find out.
func shown(t testing.TB, c *catalog.Catalog, v hub.Viewer) string {
	t.Helper()
	view := look(t, c, v)
	var all []string
	for _, which := range []hub.ListSet{hub.ListTools, hub.ListResources, hub.ListTemplates, hub.ListPrompts} {
		for _, era := range []protocol.Era{protocol.Legacy, protocol.Modern} {
			page, err := view.List(era, which, "")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(page))
		}
	}
	for _, e := range view.Tools() {
		all = append(all, e.Exposed, e.Server.Key)
	}
	for _, m := range view.Find("finds tool", 100) {
		all = append(all, m.Entry.Exposed)
	}
	all = append(all, view.Like("serach")...)
	all = append(all, view.Instructions(), fmt.Sprint(view.ResourceServers(), view.Capabilities()))
	return strings.Join(all, "\n")
}

// What callers of a tenant see is what they would see if there were no servers of
// others, to the byte; and that holds whatever others have, and when they come and
// go.
func TestTenantsSeeNothingOfOthers(t *testing.T) {
	t.Parallel()
	hubs, a, b, both, all := of("hubs", 0), of("a", 2, "acme"), of("b", 1, "rival"), of("both", 3, "rival", "acme"), of("all", 4, "*")
	c := tenanted(t, b, hubs, a, both, all)
	for tenant, own := range map[string][]hub.Server{"": {hubs, all}, "acme": {a, both, all}, "rival": {b, both, all}, "nobody": {all}, "*": {all}} {
		alone := slices.Clone(own)
		for i := range alone {
			alone[i].Tenants = nil
		}
		want := shown(t, tenanted(t, alone...), hub.Viewer{})
		if diff := cmp.Diff(want, shown(t, c, hub.Viewer{Tenant: tenant})); diff != "" {
			t.Errorf("%q sees something else (-alone +among others)\n%s", tenant, diff)
		}
	}
	before := shown(t, c, hub.Viewer{Tenant: "acme"})
	books := look(t, c, hub.Viewer{Tenant: "acme"}).Book(hub.ListTools)
	more := of("more", 0, "rival")
	more.Priority = 1000
	furnish(t, c, more, b, hubs, a, both, all)
	if diff := cmp.Diff(before, shown(t, c, hub.Viewer{Tenant: "acme"})); diff != "" {
		t.Errorf("a server of another tenant changed\n%s", diff)
	}
	if look(t, c, hub.Viewer{Tenant: "acme"}).Book(hub.ListTools) != books {
		t.Error("the list counts as another one")
	}

	acme := look(t, c, hub.Viewer{Tenant: "acme"})
	for _, name := range []string{"b_tool", "b__b_tool", "hubs_tool", "more__search", "b__search"} {
		if _, ok := acme.Tool(name); ok || acme.Providers(name) != nil || slices.Contains(acme.Like(name), name) {
			t.Errorf("%s is there", name)
		}
	}
	for _, key := range []string{"b", "hubs", "more", "x"} {
		if acme.Has(key) || acme.MayHave(key) || acme.Sees(key) || acme.Offers(key, "search") || acme.Snapshot().Listed(key) {
			t.Errorf("%s is there", key)
		}
	}
	if e, ok := acme.Tool("search"); !ok || e.Server.Key != "a" {
		t.Errorf("search is %+v", e)
	}
	if p, ok := acme.Resource("notes://all"); !ok || p.Server.Key != "a" {
		t.Errorf("the resource is %+v", p)
	}
	if _, ok := acme.Resource("toolcrib://b/notes://all"); ok {
		t.Error("another's resource is there by its prefixed form")
	}
	for _, key := range []string{"a", "both", "all"} {
		if !acme.Has(key) || !acme.Sees(key) {
			t.Errorf("%s is not there", key)
		}
	}
	if !acme.Narrow() || len(c.Snapshot().Shares()) != 6 {
		t.Error("the whole is not whole")
	}
}

// Without tenants the hub's own callers have the whole itself, and whoever is of a
// tenant nothing.
func TestNoTenants(t *testing.T) {
	t.Parallel()
	c := tenanted(t, of("a", 0), of("b", 1))
	if view := look(t, c, hub.Viewer{}); view.Snapshot() != c.Snapshot() || view.Narrow() || !view.Sees("on its way") {
		t.Error("it is not the whole")
	}
	if view := look(t, c, hub.Viewer{Tenant: "acme"}); len(view.Tools()) != 0 || view.Sees("a") || view.Instructions() != "" {
		t.Errorf("the tenant sees %v", view.Tools())
	}
}

// The scope of a token leaves of what its tenant sees the servers that it names,
// under the names that they have there.
func TestScopeOfAToken(t *testing.T) {
	t.Parallel()
	c := tenanted(t, of("a", 0, "acme"), of("b", 1, "rival"), of("c", 2, "acme"), of("d", 3))
	c.SetViews([]hub.Group{{Name: "g", Servers: []string{"a", "b"}, Tools: []string{"c_tool"}}, {Name: "rivals", Servers: []string{"b"}, Tools: []string{"b__*"}}, {Name: "empty"}}, nil)
	names := func(v hub.Viewer) string {
		var all []string
		for _, e := range look(t, c, v).Tools() {
			all = append(all, e.Exposed)
		}
		return strings.Join(all, " ")
	}
	whole := names(hub.Viewer{Tenant: "acme"})
	second := strings.Fields(whole)[2] // c's search, which is not the first
	if len(strings.Fields(whole)) != 4 || second == "search" {
		t.Fatalf("the tenant sees %s", whole)
	}
	for _, test := range []struct {
		v    hub.Viewer
		want string
	}{
		{hub.Viewer{Tenant: "acme", Scope: "server:c"}, second + " c_tool"},
		{hub.Viewer{Tenant: "acme", Scope: "server:b"}, ""},
		{hub.Viewer{Tenant: "acme", Scope: "door:rest server:a server:c"}, whole},
		{hub.Viewer{Tenant: "acme", Scope: "door:rest"}, whole},
		{hub.Viewer{Tenant: "acme", Group: "g"}, "search a_tool c_tool"},
		{hub.Viewer{Tenant: "acme", Group: "g", Scope: "server:c"}, "c_tool"},
		{hub.Viewer{Scope: "server:d"}, "search d_tool"},
		{hub.Viewer{Scope: "server:a"}, ""},
	} {
		if got := names(test.v); got != test.want {
			t.Errorf("%+v sees %q, want %q", test.v, got, test.want)
		}
	}
	narrow := look(t, c, hub.Viewer{Tenant: "acme", Scope: "server:c"})
	if _, ok := narrow.Tool("a_tool"); ok || narrow.Has("a") || narrow.Sees("a") || narrow.MayHave("a") || !narrow.Sees("c") || strings.Contains(narrow.Instructions(), "About a.") {
		t.Error("what is out of the scope is there")
	}
	// A group in which nothing is for the tenant is none.
	for _, v := range []hub.Viewer{{Group: "rivals", Tenant: "acme"}, {Group: "rivals"}, {Group: "g", Tenant: "acme", Scope: "server:b"}, {Group: "empty", Tenant: "acme"}, {Group: "nobody"}} {
		if _, err := c.View(v); !hub.IsCode(err, message.GroupUnknown) {
			t.Errorf("%+v: %v", v, err)
		}
	}
	if got := names(hub.Viewer{Tenant: "rival", Group: "rivals"}); got != "search b_tool" {
		t.Errorf("the rival sees %q", got)
	}
}

// A server that becomes a tenant's is gone from the lists of others, and no cursor
// leads on to it.
func TestServerBecomesATenants(t *testing.T) {
	t.Parallel()
	many := make([]string, 2500)
	for i := range many {
		many[i] = fmt.Sprintf("t%04d", i)
	}
	c := open(t, catalog.Options{})
	mine, theirs := of("a", 0), of("b", 1)
	c.SetServers([]hub.Server{mine, theirs})
	c.Replace(mine, offer(t, "x"))
	c.Replace(theirs, offer(t, many...))
	_, cursor := list(t, c, protocol.Modern, "")
	if cursor == "" {
		t.Fatal("there is one page only")
	}
	theirs.Tenants = []string{"rival"}
	c.SetServers([]hub.Server{mine, theirs})
	view := look(t, c, hub.Viewer{})
	if got := listed(t, view, hub.ListTools); !slices.Equal(got, []string{"a__x"}) {
		t.Errorf("listed are %q", got)
	}
	if _, err := view.List(protocol.Modern, hub.ListTools, cursor); !hub.IsCode(err, message.CursorUnknown) {
		t.Errorf("the cursor leads on: %v", err)
	}
	if got := look(t, c, hub.Viewer{Tenant: "rival"}).Tools(); len(got) != len(many) {
		t.Errorf("the rival has %d tools", len(got))
	}
}

// Many tenants look at once while servers come and go: each sees its own, and
// those that are gone are not kept.
func TestManyTenants(t *testing.T) {
	t.Parallel()
	const n = 200
	servers := []hub.Server{of("all", 0, "*")}
	for i := range n {
		servers = append(servers, of(fmt.Sprint("s", i), i+1, fmt.Sprint("t", i)))
	}
	c := tenanted(t, servers...)
	c.SetViews([]hub.Group{{Name: "g", Servers: []string{"all"}}}, []hub.Profile{{Client: "small*", MaxTools: 2}})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for round := range 3 {
				v := hub.Viewer{Tenant: fmt.Sprint("t", i), Client: []string{"", "small", ""}[round], Group: []string{"", "", "g"}[round]}
				view, err := c.View(v)
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range view.Tools() {
					if key := e.Server.Key; key != "all" && key != fmt.Sprint("s", i) {
						t.Errorf("%+v sees %s", v, key)
					}
				}
				if view.Sees(fmt.Sprint("s", (i+1)%n)) || !view.Sees("all") {
					t.Errorf("%+v sees others", v)
				}
				if i%50 == 0 {
					c.Withhold("all", round%2 == 0)
				}
			}
		})
	}
	all.Wait()
	before := look(t, c, hub.Viewer{Tenant: "t1"})
	furnish(t, c, servers[:3]...)
	if got := look(t, c, hub.Viewer{Tenant: "t7"}); got.Sees("s7") || !got.Sees("all") {
		t.Error("a tenant sees a server that is gone")
	}
	runtime.KeepAlive(before)
}

// BenchmarkTenants is a look through the view of a tenant that somebody has looked
// through before.
func BenchmarkTenants(b *testing.B) {
	servers := []hub.Server{of("all", 0, "*")}
	for i := range 100 {
		servers = append(servers, of(fmt.Sprint("s", i), i+1, fmt.Sprint("t", i)))
	}
	c := tenanted(b, servers...)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := c.View(hub.Viewer{Tenant: "t7"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTenantAfterAChange is the first look of a tenant after a change.
func BenchmarkTenantAfterAChange(b *testing.B) {
	servers := []hub.Server{of("all", 0, "*"), of("own", 1, "acme")}
	c := tenanted(b, servers...)
	for i := 0; b.Loop(); i++ {
		c.Withhold("all", i%2 == 0)
		if _, err := c.View(hub.Viewer{Tenant: "acme"}); err != nil {
			b.Fatal(err)
		}
	}
}
