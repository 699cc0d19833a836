//go:build linux

package record

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
)

// envPrune makes the test below be the process that is killed.
const envPrune = "RECORD_PRUNE"

// TestKilledWhilePruning kills a process while it drops what is too old, at each
// thing that belongs to that. What is left verifies, has lost nothing that it
// should keep, and is pruned by the next one.
func TestKilledWhilePruning(t *testing.T) {
	if dir := os.Getenv(envPrune); dir != "" {
		pruneIn(t, dir)
		return
	}
	t.Parallel()
	for _, point := range []string{
		"write insert audit_entry pruned 1", "write delete audit_entry - 1", "write delete audit_entry - 300",
		"write delete audit_part - 1", "write delete audit_part - 2", "commit delete audit_part - 2",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if !prune(t, dir, point) {
				t.Fatal("it was not killed")
			}
			before := verifyAt(t, dir)
			if before.First != 1 || before.Entries < 600 {
				t.Errorf("what is left is %+v", before)
			}
			if prune(t, dir, "write insert audit_entry none 1") {
				t.Fatal("it was killed without a reason")
			}
			after := verifyAt(t, dir)
			if after.First <= before.Last-256 || after.Last <= before.Last || after.Checkpoints == 0 {
				t.Errorf("it was %+v, and is %+v", before, after)
			}
		})
	}
}

// prune runs the process that writes and prunes, and reports whether it was killed
// at the point.
func prune(t *testing.T, dir, point string) (killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWhilePruning$")
	cmd.Env = append(os.Environ(), envPrune+"="+dir, envCrash+"="+point)
	out, err := cmd.CombinedOutput()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	killed = ok && status.Signaled() && status.Signal() == syscall.SIGKILL
	if err != nil && !killed {
		t.Fatalf("%v: %s", err, out)
	}
	return killed
}

// pruneIn writes calls, and lives until they are too old.
func pruneIn(t *testing.T, dir string) {
	p, err := parsePoint(os.Getenv(envCrash))
	must(t, err)
	p.arm()
	synctest.Test(t, func(t *testing.T) {
		db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "toolcrib.db")})
		must(t, err)
		keys, err := audit.LoadKeys(filepath.Join(dir, "audit.key"))
		must(t, err)
		log, err := audit.Open(t.Context(), audit.Options{
			DB: db, Dir: filepath.Join(dir, "audit"), Keys: keys, Log: slog.New(slog.DiscardHandler), Settings: audit.Settings{Retention: time.Hour, KeepArguments: true},
		})
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- log.Run(ctx) }()
		for n := range 600 {
			r := &hub.CallRecord{
				ID: fmt.Sprintf("%d-%d", os.Getpid(), n), Time: time.Now(), Method: "tools/call", Subject: "local", Door: hub.DoorMCP,
				Name: "files__write", Server: "files", Tool: "write", Changing: n%5 == 0, Outcome: hub.OutcomeOK,
			}
			if r.Changing {
				must(t, log.Intend(ctx, r))
			}
			must(t, log.Finish(ctx, r))
		}
		time.Sleep(3 * time.Hour)
		cancel()
		must(t, <-done)
		must(t, db.Close())
	})
}

// verifyAt verifies the only chain of a directory.
func verifyAt(t *testing.T, dir string) audit.Chain {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "toolcrib.db")})
	must(t, err)
	defer db.Close()
	report := verifyIn(t, db, filepath.Join(dir, "audit.key"))
	if len(report.Chains) != 1 {
		t.Fatalf("there are %d chains", len(report.Chains))
	}
	return report.Chains[0]
}
