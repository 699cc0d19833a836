package control

import (
	"context"
	"slices"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Attach adds a server that no configuration has and that is there now, such as a
// device that has dialled in, to those of the configuration, and waits until it is
// ready or known not to be, which is the error. One that is attached already has its
// definition replaced, and is connected anew, unless a person has stopped it: it stays
// so, which is no error. When ctx ends first, what was begun
// goes on.
//
// The error is a [message.ServerExists] if a server of the configuration has the key;
// nothing is attached then. A server that comes into the configuration later takes
// the place of one that is attached.
func (c *Control) Attach(ctx context.Context, def hub.Server) error {
	again, err := c.attach(def)
	if err != nil {
		return err
	}
	if again {
		return c.opt.Fleet.Renew(ctx, def.Key)
	}
	return c.opt.Fleet.Start(ctx, def.Key)
}

// attach puts a server in force besides those of the configuration, and reports
// whether it was there already.
func (c *Control) attach(def hub.Server) (again bool, err error) {
	c.change.Lock()
	defer c.change.Unlock()
	cfg := c.Source().Config
	if _, taken := find(cfg, def.Key); taken {
		return false, hub.E(message.ServerExists, nil, "server", message.Quote(def.Key))
	}
	c.mu.Lock()
	next := slices.Clone(c.attached)
	at := slices.IndexFunc(next, func(s hub.Server) bool { return s.Key == def.Key })
	if again = at >= 0; again {
		next[at] = def
	} else {
		next = append(next, def)
	}
	c.attached = next
	c.mu.Unlock()
	c.reattach(cfg)
	return again, nil
}

// Detach takes a server away that was attached under a key and a name: its tools are
// not listed any more, and its connection ends. One that is not attached is left alone,
// and so is one of another name that was attached in its place.
func (c *Control) Detach(key, name string) {
	c.change.Lock()
	defer c.change.Unlock()
	c.mu.Lock()
	before := len(c.attached)
	c.attached = slices.DeleteFunc(slices.Clone(c.attached), func(s hub.Server) bool { return s.Key == key && s.Name == name })
	changed := len(c.attached) < before
	c.mu.Unlock()
	if changed {
		c.reattach(c.Source().Config)
	}
}

// reattach puts the servers in force that there are now. The caller holds change.
func (c *Control) reattach(cfg *config.Config) {
	c.opt.Fleet.Apply(c.servers(cfg), func() { c.list(cfg) })
}

// servers are those of a configuration, and then those that are attached and have
// none of their keys.
func (c *Control) servers(cfg *config.Config) []hub.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.attached) == 0 {
		return cfg.Servers
	}
	all := slices.Clone(cfg.Servers)
	for _, s := range c.attached {
		if _, taken := find(cfg, s.Key); !taken {
			s.Order = len(all)
			all = append(all, s)
		}
	}
	return all
}
