package control

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Source is the configuration file as it was last read, and what is in force.
type Source struct {
	Path     string // "" if there is no file and no place for one
	Exists   bool
	Config   *config.Config   // in force
	Warnings []config.Warning // about the text that was last read
	// Fault is why that text is not in force: [config.Problems] or a
	// [*hub.Error]; nil if it is. What was in force before still is: the
	// built-in servers alone, if that was nothing.
	Fault error

	etag string   // of the text that was last read; "" without a file
	keys []string // of the entries in the file that is in force
}

// Defines reports whether the file in force has an entry with the key.
func (s *Source) Defines(key string) bool { return slices.Contains(s.keys, key) }

// Load reads the configuration file for a hub that starts. If strict, a file
// that is missing or cannot be used is an error; else the hub has its built-in
// servers, and Fault says why. An empty path stands for no file.
func Load(path string, strict bool, builtins []string) (*Source, error) {
	s := Source{Path: path, Config: config.Default(builtins)}
	if path == "" {
		return &s, nil
	}
	if strict {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, hub.E(message.ConfigUnreadable, err, "path", path).With("detail", message.Say("there is no such file"))
		}
	}
	s, _ = s.read(builtins)
	if strict && s.Fault != nil {
		return &s, s.Fault
	}
	return &s, nil
}

// read reads the file anew: the result has its text in force, or a Fault and
// what was in force before. The file is nil if it cannot be read, or if there
// is none and no place for one.
func (s Source) read(builtins []string) (Source, *config.File) {
	if s.Path == "" {
		return s, nil
	}
	file, err := config.OpenFile(s.Path)
	if err != nil {
		s.Fault = err
		return s, nil
	}
	s.Exists, s.etag = file.Exists(), file.ETag()
	if !s.Exists {
		s.Config, s.Warnings, s.Fault, s.keys = config.Default(builtins), nil, nil, nil
		return s, file
	}
	return s.parse(file.Text(), builtins), file
}

// parse puts a text for the file in force, or says why not.
func (s Source) parse(text []byte, builtins []string) Source {
	cfg, warnings, err := config.Parse(s.Path, text, builtins)
	var keys []string
	if err == nil {
		keys, err = config.Keys(text)
	}
	if s.Warnings, s.Fault = warnings, err; err == nil {
		s.Config, s.keys = cfg, keys
	}
	return s
}
