package control

import (
	"errors"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/config/importer"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Diff names the servers by what a change does to them.
type Diff struct {
	Added, Changed, Removed, Unchanged []string
}

// Check is what is said of a text for the configuration file.
type Check struct {
	Warnings []config.Warning
	Diff     Diff
}

// edit changes the file and puts it in force. A file that is broken is not
// written to. What somebody else has written meanwhile is kept: the change is
// made to the text as it is now.
func (c *Control) edit(change func(src Source, text []byte) ([]byte, error)) error {
	c.change.Lock()
	defer c.change.Unlock()
	before := c.Source()
	if before.Path == "" {
		return hub.E(message.ConfigMissing, nil)
	}
	src, text := before.read(c.opt.Builtins)
	if src.Fault != nil {
		return c.broken(src)
	}
	next, err := change(src, text)
	if err != nil {
		return err
	}
	_, err = c.write(src, next, src.ETag)
	return err
}

// write checks a text, writes it to the file if that still is the one that the
// ETag names, and puts it in force.
func (c *Control) write(src Source, text []byte, ifMatch string) (Source, error) {
	next := src
	next.Exists = true
	if next = next.parse(text, c.opt.Builtins); next.Fault != nil {
		return next, next.Fault
	}
	file, err := config.OpenFile(src.Path)
	if err != nil {
		return src, err
	}
	if next.ETag, err = file.Write(text, ifMatch); err != nil {
		return src, err
	}
	c.opt.Log.Info("the configuration was changed", "path", src.Path)
	c.apply(next)
	return next, nil
}

// broken says that the file on disk cannot be changed because it cannot be
// read.
func (c *Control) broken(src Source) error {
	var problems config.Problems
	if errors.As(src.Fault, &problems) {
		return hub.E(message.ConfigBroken, src.Fault, "path", src.Path, "detail", problems[0].Text(message.English).What)
	}
	return src.Fault
}

// Text is the file's text with every secret masked, and its ETag. A file that
// cannot be read as configuration cannot be masked and so is not shown.
func (c *Control) Text() (text []byte, etag string, err error) {
	src, text := c.Source().read(c.opt.Builtins)
	if src.Fault != nil {
		return nil, src.ETag, c.broken(src)
	}
	if len(text) == 0 {
		return nil, src.ETag, nil
	}
	masked, err := config.Masked(text)
	return masked, src.ETag, err
}

// Check says what is wrong with a text, or else what it would change. The
// error is [config.Problems].
func (c *Control) Check(text []byte) (Check, error) {
	_, check, err := c.check(text)
	return check, err
}

func (c *Control) check(upload []byte) (text []byte, _ Check, _ error) {
	now := c.Source()
	src, current := now.read(c.opt.Builtins)
	text, err := config.Unmask(upload, current)
	if err != nil {
		return nil, Check{}, err
	}
	src.Exists = true
	if src = src.parse(text, c.opt.Builtins); src.Fault != nil {
		return nil, Check{Warnings: src.Warnings}, src.Fault
	}
	return text, Check{Warnings: src.Warnings, Diff: diff(now.Config, src.Config)}, nil
}

// Put makes the text the whole file, if the file still is the one that the
// ETag names, and puts it in force. A value of "${unchanged}" stays what it is.
func (c *Control) Put(upload []byte, ifMatch string) (Check, error) {
	c.change.Lock()
	defer c.change.Unlock()
	now := c.Source()
	if now.Path == "" {
		return Check{}, hub.E(message.ConfigMissing, nil)
	}
	src, _ := now.read(c.opt.Builtins)
	if src.Fault != nil {
		return Check{}, c.broken(src) // nobody has seen what would be lost
	}
	text, check, err := c.check(upload)
	if err != nil {
		return check, err
	}
	_, err = c.write(src, text, ifMatch)
	return check, err
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
	src, _ := before.read(c.opt.Builtins)
	if src.Fault != nil {
		c.setSource(src)
		return Check{Warnings: src.Warnings}, src.Fault
	}
	c.apply(src)
	return Check{Warnings: src.Warnings, Diff: diff(before.Config, src.Config)}, nil
}

// ImportOptions say what of another program's file is taken over.
type ImportOptions struct {
	Name     string   // of the file, for messages
	Keys     []string // only these; all if empty
	Replace  bool     // also those whose key is taken by another definition
	Disabled bool     // as disabled servers
	DryRun   bool
}

// Imported is what an import does, or would do.
type Imported struct {
	Form                         string
	New, Same, Clashing, Written []string
	Warnings                     []config.Warning
}

// Import takes servers over from another program's file, whose text is given.
// Values that are secrets are sealed.
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
	result.New, result.Same, result.Clashing = importer.Plan(found, c.Source().Config)
	take := result.New
	if opt.Replace {
		take = append(take[:len(take):len(take)], result.Clashing...)
	}
	if opt.DryRun || len(take) == 0 {
		return result, nil
	}
	err = c.edit(func(_ Source, text []byte) ([]byte, error) {
		for _, key := range take {
			entry, _ := found.Entry(key)
			var err error
			if text, err = c.set(text, key, entry); err != nil {
				return nil, err
			}
			if opt.Disabled {
				if text, err = config.SetMember(text, key, "enabled", []byte("false")); err != nil {
					return nil, err
				}
			}
		}
		return text, nil
	})
	if err == nil {
		result.Written = take
	}
	return result, err
}
