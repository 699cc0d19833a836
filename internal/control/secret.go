package control

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// Sealed is a value in the sealed store, and who refers to it.
type Sealed struct {
	secret.Sealed
	Used []string // keys of servers, in the order of the configuration, then members of the file such as "store"
}

// Secrets is the sealed values by their names; the values do not leave the
// store this way. While the configuration file is broken, nobody is known to
// refer to them.
func (c *Control) Secrets() ([]Sealed, error) {
	list, err := c.opt.Secrets.List()
	if err != nil {
		return nil, sealFault(err)
	}
	used := make(map[string][]string)
	if src, text, err := c.look(); err == nil {
		used = users(src, text)
	}
	all := make([]Sealed, 0, len(list))
	for _, s := range list {
		all = append(all, Sealed{s, used[s.Name]})
	}
	return all, nil
}

// users is the keys of the servers, and the other members of the file, that refer
// to each sealed value.
func users(src Source, text []byte) map[string][]string {
	used := make(map[string][]string)
	for _, key := range src.keys {
		for _, name := range config.Sealed(text, key) {
			used[name] = append(used[name], key)
		}
	}
	for _, member := range []string{"store", "telemetry", "auth", "xiaozhi", "devices"} {
		for _, name := range config.SealedBy(text, member) {
			used[name] = append(used[name], member)
		}
	}
	return used
}

// SetSecret seals a value. Servers get it the next time they are connected.
func (c *Control) SetSecret(name, value string) error {
	if err := c.opt.Secrets.Set(name, value); err != nil {
		return sealFault(err)
	}
	return nil
}

// DeleteSecret takes a value out of the store, whoever refers to it. The error
// is [message.SecretUnknown] if there is none.
func (c *Control) DeleteSecret(name string) error {
	err := c.opt.Secrets.Delete(name)
	if errors.Is(err, secret.ErrNotSet) {
		return hub.E(message.SecretUnknown, nil, "name", message.Quote(name))
	}
	if err != nil {
		return sealFault(err)
	}
	return nil
}

// sealed is a value that was sealed for a change, and what it replaced.
type sealed struct {
	sealing
	under  string
	former string // "" if nothing was sealed under the name; no value is empty
}

// seal puts values into the store, and returns those that were not there just
// so. After an error the store is as before.
func (c *Control) seal(values map[string]sealing) (done []sealed, err error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		former, err := c.opt.Secrets.Get(name)
		if err != nil && !errors.Is(err, secret.ErrNotSet) {
			c.unseal(done)
			return nil, sealFault(err)
		}
		if former == values[name].value {
			continue
		}
		if err := c.opt.Secrets.Set(name, values[name].value); err != nil {
			c.unseal(done)
			return nil, sealFault(err)
		}
		done = append(done, sealed{values[name], name, former})
	}
	return done, nil
}

// unseal makes the store what it was before the values were sealed.
func (c *Control) unseal(done []sealed) {
	for _, s := range done {
		var err error
		if s.former == "" {
			err = c.opt.Secrets.Delete(s.under)
		} else {
			err = c.opt.Secrets.Set(s.under, s.former)
		}
		if err != nil {
			c.opt.Log.Error("a sealed value of a change that failed could not be undone", "name", s.under, "error", err)
		}
	}
}

// reconnect has servers, endpoints and backends start afresh that are to get another
// value under the same name: their definitions are what they were, and so they were
// left alone.
func (c *Control) reconnect(done []sealed) {
	at := make(map[string]hub.State)
	for _, st := range c.opt.Fleet.Status() {
		at[st.Key] = st.State
	}
	over, cancel := context.WithCancel(context.Background())
	cancel() // nobody waits for the outcome
	for _, s := range done {
		if s.server == "" && s.former != "" && c.opt.Redial != nil {
			c.opt.Redial(s.kind, s.name)
		}
		switch at[s.server] {
		case hub.StateStarting, hub.StateReady, hub.StateDegraded, hub.StateReconnecting, hub.StateCrashed, hub.StateFailed:
			if s.former != "" {
				_ = c.opt.Fleet.Restart(over, s.server) // which goes on; its error is that of the waiting
				delete(at, s.server)                    // once is enough
			}
		}
	}
}

// forget deletes those of the sealed values that no entry of the file refers to
// any more. The change that they were left by is done, whatever becomes of them.
func (c *Control) forget(names []string, src Source, text []byte) {
	if len(names) == 0 {
		return
	}
	used := users(src, text)
	for _, name := range names {
		if len(used[name]) > 0 {
			continue
		}
		if err := c.opt.Secrets.Delete(name); err != nil && !errors.Is(err, secret.ErrNotSet) {
			c.opt.Log.Error("a sealed value that nobody needs could not be deleted", "name", name, "error", err)
		}
	}
}

func sealFault(err error) error {
	if e, ok := errors.AsType[*hub.Error](err); ok {
		return e
	}
	return hub.E(message.SecretRefused, err).With("detail", message.Cause(err))
}
