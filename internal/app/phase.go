package app

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
)

// phases are the steps of the start, and how long each took. Safe for
// concurrent use.
type phases struct {
	mu   sync.Mutex
	last time.Time
	all  []api.Phase
}

// done says that the phase under way has ended; the next one begins.
func (p *phases) done(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.all = append(p.all, api.Phase{Name: name, Duration: milliseconds(now.Sub(p.last))})
	p.last = now
}

// list is the phases so far, in their order.
func (p *phases) list() []api.Phase {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]api.Phase{}, p.all...)
}

// String is the phases for a person: "configuration 1ms, listeners 0ms".
func (p *phases) String() string {
	var b strings.Builder
	for i, phase := range p.list() {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %.0fms", phase.Name, phase.Duration)
	}
	return b.String()
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}
