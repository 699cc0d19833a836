package catalog_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// digests are what somebody has seen of a server's drift.
func digests(c *catalog.Catalog, server string) map[string]string {
	seen := make(map[string]string)
	for _, d := range c.Drift(server) {
		seen[d.Tool] = d.Digest
	}
	return seen
}

// Only what was seen is accepted, all of it or nothing.
func TestAcceptSeen(t *testing.T) {
	c := open(t, catalog.Options{})
	s := pinned("a")
	c.SetServers([]hub.Server{s})
	c.Replace(s, described(t, "x", "reads", "y", "writes", "z", "goes"))
	c.Replace(s, described(t, "x", "reads all", "y", "writes all"))
	seen := digests(c, "a")
	if len(seen) != 3 {
		t.Fatalf("seen are %v", seen)
	}

	c.Replace(s, described(t, "x", "reads all", "y", "writes and sends", "new", "came later"))
	if err := c.AcceptSeen("a", seen); !hub.IsCode(err, message.DriftStale) || !strings.Contains(err.Error(), "y") {
		t.Errorf("what changed after it was seen: %v", err)
	}
	wantPinned(t, c, "a", "", "x y new")

	// The layout is not what was seen.
	c.Replace(s, hub.Offer{Tools: []hub.Tool{
		parse(t, `{ "inputSchema": {"type":"object"}, "description":"reads\u0020all", "name":"x" }`),
		described(t, "y", "writes all").Tools[0], described(t, "new", "came later").Tools[0],
	}})
	if err := c.AcceptSeen("a", seen); err != nil {
		t.Fatal(err)
	}
	wantPinned(t, c, "a", "a__x a__y", "new") // which nobody has seen

	if err := c.AcceptSeen("a", seen); !hub.IsCode(err, message.DriftStale) {
		t.Errorf("what is accepted already: %v", err)
	}
	if err := c.AcceptSeen("a", map[string]string{"none": ""}); !hub.IsCode(err, message.DriftStale) {
		t.Errorf("what there is not: %v", err)
	}
	if err := c.AcceptSeen("a", nil); err != nil {
		t.Error(err)
	}
	wantPinned(t, c, "a", "a__x a__y", "new")

	// One that came back is not the one that was seen to be gone.
	c.Replace(s, described(t, "y", "writes all"))
	gone := digests(c, "a")
	c.Replace(s, described(t, "y", "writes all", "x", "reads and sends"))
	if err := c.AcceptSeen("a", gone); !hub.IsCode(err, message.DriftStale) {
		t.Errorf("what came back: %v", err)
	}
}

// As long as the servers are not known their lists are kept, in the index too.
func TestServersMeanwhile(t *testing.T) {
	opt := catalog.Options{IndexPath: filepath.Join(t.TempDir(), "index.json")}
	a, b := server("a"), server("b")
	both := []hub.Server{a, b}
	c := open(t, opt)
	stop := run(t, c)
	c.SetServers(both)
	c.Replace(a, offer(t, "x"))
	c.Replace(b, offer(t, "y"))
	stop()

	for range 2 {
		c = open(t, opt)
		stop = run(t, c)
		c.SetServersMeanwhile([]hub.Server{b})
		c.Replace(b, offer(t, "z")) // so that the index is written
		wantNames(t, c, "b__z")
		stop()
	}

	c = open(t, opt)
	c.SetServersMeanwhile(nil)
	wantNames(t, c, "")
	c.SetServers(both)
	wantNames(t, c, "a__x b__z")
	c.SetServers(nil)
	c.SetServers(both)
	wantNames(t, c, "")
}

func wantNames(t *testing.T, c *catalog.Catalog, want string) {
	t.Helper()
	if got := strings.Join(exposed(c.Snapshot()), " "); got != want {
		t.Errorf("listed %q, want %q", got, want)
	}
}
