package config

import (
	"slices"

	"github.com/tailscale/hujson"
)

// Form is for which program a file is written.
type Form string

// The forms. A file is told by its outermost members; but for what is said
// here all are read alike.
const (
	// FormToolcrib is "mcpServers": ours, and that of Claude, Cursor, Windsurf,
	// Cline, Gemini CLI and many others; also Zed's "context_servers".
	FormToolcrib Form = "toolcrib"

	// FormVSCode is "servers" with "inputs", as in .vscode/mcp.json, or within
	// "mcp" in VS Code's settings.
	FormVSCode Form = "vscode"

	// FormLumi is "mcpServers" of mcp_config.json: servers of "type" external
	// and embedded, an address in "command".
	FormLumi Form = "lumi"

	// FormXiaozhi is xiaozhi.config.json: "mcpServers" beside "mcpEndpoint" or
	// "mcpServerConfig". Servers run in its directory.
	FormXiaozhi Form = "xiaozhi"

	// FormController is mcp_server.json: an array "mcp_servers" of entries with
	// an "id". A number for "timeout" counts seconds, and 60 is its default.
	FormController Form = "controller"
)

// formOf finds out for which program a file with these members is written.
func formOf(members []member) Form {
	var servers *hujson.Value
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.name
		if m.name == "mcpServers" {
			servers = &members[i].value
		}
	}
	has := func(some ...string) bool {
		return slices.ContainsFunc(some, func(name string) bool { return slices.Contains(names, name) })
	}
	switch {
	case has("mcp_servers"):
		return FormController
	case has("mcpEndpoint", "mcpServerConfig"):
		return FormXiaozhi
	case servers != nil && isLumi(*servers):
		return FormLumi
	case servers != nil:
		return FormToolcrib
	case has("servers", "mcp.servers"):
		return FormVSCode
	}
	for _, m := range members {
		if m.name == "mcp" && find(m.value, "servers") != nil {
			return FormVSCode
		}
	}
	return FormToolcrib
}

// isLumi reports whether one of the servers has a mark of Lumi's.
func isLumi(servers hujson.Value) bool {
	obj, ok := servers.Value.(*hujson.Object)
	if !ok {
		return false
	}
	return slices.ContainsFunc(obj.Members, func(m hujson.ObjectMember) bool {
		if name, _ := m.Name.Value.(hujson.Literal); name.String() == lumiDevice {
			return true
		}
		kind := find(m.Value, "type")
		if kind == nil {
			return false
		}
		lit, ok := kind.Value.(hujson.Literal)
		return ok && lit.Kind() == '"' && (lit.String() == "external" || lit.String() == "embedded")
	})
}
