package call

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

const (
	maxWait  = 5 * time.Minute // of a call for its turn, at one gate
	lookEach = time.Second     // at how things stand, while a call waits
)

// wait waits until it is the call's turn, and tells the caller how many go before
// it. The call's clock stands still meanwhile. What is configured is looked at again
// and again, so that a change counts for those that wait.
func (g *gates) wait(ctx context.Context, r *run, key gateKey, w *waiter) (err error) {
	began, in := time.Now(), false
	r.clock.hold()
	defer func() {
		if !in { // also if the exchange panics
			g.quit(key, w, hub.IsCode(err, message.QueueExpired))
		}
		r.record.Queued += time.Since(began)
		r.clock.release()
	}()
	longest := time.NewTimer(maxWait)
	defer longest.Stop()
	tick := time.NewTicker(lookEach)
	defer tick.Stop()
	told := math.MaxInt
	for {
		if ahead := g.ahead(key, w); ahead < told {
			told = ahead
			r.tell(message.CallWaits, "ahead", strconv.Itoa(ahead))
		}
		select {
		case <-w.in:
			in = true
			return nil
		case <-ctx.Done():
			return ended(ctx)
		case <-longest.C:
			e := refusal(message.QueueExpired, key, soonest)
			e.Args["waited"] = maxWait.String()
			return e
		case <-tick.C:
			set := g.now(key)
			g.mu.Lock()
			g.all[key].set(set, time.Now())
			g.mu.Unlock()
		}
	}
}

// ahead is how many calls go before one that waits.
func (g *gates) ahead(key gateKey, w *waiter) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all[key].ahead(w)
}

// ended is the error of a call whose context has ended.
func ended(ctx context.Context) error {
	if e, ok := errors.AsType[*hub.Error](context.Cause(ctx)); ok {
		return e
	}
	return hub.E(message.Cancelled, context.Cause(ctx))
}

// quit has a call wait no more, because it was refused or has ended. If it has got
// its turn just now it gives that back.
func (g *gates) quit(key gateKey, w *waiter, refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.all[key]
	if w.has {
		one.running--
		one.next()
	} else {
		one.quit(w)
	}
	one.restore()
	if refused {
		g.refused[key.server]++
	}
}
