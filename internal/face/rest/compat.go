package rest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/preset"
)

// The paths that other programs know, from the two designs that Toolcrib takes the
// place of; see docs/compatibility.md. They have no rules of their own: what they
// do is what the other paths do, told in other words.

// aboutCompat is the group of their operations.
const aboutCompat = "Compatibility"

// compat registers them all.
func (d *Door) compat() {
	d.compatServers()
	d.compatHost()
	d.compatConfirmations()
	d.compatTrials()
	d.compatContext()
	d.compatProxies()
}

// isCompat reports whether a path is one of theirs, so that errors that no
// operation has made are told as theirs are.
func isCompat(path string) bool {
	path, below := strings.CutPrefix(path, api.Base+"/")
	if !below {
		return false
	}
	first, _, _ := strings.Cut(path, "/")
	switch first {
	case "mcp", "host", "mcp-test", "mcp-context", "proxies":
		return true
	}
	return path == "tools" || path == "tools/call"
}

// known is a server that whoever asks may know of, or a preset without an entry in
// the configuration.
type known struct {
	key    string
	server *control.Server // nil for a preset that is off and always was
	preset *preset.Preset  // nil for what is none
}

// builtin reports whether it is part of the program.
func (k *known) builtin() bool {
	if k.server == nil {
		return k.preset.Package == ""
	}
	return k.server.Definition.Kind == hub.KindBuiltin
}

// kept reports whether it cannot be deleted.
func (k *known) kept() bool { return k.preset != nil || k.builtin() }

// presetKey is the key of a preset, and "" for what is none.
func (k *known) presetKey() string {
	if k.preset == nil {
		return ""
	}
	return k.key
}

// everything is all that whoever asks may know of: the servers in the order of the
// configuration, then the presets, which are the hub's own.
func (d *Door) everything(ctx context.Context) ([]known, *sight, error) {
	see, err := d.sight(ctx)
	if err != nil {
		return nil, nil, err
	}
	var all []known
	for _, s := range d.seen(see) {
		k := known{key: s.Definition.Key, server: &s}
		if one, ok := preset.Find(k.key); ok && one.Is(&s.Definition) {
			k.preset = &one
		}
		all = append(all, k)
	}
	for _, one := range preset.All() {
		if d.isOff(see.who, one.Key) {
			all = append(all, known{key: one.Key, preset: &one})
		}
	}
	return all, see, nil
}

// isOff reports whether a principal may know of a preset, and it has no entry in
// the configuration.
func (d *Door) isOff(p hub.Principal, key string) bool {
	if _, is := preset.Find(key); !is || !p.Hubwide() || !hub.Scope(p.Scope).Server(key) {
		return false
	}
	_, err := d.opt.Control.Server(key)
	return err != nil
}

// mayEnable says why somebody may not switch a server on. That of a preset without
// an entry writes one.
func (d *Door) mayEnable(ctx context.Context, key string) error {
	p := principal(ctx)
	switch {
	case !d.isOff(p, key):
		return d.own(ctx, key)
	case !p.Role.May(hub.MayManage):
		return failed(hub.E(message.RoleRefused, nil, "role", string(p.Role)))
	}
	return nil
}

// known finds a server by its key or its id. One whose key is another's id is
// found by neither, lest the wrong one be deleted.
func (d *Door) known(ctx context.Context, ref string) (known, error) {
	all, _, err := d.everything(ctx)
	if err != nil {
		return known{}, err
	}
	id, err := strconv.ParseInt(ref, 10, 64)
	var found []known
	for _, k := range all {
		if k.key == ref || err == nil && compatID(k.key) == id {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return known{}, serverUnknown(ref)
	case 1:
		return found[0], nil
	}
	return known{}, unfit(message.Say("more than one server has this id or key; use the other of the two"))
}

// keyed finds a server by its key alone.
func (d *Door) keyed(ctx context.Context, key string) (known, error) {
	all, _, err := d.everything(ctx)
	if err != nil {
		return known{}, err
	}
	if i := slices.IndexFunc(all, func(k known) bool { return k.key == key }); i >= 0 {
		return all[i], nil
	}
	return known{}, serverUnknown(key)
}

// compatID is a number that stands for a key, the same on every hub: from 1 to
// what 31 bits hold.
func compatID(key string) int64 {
	sum := sha256.Sum256([]byte(key))
	return max(1, int64(binary.BigEndian.Uint32(sum[:])&(1<<31-1)))
}

// compatView is what whoever asks sees of the tools.
func (d *Door) compatView(ctx context.Context) (*catalog.View, error) {
	return d.opt.Catalog.View(viewer(ctx, ""))
}

// transportOf is how a server is reached, in the words of these paths.
func transportOf(kind hub.Kind) string {
	switch kind {
	case hub.KindBuiltin:
		return string(hub.KindStdio)
	case hub.KindDevice:
		return string(hub.KindWebSocket)
	}
	return string(kind)
}
