package events

import (
	"context"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
)

const (
	queue      = 8 << 10                // events of one bus that wait to be taken
	together   = 1 << 10                // that are taken at once
	writeEvery = 225 * time.Millisecond // with what states wait for before: what is younger than a quarter of a second may be lost when the hub is killed
	pruneEvery = time.Minute
	endLimit   = 5 * time.Second // to write what is left at the end
)

// taken is what was published.
type taken struct {
	event hub.Event
	lost  int64 // that were published just before, and not received
}

// Run takes note of what is published on the buses, from [Open] until ctx ends;
// it writes everything down, and returns nil. It must not run twice.
func (l *Log) Run(ctx context.Context) error {
	in := make(chan []taken)
	var takers, writer sync.WaitGroup
	for _, sub := range l.subs {
		takers.Go(func() { pass(ctx, sub, in) })
	}
	takers.Go(func() { <-ctx.Done() }) // also without any bus
	go func() {
		takers.Wait()
		close(in)
	}()
	done := make(chan struct{})
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if l.opt.DB != nil {
		writer.Go(func() { l.write(whole, done) })
	}
	l.take(in)
	close(done)
	defer time.AfterFunc(endLimit, cancel).Stop()
	writer.Wait()
	return nil
}

// pass gives on what a subscription receives: at once what comes after a pause,
// and together what comes soon after it. To be woken costs more than an event.
func pass(ctx context.Context, sub *bus.Subscription, in chan<- []taken) {
	defer sub.Close()
	for {
		select {
		case e := <-sub.C():
			all := gather(sub, e)
			in <- all
			if len(all) == together {
				continue // there is more
			}
			select {
			case <-time.After(pace):
			case <-ctx.Done():
			}
		case <-ctx.Done():
			for len(sub.C()) > 0 {
				in <- gather(sub, <-sub.C())
			}
			return
		}
	}
}

// gather is what a subscription holds, of which the first was received.
func gather(sub *bus.Subscription, first hub.Event) []taken {
	all := append(make([]taken, 0, min(1+len(sub.C()), together)), taken{first, sub.Dropped()})
	for len(sub.C()) > 0 && len(all) < together {
		all = append(all, taken{<-sub.C(), sub.Dropped()})
	}
	return all
}

// take adds what comes, until there is no more, and wakes the listeners.
func (l *Log) take(in <-chan []taken) {
	defer l.wakeAll()
	var quiet <-chan time.Time // until listeners are woken again; nil if they can be at once
	for {
		select {
		case t, more := <-in:
			if !more {
				return
			}
			l.note(t...)
			if quiet != nil {
				continue
			}
		case <-quiet:
			quiet = nil
		}
		if d := l.wake(); d > 0 {
			quiet = time.After(d)
		}
	}
}

// note adds what was published.
func (l *Log) note(all ...taken) {
	l.reserve(2 * len(all))
	for _, t := range all {
		if t.lost > 0 {
			l.fresh = append(l.fresh, missing(gapRush, t.lost))
		}
		if e := describe(t.event); e != nil {
			l.fresh = append(l.fresh, e)
		}
	}
	l.add(l.fresh...)
	clear(l.fresh)
	l.fresh = l.fresh[:0]
}
