// Package importer knows other programs' files: where each has its own, what
// servers are in it, and how Toolcrib is written into it as one of them.
package importer

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Client is a program that keeps MCP servers in a file.
type Client struct {
	Name  string // by which it is chosen
	Title string // for people

	user    func(System) []string // files for the whole account, the one in use first
	project func(System) []string // files for the directory that the user is in
	entry   *entryForm            // how Toolcrib is written into the file; nil if it is not
}

// Connectable reports whether Toolcrib can be written into the client's file.
func (c Client) Connectable() bool { return c.entry != nil }

// entryForm is how a client has its servers.
type entryForm struct {
	block     string // the member of the file
	typeStdio string // "type" of a program; none if empty
	typeHTTP  string // "type" of a URL; none if empty
	noURL     bool   // the file has no servers with a URL
}

// System is what the places of files depend on.
type System struct {
	GOOS   string                                 // as runtime.GOOS
	Home   string                                 // the user's home directory
	Dir    string                                 // the directory that the user is in
	Getenv func(string) string                    // the environment
	Glob   func(pattern string) ([]string, error) // the file system
}

// ThisSystem is the machine, the user and the directory of this process.
func ThisSystem() (System, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return System{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return System{}, err
	}
	return System{GOOS: runtime.GOOS, Home: home, Dir: dir, Getenv: os.Getenv, Glob: filepath.Glob}, nil
}

// Clients is every client that is known, in the order in which they are listed
// for people.
func Clients() []Client {
	return []Client{
		{
			Name: "claude", Title: "Claude Desktop", user: claudeDesktop,
			entry: &entryForm{block: "mcpServers", noURL: true},
		},
		{
			Name: "claude-code", Title: "Claude Code",
			user:    func(s System) []string { return []string{s.join(s.env("CLAUDE_CONFIG_DIR", s.Home), ".claude.json")} },
			project: func(s System) []string { return []string{s.join(s.Dir, ".mcp.json")} },
			entry:   &entryForm{block: "mcpServers", typeHTTP: "http"},
		},
		{
			Name: "cursor", Title: "Cursor",
			user:    func(s System) []string { return []string{s.join(s.Home, ".cursor", "mcp.json")} },
			project: func(s System) []string { return []string{s.join(s.Dir, ".cursor", "mcp.json")} },
			entry:   &entryForm{block: "mcpServers"},
		},
		{
			Name: "vscode", Title: "VS Code",
			user:    func(s System) []string { return []string{s.join(s.settings(), "Code", "User", "mcp.json")} },
			project: func(s System) []string { return []string{s.join(s.Dir, ".vscode", "mcp.json")} },
			entry:   &entryForm{block: "servers", typeStdio: "stdio", typeHTTP: "http"},
		},
		{
			Name: "windsurf", Title: "Windsurf",
			user: func(s System) []string { return []string{s.join(s.Home, ".codeium", "windsurf", "mcp_config.json")} },
		},
		{
			Name: "cline", Title: "Cline",
			user: func(s System) []string {
				const file = "cline_mcp_settings.json"
				return []string{
					s.join(s.settings(), "Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", file),
					s.join(s.Home, ".cline", "data", "settings", file),
				}
			},
		},
		{
			Name: "lumi", Title: "Lumi Assistant",
			user: func(s System) []string { return []string{s.join(s.Home, ".lumi_assistant", "mcp_config.json")} },
		},
		{
			Name: "xiaozhi", Title: "xiaozhi-client", user: xiaozhi,
			project: func(s System) []string { return []string{s.join(s.Dir, "xiaozhi.config.json")} },
		},
	}
}

// claudeDesktop are the places of Claude Desktop's file. On Windows an app
// from the store, which all are since 2026, sees a file system of its own; the
// documented place is that of an older one.
func claudeDesktop(s System) []string {
	const file = "claude_desktop_config.json"
	var places []string
	if s.GOOS == "windows" {
		local := s.env("LOCALAPPDATA", s.join(s.Home, "AppData", "Local"))
		// The pattern is well formed, which is all that an error would be about.
		packages, _ := s.Glob(s.join(local, "Packages", "Claude_*"))
		for _, dir := range packages {
			places = append(places, s.join(dir, "LocalCache", "Roaming", "Claude", file))
		}
	}
	return append(places, s.join(s.settings(), "Claude", file))
}

func xiaozhi(s System) []string {
	const file = "xiaozhi.config.json"
	places := []string{s.join(s.Home, ".xiaozhi-client", file)}
	if dir := s.Getenv("XIAOZHI_CONFIG_DIR"); dir != "" {
		places = slices.Insert(places, 0, s.join(dir, file))
	}
	return places
}

// Lookup returns the client with the name. The error is a
// [message.ClientUnknown].
func Lookup(name string) (Client, error) {
	var known []string
	for _, c := range Clients() {
		if c.Name == name {
			return c, nil
		}
		known = append(known, c.Name)
	}
	return Client{}, hub.E(message.ClientUnknown, nil, "client", message.Quote(name), "known", strings.Join(known, ", "))
}

// Locate returns the files of the client that there are: those for the whole
// account, then those for the directory that the user is in. The error is a
// [message.ClientFileMissing], which names where it looked.
func Locate(c Client, s System) ([]string, error) {
	places := c.user(s)
	if c.project != nil {
		places = append(places, c.project(s)...)
	}
	var found []string
	for _, path := range places {
		if isFile(path) && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	if found == nil {
		return nil, hub.E(message.ClientFileMissing, nil, "client", c.Title, "paths", strings.Join(places, ", "))
	}
	return found, nil
}

// Target is the file that Toolcrib is written into: the client's file for the
// whole account, whether it is there yet or not. The error is a
// [message.ClientNotConnectable].
func Target(c Client, s System) (string, error) {
	if !c.Connectable() {
		return "", notConnectable(c)
	}
	places := c.user(s)
	for _, path := range places {
		if isFile(path) {
			return path, nil
		}
	}
	return places[0], nil
}

func notConnectable(c Client) error {
	var known []string
	for _, c := range Clients() {
		if c.Connectable() {
			known = append(known, c.Name)
		}
	}
	return hub.E(message.ClientNotConnectable, nil, "client", c.Title, "known", strings.Join(known, ", "))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// settings is where programs keep their settings.
func (s System) settings() string {
	switch s.GOOS {
	case "windows":
		return s.env("APPDATA", s.join(s.Home, "AppData", "Roaming"))
	case "darwin":
		return s.join(s.Home, "Library", "Application Support")
	}
	return s.env("XDG_CONFIG_HOME", s.join(s.Home, ".config"))
}

func (s System) env(name, otherwise string) string {
	if value := s.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// join joins a path as it is written on the system, which need not be this one.
func (s System) join(parts ...string) string {
	if s.GOOS == "windows" {
		return strings.Join(parts, `\`)
	}
	return strings.Join(parts, "/")
}
