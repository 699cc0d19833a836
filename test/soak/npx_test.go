//go:build linux

package soak

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// TestNPXTrees starts and ends a real server by npx, which is a tree of
// processes: by a stop, and by the sudden end of any one of them. Each time all
// of the tree is gone, and the server can be called again.
func TestNPXTrees(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npx"); err != nil {
		t.Fatalf("%v; run \"make setup\" first", err)
	}
	rig.NPM(t, ".bin", "mcp-server-everything")
	hub := rig.StartHub(t, rig.Stdio("everything", "npx", "--no-install", "mcp-server-everything").
		With("cwd", filepath.Join(rig.Root(), "test", "npm")).With("cleanupInterval", "1h"))
	control := hub.API()
	choice := seed(t)
	t.Logf("SOAK_SEED=%d", choice)
	chance := rand.New(rand.NewPCG(choice, 0))
	c, err := dialHTTP(t.Context(), hub.MCP(), modern)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for i := range times(2, 20) {
		if _, err := control.ServerAction(t.Context(), "everything", api.ActionStart); err != nil {
			t.Fatal(err)
		}
		if a, err := c.call(t.Context(), "everything__echo", `{"message":"well"}`); err != nil {
			t.Fatal(err)
		} else if text, _ := a.text(); !strings.Contains(text, "well") {
			t.Fatalf("the server answers %v", a)
		}
		tree := rig.Tree(t, hub.PID())
		if len(tree) < 2 {
			t.Fatalf("npx is the tree %v, want at least two processes", tree)
		}
		if i%2 == 0 {
			if _, err := control.ServerAction(t.Context(), "everything", api.ActionStop); err != nil {
				t.Fatal(err)
			}
		} else {
			before := losses(t, control)
			victim := tree[chance.IntN(len(tree))]
			victim.Signal(t, syscall.SIGKILL)
			// A call that comes before the hub knows is lost with the server.
			rig.Await(t, "the hub knows that "+victim.Name+" has ended", func() bool { return losses(t, control) > before })
		}
		for _, p := range tree {
			rig.Await(t, "all of the tree has ended", func() bool { return !p.Alive() })
		}
	}
	if code := hub.Stop(); code != 0 {
		t.Errorf("the hub ended with code %d", code)
	}
}

// losses is how often the server was lost.
func losses(t *testing.T, control *apiclient.Client) int {
	t.Helper()
	s, err := control.Server(t.Context(), "everything")
	if err != nil {
		t.Fatal(err)
	}
	return s.Losses
}
