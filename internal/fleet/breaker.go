package fleet

import (
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// breaker keeps calls away from a server whose calls fail (circuit breaker).
// It opens when as many in a row have failed as the settings say. Once Cooldown
// is over one call is let through, the trial: if it is answered the breaker
// closes, if it fails the breaker opens anew. A trial of which nothing is heard
// makes room for another one after a further Cooldown.
//
// It reads no clock, and compares times by their monotonic part, so that setting
// the clock of the machine changes nothing.
type breaker struct {
	key string // of the server, for the error

	// What both ways of a call read without the lock. The era changes whenever
	// the breaker opens or closes; the lowest bit says that it is closed.
	era      atomic.Uint64
	failures atomic.Int64 // in a row, of the present era; those that opened it while it is open

	mu     sync.Mutex
	def    hub.Breaker
	until  time.Time // open: no call passes before
	trials uint64    // that were let through, of all eras
	trying bool      // the last of them is under way
}

// pass is what a call was let through with. Its outcome counts only in the era
// in which it began: what is heard of older calls says nothing new.
type pass struct {
	era   uint64
	trial uint64 // its number; 0 if nothing depends on the call
}

// outcome is how a call ended, as far as the breaker is concerned.
type outcome uint8

// The outcomes.
const (
	answered   outcome = iota // whatever the answer was, also an error
	unanswered                // in time, or because the connection was lost, or not in a usable way
	undecided                 // the caller left, or the call was never sent
)

const closed = 1 // the bit of era

// newBreaker returns a closed breaker. Without a number of failures in its
// settings it stays closed.
func newBreaker(key string, def hub.Breaker) *breaker {
	b := &breaker{key: key, def: def}
	b.era.Store(closed)
	return b
}

// set changes the settings. What was counted stays, and so does the time until
// which an open breaker keeps calls away; one that has no settings any more
// closes.
func (b *breaker) set(def hub.Breaker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.def = def
	if def.Failures <= 0 {
		b.close()
	}
}

// allow lets a call through, whose outcome is to be reported with the pass, or
// says why it does not. With nothing amiss it takes no lock.
func (b *breaker) allow(now time.Time) (pass, *hub.Error) {
	if era := b.era.Load(); era&closed != 0 {
		return pass{era: era}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	era := b.era.Load()
	if era&closed != 0 {
		return pass{era: era}, nil
	}
	if now.Before(b.until) {
		return pass{}, b.broken(now)
	}
	b.trials++
	b.trying, b.until = true, now.Add(b.def.Cooldown)
	return pass{era: era, trial: b.trials}, nil
}

// bars is the error that allow would give now, without letting anything through;
// nil if it would let a call through.
func (b *breaker) bars(now time.Time) *hub.Error {
	if b.era.Load()&closed != 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.era.Load()&closed != 0 || !now.Before(b.until) {
		return nil
	}
	return b.broken(now)
}

// broken is the error while no call is let through. The caller holds mu.
func (b *breaker) broken(now time.Time) *hub.Error {
	seconds := int(math.Ceil(b.until.Sub(now).Seconds()))
	return hub.E(message.ServerBroken, nil, "server", b.key, "retry_after", strconv.Itoa(seconds),
		"count", strconv.FormatInt(b.failures.Load(), 10), "until", b.until.Format(time.TimeOnly))
}

// report says how a call ended that was let through. It reports whether the
// breaker has opened or closed because of that. With nothing amiss before and
// now it takes no lock.
func (b *breaker) report(now time.Time, p pass, how outcome) (changed bool) {
	if how == undecided && p.trial == 0 || how == answered && p.era&closed != 0 && b.failures.Load() == 0 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case p.era != b.era.Load() || b.def.Failures <= 0:
		return false
	case how == undecided:
		if p.trial == b.trials { // else another one is under way already
			b.trying, b.until = false, now
		}
		return false
	case how == answered:
		return b.close()
	}
	if count := b.failures.Add(1); p.trial == 0 && count < int64(b.def.Failures) {
		return false
	}
	b.until, b.trying = now.Add(b.def.Cooldown), false
	b.era.Store((p.era | closed) + 1) // the next one without the bit
	return true
}

// close closes the breaker and forgets what failed. It reports whether it was
// open. The caller holds mu.
func (b *breaker) close() bool {
	b.failures.Store(0)
	b.trying = false
	era := b.era.Load()
	if era&closed != 0 {
		return false
	}
	b.era.Store(era | closed)
	return true
}

// state says whether calls pass.
func (b *breaker) state() hub.BreakerState {
	if b.era.Load()&closed != 0 {
		return hub.BreakerClosed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.era.Load()&closed != 0:
		return hub.BreakerClosed
	case b.trying:
		return hub.BreakerHalfOpen
	}
	return hub.BreakerOpen
}
