package control

import (
	"context"
	"fmt"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Server is a server as operators see it.
type Server struct {
	Definition hub.Server
	Status     hub.Status
	Offered    int  // tools that callers see
	Hidden     int  // tools that rules hide
	Defined    bool // it has an entry in the file; built-in servers need none
}

// Servers is every server, in the order of the configuration.
func (c *Control) Servers() []Server {
	src := c.Source()
	status := make(map[string]hub.Status)
	for _, st := range c.opt.Fleet.Status() {
		status[st.Key] = st
	}
	snapshot := c.opt.Catalog.Snapshot()
	all := make([]Server, 0, len(src.Config.Servers))
	for _, def := range src.Config.Servers {
		st, ok := status[def.Key]
		if !ok {
			continue // it is being added or removed at this moment
		}
		all = append(all, Server{
			Definition: def, Status: st, Defined: src.Defines(def.Key),
			Offered: snapshot.Offered(def.Key), Hidden: snapshot.Hidden(def.Key),
		})
	}
	return all
}

// Server is one server. The error is [message.ServerUnknown].
func (c *Control) Server(key string) (Server, error) {
	for _, s := range c.Servers() {
		if s.Definition.Key == key {
			return s, nil
		}
	}
	return Server{}, unknown(key)
}

// Log is the end of a server's log; see [fleet.Fleet.Log].
func (c *Control) Log(key string, after uint64) ([]hub.LogLine, <-chan struct{}, error) {
	lines, more, ok := c.opt.Fleet.Log(key, after)
	if !ok {
		return nil, nil, unknown(key)
	}
	return lines, more, nil
}

// Start connects a server now and waits until it is ready or known not to be;
// one that was given up or stopped starts afresh.
func (c *Control) Start(ctx context.Context, key string) error {
	return c.steer(ctx, key, c.opt.Fleet.Start)
}

// Stop ends a server until it is started, or the hub starts, again. Its
// processes are gone when Stop returns, and its tools are not listed.
func (c *Control) Stop(ctx context.Context, key string) error {
	return c.steer(ctx, key, c.opt.Fleet.Stop)
}

// Restart is Stop and Start.
func (c *Control) Restart(ctx context.Context, key string) error {
	return c.steer(ctx, key, c.opt.Fleet.Restart)
}

// Refresh asks a server for its tools again; one that is idle is started.
func (c *Control) Refresh(ctx context.Context, key string) error {
	return c.steer(ctx, key, c.opt.Fleet.Refresh)
}

// steer does not hold the lock of changes: a server that takes a minute to
// start holds up nobody else.
func (c *Control) steer(ctx context.Context, key string, do func(context.Context, string) error) error {
	if _, ok := c.Definition(key); !ok {
		return unknown(key)
	}
	return do(ctx, key)
}

// Add defines a server and, if it is enabled and to be started with the hub,
// starts it. Values that are secrets are sealed. The error is
// [message.ServerExists] if the key is taken.
func (c *Control) Add(key string, entry []byte) error {
	return c.edit(func(src Source, text []byte) ([]byte, error) {
		if src.Defines(key) {
			return nil, hub.E(message.ServerExists, nil, "server", message.Quote(key))
		}
		return c.set(text, key, entry)
	})
}

// Change replaces what the file says about a server; a built-in one need not
// have an entry yet. A value of "${unchanged}" stays what it is.
func (c *Control) Change(key string, entry []byte) error {
	return c.edit(func(src Source, text []byte) ([]byte, error) {
		if !c.has(src, key) {
			return nil, unknown(key)
		}
		return c.set(text, key, entry)
	})
}

// set writes one entry, sealed.
func (c *Control) set(text []byte, key string, entry []byte) ([]byte, error) {
	sealed, err := c.seal(key, entry)
	if err != nil {
		return nil, err
	}
	masked, err := config.SetServer(text, key, sealed)
	if err != nil {
		return nil, err
	}
	return config.Unmask(masked, text)
}

// Remove takes a server out of the file, with the sealed values that only it
// refers to. A built-in one goes back to its default settings.
func (c *Control) Remove(key string) error {
	var orphans []string
	err := c.edit(func(src Source, text []byte) ([]byte, error) {
		if !src.Defines(key) {
			if c.has(src, key) {
				return nil, hub.E(message.ServerBuiltin, nil, "server", message.Quote(key))
			}
			return nil, unknown(key)
		}
		orphans = config.Sealed(text, key)
		next, _, err := config.RemoveServer(text, key)
		return next, err
	})
	if err != nil {
		return err
	}
	return c.forget(orphans)
}

// SetEnabled switches a server on or off in the file.
func (c *Control) SetEnabled(key string, enabled bool) error {
	return c.edit(func(src Source, text []byte) ([]byte, error) {
		if !c.has(src, key) {
			return nil, unknown(key)
		}
		return config.SetMember(text, key, "enabled", fmt.Append(nil, enabled))
	})
}

// Entry is what the file says about a server, its secrets masked, and the
// file's ETag. For a built-in server without an entry it is an empty object.
func (c *Control) Entry(key string) (entry []byte, etag string, err error) {
	src, text := c.Source().read(c.opt.Builtins)
	if src.Fault != nil {
		return nil, "", c.broken(src)
	}
	if !c.has(src, key) {
		return nil, "", unknown(key)
	}
	if !src.Exists {
		return []byte("{}"), src.ETag, nil
	}
	masked, err := config.Masked(text)
	if err != nil {
		return nil, "", err
	}
	entry, found, err := config.Entry(masked, key)
	if err != nil {
		return nil, "", err
	}
	if !found {
		entry = []byte("{}")
	}
	return entry, src.ETag, nil
}

func (c *Control) has(src Source, key string) bool {
	for _, s := range src.Config.Servers {
		if s.Key == key {
			return true
		}
	}
	return false
}
