// Package control is what operators do: they define, change and remove
// servers, start and stop them, and edit the configuration. It ties the
// configuration file, the fleet, the catalog and the sealed store together;
// the doors that offer it decide who may.
package control

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// Options describe what is controlled.
type Options struct {
	Source   *Source // as [Load] returned it; Control owns it from now on
	Builtins []string
	Fleet    *fleet.Fleet
	Catalog  *catalog.Catalog
	Secrets  *secret.Store
	Log      *slog.Logger

	// Probe opens a connection for a test, with everything that the fleet's
	// connections have as well; see [upstream.Dial].
	Probe func(ctx context.Context, s hub.Server) (*upstream.Conn, error)
}

// Control carries out what operators ask for. Safe for concurrent use: changes
// are made one after another, and whoever looks does not wait for them.
type Control struct {
	opt Options

	change sync.Mutex // held through a change of the file, the fleet and the list

	mu     sync.Mutex
	source Source
}

// New returns the control of a fleet that was made from the same source.
func New(opt Options) *Control {
	c := &Control{opt: opt, source: *opt.Source}
	opt.Catalog.SetServers(enabled(c.source.Config))
	return c
}

// Source is what is known of the configuration file. The value and what it
// refers to are not changed any more.
func (c *Control) Source() Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.source
}

func (c *Control) setSource(s Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.source = s
}

// Definition is what the configuration says about a server.
func (c *Control) Definition(key string) (hub.Server, bool) {
	servers := c.Source().Config.Servers
	i := slices.IndexFunc(servers, func(s hub.Server) bool { return s.Key == key })
	if i < 0 {
		return hub.Server{}, false
	}
	return servers[i], true
}

func unknown(key string) *hub.Error {
	return hub.E(message.ServerUnknown, nil, "server", message.Quote(key))
}

// apply puts a configuration in force.
func (c *Control) apply(s Source) {
	c.setSource(s)
	// Listed first: what the fleet learns of a new server is for a part of the
	// catalog that is there.
	c.opt.Catalog.SetServers(enabled(s.Config))
	c.opt.Fleet.Apply(s.Config.Servers)
}

// enabled is the servers whose tools are listed.
func enabled(cfg *config.Config) []hub.Server {
	var some []hub.Server
	for _, s := range cfg.Servers {
		if s.Enabled {
			some = append(some, s)
		}
	}
	return some
}

// diff is what differs between two configurations.
func diff(from, to *config.Config) Diff {
	added, changed, removed, unchanged := config.Diff(from, to)
	return Diff{Added: added, Changed: changed, Removed: removed, Unchanged: unchanged}
}
