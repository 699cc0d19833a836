package gateway_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// Callers are told that devices come and go 5 s later and once, unless something else
// has changed.
func TestDevicesAreToldOfLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, &scripted{}, gateway.Options{})
		device := hub.Server{Key: "kitchen", Kind: hub.KindDevice, Enabled: true}
		from := &gateway.Caller{Principal: hub.Local(hub.DoorMCP)}
		s, a := h.Initialize(from, msg(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
		if s == nil {
			t.Fatal(text(a))
		}
		hears := &ear{}
		go func() { h.Stream(t.Context(), s, "", hears) }()
		tool := hub.Offer{Tools: []hub.Tool{{Name: "see", Raw: []byte(`{"name":"see","inputSchema":{"type":"object"}}`)}}}
		come := func() {
			h.catalog.SetServers([]hub.Server{h.server, device})
			h.catalog.Replace(device, tool)
			synctest.Wait()
			time.Sleep(900 * time.Millisecond)
		}
		leave := func() {
			h.catalog.SetServers([]hub.Server{h.server})
			synctest.Wait()
			time.Sleep(900 * time.Millisecond)
		}
		synctest.Wait()
		hears.heard = nil
		began := time.Now()
		for range 2 {
			come()
			leave()
		}
		if n := len(hears.heard); n != 0 {
			t.Errorf("told %d times within %v", n, time.Since(began))
		}
		come()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(hears.heard); n != 1 {
			t.Errorf("told %d times that it is there", n)
		}
		leave()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(hears.heard); n != 2 {
			t.Errorf("told %d times that it is there and has gone", n)
		}
		hears.heard = nil
		come()
		h.catalog.Replace(h.server, tool)
		synctest.Wait()
		if n := len(hears.heard); n != 1 {
			t.Errorf("of another change told %d times at once", n)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(hears.heard); n != 1 {
			t.Errorf("and %d times in all", n)
		}
		h.stop()
		synctest.Wait()
	})
}
