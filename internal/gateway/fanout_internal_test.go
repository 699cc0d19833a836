package gateway

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// counter is a feed that counts the messages.
type counter struct{ sent *atomic.Int64 }

func (c counter) Event(_ string, raw []byte) error {
	if raw != nil {
		c.sent.Add(1)
	}
	return nil
}

// crowd has so many sessions subscribed to one resource, each with a stream on
// which sent is counted. They are there when it returns, and gone behind leave.
func crowd(tb testing.TB, g *Gateway, size int, sent *atomic.Int64) (ids []string, leave func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var ready sync.WaitGroup
	for i := range size {
		s := &Session{id: fmt.Sprint(i), revision: protocol.Rev20251125, principal: hub.Local(hub.DoorMCP), told: hub.ListTools}
		if !g.admit(s) {
			tb.Fatal("there are too many sessions")
		}
		s.watched.add("x://y", spot{"s", "x://y", false})
		ids = append(ids, s.id)
		ready.Add(1)
		all.Go(func() {
			if e := g.Stream(ctx, s, "", primed{counter{sent}, &ready}); e != nil {
				tb.Error(e)
			}
		})
	}
	ready.Wait()
	return ids, func() {
		cancel()
		all.Wait()
	}
}

// primed is a counter that says when its stream has begun.
type primed struct {
	counter

	ready *sync.WaitGroup
}

func (p primed) Event(id string, raw []byte) error {
	if raw == nil {
		p.ready.Done()
	}
	return p.counter.Event(id, raw)
}

const changed = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://y"}}`

// Whoever tells many callers something lets others run meanwhile: with one
// processor, most have sent it when the last is told, so that never many wait at
// the same time for a processor that a call needs.
func TestTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const size = 1000
	g := newGateway()
	var sent atomic.Int64
	ids, leave := crowd(t, g, size, &sent)
	defer leave()
	for name, tell := range map[string]func(){
		"updated":      func() { g.Updated("s", ids, []byte(changed)) },
		"list changed": func() { g.announce(hub.ListTools) },
	} {
		before := sent.Load()
		tell()
		if waiting := size - (sent.Load() - before); waiting > size/4 {
			t.Errorf("%s: %d of %d callers wait to be told when all were woken", name, waiting, size)
		}
		for sent.Load()-before < size {
			runtime.Gosched()
		}
	}
}

// BenchmarkUpdated is one change of a resource for a thousand callers, until it
// was handed to the door for all of them.
func BenchmarkUpdated(b *testing.B) {
	const size = 1000
	g := newGateway()
	var sent atomic.Int64
	ids, leave := crowd(b, g, size, &sent)
	defer leave()
	b.ReportAllocs()
	for b.Loop() {
		before := sent.Load()
		g.Updated("s", ids, []byte(changed))
		for sent.Load()-before < size {
			runtime.Gosched()
		}
	}
}
