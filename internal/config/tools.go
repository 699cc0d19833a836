package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

const (
	maxToolName    = 64  // length of the longest name that may be exposed
	maxCallMessage = 200 // characters
)

// override is one member of "toolOverrides".
type override struct {
	hub.ToolOverride
	tool   string
	off    bool
	nameAt int // offset of the new name
	retry  retrying
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
	tools, _ := e.object(m.value, message.Say("%s%s", e.where, quoted(m.name)))
	for _, tool := range tools {
		o := override{tool: tool.name}
		if tool.name == "" {
			e.problem(tool.at, "%s%s has a tool without a name", e.where, quoted(m.name))
		}
		tool.name = m.name + "." + tool.name
		e.parts(tool, append(o.retry.parts(e),
			part{"name", func(m member) {
				o.Name, o.nameAt = e.plain(m.name, m.value), m.value.StartOffset
				if isString(m.value) && !isToolName(o.Name) {
					e.problem(m.value.StartOffset, "%s%s must be 1 to %d letters, digits, underscores and hyphens", e.where, quoted(m.name), maxToolName)
				}
			}},
			part{"description", func(m member) { o.Description = e.plain(m.name, m.value) }},
			part{"enabled", func(m member) {
				on := e.flag(m)
				o.off = on != nil && !*on
			}},
			part{"timeout", func(m member) { o.Timeout = e.duration(m, e.where, e.unit, "") }},
			part{"callLimits", func(m member) { e.gate(&o.Gate, m) }},
			part{"cache", func(m member) {
				o.Cache = new(time.Duration)
				e.interval(o.Cache, m)
			}},
			part{"messages", func(m member) { e.readMessages(&o.Messages, m) }},
		)...)
		e.overrides = append(e.overrides, o)
	}
}

// readMessages reads what people are told of a tool's calls.
func (e *entry) readMessages(to *hub.CallMessages, m member) {
	text := func(to *string) func(member) {
		return func(m member) {
			*to = e.plain(m.name, m.value)
			switch {
			case utf8.RuneCountInString(*to) > maxCallMessage:
				e.problem(m.value.StartOffset, "%s%s is longer than %d characters", e.where, quoted(m.name), maxCallMessage)
			case strings.ContainsFunc(*to, unicode.IsControl):
				e.problem(m.value.StartOffset, "%s%s has a control character", e.where, quoted(m.name))
			}
		}
	}
	e.parts(m, part{"calling", text(&to.Calling)}, part{"success", text(&to.Success)}, part{"failed", text(&to.Failed)})
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
		if o.retry != (retrying{}) {
			retry := o.retry.over(e.server.Retry, &entry{reader: e.reader, where: message.Say("%s%s: ", e.where, quoted("toolOverrides."+o.tool))})
			o.Retry = &retry
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
