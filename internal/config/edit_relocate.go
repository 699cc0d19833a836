package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// Relocate returns the server, which was read from the file at path, so that it
// means the same in a file at another place: what is relative to the file or
// its project becomes absolute. If path is not absolute, nothing is known of
// its place, and the server is returned as it is. The server that was given
// stays as it is in any case.
func Relocate(s hub.Server, path string) hub.Server {
	if !filepath.IsAbs(path) {
		return s
	}
	from := origin{dir: filepath.Dir(path), project: secret.Workspace(filepath.Dir(path))}
	s.Command, s.URL = from.text(s.Command), from.text(s.URL)
	s.Args = from.texts(s.Args)
	s.Env, s.Headers = from.pairs(s.Env), from.pairs(s.Headers)
	if s.EnvFile != "" {
		s.EnvFile = from.path(from.project, from.text(s.EnvFile))
	}
	if s.Dir != "" {
		s.Dir = from.path(from.project, from.text(s.Dir))
	}
	if s.Sandbox != nil {
		box := *s.Sandbox
		box.Read, box.Write = from.texts(box.Read), from.texts(box.Write)
		s.Sandbox = &box
	}
	return s
}

// origin is the places that a file's relative paths start from.
type origin struct{ dir, project string }

func (o origin) pairs(pairs map[string]string) map[string]string {
	if pairs == nil {
		return nil
	}
	moved := make(map[string]string, len(pairs))
	for name, value := range pairs {
		moved[name] = o.text(value)
	}
	return moved
}

func (o origin) texts(texts []string) []string {
	moved := slices.Clone(texts)
	for i, t := range moved {
		moved[i] = o.text(t)
	}
	return moved
}

// text fills in the placeholders that mean something else in another file.
func (o origin) text(text string) string {
	var b strings.Builder
	at := 0
	for _, p := range secret.Placeholders(text) {
		b.WriteString(text[at:p.Start])
		at = p.End
		switch {
		case p.Kind == secret.Place && p.Name == "workspaceFolder":
			b.WriteString(literal(o.project))
		case p.Kind == secret.Place && p.Name == "workspaceFolderBasename":
			b.WriteString(literal(filepath.Base(o.project)))
		case p.Kind == secret.File:
			b.WriteString("${file:" + o.path(o.dir, p.Name) + "}")
		default:
			b.WriteString(text[p.Start:p.End])
		}
	}
	b.WriteString(text[at:])
	return b.String()
}

// path makes a path absolute. One that begins with a placeholder, or with ~ for
// the user's home, is taken to be so already.
func (o origin) path(base, path string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "~") || strings.HasPrefix(path, "${") {
		return path
	}
	return filepath.Join(base, path)
}

// literal is a text in which nothing is taken for a placeholder.
func literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }
