package config

import (
	"maps"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Render returns a server as an entry of a configuration file, as JSON: with
// our names for the members, without what is the default anyway, and always
// the same for equal servers. Placeholders stay as they are. [Parse] makes the
// same server of it, but for its Order.
func Render(s hub.Server) []byte {
	var r rendering
	r.text("name", s.Name)
	if s.Kind.Remote() && kindOfURL(s.URL, true) != s.Kind {
		r.text("type", string(s.Kind))
	}
	r.text("command", s.Command)
	r.list("args", s.Args)
	r.pairs("env", s.Env)
	r.text("envFile", s.EnvFile)
	r.text("cwd", s.Dir)
	r.text("url", s.URL)
	r.pairs("headers", s.Headers)
	r.oauth(s.OAuth)
	r.flag("enabled", s.Enabled, true)
	r.life(&s)
	if s.Priority != usualPriority(s.Kind) {
		r.add("priority", hujson.Int(int64(s.Priority)))
	}
	if s.Timeout != hub.DefaultTimeout {
		r.text("timeout", s.Timeout.String())
	}
	r.calls(&s)
	r.confinement(&s)
	r.flag("bareNames", s.BareNames, false)
	if s.PrefixURIs {
		r.text("resources", "prefixed")
	}
	if s.Connection != "" && s.Connection != hub.ConnectionAuto {
		r.text("connection", string(s.Connection))
	}
	r.count("maxCallers", s.MaxCallers, 0)
	r.span("resourceCache", s.ResourceCache, 0)
	if s.Spill != 0 {
		r.text("spill", memoryText(int64(s.Spill)))
	}
	r.list("tenants", s.Tenants)
	r.flag("trusted", s.Trusted, false)
	r.list("tags", s.Tags)
	r.flag("simulated", s.Simulated, false)
	r.list("tools", s.Rules.Allow)
	r.list("denyTools", s.Rules.Deny)
	r.overrides(s.Rules.Override, s.Retry)
	return object(r...).Pack()
}

// rendering is the members of an object while it is put together.
type rendering []hujson.ObjectMember

func (r *rendering) add(name string, value hujson.ValueTrimmed) {
	*r = append(*r, hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name)}, Value: hujson.Value{Value: value}})
}

func (r *rendering) text(name, value string) {
	if value != "" {
		r.add(name, hujson.String(value))
	}
}

func (r *rendering) flag(name string, value, otherwise bool) {
	if value != otherwise {
		r.add(name, hujson.Bool(value))
	}
}

func (r *rendering) list(name string, values []string) {
	if len(values) == 0 {
		return
	}
	list := &hujson.Array{}
	for _, v := range values {
		list.Elements = append(list.Elements, hujson.Value{Value: hujson.String(v)})
	}
	r.add(name, list)
}

func (r *rendering) pairs(name string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	var pairs rendering
	for _, n := range slices.Sorted(maps.Keys(values)) {
		pairs.add(n, hujson.String(values[n]))
	}
	r.add(name, object(pairs...).Value)
}

func (r *rendering) overrides(tools map[string]hub.ToolOverride, server hub.Retry) {
	if len(tools) == 0 {
		return
	}
	var all rendering
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		var o rendering
		o.override(tools[tool], server)
		all.add(tool, object(o...).Value)
	}
	r.add("toolOverrides", object(all...).Value)
}
