package gateway_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// A caller is told that its lists have changed, and not that those of another
// tenant have.
func TestNewsOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, &scripted{}, gateway.Options{})
		other := hub.Server{Key: "other", Kind: hub.KindBuiltin, Enabled: true, Tenants: []string{"rival"}}
		own := hub.Server{Key: "own", Kind: hub.KindBuiltin, Enabled: true, Tenants: []string{"acme"}}
		h.catalog.SetServers([]hub.Server{h.server, own, other})
		synctest.Wait()
		said := make(map[string]func() int)
		for _, tenant := range []string{"", "acme", "rival"} {
			p := hub.Local(hub.DoorMCP)
			p.Tenant = tenant
			from := &gateway.Caller{Principal: p, Viewer: hub.Viewer{Tenant: tenant}}
			s, a := h.Initialize(from, msg(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
			if s == nil {
				t.Fatal(text(a))
			}
			hears, listens := &ear{}, &ear{}
			go func() { h.Stream(t.Context(), s, "", hears) }()
			modern := *from
			modern.Era = protocol.Modern
			go func() {
				h.Listen(t.Context(), &modern, msg(t, `{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`), listens)
			}()
			synctest.Wait()
			said[tenant] = func() int {
				a, b := len(hears.heard), len(listens.heard)-1 // without that it listens
				if a != b {
					t.Errorf("%q: a session was told %d times, a listener %d times", tenant, a, b)
				}
				return a
			}
		}
		for i, server := range []hub.Server{other, own, other, h.server, own} {
			raw := fmt.Appendf(nil, `{"name":"n%d","inputSchema":{"type":"object"}}`, i)
			h.catalog.Replace(server, hub.Offer{Tools: []hub.Tool{{Name: fmt.Sprint("n", i), Raw: raw}}})
			synctest.Wait()
		}
		h.stop()
		synctest.Wait()
		if got := []int{said[""](), said["acme"](), said["rival"]()}; !slices.Equal(got, []int{1, 2, 2}) {
			t.Errorf("they were told %d times", got)
		}
	})
}
