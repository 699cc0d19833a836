package auth

import (
	"net/netip"
	"sync"
	"time"
)

// maxMetered is how many are counted one by one.
const maxMetered = 1024

// Meter bounds how often each of many does something. It knows only so many one by
// one; further ones share a count, so that nobody gets rid of his own by coming under
// many names. Safe for concurrent use.
type Meter struct {
	most   int
	within time.Duration

	mu     sync.Mutex
	counts map[string]metered
}

type metered struct {
	since time.Time
	n     int
}

// NewMeter returns a meter that lets each do something so many times within a time.
func NewMeter(most int, within time.Duration) *Meter {
	return &Meter{most: most, within: within, counts: make(map[string]metered)}
}

// Allow counts once more, and reports whether that is within the bound, and is the
// last time that is.
func (m *Meter) Allow(who string, now time.Time) (ok, last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one, known := m.counts[who]
	if !known && len(m.counts) >= maxMetered {
		for other, c := range m.counts {
			if now.Sub(c.since) >= m.within {
				delete(m.counts, other)
			}
		}
		if len(m.counts) >= maxMetered {
			who = ""
			one = m.counts[who]
		}
	}
	if now.Sub(one.since) >= m.within {
		one = metered{since: now}
	}
	one.n++
	m.counts[who] = one
	return one.n <= m.most, one.n == m.most
}

// AddressOf returns whose count a request goes on by its remote address: of IPv6 the
// network of 64 bits that is one household's, and the zero address for whoever comes
// by the local socket.
func AddressOf(remote string) netip.Addr {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	addr := ap.Addr().Unmap().WithZone("")
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			addr = p.Addr()
		}
	}
	return addr
}
