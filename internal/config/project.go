package config

import (
	"bytes"

	"github.com/tailscale/hujson"
)

// Project is the servers that a client keeps for one directory.
type Project struct {
	Dir  string // as the file has it
	Text []byte // "mcpServers" alone, each byte where the file has it
}

// Projects takes the servers of single projects out of a text: those that
// Claude Code keeps in ~/.claude.json under "projects", by directory, which is
// where "claude mcp add" puts a server unless it is told otherwise. rest is the
// text with the rest, to which the same holds. A text that has none, or cannot
// be parsed, is the rest as it is.
func Projects(text []byte) (rest []byte, all []Project) {
	d := &document{}
	root, ok := d.parse(text)
	if !ok {
		return text, nil
	}
	projects := find(root, "projects")
	for _, p := range projectBlocks(projects) {
		alone := blanked(d.text, 0, len(d.text))
		for _, keep := range []span{{root.StartOffset, root.StartOffset + 1}, {p.from, p.to}, {root.EndOffset - 1, root.EndOffset}} {
			copy(alone[keep.from:keep.to], d.text[keep.from:])
		}
		all = append(all, Project{Dir: p.dir, Text: alone})
	}
	if all == nil {
		return text, nil
	}
	return blanked(d.text, projects.StartOffset+1, projects.EndOffset-1), all
}

// projectBlock is where the servers of a project stand, with the name of the
// member.
type projectBlock struct {
	dir string
	span
}

// projectBlocks finds the servers of each project in the value of "projects".
func projectBlocks(projects *hujson.Value) []projectBlock {
	if projects == nil {
		return nil
	}
	dirs, ok := projects.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	var all []projectBlock
	for _, dir := range dirs.Members {
		project, ok := dir.Value.Value.(*hujson.Object)
		if !ok {
			continue
		}
		for _, m := range project.Members {
			member, _ := m.Name.Value.(hujson.Literal)
			if member.String() == "mcpServers" && childrenOf(&m.Value).len() > 0 {
				name, _ := dir.Name.Value.(hujson.Literal)
				all = append(all, projectBlock{name.String(), span{m.Name.StartOffset, m.Value.EndOffset}})
				break
			}
		}
	}
	return all
}

// projects reads what Claude Code knows of single directories. It reports
// whether m is that.
func (r *reader) projects(m member) bool {
	if m.name != "projects" || m.value.Value.Kind() != '{' {
		return false
	}
	if len(projectBlocks(&m.value)) > 0 {
		r.warn(m.at, `the servers of single "projects" are not used from here; "toolcrib import" takes them over`)
	}
	return true
}

// blanked is a copy of a text with a blank for each byte of a part of it, but
// for the ends of lines.
func blanked(text []byte, from, to int) []byte {
	text = bytes.Clone(text)
	for i := from; i < to; i++ {
		if text[i] != '\n' {
			text[i] = ' '
		}
	}
	return text
}
