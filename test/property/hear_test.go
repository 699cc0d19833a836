package property_test

import (
	"slices"
	"strings"
	"time"
)

func (c *client) response(f *frame, on *request) {
	req := c.calls[string(f.ID)]
	switch {
	case req == nil:
		c.fail("got a response to nothing: %s", f.ID)
		return
	case on != nil && on != req:
		c.fail("got the response to %s on the stream of %s", req.id, on.id)
	case req.ended:
		c.fail("got a second response to %s", req.id)
		return
	case req.dead:
		c.fail("got a response to %s, which it had cancelled long ago", req.id)
	}
	req.ended, req.answer, req.endedAt = true, f, c.run.counter.Load()
	req.byServer = f.Result != nil || f.Error != nil && f.Error.Data.Nonce != ""
	close(req.done)
	if req.method == "logging/setLevel" {
		c.levelNext = ""
		if f.Result != nil {
			c.level, c.levelAt = req.level, req.endedAt
		}
	}
	if req.nonce == "" {
		if f.Error != nil && !c.mayFail(req, f.Error) {
			c.fail("was refused %s: %+v", req.method, f.Error)
		}
		return
	}
	switch {
	case f.Result != nil:
		if f.Result.Meta.Nonce != req.nonce {
			c.fail("got the answer to %q for %q", f.Result.Meta.Nonce, req.nonce)
		}
		if req.token && f.Result.Meta.Progress != req.progress {
			c.fail("got %d of %d messages of progress before the answer to %s", req.progress, f.Result.Meta.Progress, req.nonce)
		}
	case f.Error == nil:
		c.fail("got a response that is none to %s", req.nonce)
	case f.Error.Data.Nonce != "":
		if f.Error.Data.Nonce != req.nonce {
			c.fail("got the error of %q for %q", f.Error.Data.Nonce, req.nonce)
		}
		if f.Error.Code == -32042 {
			c.sent[req.nonce+"/0"] = true
		}
	case !c.mayFail(req, f.Error):
		c.fail("got for %s %v the error %+v", req.nonce, req.script, f.Error)
	}
}

// mayFail reports whether an error of the hub's own is honest.
func (c *client) mayFail(req *request, e *failure) bool {
	waited := time.Since(req.began)
	switch e.Data.Code {
	case "cancelled":
		return req.cancelled
	case "session_unknown":
		x, overHTTP := c.way.(*exchange)
		return overHTTP && !c.modern && (c.leaving || x.gone())
	case "timeout":
		return waited >= callLimit
	case "question_of_other_revision":
		return !c.modern && slices.Contains(req.script, "input")
	case "outcome_unknown", "server_down", "server_exited", "server_crash_loop", "server_closed", "server_unreachable":
		return c.run.crashes.Load() > 0
	case "too_many_own_connections":
		return slices.ContainsFunc(c.run.program.servers, func(s serverPlan) bool { return s.callers > 0 })
	}
	return false
}

// of finds the call that a message belongs to, and checks that it may come now.
func (c *client) of(m mark, on *request, what string) *request {
	by, id, _ := strings.Cut(m.Nonce, ":")
	req := c.calls[id]
	switch {
	case by != c.name || req == nil:
		c.fail("got %s of another one's: %+v", what, m)
		return nil
	case on != nil && on != req:
		c.fail("got %s of %s on the stream of %s", what, m.Nonce, on.id)
	case on == nil && what != "progress" && c.unowned(m, req):
		_, overHTTP := c.way.(*exchange)
		if overHTTP && m.K <= req.aside {
			c.fail("got %s number %d of %s behind number %d", what, m.K, m.Nonce, req.aside)
		}
		req.aside = m.K
		return req
	case req.ended:
		c.fail("got %s of %s behind its response", what, m.Nonce)
	case req.dead:
		c.fail("got %s of %s, which it had cancelled long ago", what, m.Nonce)
	case m.K <= req.k:
		c.fail("got %s number %d of %s behind number %d", what, m.K, m.Nonce, req.k)
	}
	req.k = m.K
	return req
}

// unowned reports whether the hub may not have known whose a line or a question
// of the call was: then, on the client's own connection, it is the client's, but
// no call's. That is so if another call was under way; one that was not answered
// by the server counts as long as the server may be at work on it.
func (c *client) unowned(m mark, of *request) bool {
	if !m.Own {
		return false
	}
	if (of.ended || of.cancelled) && !of.byServer {
		return true // the hub has given it up
	}
	said := c.run.began.Add(time.Duration(m.Since))
	for _, req := range c.order {
		switch {
		case req == of || req.server != of.server || req.began.After(said):
		case req.byServer && req.endedAt < m.At:
		case said.Sub(req.began) > lingers:
		default:
			return true
		}
	}
	return false
}

// lingers is the longest time for which a call may have to be reckoned with: that
// of the call, with all questions in it, and the minute behind a cancellation.
const lingers = callLimit + 7*questionLimit + time.Minute

func (c *client) notification(f *frame, on *request) {
	switch p := &f.Params; f.Method {
	case "notifications/progress":
		req := c.of(p.Mark, on, "progress")
		if req == nil {
			return
		}
		if req.progress++; string(p.ProgressToken) != req.id || p.Progress != req.progress {
			c.fail("got progress %d with token %s, and wants %d of %s", p.Progress, p.ProgressToken, req.progress, req.id)
		}
	case "notifications/message":
		c.line(p, on)
	case "notifications/cancelled":
		id := string(p.RequestID)
		// Its answer may be on its way, which takes no time that counts.
		a := c.replied[id]
		switch {
		case c.questions[id] != nil:
		case a == nil && on == nil && c.missed:
		case a == nil, !a.at.Equal(time.Now()) && !a.away:
			c.fail("was told that nobody wants the answer to %s, which is not open", id)
		}
		delete(c.questions, id)
	case "notifications/resources/updated":
		s := c.subs[p.URI]
		if s == nil || s.off {
			c.fail("was told of %s, to which it is not subscribed", p.URI)
			return
		}
		s.at = max(s.at, p.Mark.At)
		if on != nil && c.modern && string(p.Meta.Subscription) != on.id {
			c.fail("was told of %s for the subscription %s on the stream of %s", p.URI, p.Meta.Subscription, on.id)
		}
	case "notifications/tools/list_changed":
		c.lists++
	case "notifications/resources/list_changed", "notifications/prompts/list_changed":
	case "notifications/elicitation/complete":
		if !c.sent[p.ElicitationID] && !c.unread(p.ElicitationID) {
			c.fail("was told that %q is done, of which it knows nothing", p.ElicitationID)
		}
		delete(c.sent, p.ElicitationID)
	case "notifications/subscriptions/acknowledged":
		req := c.calls[string(p.Meta.Subscription)]
		if req == nil || on != nil && on != req {
			c.fail("got the acknowledgement of %s", p.Meta.Subscription)
			return
		}
		for _, s := range c.subs {
			if s.listen == req {
				s.on = len(p.Notifications.URIs) > 0
			}
		}
	default:
		c.fail("got %s", f.Method)
	}
}

// unread reports whether an elicitation is one of which the client was told where
// it did not listen: on a stream that it has cut off, or in the answer to a call
// that it has cancelled.
func (c *client) unread(elicitation string) bool {
	by, rest, _ := strings.Cut(elicitation, ":")
	id, _, _ := strings.Cut(rest, "/")
	req := c.calls[id]
	return by == c.name && req != nil && (req.torn || req.cancelled)
}

// line checks a line of a log.
func (c *client) line(p *params, on *request) {
	m := p.Data.Mark
	if whose, ok := strings.CutPrefix(m.Nonce, "ambient "); ok {
		if whose != "" && whose != c.name {
			c.fail("got a line of the log of %q's connection", whose)
		}
		return
	}
	req := c.of(m, on, "a line of the log")
	if req == nil {
		return
	}
	wants, since := c.level, c.levelAt
	if c.modern {
		if wants, since = req.level, 0; wants == "" {
			c.fail("got a line of the log of %s, which asked for none", m.Nonce)
		}
	}
	if c.levelNext != "" && rank(c.levelNext) < rank(wants) {
		wants = c.levelNext
	}
	if wants != "" && m.At > since && rank(p.Level) < rank(wants) {
		c.fail("got a line of the level %s of %s, and wants %s", p.Level, m.Nonce, wants)
	}
}

// levels are those that the programs use, in their order.
var levels = [...]string{"debug", "info", "warning", "error", "alert"}

func rank(level string) int {
	for i, l := range levels {
		if l == level {
			return i
		}
	}
	return -1
}
