package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// What was accepted of pinned servers is a file of its own, since unlike the
// index it is no copy of anything:
//
//	{
//	  "version": 1,
//	  "servers": {
//	    "KEY": { "tools": [ ... ] }    the bytes that were accepted
//	  }
//	}
//
// Members that are not known are skipped; another version is not read.
const pinsVersion = "1"

// encodePins returns the text of the file.
func encodePins(servers map[string]pin) []byte {
	b := append([]byte(`{"version":`), pinsVersion...)
	b = append(b, `,"servers":{`...)
	for i, key := range slices.Sorted(maps.Keys(servers)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '\n')
		b = wire.AppendString(b, key)
		b = append(b, `:{"tools":[`...)
		for j, name := range slices.Sorted(maps.Keys(servers[key])) {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(b, '\n')
			b = append(b, servers[key][name].raw...)
		}
		b = append(b, `]}`...)
	}
	return append(b, "\n}}\n"...)
}

// decodePins reads the text of the file, which may be any bytes.
func decodePins(text []byte) (map[string]pin, error) {
	servers, err := readServers(text, pinsVersion)
	if err != nil {
		return nil, err
	}
	all := make(map[string]pin)
	for m := range wire.Object(text, servers) {
		key, _ := wire.String(text, m.Key)
		tools, err := readTools(text, m.Value)
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", key, err)
		}
		all[key] = make(pin, len(tools))
		for _, t := range tools {
			all[key][t.Name] = accept(t)
		}
	}
	return all, nil
}

// loadPins reads the file. Only that there is none is no error.
func loadPins(path string) (map[string]pin, error) {
	if path == "" {
		return make(map[string]pin), nil
	}
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return make(map[string]pin), nil
	}
	if err != nil {
		return nil, err
	}
	return decodePins(text)
}

// savePins writes the file if it differs from the pins.
func (c *Catalog) savePins() error {
	c.saving.Lock()
	defer c.saving.Unlock()
	c.mu.Lock()
	version, saved := c.pins.version, c.pins.stored == c.pins.version
	var text []byte
	if !saved {
		text = encodePins(c.pins.servers)
	}
	c.mu.Unlock()
	if saved {
		return nil
	}
	if err := writeFile(c.opt.PinsPath, text); err != nil {
		return err
	}
	c.mu.Lock()
	c.pins.stored = version
	c.mu.Unlock()
	return nil
}
