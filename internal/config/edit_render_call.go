package config

import (
	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// calls renders how a server's calls are sent, tried again and bounded.
func (r *rendering) calls(s *hub.Server) {
	r.text("pool", s.Pool)
	r.retry(s.Retry, usualOf(s.Kind).Retry)
	r.gate(s.Gate)
	r.span("toolCache", s.ToolCache, 0)
	r.flag("validate", !s.NoValidate, true)
}

// retry renders what is not as otherwise.
func (r *rendering) retry(is, otherwise hub.Retry) {
	r.count("retries", is.Max, otherwise.Max)
	r.retryTimes(is, otherwise)
}

func (r *rendering) retryTimes(is, otherwise hub.Retry) {
	r.span("retryDelay", is.Delay, otherwise.Delay)
	r.span("maxRetryDelay", is.MaxDelay, otherwise.MaxDelay)
	if is.Jitter != otherwise.Jitter {
		r.add("retryJitter", hujson.Float(is.Jitter))
	}
}

func (r *rendering) gate(g hub.Gate) {
	if g == (hub.Gate{}) {
		return
	}
	var o rendering
	o.count("concurrency", g.Concurrency, 0)
	if g.Concurrency > 0 {
		o.count("queue", g.Queue, usualWaiting)
	}
	if g.Rate > 0 {
		if text := rateText(g.Rate); text != "" {
			o.text("rate", text)
		} else {
			o.add("rate", hujson.Float(g.Rate))
		}
		o.count("burst", g.Burst, usualBurst(g.Rate))
	}
	r.add("callLimits", object(o...).Value)
}

// override renders what holds for a tool in place of what holds for the server.
func (r *rendering) override(t hub.ToolOverride, server hub.Retry) {
	r.text("name", t.Name)
	r.text("description", t.Description)
	if t.Timeout != 0 {
		r.text("timeout", t.Timeout.String())
	}
	if t.Retry != nil {
		r.count("retries", t.Retry.Max, -1) // or there would be nothing if it is as for the server
		r.retryTimes(*t.Retry, server)
	}
	r.gate(t.Gate)
	if t.Cache != nil {
		r.span("cache", *t.Cache, -1)
	}
	if m := t.Messages; m != (hub.CallMessages{}) {
		var o rendering
		o.text("calling", m.Calling)
		o.text("success", m.Success)
		o.text("failed", m.Failed)
		r.add("messages", object(o...).Value)
	}
}
