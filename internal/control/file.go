package control

import (
	"slices"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/config/importer"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Check is what is said of a text for the configuration file.
type Check struct {
	Warnings []config.Warning
	Diff     config.Changes // from what is in force, NextStart from what was at the start; empty if the text cannot be used
}

// Text is the file's text with every secret masked, and the ETag by which
// [Control.Put] knows it, which is there also if the file is not. A file that
// cannot be read as configuration cannot be masked and so is not shown: the
// error is then [message.ConfigBroken].
func (c *Control) Text() (text []byte, etag string, err error) {
	src, text, err := c.look()
	if err != nil {
		return nil, "", err
	}
	if src.Exists {
		text, err = config.Masked(text)
	}
	return text, c.tag(src.etag), err
}

// look reads the file without a change in mind. It has no text if there is no
// file.
func (c *Control) look() (Source, []byte, error) {
	src, file := c.Source().read(c.opt.Builtins)
	switch {
	case src.Fault != nil:
		return src, nil, broken(src)
	case file == nil:
		return src, nil, nil
	}
	return src, file.Text(), nil
}

// Check says what is wrong with a text, which is the error, or what it would
// change. A value of "${unchanged}" stands for what the file has there: so the
// answer is for those only who may know the file's secrets.
func (c *Control) Check(upload []byte) (Check, error) {
	src, current, _ := c.look() // no text if the file is broken: nothing of it can stay as it is
	_, _, check, err := c.check(src, upload, current)
	return check, err
}

// CheckEntry is [Control.Check] for the text that the file would have with the
// entry set, be it a new one or another one for a server that is there.
func (c *Control) CheckEntry(key string, entry []byte) (Check, error) {
	src, current, err := c.look()
	if err != nil {
		return Check{}, err
	}
	text, err := withEntry(current, key, entry)
	if err != nil {
		return Check{}, err
	}
	_, _, check, err := c.check(src, text, current)
	return check, err
}

// check reads a text that is to be the file's.
func (c *Control) check(src Source, upload, current []byte) (text []byte, next Source, _ Check, _ error) {
	text, err := config.Unmask(upload, current)
	if err != nil {
		return nil, src, Check{}, err
	}
	next = src.parse(text, c.opt.Builtins)
	if next.Fault != nil {
		return nil, next, Check{Warnings: next.Warnings}, next.Fault
	}
	return text, next, c.checked(next), nil
}

// checked is what is said of a text that can be used.
func (c *Control) checked(next Source) Check {
	diff := config.Diff(c.Source().Config, next.Config)
	diff.NextStart = config.Pending(c.started, next.Config)
	return Check{Warnings: next.Warnings, Diff: diff}
}

// Put makes the text the whole file, if the file still is the one that the
// ETag names, and puts it in force. A value of "${unchanged}" stays what it is;
// the others are written as they are given, and none is sealed. The error is
// [message.ConfigStale] if the file is another one, and [message.ConfigBroken]
// if it cannot be read: nobody has then seen what would be lost.
func (c *Control) Put(upload []byte, ifMatch string) (Check, error) {
	c.change.Lock()
	defer c.change.Unlock()
	d, err := c.open()
	if err != nil {
		return Check{}, err
	}
	if ifMatch != c.tag(d.etag) {
		return Check{}, hub.E(message.ConfigStale, nil, "path", d.Path)
	}
	text, next, check, err := c.check(d.Source, upload, d.text)
	if err != nil {
		return check, err
	}
	d.text = text
	return check, c.commit(d, next)
}

// Reload reads the file anew and puts it in force. If it cannot be used, the
// error says why and what was in force still is.
func (c *Control) Reload() (Check, error) {
	c.change.Lock()
	defer c.change.Unlock()
	before := c.Source()
	if before.Path == "" {
		return Check{}, hub.E(message.ConfigMissing, nil)
	}
	next, _ := before.read(c.opt.Builtins)
	if next.Fault != nil {
		c.setSource(next)
		return Check{Warnings: next.Warnings}, next.Fault
	}
	check := c.checked(next)
	c.apply(next)
	return check, nil
}

// ImportOptions say what of another program's file is taken over.
type ImportOptions struct {
	Name     string   // of the file, for messages; if absolute, what is relative to it becomes absolute
	Keys     []string // only these; all if empty
	Replace  bool     // also those whose key is taken by another definition
	Disabled bool     // as disabled servers
	DryRun   bool
}

// Imported is what an import does, or would do. The keys are in the order of the
// file; see [importer.Plan].
type Imported struct {
	Form                string
	New, Same, Clashing []string
	Written             []string // those of them that were taken over
	Endpoints           []string // of voice assistants that were not there, by the names that they get
	Warnings            []config.Warning
}

// Import takes servers over from another program's file, whose text is given,
// and its endpoints of voice assistants unless servers were selected: all or none. Values that are secrets are sealed. The error is
// [config.Problems] about the text, or [message.ImportKeyUnknown].
func (c *Control) Import(text []byte, opt ImportOptions) (Imported, error) {
	if opt.Name == "" {
		opt.Name = "import"
	}
	found, err := importer.Read(opt.Name, text, c.opt.Builtins)
	if err != nil {
		return Imported{}, err
	}
	found.Holds = func(name, value string) bool {
		sealed, err := c.opt.Secrets.Get(name)
		return err == nil && sealed == value
	}
	if err := found.Select(opt.Keys); err != nil {
		return Imported{}, err
	}
	result := Imported{Form: found.Form, Warnings: found.Warnings}
	plan := func(cfg *config.Config) (fresh []hub.Endpoint) {
		result.New, result.Same, result.Clashing = importer.Plan(found, cfg)
		fresh = c.fresh(found.Endpoints(), cfg)
		result.Endpoints = nil
		for _, e := range fresh {
			result.Endpoints = append(result.Endpoints, e.Name)
		}
		return fresh
	}
	if opt.DryRun {
		src, _, err := c.look()
		if err == nil {
			plan(src.Config)
		}
		return result, err
	}
	var taken []string
	err = c.edit(func(d *draft) error {
		fresh := plan(d.Config)
		taken = result.New
		if opt.Replace {
			taken = slices.Concat(result.New, result.Clashing)
		}
		if err := d.take(found, taken, opt.Disabled); err != nil {
			return err
		}
		for _, e := range fresh {
			e.Enabled = e.Enabled && !opt.Disabled
			if err := d.setDialled(config.Endpoints, e.Name, config.RenderEndpoint(e)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		result.Written = taken
	}
	return result, err
}

// take sets the entries that another file has for the keys.
func (d *draft) take(found *importer.Found, keys []string, disabled bool) error {
	for _, key := range keys {
		entry, _ := found.Entry(key)
		if err := d.set(key, entry); err != nil {
			return err
		}
		if !disabled {
			continue
		}
		var err error
		if d.text, err = config.SetMember(d.text, key, "enabled", []byte("false")); err != nil {
			return err
		}
	}
	return nil
}
