package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

func TestEvents(t *testing.T) {
	var b bus.Bus
	sub := b.Subscribe(10)
	defer sub.Close()
	c := open(t, catalog.Options{Bus: &b})
	step := func(what string, want int, change func()) {
		t.Helper()
		before := c.Snapshot()
		change()
		after := c.Snapshot()
		if got := events(sub); got != want {
			t.Errorf("%s: %d events, want %d", what, got, want)
		}
		if changed := after.ID() != before.ID(); changed != (want > 0) || after.ID() < before.ID() {
			t.Errorf("%s: snapshot %d after %d", what, after.ID(), before.ID())
		}
	}
	all := []hub.Server{server("a"), server("b")}
	step("servers without tools", 0, func() { c.SetServers(all) })
	step("an empty list", 0, func() { c.Replace(server("a"), hub.Offer{}) })
	step("first tools", 1, func() { c.Replace(server("a"), offer(t, "x", "y")) })
	step("the same again", 0, func() { c.Replace(server("a"), offer(t, "x", "y")) })
	step("another order", 1, func() { c.Replace(server("a"), offer(t, "y", "x")) })
	step("other bytes", 1, func() {
		c.Replace(server("a"), hub.Offer{Tools: []hub.Tool{parse(t, `{"name":"x"}`)}})
	})
	step("instructions only", 0, func() {
		c.Replace(server("a"), hub.Offer{Tools: []hub.Tool{parse(t, `{"name":"x"}`)}, Instructions: "Be brief."})
	})
	if diff := cmp.Diff([]string{"a: Be brief."}, instructions(c.Snapshot())); diff != "" {
		t.Error(diff)
	}
	step("a server that is not there", 0, func() { c.Replace(server("c"), offer(t, "x")) })
	step("the same servers", 0, func() { c.SetServers(all) })
	step("another timeout", 0, func() {
		changed := server("a")
		changed.Timeout = time.Minute
		c.SetServers([]hub.Server{changed, server("b")})
	})
	if e, _ := c.Snapshot().Resolve("a__x"); e.Server.Timeout != time.Minute {
		t.Errorf("the entry has the timeout %v of before", e.Server.Timeout)
	}
	step("bare names", 1, func() {
		changed := server("a")
		changed.BareNames = true
		c.SetServers([]hub.Server{changed, server("b")})
	})
	step("a server gone", 1, func() { c.SetServers([]hub.Server{server("b")}) })
	if got := exposed(c.Snapshot()); len(got) != 0 || len(instructions(c.Snapshot())) != 0 {
		t.Errorf("left behind: %q", got)
	}
	step("the server back, and nothing known of it", 0, func() { c.SetServers(all) })
}

func TestEventNamesSnapshot(t *testing.T) {
	var b bus.Bus
	sub := b.Subscribe(1)
	defer sub.Close()
	c := open(t, catalog.Options{Bus: &b})
	c.SetServers([]hub.Server{server("a")})
	c.Replace(server("a"), offer(t, "x"))
	if e := <-sub.C(); e != (hub.ToolsChanged{Snapshot: c.Snapshot().ID()}) {
		t.Errorf("event %+v, and the snapshot is %d", e, c.Snapshot().ID())
	}
}

// One server's part does not depend on what others do or fail to do.
func TestPartsAreIndependent(t *testing.T) {
	c := open(t, catalog.Options{})
	c.SetServers([]hub.Server{server("silent"), server("good"), server("mad")})
	c.Replace(server("good"), offer(t, "x", "y"))
	before := c.Snapshot()
	c.Replace(server("mad"), offer(t, names("m", 3000)...))
	c.Replace(server("mad"), hub.Offer{})
	after := c.Snapshot()
	if diff := cmp.Diff(exposed(before), exposed(after)); diff != "" {
		t.Error(diff)
	}
	if before.Entries()[0] != after.Entries()[0] {
		t.Error("the entries of a server were made again for another's change")
	}
}

func TestDuplicateTools(t *testing.T) {
	var log record
	c := open(t, catalog.Options{Log: log.logger()})
	c.SetServers([]hub.Server{server("a")})
	c.Replace(server("a"), hub.Offer{Tools: []hub.Tool{
		parse(t, `{"name":"x","title":"first"}`),
		parse(t, `{"name":"y"}`),
		parse(t, `{"name":"\u0078","title":"second"}`),
		parse(t, `{"name":"y"}`),
	}})
	const want = `{"tools":[{"name":"a__x","title":"first"},{"name":"a__y"}]}`
	if got := page(t, c, protocol.Legacy, ""); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := log.lines("server=a kind=tool name=x dropped=2"); n != 1 {
		t.Errorf("%d lines in the log:\n%s", n, log.text.String())
	}
}

func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, catalog.Options{})
		c.SetServers([]hub.Server{server("a")})
		for range 2 {
			time.Sleep(time.Hour)
			c.Replace(server("a"), offer(t, "x"))
			e, _ := c.Snapshot().Resolve("a__x")
			if !e.Live || !e.ListedAt.Equal(time.Now()) {
				t.Errorf("live %t, listed at %v, and it is %v", e.Live, e.ListedAt, time.Now())
			}
		}
	})
}

// What makes another server of it empties its list; what does not, does not.
func TestIdentity(t *testing.T) {
	base := func() hub.Server {
		return hub.Server{
			Key: "a", Enabled: true, Kind: hub.KindStdio, Command: "run", Args: []string{"-x", "y"},
			Env: map[string]string{"TOKEN": "secret", "HOST": "h"}, Dir: "/srv", URL: "http://localhost/mcp",
			Headers: map[string]string{"Authorization": "secret"},
		}
	}
	tests := map[string]struct {
		change func(*hub.Server)
		keeps  bool
	}{
		"nothing":             {func(*hub.Server) {}, true},
		"value of a variable": {func(s *hub.Server) { s.Env["TOKEN"] = "other" }, true},
		"headers":             {func(s *hub.Server) { s.Headers = nil }, true},
		"timeout, priority":   {func(s *hub.Server) { s.Timeout, s.Priority, s.AutoStart = 1, 2, true }, true},
		"kind":                {func(s *hub.Server) { s.Kind = hub.KindHTTP }, false},
		"command":             {func(s *hub.Server) { s.Command = "walk" }, false},
		"arguments":           {func(s *hub.Server) { s.Args = []string{"-x"} }, false},
		"split of arguments":  {func(s *hub.Server) { s.Args = []string{"-xy"} }, false},
		"name of a variable":  {func(s *hub.Server) { s.Env = map[string]string{"TOKEN": "", "HOSTS": ""} }, false},
		"directory":           {func(s *hub.Server) { s.Dir = "/" }, false},
		"url":                 {func(s *hub.Server) { s.URL += "2" }, false},
		"what is where": {func(s *hub.Server) {
			s.Args, s.Env = []string{"-x"}, map[string]string{"y": "", "TOKEN": "", "HOST": ""}
		}, false},
		"key": {func(s *hub.Server) { s.Key = "b" }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := open(t, catalog.Options{})
			c.SetServers([]hub.Server{base()})
			c.Replace(base(), offer(t, "x"))
			changed := base()
			tt.change(&changed)
			c.SetServers([]hub.Server{changed})
			if _, ok := c.Snapshot().Resolve("a__x"); ok != tt.keeps {
				t.Errorf("the list was kept: %t", ok)
			}
		})
	}
}

// Readers see whole lists at any time, and need not wait for writers.
func TestReadersDuringChanges(t *testing.T) {
	c := open(t, catalog.Options{})
	servers := []hub.Server{server("a"), server("b"), server("c")}
	servers[2].BareNames = true
	c.SetServers(servers)
	offers := []hub.Offer{offer(t, names("x", 5)...), offer(t, names("x", 1500)...), {Instructions: "none"}}

	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				s := c.Snapshot()
				for _, e := range s.Entries() {
					if back, ok := s.Resolve(e.Exposed); !ok || back != e {
						t.Errorf("%s does not lead back", e.Exposed)
						return
					}
				}
				for _, e := range s.Providers("x0") {
					if e.Tool.Name != "x0" {
						t.Errorf("%s provides x0", e.Exposed)
					}
				}
				s.Shares()
				// A list of several pages may be gone before it is read to its
				// end, but never be a mixture.
				for cursor := ""; ; {
					text, err := c.List(protocol.Modern, hub.ListTools, cursor)
					if err != nil {
						if cursor == "" {
							t.Error(err)
						}
						break
					}
					var result struct{ NextCursor string }
					if err := json.Unmarshal(text, &result); err != nil {
						t.Error(err)
						return
					}
					if cursor = result.NextCursor; cursor == "" {
						break
					}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range servers {
		writers.Go(func() {
			for n := range 30 {
				c.Replace(servers[i], offers[(n+i)%len(offers)])
			}
		})
	}
	writers.Go(func() {
		for n := range 20 {
			c.SetServers(servers[:2+n%2])
		}
		c.SetServers(servers)
	})
	writers.Wait()
	close(done)
	readers.Wait()
}

// fleet is many servers with tools of a usual size.
func fleet(t testing.TB, count, tools int) ([]hub.Server, []hub.Offer) {
	var servers []hub.Server
	var offers []hub.Offer
	for i := range count {
		servers = append(servers, server(fmt.Sprint("server", i)))
		var o hub.Offer
		for j := range tools {
			o.Tools = append(o.Tools, parse(t, fmt.Sprintf(`{"name":"tool_%d","description":"%0300d","inputSchema":{"type":"object","properties":{"p":{"type":"string"}}}}`, j, j)))
		}
		offers = append(offers, o)
	}
	return servers, offers
}

// BenchmarkStart is the start of a hub: all servers become ready one by one.
func BenchmarkStart(b *testing.B) {
	servers, offers := fleet(b, 50, 20)
	b.ReportAllocs()
	for b.Loop() {
		c := open(b, catalog.Options{})
		c.SetServers(servers)
		for i, o := range offers {
			c.Replace(servers[i], o)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	servers, offers := fleet(b, 50, 20)
	c := open(b, catalog.Options{})
	c.SetServers(servers)
	for i, o := range offers {
		c.Replace(servers[i], o)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		c.Replace(server("server0"), offers[0]) // reads the same
		c.Replace(server("server1"), hub.Offer{Tools: offers[1].Tools[n%2:]})
		if _, err := c.List(protocol.Legacy, hub.ListTools, ""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	servers, offers := fleet(b, 50, 20)
	c := open(b, catalog.Options{})
	c.SetServers(servers)
	for i, o := range offers {
		c.Replace(servers[i], o)
	}
	b.Run("list", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.List(protocol.Legacy, hub.ListTools, ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, name := range []string{"server49__tool_19", "tool_19", "unknown"} {
		b.Run("resolve/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Snapshot().Resolve(name)
			}
		})
	}
}

// A built-in server that only pretends is another one than the real one.
func TestSimulatedIsAnotherServer(t *testing.T) {
	c := open(t, catalog.Options{})
	c.SetServers([]hub.Server{server("a")})
	c.Replace(server("a"), offer(t, "x"))
	pretends := server("a")
	pretends.Simulated = true
	c.SetServers([]hub.Server{pretends})
	if got := exposed(c.Snapshot()); len(got) > 0 || c.Known(pretends) {
		t.Errorf("kept %q", got)
	}
}

// What is listed again keeps the bytes that it had, so that whoever knows it by them
// finds it; and nobody who holds a tool holds the message that it came in.
func TestBytesOfTools(t *testing.T) {
	c := open(t, catalog.Options{})
	c.SetServers([]hub.Server{server("a")})
	raw := func(name string) []byte {
		e, ok := c.Snapshot().Resolve("a__" + name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		return e.Tool.Raw
	}
	list := func(tools ...string) {
		lists := hub.Lists{Asked: hub.ListTools}
		message := []byte("[" + strings.Join(tools, ",") + "]")
		at := 1
		for _, tool := range tools {
			lists.Tools = append(lists.Tools, message[at:at+len(tool)])
			at += len(tool) + 1
		}
		c.Listed(server("a"), lists)
		clear(message)
	}
	const x, y, other = `{"name":"x","inputSchema":{"type":"object"}}`, `{"name":"y","inputSchema":{"type":"object"}}`, `{"name":"y","description":"new","inputSchema":{"type":"object"}}`
	list(x, y)
	first := map[string]*byte{"x": unsafe.SliceData(raw("x")), "y": unsafe.SliceData(raw("y"))}
	if string(raw("x")) != x || string(raw("y")) != y {
		t.Fatalf("with the message gone they are %q and %q", raw("x"), raw("y"))
	}
	list(other, x)
	if string(raw("y")) != other || unsafe.SliceData(raw("y")) == first["y"] {
		t.Errorf("y is %q", raw("y"))
	}
	if string(raw("x")) != x || unsafe.SliceData(raw("x")) != first["x"] {
		t.Errorf("x, %q, has other bytes than before", raw("x"))
	}
}
