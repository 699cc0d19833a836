package config

import (
	"time"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// life renders when a server runs, and how it is watched and healed.
func (r *rendering) life(s *hub.Server) {
	usual := usualOf(s.Kind)
	r.flag("autoStart", s.AutoStart, usual.AutoStart)
	r.flag("preload", s.Preload, false)
	r.span("cleanupInterval", s.IdleStop, usual.IdleStop)
	if in := s.Instances; in != (hub.Instances{}) {
		var o rendering
		o.count("min", in.Min, 1)
		o.count("max", in.Max, 0)
		o.count("queue", in.Queue, 1)
		r.add("instances", object(o...).Value)
	}
	r.flag("autoRestart", s.AutoRestart, true)
	r.flag("autoReconnect", s.AutoReconnect, true)
	r.count("maxReconnectAttempts", s.MaxReconnects, 0)
	r.span("healthCheckInterval", s.Health.Interval, usual.Health.Interval)
	if s.Health.Interval != 0 {
		r.span("healthCheckTimeout", s.Health.Timeout, usual.Health.Timeout)
		r.count("healthCheckMisses", s.Health.Misses, usual.Health.Misses)
		r.text("healthCheckPath", s.Health.Path)
	}
	switch b := s.Breaker; {
	case b == usual.Breaker:
	case b.Failures == 0:
		r.add("circuitBreaker", hujson.Bool(false))
	default:
		var o rendering
		o.count("failures", b.Failures, usual.Breaker.Failures)
		o.span("cooldown", b.Cooldown, usual.Breaker.Cooldown)
		r.add("circuitBreaker", object(o...).Value)
	}
	r.span("cacheTTL", s.ListTTL, usual.ListTTL)
	r.flag("pinned", s.Pinned, false)
}

// confinement renders what a server's process may do.
func (r *rendering) confinement(s *hub.Server) {
	if l := s.Limits; l != (hub.Limits{}) {
		var o rendering
		if l.Memory != 0 {
			o.text("memory", memoryText(l.Memory))
		}
		if l.CPU != 0 {
			o.add("cpu", hujson.Float(l.CPU))
		}
		o.count("processes", l.Processes, 0)
		o.count("files", l.Files, 0)
		r.add("limits", object(o...).Value)
	}
	if box := s.Sandbox; box != nil {
		var o rendering
		o.list("read", box.Read)
		o.list("write", box.Write)
		o.ports("connect", box.Connect)
		o.ports("bind", box.Bind)
		r.add("sandbox", object(o...).Value)
	}
	r.flag("directNode", s.DirectNode, false)
}

func (r *rendering) count(name string, value, otherwise int) {
	if value != otherwise {
		r.add(name, hujson.Int(int64(value)))
	}
}

// span renders a duration, 0 as one that never passes.
func (r *rendering) span(name string, value, otherwise time.Duration) {
	switch value {
	case otherwise:
	case 0:
		r.text(name, "off")
	default:
		r.text(name, value.String())
	}
}

func (r *rendering) ports(name string, ports []uint16) {
	if len(ports) == 0 {
		return
	}
	list := &hujson.Array{}
	for _, p := range ports {
		list.Elements = append(list.Elements, hujson.Value{Value: hujson.Int(int64(p))})
	}
	r.add(name, list)
}
