//go:build linux

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// keptLate is how many KiB the hub may have besides for results that nobody has asked
// for yet: it keeps them for ten minutes, 32 MiB at the most, and the collector lets
// half as much again lie.
const keptLate = 48 << 10

// TestVoice has endpoints and devices of every dialect come, go, speak nonsense and
// lose their connections in every way for a while, under calls in both directions. All
// the time, each answer is that of its question and the only one, in time; the hub says
// of everybody how they stand, and dials nobody before the time; and in the end it has
// no more than in the beginning.
func TestVoice(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.warm()
	before := h.stock("before", nil)
	last := lasting(t)
	began := time.Now()
	used, err := cpuTime(h.hub.PID())
	if err != nil {
		t.Fatal(err)
	}
	h.live(last)
	spent, err := cpuTime(h.hub.PID())
	if err != nil {
		t.Fatal(err)
	}
	share := 100 * (spent - used).Seconds() / time.Since(began).Seconds()
	h.awaitEndpoints()
	h.settle()
	after := h.stock("after", &before)
	if !rig.RaceEnabled { // which keeps much more than there is
		after.memory = h.awaitMemory(before.memory*13/10 + 24<<10 + keptLate)
	}
	h.soundCounted()
	t.Logf("SOAK_SEED=%d, %d endpoints and %d devices for %v:\n%s  %-52s %.1f %% of a core\n  %-52s %v\n  %-52s %v\n  %-52s %v",
		h.seed, endpointsAll, devicesAll, last, h.fig.table(),
		"the hub: processor time", share, "the hub before", before, "the hub after", after,
		"this machine, for a byte to a process and back: worst", h.machine.worst(time.Time{}).Round(10*time.Microsecond))
	if code := h.hub.Stop(); code != 0 {
		t.Errorf("the hub ended with code %d", code)
	}
}

// warm has everybody connected once, and the hub do everything once that it keeps
// something of.
func (h *home) warm() {
	h.t.Helper()
	h.hub.AwaitState("tools", "ready")
	h.ready.Store(true)
	h.awaitEndpoints()
	var work sync.WaitGroup
	for _, g := range h.gadgets {
		work.Go(func() {
			s, _ := g.dial(h.t.Context())
			if s == nil {
				return
			}
			defer func() {
				s.Drop()
				<-s.Done()
				g.stands(standing(false))
			}()
			if !g.tools {
				return
			}
			if err := eventually(h.t.Context(), g.key+" is ready", func() (bool, error) {
				return h.hub.Health().State(g.key) == "ready", nil
			}); err != nil {
				h.fig.fault("%v", err)
			}
		})
	}
	work.Wait()
	h.live(3 * time.Second)
	h.awaitEndpoints()
}

// awaitEndpoints waits until every endpoint is connected; those that the hub would
// leave alone for long it is asked to dial.
func (h *home) awaitEndpoints() {
	h.t.Helper()
	rig.Await(h.t, "every endpoint is connected", func() bool {
		all, err := h.api.Dialled(h.t.Context(), apiclient.Endpoints)
		if err != nil {
			h.t.Fatal(err)
		}
		open := 0
		for _, e := range all {
			if e.State == "connected" {
				open++
			}
			if e.State == "auth_failed" || e.State == "replaced" {
				if _, err := h.api.Reconnect(h.t.Context(), apiclient.Endpoints, e.Name); err != nil {
					h.t.Fatal(err)
				}
			}
		}
		return open == endpointsAll
	})
}

// live has everybody do what they like for a while, and returns when all is calm.
func (h *home) live(last time.Duration) {
	h.t.Helper()
	callers, err := dial(h.t.Context(), h.hub)
	if err != nil {
		h.t.Fatal(err)
	}
	h.calm.Store(false)
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	var all, watching sync.WaitGroup
	watching.Go(func() { h.watch(ctx) })
	for _, g := range h.gadgets {
		all.Go(func() { g.live(ctx) })
	}
	for i, c := range callers {
		for j := range 3 {
			chance := rand.New(rand.NewPCG(h.seed, uint64(4000+10*i+j)))
			all.Go(func() { h.keepCalling(ctx, c, chance) })
		}
	}
	all.Go(func() { h.changeTools(ctx) })
	const parts = 6
	for part := range parts {
		pass(ctx, last/parts)
		if memory, err := ownMemory(h.hub.PID()); err != nil {
			h.fig.fault("%v", err)
		} else if last >= time.Minute {
			h.t.Logf("after %v it has %d KiB", last*time.Duration(part+1)/parts, memory)
		}
	}
	h.calm.Store(true)
	all.Wait()
	cancel()
	watching.Wait()
	for _, c := range callers {
		if err := c.close(); err != nil {
			h.fig.fault("%v", err)
		}
	}
}

// keepCalling calls devices as a client of MCP.
func (h *home) keepCalling(ctx context.Context, c caller, chance *rand.Rand) {
	for !h.calm.Load() {
		pass(ctx, time.Duration(20+chance.IntN(100))*time.Millisecond)
		g := h.gadgets[chance.IntN(len(h.gadgets))]
		if !g.tools {
			continue
		}
		ms := chance.IntN(40)
		if chance.IntN(50) == 0 {
			ms = 2500 // longer than the hub waits
		}
		if err := h.callDevice(ctx, c, g, ms); err != nil {
			h.fig.fault("%v", err)
			return
		}
	}
}

// goneCodes are the codes of a device that is away, goes, or does not answer.
var goneCodes = []string{"device_offline", "outcome_unknown", "timeout", "queue_full"}

func (h *home) callDevice(ctx context.Context, c caller, g *gadget, ms int) error {
	nonce := h.nonce()
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	ahead := g.called()
	a, err := c.call(limited, g.key+"__"+deviceTool, fmt.Sprintf(`{"text":%q,"ms":%d}`, nonce, ms))
	took := time.Since(began)
	limit := time.Duration(ahead())*deviceTimeout + time.Second
	if err != nil {
		return fmt.Errorf("call %s of %s after %v: %w", nonce, g.key, took, err)
	}
	h.fig.took("clients: call of a device", took)
	if took > limit && took > limit+h.machine.room(began) {
		h.fig.fault("a call of %s, of %d ms, took %v, and %v is the limit: %.200v", g.key, ms, took, limit, a)
	}
	outcome := "ok"
	if text, ok := a.text(); !ok {
		outcome = "failed"
		if !slices.Contains(goneCodes, a.code()) {
			return fmt.Errorf("call %s of %s was answered with %v", nonce, g.key, a)
		}
		h.fig.count("clients: calls failed with " + a.code())
	} else if text != nonce+" of "+g.key {
		return fmt.Errorf("call %s of %s was answered with %q", nonce, g.key, text)
	}
	h.fig.count("clients: calls " + outcome)
	h.told(nonce, true, outcome)
	return nil
}

// changeTools has the tools that endpoints are offered be others now and then.
func (h *home) changeTools(ctx context.Context) {
	chance := rand.New(rand.NewPCG(h.seed, 5000))
	for !h.calm.Load() {
		pass(ctx, time.Duration(500+chance.IntN(4000))*time.Millisecond)
		arguments := fmt.Sprintf(`{"n":%d}`, chance.IntN(4))
		if _, err := h.api.Call(ctx, api.Call{Tool: "tools__set_tools", Arguments: []byte(arguments)}); err != nil && ctx.Err() == nil {
			h.fig.fault("change the tools: %v", err)
		}
		h.fig.count("endpoints: changes of tools")
	}
}

// stock is what the hub has while everybody is calm, which may be no more than before.
func (h *home) stock(when string, before *stock) stock {
	h.t.Helper()
	h.api.Close()
	const looks = 20 // at the same thing
	var now, last stock
	same := 0
	err := eventually(h.t.Context(), "the hub has no more than it had", func() (bool, error) {
		var err error
		now, err = takeStock(h.hub)
		if same++; !now.within(last) || !last.within(now) {
			same = 0
		}
		last = now
		return same >= looks && (before == nil || now.within(*before)), err
	})
	if err != nil && before != nil && !errors.Is(err, context.Canceled) {
		h.t.Errorf("SOAK_SEED=%d: %v: before it had %v, %s;\nnow it has %v, %s", h.seed, err, before, strings.Join(before.files, " "), now, strings.Join(now.files, " "))
	} else if err != nil {
		h.t.Fatal(err)
	}
	h.t.Logf("%s: %v", when, now)
	return now
}

// awaitMemory waits until the hub has given back what it does not need any more, and
// returns what it has then, which is to be no more than the limit.
func (h *home) awaitMemory(limit int64) int64 {
	h.t.Helper()
	var now int64
	began := time.Now()
	err := eventually(h.t.Context(), "the hub has no more memory than that", func() (bool, error) {
		var err error
		now, err = ownMemory(h.hub.PID())
		return now <= limit, err
	})
	if err != nil {
		h.t.Errorf("SOAK_SEED=%d: it has %d KiB, and %d are the limit: %v", h.seed, now, limit, err)
	}
	h.t.Logf("after %v more it has %d KiB", time.Since(began).Round(time.Second), now)
	return now
}

// soundCounted looks at how many frames of sound the hub has dropped: no more than were
// sent, and nearly all.
func (h *home) soundCounted() {
	all, err := h.api.Devices(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	var dropped int64
	for _, d := range all.Devices {
		dropped += d.Audio
	}
	h.fig.add("devices: frames of sound dropped by the hub", int(dropped))
	h.fig.mu.Lock()
	sent := int64(h.fig.counts["devices: frames of sound sent"])
	h.fig.mu.Unlock()
	if dropped > sent || dropped < sent*9/10 {
		h.fig.fault("%d frames of sound were sent, and %d came", sent, dropped)
	}
}
