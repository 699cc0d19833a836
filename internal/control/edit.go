package control

import (
	"bytes"
	"errors"
	"slices"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/preset"
)

// draft is a change of the configuration file while it is made.
type draft struct {
	Source              // what the file on the disk says
	file   *config.File // as it was read for this change
	text   []byte       // as it is to be

	seals map[string]sealing // by the names of the values
	left  []string           // sealed values that entries which are changed have referred to
	made  []string           // keys of the servers whose entries were set
}

// sealing is a value to be sealed, and what it is for: the key of a server or, if
// that is empty, an endpoint or a backend.
type sealing struct {
	server, value string

	kind config.Dialled
	name string
}

// edit changes entries of the file and puts it in force. A file that is broken
// is not written to. What somebody else has written meanwhile is kept: the
// change is made to the text as it is now. Values are sealed when all else is
// known to be good, and are as before if the file cannot be written.
func (c *Control) edit(change func(*draft) error) error {
	c.change.Lock()
	defer c.change.Unlock()
	was := c.Source()
	d, err := c.open()
	if err != nil {
		return err
	}
	if was.Exists && !d.Exists {
		return removed(d.Path) // a file with the change alone would end all other servers
	}
	if err := change(d); err != nil {
		return err
	}
	next := d.Source
	if !bytes.Equal(d.text, d.file.Text()) {
		if next = d.parse(d.text, c.opt.Builtins); next.Fault != nil {
			return next.Fault
		}
		if err := d.complete(next); err != nil {
			return err
		}
	}
	done, err := c.seal(d.seals)
	if err != nil {
		return err
	}
	if err := c.commit(d, next); err != nil {
		c.unseal(done)
		return err
	}
	c.reconnect(done)
	c.forget(d.left, next, d.text)
	return nil
}

// open reads the file for a change. The caller holds the lock of changes.
func (c *Control) open() (*draft, error) {
	before := c.Source()
	if before.Path == "" {
		return nil, hub.E(message.ConfigMissing, nil)
	}
	src, file := before.read(c.opt.Builtins)
	if src.Fault != nil {
		c.setSource(src) // so that whoever looks is told, too
		return nil, broken(src)
	}
	return &draft{Source: src, file: file, text: file.Text(), seals: make(map[string]sealing)}, nil
}

// commit writes the draft's text, unless that is what the file has, and puts it
// in force. next is what the text says.
func (c *Control) commit(d *draft, next Source) error {
	if !bytes.Equal(d.text, d.file.Text()) {
		etag, err := d.file.Write(d.text, d.etag)
		if err != nil {
			return err
		}
		next.Exists, next.etag = true, etag
		c.opt.Log.Info("the configuration was changed", "path", d.Path)
	}
	c.apply(next)
	return nil
}

// complete makes sure that what was set is there, since some entries are only for
// the program that the form of the file belongs to, and that presets run what they
// have run before.
func (d *draft) complete(next Source) error {
	for _, key := range d.made {
		is, ok := find(next.Config, key)
		if !ok {
			return hub.E(message.EntryIgnored, nil, "server", message.Quote(key))
		}
		if was, _ := find(d.Config, key); d.preset(key) && !runsAs(&is, &was) {
			return hub.E(message.PresetFixed, nil, "server", message.Quote(key))
		}
	}
	return nil
}

// broken says that the file on the disk cannot be changed because it cannot be
// read.
func broken(src Source) error {
	if problems, ok := errors.AsType[config.Problems](src.Fault); ok {
		return hub.E(message.ConfigBroken, src.Fault, "path", src.Path).With("detail", message.Say("%s", problems[0]))
	}
	return src.Fault
}

// has reports whether the configuration has the server.
func (d *draft) has(key string) bool {
	_, ok := find(d.Config, key)
	return ok
}

// preset reports whether a server of the configuration is a preset, and not another
// one under its key.
func (d *draft) preset(key string) bool {
	s, defined := find(d.Config, key)
	p, known := preset.Find(key)
	return defined && known && p.Is(&s)
}

// runsAs reports whether two definitions run the same.
func runsAs(a, b *hub.Server) bool {
	return a.Kind == b.Kind && a.Command == b.Command && slices.Equal(a.Args, b.Args) && a.Dir == b.Dir && a.URL == b.URL
}

// set makes what is given the server's entry, its secrets sealed.
func (d *draft) set(key string, entry []byte) error {
	d.made = append(d.made, key)
	if err := d.leave(key); err != nil {
		return err
	}
	sealed, err := config.Seal(entry, key, func(name, value string) error {
		d.seals[name] = sealing{server: key, value: value}
		return nil
	})
	if err != nil {
		return err
	}
	d.text, err = withEntry(d.text, key, sealed)
	return err
}

// withEntry is a text with an entry set, in which a value of "${unchanged}"
// stays what it is.
func withEntry(text []byte, key string, entry []byte) ([]byte, error) {
	masked, err := config.SetServer(text, key, entry)
	if err != nil {
		return nil, err
	}
	return config.Unmask(masked, text)
}

// leave notes the sealed values that the server's entry refers to and that were
// sealed for it. Values that people have sealed under names of their own are
// theirs to delete.
func (d *draft) leave(key string) error {
	entry, found, err := config.Entry(d.text, key)
	if err != nil || !found {
		return err
	}
	names := config.Sealed(d.text, key)
	// A value is sealed under the same name each time: with any secret where
	// the placeholders stand, sealing tells which names it has made.
	for _, name := range names {
		entry = bytes.ReplaceAll(entry, []byte("${secret:"+name+"}"), []byte("sk-000000000000"))
	}
	_, err = config.Seal(entry, key, func(name, _ string) error {
		if slices.Contains(names, name) {
			d.left = append(d.left, name)
		}
		return nil
	})
	return err
}
