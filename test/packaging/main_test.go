// Package packaging_test checks what the program is handed out and run with:
// the archives of a release, the container file, the units of systemd and
// launchd, and the commands that the guide to running it shows.
package packaging_test

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stamp is the version of what the tests build.
const stamp = "v0.0.0-packaging"

// startLimit is how long the program may take to start or to end.
const startLimit = 60 * time.Second

var root = filepath.Join("..", "..")

// buildDir returns the directory that keeps what the tests build; it goes when
// all tests have ended.
var buildDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "toolcrib-packaging-")
	if err != nil {
		panic(err)
	}
	return dir
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(buildDir())
	os.Exit(code)
}

// long skips a test that builds the program.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in short mode")
	}
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell and signals")
	}
}

// readFile returns a file of the repository.
func readFile(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// lookAt looks at every file of some directories. The go command keeps the
// outcome of tests and shows it again until a file changes at which they have
// looked; it does not know what they build.
func lookAt(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// home is an environment in which nothing is set up: a home of its own and
// none of the variables that Toolcrib knows.
func home(dir string, more ...string) []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name != "HOME" && !strings.HasPrefix(name, "TOOLCRIB_") && !strings.HasPrefix(name, "XDG_") && !strings.HasPrefix(name, "LC_") {
			env = append(env, entry)
		}
	}
	return append(append(env, "HOME="+dir, "LC_ALL=C"), more...)
}

// hub starts a command that serves, waits until it says so, and returns that
// line. Stop, which is called at the latest when the test ends, asks the
// command to end by SIGTERM, which has to succeed.
func hub(t *testing.T, cmd *exec.Cmd) (ready string, stop func()) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(startLimit, func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	var said strings.Builder
	for !strings.Contains(ready, " is ready. ") {
		if ready, err = lines.ReadString('\n'); err != nil {
			_ = cmd.Wait()
			t.Fatalf("%s: it does not serve:\n%s", cmd, said.String()+ready)
		}
		said.WriteString(ready)
	}
	watchdog.Stop()
	stop = sync.OnceFunc(func() {
		watchdog.Reset(startLimit)
		defer watchdog.Stop()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		rest, _ := io.ReadAll(lines)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: it ended by %v:\n%s", cmd, err, said.String()+string(rest))
		}
	})
	t.Cleanup(stop)
	return ready, stop
}

// output runs a command and returns what it prints.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// command is one that a test waits for.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, name, args...)
}
