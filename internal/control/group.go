package control

import (
	"slices"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Groups are those of the configuration in force, in its order.
func (c *Control) Groups() []hub.Group { return c.Source().Config.Groups }

// Group is one of them, with the ETag of the configuration file. The error is
// [message.GroupUnknown].
func (c *Control) Group(name string) (g hub.Group, etag string, err error) {
	src := c.Source()
	g, ok := findGroup(src.Config, name)
	if !ok {
		return hub.Group{}, "", unknownGroup(name)
	}
	return g, c.tag(src.etag), nil
}

// SetGroup adds a group to the file, or makes one that is there say what is
// given, and puts it in force. It reports whether the group is a new one. With
// an ETag the file has to be the one that it names, else the error is
// [message.ConfigStale]; "" is for any. [config.Problems] are about the group,
// with the places that it would have in the file.
func (c *Control) SetGroup(g hub.Group, ifMatch string) (added bool, err error) {
	err = c.edit(func(d *draft) error {
		if err := c.current(d, ifMatch); err != nil {
			return err
		}
		_, ok := findGroup(d.Config, g.Name)
		added = !ok
		var err error
		d.text, err = config.SetGroup(d.text, g)
		return err
	})
	return added, err
}

// RemoveGroup takes a group out of the file. The error is
// [message.GroupUnknown], or as for SetGroup.
func (c *Control) RemoveGroup(name, ifMatch string) error {
	return c.edit(func(d *draft) error {
		if err := c.current(d, ifMatch); err != nil {
			return err
		}
		text, found, err := config.RemoveGroup(d.text, name)
		switch {
		case err != nil:
			return err
		case !found:
			return unknownGroup(name)
		}
		d.text = text
		return nil
	})
}

// current is an error if an ETag is given that is not that of the file.
func (c *Control) current(d *draft, ifMatch string) error {
	if ifMatch != "" && ifMatch != c.tag(d.etag) {
		return hub.E(message.ConfigStale, nil, "path", d.Path)
	}
	return nil
}

func findGroup(cfg *config.Config, name string) (hub.Group, bool) {
	i := slices.IndexFunc(cfg.Groups, func(g hub.Group) bool { return g.Name == name })
	if i < 0 {
		return hub.Group{}, false
	}
	return cfg.Groups[i], true
}

func unknownGroup(name string) *hub.Error {
	return hub.E(message.GroupUnknown, nil, "group", message.Quote(name))
}
