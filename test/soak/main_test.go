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
	"sync"
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

// buildServer makes the server, always without the race detector: only so does
// it start within a few milliseconds. Its directory is one of this run, so that
// whatever runs it was started by this run.
var buildServer = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "toolcrib-soak-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "soakserver")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", path, "./test/faultserver")
	cmd.Dir = rig.Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return path, nil
})

// serverProgram is a copy of the server for this test alone, by whose path its
// processes are known.
func serverProgram(tb testing.TB) string {
	tb.Helper()
	rig.Long(tb)
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		tb.Skip("NOT RUN: looking for what is left needs /proc")
	}
	built, err := buildServer()
	if err != nil {
		tb.Fatal(err)
	}
	own := filepath.Join(tb.TempDir(), "soakserver")
	if err := os.Link(built, own); err == nil {
		return own
	}
	program, err := os.ReadFile(built)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(own, program, 0o700); err != nil { //nolint:gosec // it is to be run
		tb.Fatal(err)
	}
	return own
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
