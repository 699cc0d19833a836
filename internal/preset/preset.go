// Package preset has the servers that are known by name without anybody having
// to say how they are run: packages of npm in an exact version, and servers that
// are part of the program but in no configuration by themselves. They are off
// until an entry of the configuration file switches them on.
package preset

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Preset is one of them.
type Preset struct {
	Key         string
	Name        string
	Description message.Phrase

	// Package is what npx runs, with its exact version; "" for a server that is
	// part of the program.
	Package string
	// Tools are the server's own names for its tools, as far as it has been asked
	// to be known before it runs.
	Tools []string
}

// All are the presets, in the order in which they are listed.
func All() []Preset {
	return []Preset{
		{
			Key: "context7", Name: "Context7", Description: message.Say("Searches the documentation of libraries"),
			Package: "@upstash/context7-mcp@4.1.1", Tools: []string{"resolve-library-id", "query-docs"},
		},
		{
			Key: "everything", Name: "Everything", Description: message.Say("The official test server, which has every feature of MCP"),
			Package: "@modelcontextprotocol/server-everything@2026.8.31",
			Tools: []string{
				"echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference", "get-structured-content", "get-sum",
				"get-tiny-image", "gzip-file-as-resource", "toggle-simulated-logging", "toggle-subscriber-updates", "trigger-long-running-operation",
			},
		},
		{
			Key: "hefeng", Name: "QWeather", Description: message.Say("Tells the weather by QWeather; it needs HEFENG_API_KEY and HEFENG_API_URL"),
			Tools: []string{"find_city", "get_forecast", "get_weather"},
		},
		{
			Key: "wttr", Name: "wttr.in", Description: message.Say("Tells the weather by wttr.in, without a key"),
			Tools: []string{"get_forecast", "get_weather"},
		},
		{
			Key: "demo", Name: "Demo", Description: message.Say("Tools to try Toolcrib out with, which do no harm"),
			Tools: []string{"count", "delete_note", "list_notes", "show_result", "write_note"},
		},
	}
}

// Find returns the preset with the key.
func Find(key string) (Preset, bool) {
	all := All()
	i := slices.IndexFunc(all, func(p Preset) bool { return p.Key == key })
	if i < 0 {
		return Preset{}, false
	}
	return all[i], true
}

// IsBuiltin reports whether a preset with the key is part of the program.
func IsBuiltin(key string) bool {
	p, ok := Find(key)
	return ok && p.Package == ""
}

// Entry is what stands in the configuration file for the preset.
func (p *Preset) Entry(enabled bool) []byte {
	entry := struct {
		Name    string   `json:"name"`
		Command string   `json:"command,omitempty"`
		Args    []string `json:"args,omitempty"`
		Enabled bool     `json:"enabled"`
	}{Name: p.Name, Enabled: enabled}
	if p.Package != "" {
		entry.Command, entry.Args = "npx", []string{"-y", p.Package}
	}
	raw, err := json.Marshal(entry)
	if err != nil {
		panic(err) // texts
	}
	return raw
}

// Is reports whether a server is the preset and not another one under its key: one
// that is part of the program, or for which npx runs the package in an exact version,
// which may be that of another Toolcrib.
func (p *Preset) Is(s *hub.Server) bool {
	switch {
	case s.Key != p.Key:
		return false
	case p.Package == "":
		return s.Kind == hub.KindBuiltin
	case s.Kind != hub.KindStdio || s.Command != "npx":
		return false
	}
	args := s.Args
	if len(args) > 0 && (args[0] == "-y" || args[0] == "--yes") {
		args = args[1:]
	}
	if len(args) == 0 {
		return false
	}
	name := p.Package[:strings.LastIndexByte(p.Package, '@')]
	version, ok := strings.CutPrefix(args[0], name+"@")
	return ok && exact.MatchString(version)
}

// exact is a version that always is the same.
var exact = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
