package httpd

import (
	"net/netip"
	"sync"
	"time"
)

// Limits of trying tokens.
const (
	tryLimit  = 10          // wrong tokens from one address
	tryWindow = time.Minute // within this time
	maxTriers = 1024        // addresses that are counted one by one
)

// throttle counts the wrong tokens by address. Tokens are not to be guessed,
// with 256 random bits: this bounds what guessing costs us, and has a client
// with an old token slow down. The zero value is ready.
type throttle struct {
	mu     sync.Mutex
	triers map[netip.Addr]trier
}

type trier struct {
	since time.Time
	count int
}

// wrong counts one more wrong token from an address, and returns how long it
// has to wait, zero while it is within the limit. It reports also whether this
// is the address's first within the window.
func (t *throttle) wrong(addr netip.Addr, now time.Time) (wait time.Duration, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.triers == nil {
		t.triers = make(map[netip.Addr]trier)
	}
	one, known := t.triers[addr]
	if !known && len(t.triers) >= maxTriers {
		t.forget(now)
		if len(t.triers) >= maxTriers {
			// More addresses than we care to know share one count; nobody
			// gets rid of his own by coming from many.
			addr = netip.Addr{}
			one = t.triers[addr]
		}
	}
	if now.Sub(one.since) >= tryWindow {
		one = trier{since: now}
	}
	one.count++
	t.triers[addr] = one
	if one.count > tryLimit {
		wait = one.since.Add(tryWindow).Sub(now)
	}
	return wait, one.count == 1
}

func (t *throttle) forget(now time.Time) {
	for addr, one := range t.triers {
		if now.Sub(one.since) >= tryWindow {
			delete(t.triers, addr)
		}
	}
}
