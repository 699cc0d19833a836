package call

import (
	"context"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// maxUnheard is how long a list is kept back for servers that have never told
// what they have.
const maxUnheard = 10 * time.Second

// Unheard reports whether the view has a server that has never told what it has
// and may still do so: one that is being started for that, or that is away.
func (p *Pipeline) Unheard(v *catalog.View) bool {
	return len(p.unheard(v, hub.StateStarting, hub.StateReconnecting, hub.StateCrashed)) > 0
}

// Hear waits until each server in the view that is being started for the first
// time has told what it has, or is known not to come: ten seconds at most. It is
// for who is told later of nothing that comes then.
func (p *Pipeline) Hear(ctx context.Context, v *catalog.View) {
	ctx, cancel := context.WithTimeout(ctx, maxUnheard)
	defer cancel()
	for _, key := range p.unheard(v, hub.StateStarting) {
		_ = p.fleet.Wait(ctx, key) // the others are there all the same
	}
}

// unheard are the keys of the servers in the view that are in one of the states,
// and whose lists are not known.
func (p *Pipeline) unheard(v *catalog.View, states ...hub.State) []string {
	var keys []string
	for _, s := range p.fleet.Status() {
		if slices.Contains(states, s.State) && !v.Snapshot().Listed(s.Key) && v.MayHave(s.Key) {
			keys = append(keys, s.Key)
		}
	}
	return keys
}
