package control

import (
	"errors"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// Sealed is a value in the sealed store, and who refers to it.
type Sealed struct {
	secret.Sealed
	Used []string // keys of servers
}

// Secrets is the sealed values by their names; the values do not leave the
// store this way.
func (c *Control) Secrets() ([]Sealed, error) {
	list, err := c.opt.Secrets.List()
	if err != nil {
		return nil, sealFault(err)
	}
	src, text := c.Source().read(c.opt.Builtins)
	used := make(map[string][]string)
	if src.Fault == nil {
		for _, s := range src.Config.Servers {
			for _, name := range config.Sealed(text, s.Key) {
				used[name] = append(used[name], s.Key)
			}
		}
	}
	all := make([]Sealed, 0, len(list))
	for _, s := range list {
		all = append(all, Sealed{s, used[s.Name]})
	}
	return all, nil
}

// SetSecret seals a value. Servers get it the next time they are connected.
func (c *Control) SetSecret(name, value string) error {
	if err := c.opt.Secrets.Set(name, value); err != nil {
		return sealFault(err)
	}
	return nil
}

// DeleteSecret takes a value out of the store. The error is
// [message.SecretUnknown] if there is none.
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

// seal puts the secrets of an entry into the store and placeholders in their
// place.
func (c *Control) seal(key string, entry []byte) ([]byte, error) {
	return config.Seal(entry, key, func(name, value string) error {
		if err := c.opt.Secrets.Set(name, value); err != nil {
			return sealFault(err)
		}
		return nil
	})
}

// forget deletes the sealed values of a server that was removed, unless
// another one refers to them as well.
func (c *Control) forget(names []string) error {
	all, err := c.Secrets()
	if err != nil {
		return err
	}
	for _, s := range all {
		if slices.Contains(names, s.Name) && len(s.Used) == 0 && strings.Contains(s.Name, ".") {
			if err := c.opt.Secrets.Delete(s.Name); err != nil {
				return sealFault(err)
			}
		}
	}
	return nil
}

func sealFault(err error) error {
	if e, ok := errors.AsType[*hub.Error](err); ok {
		return e
	}
	return hub.E(message.SecretRefused, err, "detail", err.Error())
}
