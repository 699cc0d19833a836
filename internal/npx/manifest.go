package npx

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// manifest is a package.json, as far as it matters here.
type manifest struct {
	Name       string          `json:"name"`
	Version    string          `json:"version"`
	Bin        json.RawMessage `json:"bin"`
	Workspaces json.RawMessage `json:"workspaces"`
	NPX        struct {
		Packages []string `json:"packages"` // in npx's words
	} `json:"_npx"`
}

// maxManifest is well above any package.json.
const maxManifest = 1 << 20

// readManifest reads a package.json; false if there is none that can be read.
func readManifest(path string) (m manifest, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return m, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil || len(text) > maxManifest {
		return m, false
	}
	return parseManifest(text)
}

func parseManifest(text []byte) (m manifest, ok bool) {
	err := json.Unmarshal(text, &m)
	return m, err == nil
}

// bin is a command of a package.
type bin struct{ name, file string }

// bins returns the commands in their order, nil if they cannot be told. Files
// lie within the package.
func (m *manifest) bins() []bin {
	var file string
	if json.Unmarshal(m.Bin, &file) == nil {
		_, name, scoped := strings.Cut(m.Name, "/")
		if !scoped {
			name = m.Name
		}
		return local([]bin{{name, file}})
	}
	d := json.NewDecoder(bytes.NewReader(m.Bin))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var all []bin
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok || d.Decode(&file) != nil {
			return nil
		}
		all = append(all, bin{name, file})
	}
	return local(all)
}

// local returns the commands, nil if a name or a file is out of the ordinary.
func local(all []bin) []bin {
	for i, b := range all {
		all[i].file = path.Clean(b.file)
		if b.file == "" || !filepath.IsLocal(filepath.FromSlash(b.file)) ||
			b.name == "" || b.name == "." || b.name == ".." || strings.ContainsAny(b.name, `/\`) {
			return nil
		}
	}
	return all
}

// command returns the command of that name, or if it is "" the one that npx
// takes for what the package is about: the only one, else the one called as
// the package.
func (m *manifest) command(name string) (bin, bool) {
	all := m.bins()
	if len(all) == 0 {
		return bin{}, false
	}
	if name == "" {
		same := true
		for _, b := range all {
			same = same && b.file == all[0].file
		}
		if same {
			return all[0], true
		}
		name = m.Name[strings.IndexByte(m.Name, '/')+1:]
	}
	for _, b := range all {
		if b.name == name {
			return b, true
		}
	}
	return bin{}, false
}
