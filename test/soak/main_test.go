//go:build linux

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }

// whole reports whether everything is asked for, and not only what the check
// has time for.
func whole() bool { return os.Getenv("SOAK") != "" }

// times is how often something is to be done.
func times(check, all int) int {
	if whole() {
		return all
	}
	return check
}

// seed is what the choices of this run follow from.
func seed(tb testing.TB) uint64 {
	tb.Helper()
	text := os.Getenv("SOAK_SEED")
	if text == "" {
		return rand.Uint64()
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		tb.Fatalf("SOAK_SEED: %v", err)
	}
	return n
}

// serverProgram makes the server, always without the race detector: only so does
// it start within a few milliseconds. It is for this test alone, and by its path
// its processes are known.
func serverProgram(tb testing.TB) string {
	tb.Helper()
	rig.Long(tb)
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		tb.Skip("NOT RUN: looking for what is left needs /proc")
	}
	path := filepath.Join(tb.TempDir(), "soakserver")
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-o", path, "./test/faultserver")
	cmd.Dir = rig.Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build the server: %v\n%s", err, out)
	}
	return path
}

// soon is how long anything may take that needs no more than a moment. It only
// matters when something is wrong.
const soon = 60 * time.Second

// eventually calls ok, at intervals, until it holds. It is rig.Await for those
// that are not the goroutine of the test.
func eventually(ctx context.Context, what string, ok func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := ok(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("still not: %s: %w", what, ctx.Err())
		}
	}
}
