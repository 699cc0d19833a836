package importer

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Found is the servers of another program's file.
type Found struct {
	Form     string           // what kind of file it is, see [config.Form]
	Warnings []config.Warning // in the order of the file

	// Holds reports whether the sealed store has this value under this name.
	// With it, a server whose secrets were sealed when it was taken over is
	// known again; it may be nil.
	Holds func(name, value string) bool

	servers   []hub.Server   // in the order of the file
	endpoints []hub.Endpoint // as well
}

// Endpoints are the endpoints of voice assistants in the file, in its order; none if
// servers were selected. Their addresses hold tokens.
func (f *Found) Endpoints() []hub.Endpoint { return f.endpoints }

// Read reads another program's file, in any form that the configuration may
// have. path names it in warnings; if it is absolute, what the file has
// relative to its own place becomes absolute, since the servers are to be
// written into another file. builtins are the keys of the built-in servers.
//
// Of Claude Code's own file, the servers of single projects are read, too; they
// run in the project's directory. One whose key another has is left out.
//
// The error is [config.Problems]. A file without servers is none.
func Read(path string, text []byte, builtins []string) (*Found, error) {
	rest, projects := config.Projects(text)
	f := &Found{}
	form, err := f.read(path, rest, builtins, "")
	if err != nil {
		return nil, err
	}
	f.Form = string(form)
	for _, p := range projects {
		if _, err := f.read(path, p.Text, builtins, p.Dir); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// read adds the servers of a text. They are run in dir, unless that is empty.
func (f *Found) read(path string, text []byte, builtins []string, dir string) (config.Form, error) {
	c, warnings, err := config.Parse(path, text, builtins)
	if err != nil {
		return "", err
	}
	keys, err := config.Keys(text)
	if err != nil {
		return "", err
	}
	f.Warnings = append(f.Warnings, warnings...)
	f.endpoints = append(f.endpoints, c.Endpoints...)
	for _, key := range keys {
		i := slices.IndexFunc(c.Servers, func(s hub.Server) bool { return s.Key == key })
		if i < 0 {
			continue // a server that the reader has left out has a warning
		}
		s := c.Servers[i]
		if s.Kind == hub.KindStdio && s.Dir == "" {
			s.Dir = dir
		}
		s = config.Relocate(s, path)
		if entry, again := f.Entry(key); !again {
			f.servers = append(f.servers, s)
		} else if !bytes.Equal(entry, config.Render(s)) {
			f.Warnings = append(f.Warnings, config.Warning{Path: path, Detail: message.Say(
				`server "%s": that of "%s" is ignored, since another one has the key`, message.Quote(key), message.Quote(dir))})
		}
	}
	return c.Form, nil
}

// Keys are the keys of the servers, in the order of the file.
func (f *Found) Keys() []string {
	keys := make([]string, len(f.servers))
	for i, s := range f.servers {
		keys[i] = s.Key
	}
	return keys
}

// Entry returns a server as an entry for our configuration file; see
// [config.Render].
func (f *Found) Entry(key string) ([]byte, bool) {
	for _, s := range f.servers {
		if s.Key == key {
			return config.Render(s), true
		}
	}
	return nil, false
}

// Select leaves only the servers with the keys; without keys, all. The error
// is a [message.ImportKeyUnknown], and nothing is changed.
func (f *Found) Select(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	for _, key := range keys {
		if _, ok := f.Entry(key); !ok {
			return hub.E(message.ImportKeyUnknown, nil, "server", message.Quote(key), "known", message.Quote(strings.Join(f.Keys(), ", ")))
		}
	}
	f.servers = slices.DeleteFunc(f.servers, func(s hub.Server) bool { return !slices.Contains(keys, s.Key) })
	f.endpoints = nil
	return nil
}

// Plan says of each server that was found what taking it over means for the
// current configuration: it is new; it is there just so, whether it is enabled
// or not; or another definition has its key. Settings for a built-in server
// that has none yet are new; a server in place of a built-in one clashes with
// it. Each list is in the order of the file.
func Plan(found *Found, current *config.Config) (added, same, clashing []string) {
	for _, s := range found.servers {
		i := slices.IndexFunc(current.Servers, func(c hub.Server) bool { return c.Key == s.Key })
		switch {
		case i < 0:
			added = append(added, s.Key)
		case found.isSame(s, current.Servers[i]):
			same = append(same, s.Key)
		case s.Kind == hub.KindBuiltin && string(config.Render(current.Servers[i])) == "{}":
			added = append(added, s.Key)
		default:
			clashing = append(clashing, s.Key)
		}
	}
	return added, same, clashing
}

// isSame reports whether two definitions say the same, also if the values of
// the second have been sealed.
func (f *Found) isSame(s, current hub.Server) bool {
	s.Enabled, current.Enabled = true, true
	is, want := config.Render(current), config.Render(s)
	if bytes.Equal(is, want) {
		return true
	}
	if f.Holds == nil {
		return false
	}
	held := true
	sealed, err := config.Seal(want, s.Key, func(name, value string) error {
		held = held && f.Holds(name, value)
		return nil
	})
	return err == nil && held && bytes.Equal(is, sealed)
}
