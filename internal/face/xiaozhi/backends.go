package xiaozhi

import (
	"context"
	"log/slog"

	"github.com/toolcrib/toolcrib/internal/hub"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// Backends are all backends to which the hub is a device. They are kept and told of
// as [Endpoints] are. Safe for concurrent use.
type Backends struct{ set *Endpoints }

// NewBackends returns backends; Apply says which there are, and Run keeps them. The
// file at the path keeps who the hub is to each, which is made up once.
func NewBackends(opt Options, path string) *Backends {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	opt.Log = opt.Log.With("as", "device")
	set := New(opt)
	set.identities = &identities{path: path}
	return &Backends{set}
}

// Run keeps the hub connected to the backends until ctx ends, and then closes all
// connections. It may run once.
func (b *Backends) Run(ctx context.Context) error { return b.set.Run(ctx) }

// Apply says which backends there are, as [Endpoints.Apply] does.
func (b *Backends) Apply(all []hub.Backend) {
	defs := make([]definition, 0, len(all))
	for _, one := range all {
		defs = append(defs, definition{Endpoint: words.AsEndpoint(&one), device: &one})
	}
	b.set.apply(defs)
}

// Statuses tell how all backends stand, in the order in which they were applied.
func (b *Backends) Statuses() []hub.EndpointStatus { return b.set.Statuses() }

// Status tells how a backend stands; false if there is none of the name.
func (b *Backends) Status(name string) (hub.EndpointStatus, bool) { return b.set.Status(name) }

// Log returns the lines of a backend's log, as [Endpoints.Log] does.
func (b *Backends) Log(name string, after uint64) (lines []hub.LogLine, changed <-chan struct{}) {
	return b.set.Log(name, after)
}

// Reconnect connects to a backend anew, as [Endpoints.Reconnect] does.
func (b *Backends) Reconnect(name string) bool { return b.set.Reconnect(name) }
