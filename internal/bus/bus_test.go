package bus

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Each subscriber gets everything in order, but for the newest events that it has
// no room for; it is told how many those were.
func TestPublish(t *testing.T) {
	var b Bus
	large, small := b.Subscribe(8), b.Subscribe(2)
	for i := range uint64(3) {
		b.Publish(hub.ToolsChanged{Snapshot: i})
	}
	small.Close()
	small.Close()
	b.Publish(hub.ToolsChanged{Snapshot: 3})
	for i := range uint64(4) {
		if e := <-large.C(); e != (hub.ToolsChanged{Snapshot: i}) {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	n := 0
	for e := range small.C() {
		if e != (hub.ToolsChanged{Snapshot: uint64(n)}) {
			t.Errorf("event %d of the small queue is %+v", n, e)
		}
		n++
	}
	if lost := small.Dropped(); n != 2 || lost != 1 || small.Dropped() != 0 || large.Dropped() != 0 {
		t.Errorf("the small queue has got %d events and lost %d", n, lost)
	}
}

// A bus conflates while nobody wants each event.
func TestConflates(t *testing.T) {
	var b Bus
	want := func(when string, conflates bool) {
		t.Helper()
		if b.Conflates() != conflates {
			t.Errorf("%s the bus conflates: %v", when, !conflates)
		}
	}
	want("without subscribers", true)
	one, other := b.Subscribe(1), b.Subscribe(1)
	want("at first", false)
	one.Conflate(true)
	one.Conflate(true)
	want("while the other wants each event", false)
	other.Close()
	want("when that one has gone", true)
	other.Conflate(false)
	want("whatever it says then", true)
	one.Conflate(false)
	want("after a change of mind", false)
	one.Conflate(true)
	one.Close()
	want("in the end", true)
}
