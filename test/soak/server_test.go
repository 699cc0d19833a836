//go:build linux

package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// server is one entry of the hub's configuration, and what the test does to it.
// One operator has it; only quiet is read by others.
type server struct {
	key     string
	program string
	tally   string
	version int          // of its definition
	remote  *remote      // nil for one that the hub starts
	idles   bool         // it ends when nobody calls
	quiet   atomic.Bool  // nobody calls it now
	deeds   atomic.Int64 // done to it
}

// entry is its definition.
func (s *server) entry() map[string]any {
	e := map[string]any{"circuitBreaker": false, "healthCheckInterval": "1s"}
	switch {
	case s.remote != nil:
		e["url"] = s.remote.url
		e["timeout"] = 30_000 + s.version
		return e
	case s.idles:
		e["cleanupInterval"] = "150ms"
	default:
		e["cleanupInterval"] = "1h"
	}
	e["command"] = s.program
	e["args"] = []string{"-tally", s.tally, "-about", s.about()}
	return e
}

// about is what its tool says about itself: a text that is nowhere else in the
// configuration file.
func (s *server) about() string { return fmt.Sprintf("%s as of version %d.", s.key, s.version) }

// rig is the server as the rig knows it.
func (s *server) rig() rig.Server { return rig.Server{Key: s.key, Entry: s.entry()} }

// remote is a server that runs beside the hub, at the same address each time.
type remote struct {
	program, tally string
	address        string
	url            string
	cmd            *exec.Cmd
}

// newRemote starts one, at any address.
func newRemote(ctx context.Context, program, tally string) (*remote, error) {
	r := &remote{program: program, tally: tally, address: "127.0.0.1:0"}
	err := r.start(ctx)
	r.address = strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), "/mcp")
	return r, err
}

func (r *remote) start(ctx context.Context) error {
	r.cmd = exec.CommandContext(ctx, r.program, "-http", r.address, "-tally", r.tally, "-lifetime", "2h")
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := r.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("start the server at %s: %w", r.address, err)
	}
	r.url = strings.TrimSpace(line)
	return nil
}

// kill ends it at once.
func (r *remote) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// configFile is the hub's configuration file. Deeds that go through the hub's
// API may be done at once; who writes the file by hand must be alone, as a
// person would be.
type configFile struct {
	path string
	mu   sync.RWMutex
}

// change is a change by the API.
func (f *configFile) change(do func() error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return do()
}

// write replaces a text in the file by hand: the whole file, or what is in it.
func (f *configFile) write(before, after string, whole bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	if n := strings.Count(string(raw), before); n != 1 {
		return fmt.Errorf("the file has %q %d times", before, n)
	}
	text := strings.Replace(string(raw), before, after, 1)
	if !whole {
		return os.WriteFile(f.path, []byte(text), 0o600)
	}
	if err := os.WriteFile(f.path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(f.path+".new", f.path)
}

// keyed is an entry as the API takes it.
func keyed(entry map[string]any) json.RawMessage {
	raw, err := json.Marshal(entry)
	if err != nil {
		panic(err) // of a map of strings and numbers
	}
	return raw
}

// pid is the process of a server, 0 if there is none.
func pid(ctx context.Context, api *apiclient.Client, key string) (int, error) {
	s, err := api.Server(ctx, key)
	return s.PID, err
}

// kill ends a process at once, if it is still there.
func kill(pid int) error {
	err := syscall.Kill(pid, syscall.SIGKILL)
	if err == syscall.ESRCH {
		return nil
	}
	return err
}
