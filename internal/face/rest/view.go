package rest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// serverView is a server as it is told: without values that may be secrets.
func serverView(l message.Lang, s control.Server) api.Server {
	def, st := s.Definition, s.Status
	v := api.Server{
		Key: def.Key, Name: def.Title(), Kind: string(def.Kind),
		State: string(st.State), Event: st.Event, Since: st.Since, PID: st.PID, PIDs: st.PIDs, Tools: s.Offered, Hidden: s.Hidden,
		Resources: s.Resources, Templates: s.Templates, Prompts: s.Prompts, Clashing: s.Clashing,
		Instances: st.Instances, Callers: st.Callers, Subscriptions: st.Subscriptions, Calls: st.Calls, Leases: leaseViews(def.Key, st.Leases), Starts: st.Starts, Losses: st.Losses,
		Misses: st.Misses, Breaker: string(cmp.Or(st.Breaker, hub.BreakerClosed)), Changed: s.Changed,
		Junk: st.Junk, Stderr: st.Stderr, Protocol: st.Protocol, Info: st.Info,
		Enabled: def.Enabled, AutoStart: def.AutoStart, Preload: def.Preload, Pinned: def.Pinned, Priority: def.Priority, Timeout: def.Timeout.String(),
		Command: shownCommand(def.Command), Args: config.MaskArgs(def.Args), Dir: def.Dir, URL: shownURL(def.URL),
		Env: slices.Sorted(maps.Keys(def.Env)), Headers: slices.Sorted(maps.Keys(def.Headers)),
		Tenants: def.Tenants, Defined: s.Defined, Retries: def.Retry.Max, Validate: !def.NoValidate, Pool: def.Pool,
	}
	if g := def.Gate; g != (hub.Gate{}) {
		v.CallLimits = &api.CallLimits{Concurrency: g.Concurrency, Queue: g.Queue, Rate: g.Rate, Burst: g.Burst}
	}
	if def.ToolCache > 0 {
		v.ToolCache = def.ToolCache.String()
	}
	if def.Kind != hub.KindBuiltin {
		v.Connection = string(cmp.Or(def.Connection, hub.ConnectionAuto))
	}
	if def.IdleStop > 0 && !def.AutoStart {
		v.IdleStop = def.IdleStop.String()
	}
	if st.Reason != nil {
		text := st.Reason.Text(l)
		v.Code, v.Reason, v.Remedy = string(st.Reason.Code), text.What, text.Remedy
	}
	if !st.Retry.IsZero() {
		v.Retry = &st.Retry
	}
	return v
}

// shownCommand is a command without what may be a secret in it: it may hold its
// arguments as well.
func shownCommand(command string) string {
	words := strings.Split(command, " ")
	return strings.Join(append(words[:1:1], config.MaskArgs(words)[1:]...), " ")
}

// shownURL is a URL without what may be a secret in it: the user, a piece of
// the path that looks like a key, the query and the fragment.
func shownURL(raw string) string {
	base, _, _ := strings.Cut(raw, "#")
	base, _, query := strings.Cut(base, "?")
	base = config.MaskArgs([]string{base})[0]
	if query {
		base += "?***"
	}
	return base
}

// testView is how far a test came, step by step.
func testView(l message.Lang, p *control.Probe) api.TestResult {
	r := api.TestResult{
		OK: p.Failed == "", Steps: []api.TestStep{}, Tools: some(p.Tools),
		Protocol: p.Protocol, Info: p.Info, Stderr: p.Stderr, Duration: milliseconds(p.Took),
	}
	for _, s := range p.Passed {
		r.Steps = append(r.Steps, api.TestStep{Step: string(s), OK: true})
	}
	if p.Failed != "" {
		text := p.Fault.Text(l)
		r.Steps = append(r.Steps, api.TestStep{
			Step: string(p.Failed), Detail: text.What, Code: string(p.Fault.Code), Remedy: text.Remedy,
		})
	}
	return r
}

// leaseViews is what keeps a server running.
func leaseViews(key string, leases []hub.Lease) []api.Lease {
	views := make([]api.Lease, len(leases))
	for i, l := range leases {
		of, holder := control.HolderOf(l.Holder)
		views[i] = api.Lease{Holder: holder, Tenant: of.Tenant, Subject: of.Subject, Server: key, Tool: l.Tool, Count: l.Count}
	}
	return views
}
