package config

import (
	"cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// RenderEndpoint returns an endpoint as an entry of a configuration file, as JSON,
// without what is the default anyway. Placeholders stay as they are.
func RenderEndpoint(e hub.Endpoint) []byte {
	usual := profiled(usualEndpoint(), e.Profile)
	var r rendering
	r.text("url", e.URL)
	r.flag("enabled", e.Enabled, usual.Enabled)
	if usual.Profile != hub.ProfileXiaoZhi {
		r.text("profile", string(usual.Profile))
	}
	r.text("group", e.Group)
	r.list("allow", e.Allow)
	r.list("deny", e.Deny)
	r.list("requiredTools", e.RequiredTools)
	r.span("deadline", e.Deadline, usual.Deadline)
	r.flag("cancelLate", e.CancelLate, false)
	r.count("maxResult", e.MaxResult, usual.MaxResult)
	r.count("maxTools", e.MaxTools, usual.MaxTools)
	r.count("maxList", e.MaxList, usual.MaxList)
	r.flag("pages", e.Pages, false)
	r.count("maxMessage", e.MaxMessage, usual.MaxMessage)
	r.count("concurrency", e.Concurrency, usual.Concurrency)
	r.count("queue", e.Queue, usual.Queue)
	r.flag("keepActions", e.KeepActions, false)
	if e.Refresh != usual.Refresh {
		r.text("refresh", cmp.Or(string(e.Refresh), refreshAuto))
	}
	r.span("ping", e.Ping, usual.Ping)
	r.span("pingTimeout", e.PingTimeout, usual.PingTimeout)
	r.span("delay", e.Delay, usual.Delay)
	r.span("maxDelay", e.MaxDelay, usual.MaxDelay)
	r.span("dialTimeout", e.DialTimeout, usual.DialTimeout)
	r.text("language", string(e.Language))
	return object(r...).Pack()
}
