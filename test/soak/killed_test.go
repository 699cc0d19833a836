//go:build linux

package soak

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// TestKilledHubs kills the hub fifty times with its servers running, whose
// children fork, leave their group and ignore every signal that can be ignored.
// Whatever it left is ended by a hub that starts after it in the same data
// directory, also if that is killed while it is about it; and a process that
// looks the same, and is no hub's, lives.
func TestKilledHubs(t *testing.T) {
	t.Parallel()
	program := serverProgram(t)
	tally := filepath.Join(t.TempDir(), "tally")
	server := func(key, faults string) rig.Server {
		return rig.Stdio(key, program, "-tally", tally, "-fault", faults).With("autoStart", true)
	}
	servers := []rig.Server{server("plain", "banner"), server("brood", "brood"), server("stubborn", "brood,nostop")}
	const perHub = 3 + 2 + 2

	// The innocent is the same program with the same arguments and a brood of its
	// own, started by somebody else.
	innocent := exec.CommandContext(t.Context(), program, "-tally", tally, "-fault", "brood,nostop")
	input, err := innocent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range running(program) {
			_ = kill(p.PID)
		}
		_ = innocent.Wait()
	})
	var spared []rig.Proc
	rig.Await(t, "the innocent and its brood run", func() bool {
		spared = running(program)
		return len(spared) == 3
	})

	dataDir := t.TempDir()
	const kills = 50
	left := 0
	for i := range kills {
		hub := rig.StartHubIn(t, dataDir, servers...)
		if i%2 == 0 {
			hub.AwaitReady()
		} // else it has only begun to end what the one before has left
		before := running(program)
		hub.Kill()
		for _, p := range before {
			if !slices.Contains(spared, p) && p.Alive() {
				left++
			}
		}
		if i%10 != 9 {
			continue
		}
		// A hub that has time ends them all, and nothing of its own.
		last := rig.StartHubIn(t, dataDir, servers...)
		last.AwaitReady()
		rig.Await(t, fmt.Sprintf("what %d killed hubs left has ended, and the servers of the one that lives run", i+1), func() bool {
			return len(running(program)) == len(spared)+perHub
		})
		if code := last.Stop(); code != 0 {
			t.Errorf("a hub that swept ended with code %d", code)
		}
		awaitGone(t, program, spared...)
	}
	if left == 0 {
		t.Error("no hub that was killed left anything: this test shows nothing")
	}
	t.Logf("%d hubs were killed; they left %d processes", kills, left)
	for _, p := range spared {
		if !p.Alive() {
			t.Errorf("process %d, which was no hub's, was ended", p.PID)
		}
	}
}
