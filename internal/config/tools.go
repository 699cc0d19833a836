package config

import (
	"fmt"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// maxToolName is the length of the longest name that may be exposed.
const maxToolName = 64

// override is one member of "toolOverrides".
type override struct {
	hub.ToolOverride
	tool   string
	off    bool
	nameAt int // offset of the new name
}

// readTools reads the tools that are offered. An asterisk stands for all, as
// in the files of Copilot.
func (e *entry) readTools(m member) {
	names := e.names(m)
	if slices.Contains(names, "*") {
		names = nil
	}
	e.server.Rules.Allow = names
}

func (e *entry) readDenyTools(m member) {
	e.server.Rules.Deny = append(e.server.Rules.Deny, e.names(m)...)
}

// names reads an array of tools' names.
func (e *entry) names(m member) []string {
	arr, ok := m.value.Value.(*hujson.Array)
	if !ok {
		e.wrong(m.name, m.value, "an array of tools' names")
		return nil
	}
	var list []string
	for i, v := range arr.Elements {
		path := fmt.Sprintf("%s[%d]", m.name, i)
		name := e.plain(path, v)
		if isString(v) && isEmpty(v) {
			e.problem(v.StartOffset, "%s%s is empty", e.where, quoted(path))
		}
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func (e *entry) readOverrides(m member) {
	tools, _ := e.object(m.value, e.where+quoted(m.name))
	for _, tool := range tools {
		o := override{tool: tool.name}
		path := m.name + "." + tool.name
		members, _ := e.object(tool.value, e.where+quoted(path))
		if tool.name == "" {
			e.problem(tool.at, "%s%s has a tool without a name", e.where, quoted(m.name))
		}
		for _, part := range members {
			inner := path + "." + part.name
			switch {
			case isNull(part.value):
			case part.name == "name":
				o.Name, o.nameAt = e.plain(inner, part.value), part.value.StartOffset
				if isString(part.value) && !isToolName(o.Name) {
					e.problem(part.value.StartOffset, "%s%s must be 1 to %d letters, digits, underscores and hyphens", e.where, quoted(inner), maxToolName)
				}
			case part.name == "description":
				o.Description = e.plain(inner, part.value)
			case part.name == "enabled":
				on := e.flag(member{name: inner, at: part.at, value: part.value})
				o.off = on != nil && !*on
			default:
				e.unknown(e.where+quoted(path)+": ", part, []string{"name", "description", "enabled"})
			}
		}
		e.overrides = append(e.overrides, o)
	}
}

// settleRules puts together what is said about the server's tools.
func (e *entry) settleRules() {
	rules := &e.server.Rules
	given := make(map[string]string) // new names, and the tools that have them
	for _, o := range e.overrides {
		if other, again := given[o.Name]; o.Name != "" && again {
			e.problem(o.nameAt, "%sthe tools %s and %s have the same new name", e.where, quoted(other), quoted(o.tool))
		}
		given[o.Name] = o.tool
		if o.off {
			rules.Deny = append(rules.Deny, o.tool)
		}
		if o.ToolOverride == (hub.ToolOverride{}) {
			continue
		}
		if rules.Override == nil {
			rules.Override = make(map[string]hub.ToolOverride)
		}
		rules.Override[o.tool] = o.ToolOverride
	}
	var deny []string
	for _, name := range rules.Deny {
		if !slices.Contains(deny, name) {
			deny = append(deny, name)
		}
	}
	rules.Deny = deny
}

// isToolName reports whether every caller can use the name.
func isToolName(name string) bool {
	for _, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && c != '_' && c != '-' {
			return false
		}
	}
	return name != "" && len(name) <= maxToolName
}
