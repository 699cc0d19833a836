package config

import (
	"time"

	"github.com/tailscale/hujson"
)

// controllerTimeout is the time that a call may take if an entry of
// mcp_server.json does not say so.
const controllerTimeout = 60 * time.Second

// controllers reads "mcp_servers" of mcp_server.json: an array of servers that
// have their keys in a member "id".
func (r *reader) controllers(m member) {
	arr, ok := m.value.Value.(*hujson.Array)
	if !ok {
		r.problem(m.value.StartOffset, `"mcp_servers" must be an array of servers with an "id", but is %s`, kindOf(m.value))
		return
	}
	for _, v := range arr.Elements {
		if v.Value.Kind() != '{' {
			r.problem(v.StartOffset, `a server of "mcp_servers" must be an object, but is %s`, kindOf(v))
			continue
		}
		id := find(v, "id")
		if id == nil {
			r.problem(v.StartOffset, `a server of "mcp_servers" has no "id"`)
			continue
		}
		lit, ok := id.Value.(hujson.Literal)
		if !ok || lit.Kind() != '"' {
			r.problem(id.StartOffset, `the "id" of a server must be a string, but is %s`, kindOf(*id))
			continue
		}
		r.add(member{name: lit.String(), at: id.StartOffset, value: v}, m.name)
	}
}
