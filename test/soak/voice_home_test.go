//go:build linux

package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

const (
	endpointsAll = 20
	devicesAll   = 50
)

// home is a hub, the backends that it dials, and the devices that dial it.
type home struct {
	t       *testing.T
	seed    uint64
	fig     *figures
	machine *machine
	hub     *rig.Hub
	api     *apiclient.Client
	devices string // where devices dial in
	tally   string // of the tool work
	peers   []*peer
	gadgets []*gadget

	ready     atomic.Bool   // the tools are known
	calm      atomic.Bool   // nobody does anything any more
	over      chan struct{} // closed when everybody is to go
	dialling  atomic.Int32  // endpoints, by the hub
	nonces    atomic.Int64
	connected sync.WaitGroup // the peers

	mu    sync.Mutex
	calls map[string]string // outcome by nonce; those on devices begin with "device "
	runs  map[string]int    // on devices, by nonce
}

func newHome(t *testing.T) *home {
	t.Helper()
	program := serverProgram(t)
	h := &home{t: t, seed: seed(t), over: make(chan struct{}), calls: make(map[string]string), runs: make(map[string]int)}
	t.Logf("SOAK_SEED=%d", h.seed)
	h.fig, h.machine = newFigures(t, h.seed), newMachine(t)
	h.calm.Store(true)
	h.tally = filepath.Join(t.TempDir(), "tally")
	if err := os.WriteFile(h.tally, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range endpointsAll {
		kind := []dialect{cloud, eps, xs, goh}[i%4]
		h.peers = append(h.peers, &peer{
			name: fmt.Sprintf("%s-%02d", kind, i), kind: kind, home: h,
			chance: rand.New(rand.NewPCG(h.seed, uint64(1000+i))), entering: rand.New(rand.NewPCG(h.seed, uint64(2000+i))),
		})
	}
	for i := range devicesAll {
		h.gadgets = append(h.gadgets, newGadget(h, i, rand.New(rand.NewPCG(h.seed, uint64(3000+i)))))
	}
	at := h.listen()
	path := filepath.Join(t.TempDir(), "toolcrib.json")
	if err := os.WriteFile(path, h.config(at, program), 0o600); err != nil {
		t.Fatal(err)
	}
	// The collector is to run often, so that memory which grows is memory in use.
	h.hub = rig.Serve(t, []string{"GOGC=50"}, "--config", path, "--listen", "127.0.0.1:0", "--device-listen", "127.0.0.1:0",
		"--data-dir", t.TempDir(), "--log-level", "error")
	h.machine.follow(t, h.hub.PID())
	h.api = h.hub.API()
	all, err := h.api.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.devices = all.Address
	return h
}

// listen has the peers served, and returns where.
func (h *home) listen() string {
	h.t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(h.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, p := range h.peers {
		mux.Handle("/"+p.name, p)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, ConnContext: withCord}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(cordListener{ln})
	}()
	ctx, end := context.WithCancel(context.Background())
	for _, p := range h.peers {
		h.connected.Go(func() { p.run(ctx) })
	}
	h.t.Cleanup(func() {
		close(h.over)
		end()
		h.connected.Wait()
		_ = server.Close()
		<-done
	})
	return "ws://" + ln.Addr().String() + "/"
}

// config is the hub's configuration. One endpoint is in it twice.
func (h *home) config(at, program string) []byte {
	endpoint := func(name string) map[string]any {
		return map[string]any{
			"url": at + name + "?token=secret-" + name, "allow": []string{"tools__work", "tools__filler*", "dev-0*__" + deviceTool},
			"deadline": peerDeadline.String(), "ping": peerPing.String(), "pingTimeout": peerPing.String(),
			"delay": peerDelay.String(), "maxDelay": peerMaxDelay.String(),
		}
	}
	endpoints := map[string]any{"zz-twin": endpoint(h.peers[0].name)}
	for _, p := range h.peers {
		endpoints[p.name] = endpoint(p.name)
	}
	aliases, allow := make(map[string]string), []string{}
	for _, g := range h.gadgets {
		aliases[g.device.ID], allow = g.key, append(allow, g.device.ID)
	}
	raw, err := json.MarshalIndent(map[string]any{
		"mcpServers": map[string]any{"tools": map[string]any{"command": program, "args": []string{"-tally", h.tally, "-lifetime", "2h"}, "cleanupInterval": "1h"}},
		"xiaozhi":    map[string]any{"endpoints": endpoints},
		"devices":    map[string]any{"aliases": aliases, "allow": allow, "timeout": deviceTimeout.String(), "queue": deviceQueue, "keep": "1h"},
		"policy":     json.RawMessage(strings.Replace(rig.Observed, `{"modes": {`, `{"modes": {"xiaozhi": "observe", `, 1)),
	}, "", "  ")
	if err != nil {
		h.t.Fatal(err)
	}
	return raw
}

// nonce is a text that no other call has.
func (h *home) nonce() string { return fmt.Sprintf("n%d.", h.nonces.Add(1)) }

// told notes what the caller was told of a call.
func (h *home) told(nonce string, onDevice bool, outcome string) {
	if onDevice {
		outcome = "device " + outcome
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[nonce] = outcome
}

// ran notes that a device runs a call.
func (h *home) ran(nonce string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[nonce]++
}

// settle compares what callers were told with what was done: what was answered was
// done, and nothing was done twice.
func (h *home) settle() {
	raw, err := os.ReadFile(h.tally)
	if err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	done := make(map[string]int)
	for line := range strings.Lines(string(raw)) {
		done[strings.TrimSpace(strings.TrimPrefix(line, "work "))]++
	}
	for nonce, outcome := range h.calls {
		runs := done[nonce]
		if strings.HasPrefix(outcome, "device ") {
			runs = h.runs[nonce]
		}
		if runs > 1 || runs == 0 && strings.HasSuffix(outcome, "ok") {
			h.fig.fault("the call %s was done %d times, and its caller was told %q", nonce, runs, outcome)
		}
	}
}

// truth is whether something is connected, if that is known, and since when.
type truth struct {
	known, up bool
	since     time.Time
}

func standing(up bool) truth { return truth{true, up, time.Now()} }

func (p *peer) stand() truth {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// statusLimit is how long the hub may take to know what has happened.
const statusLimit = 500 * time.Millisecond

// watch looks at what the hub says about everybody until ctx ends. What is not so is a
// fault once it is said again after a moment.
func (h *home) watch(ctx context.Context) {
	wrong := make(map[string]truth) // by name, with when it began
	look := func(began time.Time, name string, before, after truth, says bool, state string) {
		seen, again := wrong[name]
		switch {
		case !before.known || before != after || says == before.up:
			delete(wrong, name)
		case !again || seen.up != before.up:
			wrong[name] = truth{true, before.up, began}
		case began.Sub(seen.since) > statusLimit+h.machine.room(seen.since) && time.Since(before.since) > statusLimit:
			h.fig.fault("%s is %q, and it is connected: %t, since %v", name, state, before.up, time.Since(before.since))
			delete(wrong, name)
		}
	}
	for ctx.Err() == nil {
		began := time.Now()
		peers, gadgets := make([]truth, len(h.peers)), make([]truth, len(h.gadgets))
		for i, p := range h.peers {
			peers[i] = p.stand()
		}
		for i, g := range h.gadgets {
			gadgets[i] = g.stand()
		}
		endpoints, err := h.api.Dialled(ctx, apiclient.Endpoints)
		devices, err2 := h.api.Devices(ctx)
		if err := errors.Join(err, err2); err != nil {
			if ctx.Err() == nil {
				h.fig.fault("the hub does not say how all stand: %v", err)
			}
			return
		}
		h.fig.took("statuses asked for", time.Since(began))
		said := make(map[string]string)
		for _, e := range endpoints {
			said[e.Name] = e.State
		}
		for _, d := range devices.Devices {
			said[d.Alias] = strconv.FormatBool(d.Online)
		}
		for i, p := range h.peers {
			look(began, p.name, peers[i], p.stand(), said[p.name] == "connected", said[p.name])
		}
		for i, g := range h.gadgets {
			look(began, g.key, gadgets[i], g.stand(), said[g.key] == "true", said[g.key])
		}
		if state := said["zz-twin"]; state != "disabled" {
			h.fig.fault("the endpoint whose address another one has is %q", state)
		}
		pass(ctx, 100*time.Millisecond)
	}
}

// closeOf is the code of a close, as text; "" if there was none.
func closeOf(err error) string {
	if code := websocket.CloseStatus(err); code >= 0 {
		return strconv.Itoa(int(code))
	}
	return ""
}
