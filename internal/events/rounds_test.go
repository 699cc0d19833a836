package events

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// All who listen are woken by one event, once each, and few at a time.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 5*groupSize + 3
		b := &bus.Bus{}
		l, err := Open(t.Context(), Options{Buses: []*bus.Bus{b}})
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = l.Run(ctx) })
		var woken, heard atomic.Int64
		for range many {
			r := l.Read(Now, Filter{})
			all.Go(func() {
				defer r.Close()
				for {
					got, more, err := r.Next(ctx, nil)
					if err != nil {
						return
					}
					heard.Add(int64(len(got)))
					if more == nil {
						continue
					}
					select {
					case <-more:
						woken.Add(1)
					case <-ctx.Done():
						return
					}
				}
			})
		}
		synctest.Wait()
		for round := int64(1); round <= 2; round++ {
			b.Publish(hub.ToolsChanged{})
			synctest.Wait()
			for before := (round - 1) * many; woken.Load() < round*many; {
				now := woken.Load()
				if now == before || now-before > groupSize {
					t.Fatalf("round %d: %d were woken at once", round, now-before)
				}
				before = now
				if now < round*many {
					time.Sleep(groupSize * paceFor)
					synctest.Wait()
				}
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if woken.Load() != round*many || heard.Load() != round*many {
				t.Errorf("round %d: %d were woken and %d events heard, of %d listeners", round, woken.Load(), heard.Load(), many)
			}
		}
		// What comes in the midst of a round is heard by all as well.
		b.Publish(hub.ToolsChanged{})
		time.Sleep(pace + groupSize*paceFor)
		b.Publish(hub.ToolsChanged{})
		time.Sleep(time.Second)
		synctest.Wait()
		if heard.Load() != 4*many {
			t.Errorf("%d events heard, of %d listeners", heard.Load(), many)
		}
		cancel()
		all.Wait()
	})
}
