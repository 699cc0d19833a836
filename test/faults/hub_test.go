// Package faults shows what the hub does with servers that crash, stall, lie or
// flood: the caller of such a server gets a clear error within its time, calls
// to others go on, and nothing is left when the hub stops.
//
// Each test runs a hub in this process, with a healthy server beside the faulty
// one, and speaks to it over HTTP in both eras.
package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(binDir()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}

// binDir is where this run's fault-injecting server is; no other run has the
// same.
func binDir() string {
	return filepath.Join(os.TempDir(), "toolcrib-faults-"+strconv.Itoa(os.Getpid()))
}

// build makes the fault-injecting server, always without the race detector:
// with it, the answers of 100 MB would take most of the time of these tests.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binDir(), "faultserver")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", path, "./test/faultserver")
	cmd.Dir = rig.Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the fault server: %w\n%s", err, out)
	}
	return path, nil
})

func faultServer(t *testing.T) string {
	t.Helper()
	rig.Long(t)
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	// deadline bounds every call of the tests. It is generous, so that only a
	// call that hangs exceeds it.
	deadline = 30 * time.Second

	// impatience is the time limit of servers that are not going to answer, and
	// patience that of all others.
	impatience = 500 * time.Millisecond
	patience   = deadline

	// handshake is how long servers have for the start.
	handshake = 10 * time.Second
)

// stdio is a fault-injecting server that the hub starts.
func stdio(t *testing.T, key string, args ...string) hub.Server {
	t.Helper()
	return hub.Server{
		Key: key, Kind: hub.KindStdio, Command: faultServer(t), Args: args,
		Enabled: true, AutoStart: true, AutoRestart: true, Timeout: patience,
	}
}

// remote is a fault-injecting server that the hub reaches over HTTP.
func remote(t *testing.T, key string, args ...string) hub.Server {
	t.Helper()
	_, url := spawn(t, "127.0.0.1:0", args...)
	return hub.Server{Key: key, Kind: hub.KindHTTP, URL: url, Enabled: true, AutoStart: true, AutoReconnect: true, Timeout: patience}
}

// spawn starts a fault-injecting server at the address and returns the URL of
// its endpoint.
func spawn(t *testing.T, address string, args ...string) (*rig.Process, string) {
	t.Helper()
	p := rig.Spawn(t, nil, faultServer(t), append([]string{"-http", address}, args...)...)
	url, ok := p.Line()
	if !ok {
		t.Fatal("the fault server did not say its URL")
	}
	return p, url
}

// budget is the default with restarts that follow at once and with short
// handshakes.
func budget() fleet.Budget {
	b := fleet.DefaultBudget()
	b.Handshake, b.Pause, b.Backoff, b.Spacing = handshake, 50*time.Millisecond, 50*time.Millisecond, 0
	return b
}

// running is a hub that serves.
type running struct {
	*app.App
	t    *testing.T
	http *http.Client
}

// start runs a hub with the servers and a healthy one until the test ends; then
// nothing of it may be left.
func start(t *testing.T, b fleet.Budget, servers ...hub.Server) *running {
	t.Helper()
	return startIn(t, t.TempDir(), b, servers...)
}

// startIn is start with a given data directory.
func startIn(t *testing.T, dir string, b fleet.Budget, servers ...hub.Server) *running {
	t.Helper()
	before := takeStock(t)
	a, err := app.New(t.Context(), app.Options{
		Config: write(t, append(servers, stdio(t, "healthy"))), Strict: true, Listen: "127.0.0.1:0", DataDir: dir,
		Version: "test", Log: slog.New(slog.DiscardHandler), Budget: b,
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(func() {
		if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop: %v", err)
		}
		transport.CloseIdleConnections()
		before.compare()
	})
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	h := &running{App: a, t: t, http: &http.Client{Transport: transport, Timeout: deadline}}
	h.await("healthy", hub.StateReady)
	return h
}

// write writes a configuration file with the servers, in that order, and
// returns its path.
func write(t *testing.T, servers []hub.Server) string {
	t.Helper()
	entries := make([]rig.Server, len(servers))
	for i, s := range servers {
		entries[i].Key = s.Key
		if s.Retry == (hub.Retry{}) {
			s.Retry = hub.DefaultRetry()
		}
		if err := json.Unmarshal(config.Render(s), &entries[i].Entry); err != nil {
			t.Fatal(err)
		}
	}
	return rig.WriteConfig(t, entries...)
}

// status is what /readyz says of one server.
type status struct {
	Key    string    `json:"key"`
	State  hub.State `json:"state"`
	Tools  int       `json:"tools"`
	Code   string    `json:"code"`
	Reason string    `json:"reason"`
	Remedy string    `json:"remedy"`
	Junk   int       `json:"junkLines"`
}

func (h *running) status(key string) status {
	h.t.Helper()
	return h.statusIn(key, "en")
}

// statusIn is status in a language.
func (h *running) statusIn(key, language string) status {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.URL()+"/readyz", http.NoBody)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Accept-Language", language)
	res, err := h.http.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	var body struct {
		Servers []status `json:"servers"`
	}
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		h.t.Fatal(err)
	}
	for _, s := range body.Servers {
		if s.Key == key {
			return s
		}
	}
	h.t.Fatalf("/readyz says nothing of %q: %+v", key, body)
	return status{}
}

// await waits until the server is in the state.
func (h *running) await(key string, state hub.State) status {
	h.t.Helper()
	var s status
	rig.Await(h.t, key+" is "+string(state), func() bool {
		s = h.status(key)
		return s.State == state
	})
	return s
}

// awaitCode waits until the server is away for the reason.
func (h *running) awaitCode(key, code string) status {
	h.t.Helper()
	var s status
	rig.Await(h.t, key+" is away for "+code, func() bool {
		s = h.status(key)
		return s.Code == code
	})
	return s
}

// stock is what this process has, and which processes there are.
type stock struct {
	t          *testing.T
	goroutines goleak.Option
	files      int
	processes  map[string]bool
}

func takeStock(t *testing.T) *stock {
	t.Helper()
	return &stock{t: t, goroutines: goleak.IgnoreCurrent(), files: openFiles(t), processes: faultServers(t)}
}

// compare fails the test if there is more than there was. What the system needs
// a moment for, such as closing a connection, is waited for.
func (s *stock) compare() {
	s.t.Helper()
	if err := goleak.Find(s.goroutines); err != nil {
		s.t.Errorf("left: %v", err)
	}
	for p := range faultServers(s.t) {
		if !s.processes[p] {
			s.t.Errorf("left: process %s", p)
		}
	}
	rig.Await(s.t, "every descriptor is closed", func() bool { return openFiles(s.t) <= s.files })
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("NOT RUN: counting descriptors needs /proc")
	}
	return len(all)
}

// faultServers returns the processes, wherever they are in the tree, that run
// the fault-injecting server of this test run. Its path is no other run's.
func faultServers(t *testing.T) map[string]bool {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, exe := range all {
		if path, err := os.Readlink(exe); err == nil && path == faultServer(t) {
			found[filepath.Base(filepath.Dir(exe))] = true
		}
	}
	return found
}

func alive(pid int) bool {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return err == nil && path != ""
}
