package app

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// What a hub that is not busy gives back to the system, and when.
const (
	tidyEvery = 10 * time.Second // it is looked at so often
	calm      = 4 << 20          // bytes allocated meanwhile at most, if it is not busy
	untidy    = 8 << 20          // bytes allocated since the last time, or
	loosened  = 8 << 20          // bytes held less than then: it is worth it
)

// footprint is what the program has allocated since its start, and what it held
// when that was last collected, in bytes.
type footprint struct{ allocated, live uint64 }

func measureFootprint() footprint {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return footprint{allocated: samples[0].Value.Uint64(), live: samples[1].Value.Uint64()}
}

// tidier knows when memory is to be given back. The runtime keeps what a few
// times the live heap takes, and collects only when that is full: what ten
// thousand sessions took would stay with an idle hub for good.
type tidier struct{ last, tidied footprint }

// due takes what is measured after every interval, and reports whether memory is
// to be given back now: the hub has been busy, or holds much less than before,
// and is not busy any more.
func (t *tidier) due(now footprint) bool {
	busy := now.allocated-t.last.allocated > calm
	t.last = now
	return !busy && (now.allocated-t.tidied.allocated >= untidy || now.live+loosened <= t.tidied.live)
}

// tidy gives memory that is not needed back to the system, until ctx ends.
func tidy(ctx context.Context) error {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	t := &tidier{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if t.due(measureFootprint()) {
				runtime.GC() // what pools keep goes with the second collection
				debug.FreeOSMemory()
				t.tidied = measureFootprint()
				t.last = t.tidied
			}
		}
	}
}
