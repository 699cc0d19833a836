package faults

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// operator returns the API of the hub whose data directory is given, as an
// administrator has it.
func (h *running) operator(dir string) *apiclient.Client {
	h.t.Helper()
	c, err := apiclient.New(apiclient.Options{URL: h.URL(), Token: rig.Token(h.t, dir)})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.Close)
	return c
}

// view is all that the hub tells of the faulty server.
func view(t *testing.T, c *apiclient.Client) api.Server {
	t.Helper()
	s, err := c.Server(t.Context(), "faulty")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A server that ends again and again after it was ready is given up. It stays
// so until a person starts it, and then it has a new chance.
func TestFlapping(t *testing.T) {
	posix(t)
	dir := t.TempDir()
	mode := filepath.Join(dir, "mode")
	write := func(text string) {
		if err := os.WriteFile(mode, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("-fault crashafter -on tools/list")
	s := command("/bin/sh", "-c", `exec "$0" $(cat "$1")`, faultServer(t), mode)
	data := filepath.Join(dir, "data")
	h := startIn(t, data, budget(), s)
	control := h.operator(data)
	h.beside(func() {
		h.awaitCode("faulty", "server_crash_loop")
		h.await("faulty", hub.StateFailed)
		a, err := h.connect(modern).call("faulty__echo", `{"text":"x"}`)
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := a.codes(); code != "server_down" {
			t.Errorf("a call of a server that was given up got %s", a.raw)
		}
		write("")
		if _, err := control.ServerAction(t.Context(), "faulty", api.ActionStart); err != nil {
			t.Error(err)
		}
		if a, err := h.connect(legacy).call("faulty__echo", `{"text":"back"}`); err != nil || a.text() != "back" {
			t.Errorf("after the start a call got %s, %v", a.raw, err)
		}
	})
}

// watched is a definition whose probes follow one another at once.
func watched(s hub.Server) hub.Server {
	s.Health = hub.Health{Interval: 100 * time.Millisecond, Timeout: 100 * time.Millisecond, Misses: 2}
	return s
}

// A server that answers no probe is degraded, is called all the same, and then
// connected anew.
func TestStuckProbe(t *testing.T) {
	s, starts := counted(t, "-fault", "noping")
	dir := t.TempDir()
	h := startIn(t, dir, budget(), watched(s))
	control := h.operator(dir)
	h.beside(func() {
		rig.Await(t, "it is degraded", func() bool { return view(t, control).State == string(hub.StateDegraded) })
		a, err := h.connect(modern).call("faulty__echo", `{"text":"still here"}`)
		if err != nil || a.text() != "still here" {
			t.Errorf("meanwhile a call got %s, %v", a.raw, err)
		}
		rig.Await(t, "it is started anew", func() bool { return starts() >= 2 })
		log, err := control.Log(t.Context(), "faulty", 0)
		if err != nil || !slices.ContainsFunc(log.Lines, func(l api.LogLine) bool { return strings.Contains(l.Text, "health checks") }) {
			t.Errorf("its log does not say why: %+v, %v", log, err)
		}
	})
}

// A server that is busy with a call is left to it, however many probes it would
// have missed.
func TestBusyIsNotStuck(t *testing.T) {
	s, starts := counted(t, "-fault", "noping")
	h := start(t, budget(), watched(s))
	h.beside(func() {
		var calls sync.WaitGroup
		for _, e := range eras() {
			c := h.connect(e)
			calls.Go(func() {
				if a, err := c.call("faulty__sleep", `{"ms":1500}`); err != nil || a.text() != "slept" {
					t.Errorf("%s: the long call got %s, %v", e, a.raw, err)
				}
			})
		}
		calls.Wait()
		if n := starts(); n != 1 {
			t.Errorf("while it was busy it was started anew: %d starts", n)
		}
	})
}

// A remote server whose connections are up and carry nothing any more is found
// out, and used again when they do.
func TestHalfOpen(t *testing.T) {
	s := remote(t, "faulty")
	p := passOn(t, strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/mcp"))
	s.URL = "http://" + p.address + "/mcp"
	s.Timeout = 2 * impatience
	dir := t.TempDir()
	b := budget()
	b.Handshake = impatience
	h := startIn(t, dir, b, watched(s))
	control := h.operator(dir)
	h.await("faulty", hub.StateReady)
	h.beside(func() {
		p.silence(true)
		h.await("faulty", hub.StateReconnecting)
		p.silence(false)
		h.await("faulty", hub.StateReady)
	})
	if n := view(t, control).Losses; n == 0 {
		t.Error("no connection was lost")
	}
	if a, err := h.connect(legacy).call("faulty__echo", `{"text":"back"}`); err != nil || a.text() != "back" {
		t.Errorf("afterwards a call got %s, %v", a.raw, err)
	}
}

// proxy passes TCP on until it is told to be silent: then it takes what comes,
// and nothing comes out of it.
type proxy struct {
	address string
	mu      sync.Mutex
	open    *sync.Cond
	silent  bool
}

func passOn(t *testing.T, to string) *proxy {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: ln.Addr().String()}
	p.open = sync.NewCond(&p.mu)
	var work sync.WaitGroup
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		p.silence(false)
		end()
		ln.Close()
		work.Wait()
	})
	work.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			closeBoth := func() { near.Close(); far.Close() }
			stop := context.AfterFunc(ctx, closeBoth)
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				work.Go(func() {
					defer stop()
					defer closeBoth()
					p.carry(way[1], way[0])
				})
			}
		}
	})
	return p
}

func (p *proxy) carry(to, from net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		for p.silent {
			p.open.Wait()
		}
		p.mu.Unlock()
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) silence(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = on
	p.open.Broadcast()
}

// After some calls in a row without an answer no more are sent for a while, and
// who calls is told so at once; the first that succeeds then ends that.
func TestBreaker(t *testing.T) {
	s := stdio(t, "faulty", "-fault", "noreply", "-on", onlyDeed)
	s.Timeout = impatience
	s.Breaker = hub.Breaker{Failures: 2, Cooldown: time.Second}
	dir := t.TempDir()
	h := startIn(t, dir, budget(), s)
	control := h.operator(dir)
	h.await("faulty", hub.StateReady)
	h.beside(func() {
		for _, want := range []string{"timeout", "timeout", "server_circuit_open"} {
			a, err := h.connect(modern).call("faulty__"+deed, `{"text":"done"}`)
			if err != nil {
				t.Fatal(err)
			}
			if code, _ := a.codes(); code != want {
				t.Errorf("got %s, want %q", a.raw, want)
			}
		}
		if got := view(t, control).Breaker; got != string(hub.BreakerOpen) {
			t.Errorf("the breaker is %q", got)
		}
		rig.Await(t, "a call that the server answers comes through", func() bool {
			a, err := h.connect(legacy).call("faulty__echo", `{"text":"well"}`)
			return err == nil && a.text() == "well"
		})
		if got := view(t, control).Breaker; got != string(hub.BreakerClosed) {
			t.Errorf("after a call that went well the breaker is %q", got)
		}
	})
}

// Under load a server runs more than once, and when that is over once again; a
// process that dies takes only its own calls with it.
func TestInstances(t *testing.T) {
	s := stdio(t, "faulty")
	s.AutoStart = false
	s.Instances = hub.Instances{Min: 1, Max: 3, Queue: 1}
	s.IdleStop = impatience
	dir := t.TempDir()
	h := startIn(t, dir, budget(), s)
	control := h.operator(dir)
	h.beside(func() {
		var calls sync.WaitGroup
		stop := make(chan struct{})
		for n := range 6 {
			c := h.connect(eras()[n%2])
			calls.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if a, err := c.call("faulty__sleep", `{"ms":50}`); err != nil || a.text() != "slept" {
						t.Errorf("a call got %s, %v", a.raw, err)
						return
					}
				}
			})
		}
		rig.Await(t, "it runs three times", func() bool { return len(view(t, control).PIDs) == s.Instances.Max })
		close(stop)
		calls.Wait()
		rig.Await(t, "it has ended for want of use", func() bool {
			now := view(t, control)
			return now.State == string(hub.StateIdle) && len(now.PIDs) == 0
		})
		if a, err := h.connect(modern).call("faulty__echo", `{"text":"again"}`); err != nil || a.text() != "again" {
			t.Errorf("then a call got %s, %v", a.raw, err)
		}
	})
}
