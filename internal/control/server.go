package control

import (
	"context"
	"fmt"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/preset"
)

// Server is a server as operators see it.
type Server struct {
	Definition hub.Server
	Status     hub.Status
	Offered    int      // tools that callers see
	Hidden     int      // tools that rules hide
	Defined    bool     // it has an entry in the file; built-in servers need none
	Changed    []string // of a pinned server: tools, by its own names, to be accepted

	Resources, Templates, Prompts int      // that callers see
	Clashing                      []string // see [catalog.Snapshot.Clashes]
}

// Servers is every server, in the order of the configuration, and then those that
// are attached.
func (c *Control) Servers() []Server {
	src := c.Source()
	status := make(map[string]hub.Status)
	for _, st := range c.opt.Fleet.Status() {
		status[st.Key] = st
	}
	snapshot := c.opt.Catalog.Snapshot()
	shares := make(map[string]*catalog.Share)
	for _, share := range snapshot.Shares() {
		shares[share.Server.Key] = share
	}
	defs := c.servers(src.Config)
	all := make([]Server, 0, len(defs))
	for _, def := range defs {
		st, ok := status[def.Key]
		if !ok {
			continue // it is being added or removed at this moment
		}
		s := Server{
			Definition: def, Status: st, Defined: src.Defines(def.Key),
			Offered: snapshot.Offered(def.Key), Hidden: snapshot.Hidden(def.Key), Changed: snapshot.Changed(def.Key),
			Clashing: snapshot.Clashes(def.Key),
		}
		if share := shares[def.Key]; share != nil {
			s.Resources, s.Templates, s.Prompts = len(share.Resources), len(share.Templates), len(share.Prompts)
		}
		all = append(all, s)
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

// Log is the end of a server's log after the line with the number, and a
// channel that is closed when there is more; see [fleet.Fleet.Log]. The error is
// [message.ServerUnknown].
func (c *Control) Log(key string, after uint64) ([]hub.LogLine, <-chan struct{}, error) {
	lines, more, ok := c.opt.Fleet.Log(key, after)
	if !ok {
		return nil, nil, unknown(key)
	}
	return lines, more, nil
}

// Start connects a server now and waits until it is ready or known not to be,
// which is the error; one that was given up or stopped starts afresh. When ctx
// ends first, it goes on. No change of the configuration waits for it.
func (c *Control) Start(ctx context.Context, key string) error { return c.opt.Fleet.Start(ctx, key) }

// Stop ends a server until it is started, or the hub starts, again. Its
// processes are gone when Stop returns, and its tools are not listed.
func (c *Control) Stop(ctx context.Context, key string) error { return c.opt.Fleet.Stop(ctx, key) }

// Restart is Stop and Start.
func (c *Control) Restart(ctx context.Context, key string) error {
	return c.opt.Fleet.Restart(ctx, key)
}

// Refresh asks a server for its tools again; one that is idle is started.
func (c *Control) Refresh(ctx context.Context, key string) error {
	return c.opt.Fleet.Refresh(ctx, key)
}

// Add defines a server and, if it is enabled and to be started with the hub,
// starts it. Values that are secrets are sealed. It returns the server's key,
// which is another one than that given for the names that other programs have
// for our built-in servers. The error is [message.ServerExists] if the key is
// taken, or [config.Problems] about the entry, with the places that it would
// have in the file.
func (c *Control) Add(key string, entry []byte) (string, error) {
	own, err := keyOf(key, entry)
	if err != nil {
		return "", err
	}
	return own, c.edit(func(d *draft) error {
		if d.Defines(own) {
			return hub.E(message.ServerExists, nil, "server", message.Quote(own))
		}
		return d.set(own, entry)
	})
}

// keyOf is the key of the server that an entry under a name is about.
func keyOf(name string, entry []byte) (string, error) {
	text, err := config.SetServer(nil, name, entry)
	if err != nil {
		return "", err
	}
	keys, err := config.Keys(text)
	if err != nil {
		return "", err
	}
	return keys[0], nil
}

// Change replaces what the file says about a server; a built-in one need not
// have an entry yet. A value of "${unchanged}" stays what it is, other secrets
// are sealed; sealed values that only the old entry refers to are forgotten.
// What a preset (package preset) runs stays what it is: the error is then
// [message.PresetFixed]; else [message.ServerUnknown] or [config.Problems], as for Add.
func (c *Control) Change(key string, entry []byte) error {
	return c.edit(func(d *draft) error {
		if !d.has(key) {
			return unknown(key)
		}
		return d.set(key, entry)
	})
}

// Remove takes a server out of the file and ends it, and forgets the sealed
// values that only its entry refers to, and the logins at it. It does not wait until
// the server has ended. A built-in one goes back to its default settings; the error is
// [message.ServerBuiltin] if it has none but these, and [message.PresetKept] of a
// preset (package preset).
func (c *Control) Remove(key string) error {
	err := c.edit(func(d *draft) error {
		switch {
		case !d.has(key):
			return unknown(key)
		case !d.Defines(key):
			return hub.E(message.ServerBuiltin, nil, "server", message.Quote(key))
		case d.preset(key):
			return hub.E(message.PresetKept, nil, "server", message.Quote(key))
		}
		err := d.leave(key)
		if err == nil {
			d.text, _, err = config.RemoveServer(d.text, key)
		}
		return err
	})
	if err == nil && c.opt.Logins != nil {
		c.opt.Logins.Forget(key)
	}
	return err
}

// SetEnabled switches a server on or off in the file, and waits, within ctx,
// until one that is switched off has ended. A preset (package preset) that is
// switched on gets an entry if it has none.
func (c *Control) SetEnabled(ctx context.Context, key string, enabled bool) error {
	err := c.edit(func(d *draft) error {
		s, ok := find(d.Config, key)
		switch {
		case !ok:
			if p, known := preset.Find(key); known && enabled {
				return d.set(key, p.Entry(true))
			}
			return unknown(key)
		case s.Enabled == enabled:
			return nil
		}
		var err error
		d.text, err = config.SetMember(d.text, key, "enabled", fmt.Append(nil, enabled))
		return err
	})
	if err != nil || enabled {
		return err
	}
	return c.opt.Fleet.Settle(ctx, key)
}

// Entry is what the file says about a server, its secrets masked, and the
// file's ETag. For a built-in server without an entry it is an empty object.
// The error is [message.ServerUnknown] or [message.ConfigBroken].
func (c *Control) Entry(key string) (entry []byte, etag string, err error) {
	src, text, err := c.look()
	if err != nil {
		return nil, "", err
	}
	if _, ok := find(src.Config, key); !ok {
		return nil, "", unknown(key)
	}
	found := false
	if src.Exists {
		if text, err = config.Masked(text); err != nil {
			return nil, "", err
		}
		if entry, found, err = config.Entry(text, key); err != nil {
			return nil, "", err
		}
	}
	if !found {
		entry = []byte("{}")
	}
	return entry, c.tag(src.etag), nil
}
