package control

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Dialled is what the file says about an endpoint or a backend, its secrets masked,
// and the file's ETag. For one that is in "mcpEndpoint" of xiaozhi.config.json alone
// it is an empty object. The error is [message.EndpointUnknown],
// [message.BackendUnknown] or [message.ConfigBroken].
func (c *Control) Dialled(kind config.Dialled, name string) (entry []byte, etag string, err error) {
	src, text, err := c.look()
	if err != nil {
		return nil, "", err
	}
	if !dials(src.Config, kind, name) {
		return nil, "", UnknownDialled(kind, name)
	}
	if text, err = config.Masked(text); err != nil {
		return nil, "", err
	}
	entry, found, err := config.DialledEntry(text, kind, name)
	if err != nil {
		return nil, "", err
	}
	if !found {
		entry = []byte("{}")
	}
	return entry, c.tag(src.etag), nil
}

// SetDialled adds an endpoint or a backend to the file, or makes one that is there
// say what is given, and puts it in force. A value of "${unchanged}" stays what it
// is; tokens are sealed, and sealed values that only the old entry refers to are
// forgotten. It reports whether it is a new one. With an ETag the file has to be the
// one that it names, else the error is [message.ConfigStale]; "" is for any.
// [config.Problems] have the places that the entry would have in the file.
func (c *Control) SetDialled(kind config.Dialled, name string, entry []byte, ifMatch string) (added bool, err error) {
	err = c.edit(func(d *draft) error {
		if err := c.current(d, ifMatch); err != nil {
			return err
		}
		added = !dials(d.Config, kind, name)
		return d.setDialled(kind, name, entry)
	})
	return added, err
}

// setDialled is set for an endpoint or a backend.
func (d *draft) setDialled(kind config.Dialled, name string, entry []byte) error {
	if err := d.leaveDialled(kind, name); err != nil {
		return err
	}
	sealed, err := config.SealDialled(entry, kind, name, func(under, value string) error {
		d.seals[under] = sealing{value: value, kind: kind, name: name}
		return nil
	})
	if err != nil {
		return err
	}
	masked, err := config.SetDialled(d.text, kind, name, sealed)
	if err != nil {
		return err
	}
	d.text, err = config.Unmask(masked, d.text)
	return err
}

// fresh are those of the endpoints whose addresses the configuration does not have
// yet, under names that it does not have either.
func (c *Control) fresh(endpoints []hub.Endpoint, cfg *config.Config) []hub.Endpoint {
	known, names := make(map[string]bool), make(map[string]bool)
	for _, e := range cfg.Endpoints {
		link := e.URL
		for _, name := range config.SealedIn(link) { // what was taken over before is sealed
			if value, err := c.opt.Secrets.Get(name); err == nil {
				link = strings.ReplaceAll(link, "${secret:"+name+"}", value)
			}
		}
		known[link], names[e.Name] = true, true
	}
	for _, b := range cfg.Backends {
		names[b.Name] = true
	}
	var all []hub.Endpoint
	for _, e := range endpoints {
		if known[e.URL] {
			continue
		}
		base := e.Name
		for n := 2; names[e.Name]; n++ {
			e.Name = fmt.Sprintf("%s-%d", base, n)
		}
		known[e.URL], names[e.Name] = true, true
		all = append(all, e)
	}
	return all
}

// RemoveDialled takes an endpoint or a backend out of the file, forgets the sealed
// values that only its entry refers to, and ends the connection to it. The error is
// [message.EndpointUnknown] or [message.BackendUnknown], or as for SetDialled.
func (c *Control) RemoveDialled(kind config.Dialled, name, ifMatch string) error {
	return c.edit(func(d *draft) error {
		if err := c.current(d, ifMatch); err != nil {
			return err
		}
		if err := d.leaveDialled(kind, name); err != nil {
			return err
		}
		text, found, err := config.RemoveDialled(d.text, kind, name)
		switch {
		case err != nil:
			return err
		case !found:
			return UnknownDialled(kind, name)
		}
		d.text = text
		return nil
	})
}

// leaveDialled is leave for an endpoint or a backend.
func (d *draft) leaveDialled(kind config.Dialled, name string) error {
	entry, found, err := config.DialledEntry(d.text, kind, name)
	if err != nil || !found {
		return err
	}
	names := config.SealedByDialled(d.text, kind, name)
	for _, n := range names {
		entry = bytes.ReplaceAll(entry, []byte("${secret:"+n+"}"), []byte("sk-000000000000"))
	}
	_, err = config.SealDialled(entry, kind, name, func(under, _ string) error {
		if slices.Contains(names, under) {
			d.left = append(d.left, under)
		}
		return nil
	})
	return err
}

// dials reports whether a configuration has the endpoint or the backend.
func dials(cfg *config.Config, kind config.Dialled, name string) bool {
	if kind == config.Endpoints {
		return slices.ContainsFunc(cfg.Endpoints, func(e hub.Endpoint) bool { return e.Name == name })
	}
	return slices.ContainsFunc(cfg.Backends, func(b hub.Backend) bool { return b.Name == name })
}

// UnknownDialled is the error about an endpoint or a backend that is not there.
func UnknownDialled(kind config.Dialled, name string) *hub.Error {
	if kind == config.Endpoints {
		return hub.E(message.EndpointUnknown, nil, "endpoint", message.Quote(name))
	}
	return hub.E(message.BackendUnknown, nil, "backend", message.Quote(name))
}
