package datadir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// envHold makes the test binary open the directory it names, say so, and wait
// for the end of its input: the second process of the lock tests.
const envHold = "TOOLCRIB_TEST_HOLD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envHold); dir != "" {
		os.Exit(hold(dir))
	}
	os.Exit(m.Run())
}

func hold(dir string) int {
	d, err := Open(dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := d.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// startHolder returns a process that has the directory open, and its input.
func startHolder(t *testing.T, dir string) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envHold+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "open\n" {
		t.Fatalf("the second process said %q (%v)", line, err)
	}
	return cmd, in
}

func mustOpen(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, d)
	return d
}

func closeAtEnd(t *testing.T, d *Dir) {
	t.Helper()
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestOpenMakesTheDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	d := mustOpen(t, path)

	if d.Path() != path {
		t.Errorf("Path() = %q, want %q", d.Path(), path)
	}
	if want := filepath.Join(path, "index.json"); d.Index() != want {
		t.Errorf("Index() = %q, want %q", d.Index(), want)
	}
	if got, err := os.ReadFile(filepath.Join(path, "version")); err != nil || string(got) != "2\n" {
		t.Errorf("version file: %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(path, "version.part")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("version.part was left behind: %v", err)
	}
	lock, err := os.ReadFile(filepath.Join(path, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(lock), fmt.Sprintf("pid %d\nsince 2", os.Getpid())) {
		t.Errorf("lock file: %q", lock)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, p := range []string{filepath.Dir(path), path, filepath.Join(path, "keys")} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %04o, want nothing for others", p, mode)
		}
	}
}

// The directory of the keys is there and for its owner only, whatever became of
// it since the layout was made.
func TestOpenKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if err := mustOpen(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(path, "keys")
	if err := os.Remove(keys); err != nil {
		t.Fatal(err)
	}
	if err := mustOpen(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(keys); err != nil || runtime.GOOS != "windows" && info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("keys: %v, %v", info, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(keys, 0o755); err != nil {
		t.Fatal(err)
	}
	if d, err := Open(path); err == nil {
		closeAtEnd(t, d)
		t.Error("others may use the keys")
	}
}

func TestOpenAbsolutePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	d := mustOpen(t, "data")
	if want := filepath.Join(dir, "data"); d.Path() != want {
		t.Errorf("Path() = %q, want %q", d.Path(), want)
	}
}

func TestOpenTwiceInOneProcess(t *testing.T) {
	path := t.TempDir()
	if runtime.GOOS != "windows" {
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d := mustOpen(t, path)
	_, err := Open(path)
	wantLocked(t, err, path, os.Getpid())

	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	mustOpen(t, path)
}

func TestLockedByAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	cmd, in := startHolder(t, path)

	_, err := Open(path)
	wantLocked(t, err, path, cmd.Process.Pid)

	// The refused opening must not have disturbed the holder's lock.
	_, err = Open(path)
	wantLocked(t, err, path, cmd.Process.Pid)

	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path)
}

func TestKilledHolderIsNoObstacle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	cmd, _ := startHolder(t, path)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the killed process ended well")
	}
	lock, err := os.ReadFile(filepath.Join(path, "lock"))
	if err != nil || len(lock) == 0 {
		t.Fatalf("the killed process left no lock file to test with: %q, %v", lock, err)
	}
	mustOpen(t, path)
}

// TestOneWinner opens a fresh directory from many goroutines at once: exactly
// one may get it, and the others must be told why.
func TestOneWinner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	const n = 16
	dirs := make([]*Dir, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { dirs[i], errs[i] = Open(path) })
	}
	wg.Wait()
	won := 0
	for i := range n {
		if errs[i] == nil {
			won++
			closeAtEnd(t, dirs[i])
			continue
		}
		if _, ok := errors.AsType[*LockedError](errs[i]); !ok {
			t.Errorf("not a LockedError: %v", errs[i])
		}
	}
	if won != 1 {
		t.Errorf("%d have the directory open, want 1", won)
	}
}

func wantLocked(t *testing.T, err error, path string, pid int) {
	t.Helper()
	locked, ok := errors.AsType[*LockedError](err)
	if !ok {
		t.Fatalf("error %v, want a LockedError", err)
	}
	if locked.Path != path || locked.PID != pid {
		t.Errorf("LockedError{%q, %d}, want {%q, %d}", locked.Path, locked.PID, path, pid)
	}
}

func TestRefusedPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes say nothing on Windows")
	}
	for _, tt := range []struct {
		mode os.FileMode
		ok   bool
	}{{0o700, true}, {0o755, true}, {0o770, false}, {0o702, false}, {0o777, false}} {
		t.Run(fmt.Sprintf("%04o", tt.mode), func(t *testing.T) {
			path := t.TempDir()
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			d, err := Open(path)
			if tt.ok {
				if err != nil {
					t.Fatal(err)
				}
				closeAtEnd(t, d)
				return
			}
			if err == nil || !strings.Contains(err.Error(), "chmod go-w "+path) {
				t.Fatalf("error %v, want one that says how to mend it", err)
			}
			if entries, _ := os.ReadDir(path); len(entries) != 0 {
				t.Errorf("files were written into a refused directory: %v", entries)
			}
		})
	}
}

func TestNotADirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(path, "below")} {
		if d, err := Open(p); err == nil {
			closeAtEnd(t, d)
			t.Errorf("Open(%q) succeeded", p)
		}
	}
}
