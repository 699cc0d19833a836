package config

import (
	"slices"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// toolSwitch is what xiaozhi.config.json says about one tool in
// "mcpServerConfig".
type toolSwitch struct {
	server, tool string
	at           int // offset of the server's name
	off          bool
	description  string
}

// xiaozhi reads a member that only xiaozhi.config.json has. It reports whether
// m is one.
func (r *reader) xiaozhi(m member) bool {
	if isNull(m.value) {
		return slices.Contains(xiaozhiMembers(), m.name)
	}
	switch m.name {
	case "mcpEndpoint":
		r.voice.mcpEndpoint = m
	case "connection":
		r.voice.connection = m
	case "mcpServerConfig":
		r.serverConfig(m)
	case "customMCP":
		tools := find(m.value, "tools")
		if tools == nil {
			return true
		}
		if list, ok := tools.Value.(*hujson.Array); !ok || len(list.Elements) > 0 {
			r.warn(m.at, `the tools of "customMCP" are not served by this version`)
		}
	default: // settings of that program
		return slices.Contains(xiaozhiMembers(), m.name)
	}
	return true
}

// xiaozhiMembers are the members that only xiaozhi.config.json has.
func xiaozhiMembers() []string {
	return []string{
		"mcpEndpoint", "mcpServerConfig", "customMCP", "connection", "modelscope", "platforms",
		"asr", "tts", "llm", "toolCallLog", "toolGroups", "webUI",
	}
}

// serverConfig reads "mcpServerConfig", which that program writes: for each
// tool of each server whether it is offered and what is said of it.
func (r *reader) serverConfig(m member) {
	servers, _ := r.object(m.value, message.Verbatim(`"mcpServerConfig"`))
	for _, server := range servers {
		where := message.Say(`"mcpServerConfig": server %s`, quoted(server.name))
		if _, ok := r.object(server.value, where); !ok {
			continue
		}
		list := find(server.value, "tools")
		if list == nil || isNull(*list) {
			continue
		}
		tools, _ := r.object(*list, message.Say(`%s: "tools"`, where))
		for _, tool := range tools {
			r.toolSwitch(server, tool, message.Say("%s: tool %s", where, quoted(tool.name)))
		}
	}
}

func (r *reader) toolSwitch(server, tool member, where message.Phrase) {
	s := toolSwitch{server: server.name, tool: tool.name, at: server.at}
	members, _ := r.object(tool.value, where)
	for _, m := range members {
		switch lit, _ := m.value.Value.(hujson.Literal); {
		case isNull(m.value):
		case m.name == "enable":
			if on := r.truth(m, message.Say("%s: ", where)); on != nil {
				s.off = !*on
			}
		case m.name == "description" && m.value.Value.Kind() == '"':
			s.description = lit.String()
		}
	}
	r.switches = append(r.switches, s)
}

// flip applies "mcpServerConfig" to the servers.
func (r *reader) flip(servers []hub.Server) {
	told := ""
	for _, s := range r.switches {
		i := slices.IndexFunc(servers, func(server hub.Server) bool { return server.Key == s.server })
		if i < 0 {
			if s.server != told {
				told = s.server
				r.warn(s.at, `"mcpServerConfig" has settings for %s, which is no server here`, quoted(s.server))
			}
			continue
		}
		rules := &servers[i].Rules
		if s.off && !slices.Contains(rules.Deny, s.tool) {
			rules.Deny = append(rules.Deny, s.tool)
		}
		if s.description == "" {
			continue
		}
		if rules.Override == nil {
			rules.Override = make(map[string]hub.ToolOverride)
		}
		if o := rules.Override[s.tool]; o.Description == "" {
			o.Description = s.description
			rules.Override[s.tool] = o
		}
	}
}
