package xiaozhi

import (
	"slices"
	"strings"
	"sync"

	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// need is what an endpoint keeps running while it is connected. Safe for concurrent
// use.
type need struct {
	mu      sync.Mutex
	done    func() // ends the use of its leases; nil while it has none
	missing []string
}

// holder is the name under which the endpoint holds its leases.
func (e *endpoint) holder() string { return "endpoint:" + e.name }

// hold has the servers that the endpoint needs started and kept running, if it is
// connected; what is not needed any more is not kept. It is asked for again whenever
// that may be something else than before.
func (e *endpoint) hold() {
	leases := e.set.opt.Leases
	if leases == nil {
		return
	}
	e.need.mu.Lock()
	defer e.need.mu.Unlock()
	e.mu.Lock()
	connected := e.talk != nil && e.now.State == hub.EndpointConnected
	e.mu.Unlock()
	def, who := e.def.Load(), e.principal()
	if !connected || len(def.RequiredTools) == 0 {
		e.need.release(leases, &who, e.holder())
		return
	}
	g, err := leases.Lease(who, e.holder(), def.RequiredTools, control.DefaultTTL)
	missing, why := g.Unknown, ""
	switch {
	case err != nil:
		missing, why = def.RequiredTools, " "+hub.AsError(err).Text(message.English).What
	case e.need.done == nil:
		e.need.done = leases.Use(who, e.holder())
	}
	if len(g.Started) > 0 {
		e.journal.add(hub.LevelInfo, "starts what it needs: "+message.Quote(strings.Join(g.Started, ", ")))
	}
	if slices.Equal(missing, e.need.missing) {
		return
	}
	if e.need.missing = slices.Clone(missing); len(missing) == 0 {
		e.journal.add(hub.LevelInfo, "all that it needs is there")
		return
	}
	e.journal.add(hub.LevelWarning, e.lacks(missing).Text(message.English).What+why)
}

// letGo has nothing kept running for the endpoint, which is not connected any more.
func (e *endpoint) letGo() {
	if leases := e.set.opt.Leases; leases != nil {
		who := e.principal()
		e.need.mu.Lock()
		defer e.need.mu.Unlock()
		e.need.release(leases, &who, e.holder())
	}
}

// release ends the leases, if there are any. The caller holds mu.
func (n *need) release(leases *control.Control, who *hub.Principal, holder string) {
	n.missing = nil
	if n.done == nil {
		return
	}
	n.done()
	n.done = nil
	_ = leases.Release(*who, holder) // somebody may have ended them by hand
}

// unmet are the names of what the endpoint needs that stand for nothing now.
func (e *endpoint) unmet() []string {
	e.need.mu.Lock()
	defer e.need.mu.Unlock()
	return e.need.missing
}

// lacks is the warning about what the endpoint needs and is not there.
func (e *endpoint) lacks(names []string) *hub.Error {
	return hub.E(message.EndpointToolsMissing, nil, "endpoint", e.name, "tools", message.Quote(strings.Join(names, ", ")))
}
