package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// pin is what was accepted of a server's tools, by their names; nil accepts
// everything. It is not changed once made.
type pin map[string]accepted

// accepted is one description that was accepted.
type accepted struct {
	raw       []byte
	canonical []byte // of raw
}

func accept(t hub.Tool) accepted { return accepted{t.Raw, canonical(t.Raw)} }

// has reports whether a tool is described as it was accepted. All of the
// description counts, what nobody knows included: a model may be shown any of
// it. Its white space, the order of members and the spelling of strings do not.
func (p pin) has(t hub.Tool) bool {
	if p == nil {
		return true
	}
	was, ok := p[t.Name]
	return ok && (bytes.Equal(was.raw, t.Raw) || bytes.Equal(was.canonical, canonical(t.Raw)))
}

// pins is what was accepted of all pinned servers.
type pins struct {
	servers map[string]pin // by key, also of servers that there are not at present
	// The file was there and could not be used. What it said cannot be known:
	// nothing is accepted at first sight any more, and the file stays as it is.
	damaged bool
	version uint64 // counts changes
	stored  uint64 // the version that the file has
}

// openPins reads the file at the path.
func openPins(path string, log *slog.Logger) pins {
	servers, err := loadPins(path)
	if err != nil {
		log.Error("what was accepted of pinned servers cannot be read; their tools are not offered until they are accepted again",
			"path", path, "error", err)
		return pins{servers: make(map[string]pin), damaged: true}
	}
	return pins{servers: servers}
}

// pin is what of a part's tools was accepted. The first list that a pinned
// server gave is accepted as it is; one that was imported is not the server's
// word. The caller holds the lock.
func (c *Catalog) pin(p *part) pin {
	key := p.server.Key
	known, ok := c.pins.servers[key]
	switch {
	case !p.server.Pinned:
		if ok {
			delete(c.pins.servers, key)
			c.pinsChanged()
		}
		return nil
	case ok:
		return known
	case c.pins.damaged:
		return pin{}
	case p.offering == nil || p.offering.imported:
		return nil
	}
	first := make(pin, len(p.offering.Tools))
	for _, t := range p.offering.Tools {
		first[t.Name] = accept(t)
	}
	c.pins.servers[key] = first
	c.pinsChanged()
	c.opt.Log.Info("the tools of a pinned server are accepted as they are", "server", key, "tools", len(first))
	return first
}

// pinsChanged has the pins saved. The caller holds the lock.
func (c *Catalog) pinsChanged() {
	c.pins.version++
	c.wake()
}

// drifted tells everybody if there is another set of tools to accept than
// before; old may be nil. The caller holds the lock.
func (c *Catalog) drifted(old, now *part) {
	var before []string
	if old != nil {
		before = old.changed
	}
	if slices.Equal(before, now.changed) {
		return
	}
	key := now.server.Key
	if n := len(now.changed); n > 0 {
		c.opt.Log.Warn("a pinned server has tools that are not as they were accepted; they are not offered",
			"server", key, "tool", message.Quote(now.changed[0]), "tools", n)
	}
	c.opt.Bus.Publish(hub.ToolsDrifted{Server: key, Tools: now.changed})
}

// Accept accepts the tools of a pinned server, by the server's own names, as it
// describes them now, or all that [Catalog.Drift] has if none is named. They are
// offered when Accept returns. What was removed and is accepted so is a new tool
// when it comes back.
//
// The error is [message.ServerUnknown] or, for a tool that has not changed,
// [message.ToolUnknown], and nothing is accepted. It is [message.FileUnwritable]
// if what was accepted could not be saved: it then holds until the end of this
// program.
func (c *Catalog) Accept(server string, tools ...string) error {
	return c.acceptSaved(server, nil, tools)
}

// AcceptSeen is [Catalog.Accept] for tools as somebody has seen them: by name,
// the digests that [Catalog.Drift] told. If there is another digest for one of
// them by now, or nothing to accept, the error is [message.DriftStale] and
// nothing is accepted.
func (c *Catalog) AcceptSeen(server string, digests map[string]string) error {
	if len(digests) == 0 {
		return nil
	}
	return c.acceptSaved(server, digests, slices.Sorted(maps.Keys(digests)))
}

// acceptSaved accepts tools, and has that saved before it returns.
func (c *Catalog) acceptSaved(server string, seen map[string]string, tools []string) error {
	if err := c.accept(server, seen, tools); err != nil || c.opt.PinsPath == "" {
		return err
	}
	if err := c.savePins(); err != nil {
		detail := err
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			detail = p.Err
		}
		return hub.E(message.FileUnwritable, err, "path", c.opt.PinsPath).With("detail", message.Cause(detail))
	}
	return nil
}

func (c *Catalog) accept(server string, seen map[string]string, tools []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.find(server)
	if i < 0 {
		return hub.E(message.ServerUnknown, nil, "server", message.Quote(server))
	}
	all := c.parts[i].differences()
	for _, name := range tools {
		digest, looked := seen[name]
		at := slices.IndexFunc(all, func(d difference) bool { return d.name == name })
		switch {
		case looked && (at < 0 || all[at].digest() != digest):
			return hub.E(message.DriftStale, nil, "server", message.Quote(server), "tool", message.Quote(name))
		case at < 0:
			return hub.E(message.ToolUnknown, nil, "tool", message.Quote(name))
		}
	}
	if len(all) == 0 {
		return nil
	}
	next := maps.Clone(c.parts[i].pin)
	for _, d := range all {
		switch {
		case len(tools) > 0 && !slices.Contains(tools, d.name):
		case d.now == nil:
			delete(next, d.name)
		default:
			next[d.name] = accept(*d.now)
		}
	}
	c.pins.servers[server] = next
	c.mendPins()
	c.pinsChanged()
	c.put(i, 0, func(*part) {})
	return nil
}

// mendPins has the pins be what they are now, if the file could not be used:
// the next one that is written says of every other pinned server that nothing of
// it is accepted. The caller holds the lock.
func (c *Catalog) mendPins() {
	if !c.pins.damaged {
		return
	}
	c.pins.damaged = false
	for _, p := range c.parts {
		if _, ok := c.pins.servers[p.server.Key]; p.server.Pinned && !ok {
			c.pins.servers[p.server.Key] = pin{}
		}
	}
}

// difference is a tool that is not as it was accepted.
type difference struct {
	name string
	was  []byte    // nil if it is new
	now  *hub.Tool // nil if it is gone
}

// digest stands for what there is to accept. Like what is accepted it does not
// depend on the layout.
func (d difference) digest() string {
	var text []byte // none stands for a tool that is gone
	if d.now != nil {
		text = canonical(d.now.Raw)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// differences are those of the tools that the rules offer, in the server's
// order, and after them those that are gone.
func (p *part) differences() []difference {
	if p.pin == nil || p.offering == nil {
		return nil
	}
	var all []difference
	gone := maps.Clone(p.pin)
	for i := range p.offering.Tools {
		t := &p.offering.Tools[i]
		delete(gone, t.Name)
		if p.server.Rules.Offers(t.Name) && !p.pin.has(*t) {
			all = append(all, difference{name: t.Name, was: p.pin[t.Name].raw, now: t})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		if p.server.Rules.Offers(name) {
			all = append(all, difference{name: name, was: gone[name].raw})
		}
	}
	return all
}
