package fleet

import (
	"log/slog"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// A connection that is given up for its missed probes is one on which no call is
// under way, and on which none begins: a call that came just before spares it.
func TestUnhealthySparesCalls(t *testing.T) {
	f := New(Options{Servers: []hub.Server{{Key: "s", Kind: hub.KindStdio, Enabled: true}}, Log: slog.New(slog.DiscardHandler)})
	s := f.now.Load().byKey["s"]
	health, i := &hub.Health{Misses: 2}, &instance{quiet: make(chan struct{})}
	for misses := range int32(3) {
		if e := s.diagnose(i, health, misses+1); e != nil {
			t.Errorf("after %d misses: %v", misses+1, e)
		}
	}
	if !i.claim() {
		t.Fatal("no call gets it before that")
	}
	if e := s.diagnose(i, health, 4); e != nil {
		t.Errorf("under a call: %v", e)
	}
	i.release(0)
	if e := s.diagnose(i, health, 5); e == nil {
		t.Error("it is kept for ever")
	}
	if i.claim() {
		t.Error("a call has got it after that")
	}
}
