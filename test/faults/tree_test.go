package faults

import (
	"encoding/json"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// A server's own children end with it: when the hub stops, and when the server
// dies and leaves them behind. They ignore every polite request to end, and
// hold its pipes open.
func TestGrandchildren(t *testing.T) {
	for _, dies := range []bool{false, true} {
		name := "the hub stops"
		if dies {
			name = "the server dies"
		}
		t.Run(name, func(t *testing.T) {
			var grandchildren []int
			t.Cleanup(func() { // after the hub has stopped
				for _, pid := range grandchildren {
					if alive(pid) {
						t.Errorf("the grandchild %d is left", pid)
					}
				}
			})
			h := start(t, budget(), stdio(t, "faulty"))
			h.await("faulty", hub.StateReady)
			c := h.connect(legacy)
			for range 2 {
				a, err := c.call("faulty__fork", `{}`)
				if err != nil {
					t.Fatal(err)
				}
				var child struct{ PID int }
				if err := json.Unmarshal([]byte(a.text()), &child); err != nil || !alive(child.PID) {
					t.Fatalf("fork: %s, %v", a.raw, err)
				}
				grandchildren = append(grandchildren, child.PID)
			}
			if !dies {
				return
			}
			h.beside(func() {
				a, err := c.call("faulty__crash", `{}`)
				if err != nil {
					t.Error(err)
				} else if code, _ := a.codes(); code != "outcome_unknown" {
					t.Errorf("crash: %s", a.raw)
				}
				for _, pid := range grandchildren {
					rig.Await(t, "the grandchild has ended", func() bool { return !alive(pid) })
				}
				if a, err := c.call("faulty__echo", `{"text":"back"}`); err != nil || a.text() != "back" {
					t.Errorf("the next call: %s, %v", a.raw, err)
				}
			})
		})
	}
}

// The hub stops in the middle of everything: while calls run, while servers
// start, crash and come back.
func TestStopInTheMiddle(t *testing.T) {
	stubborn := stdio(t, "stubborn", "-fault", "nostop")
	stubborn.Timeout = 2 * impatience
	starting := stdio(t, "starting", "-fault", "neverinit,nostop")
	h := start(t, budget(), stubborn, starting,
		stdio(t, "crashing", "-fault", "crashstart"),
		stdio(t, "flooding", "-fault", "endlessnew"),
		remote(t, "hanging", "-fault", "hang", "-on", "*"),
	)
	h.await("stubborn", hub.StateReady)
	callers := []*caller{h.connect(legacy), h.connect(modern)}
	answers := make(chan answer, len(callers))
	for _, c := range callers {
		go func() {
			a, err := c.call("stubborn__sleep", `{"ms":60000}`)
			if err != nil {
				t.Errorf("%s: %v", c.era, err)
			}
			answers <- a
		}()
	}
	rig.Await(t, "both calls are under way", func() bool {
		a, err := h.connect(modern).call("stubborn__calls_count", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		var calls map[string]int
		return json.Unmarshal([]byte(a.text()), &calls) == nil && calls["sleep"] == len(callers)
	})
	if err := h.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for range callers { // each got an answer before the end
		if code, _ := (<-answers).codes(); code != "timeout" {
			t.Errorf("a call under way ended with %q", code)
		}
	}
}
