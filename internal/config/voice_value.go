package config

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// reached are the members that say where something is, and whether it is dialled.
func (e *entry) reached(url *string, enabled *bool) []part {
	return []part{
		{"url", func(m member) { *url = e.link(m, hub.KindWebSocket) }},
		{"enabled", func(m member) { e.set(enabled, m) }},
	}
}

// offered are the members that say which tools it gets.
func (e *entry) offered(group *string, allow, deny *[]string) []part {
	return []part{
		{"group", func(m member) {
			if *group = e.plain(m.name, m.value); *group != "" {
				e.voice.groups = append(e.voice.groups, mention{e.where, *group, m.value.StartOffset})
			}
		}},
		{"allow", func(m member) { *allow = e.patterns(m) }},
		{"deny", func(m member) { *deny = e.patterns(m) }},
	}
}

// dialled are the members that say when it is dialled.
func (e *entry) dialled(delay, maxDelay, timeout *time.Duration) []part {
	return []part{
		{"delay", func(m member) { e.within(delay, m, minDelay, maxMaxDelay) }},
		{"maxDelay", func(m member) { e.within(maxDelay, m, minDelay, maxMaxDelay) }},
		{"dialTimeout", func(m member) { e.within(timeout, m, minPing, maxTimeout) }},
	}
}

// lacks reports whether the entry is an object that does not have the member, or
// has nothing in it; what is else wrong with it is reported already.
func (e *entry) lacks(name string) bool {
	v := find(e.value, name)
	return e.value.Value.Kind() == '{' && (v == nil || isNull(*v) || isEmpty(*v))
}

func (e *entry) checkDelays(m member, delay, maxDelay time.Duration) {
	if delay > maxDelay {
		e.problem(m.at, `%s"delay" is more than "maxDelay"`, e.where)
	}
}

// within is span with bounds; most is 0 for none.
func (e *entry) within(to *time.Duration, m member, least, most time.Duration) {
	d := time.Duration(0)
	switch e.span(&d, m); {
	case d == 0: // reported already
	case d < least || most > 0 && d > most:
		if most == 0 {
			most = maxTimeout
		}
		e.problem(m.value.StartOffset, "%s%s must be from %s to %s", e.where, quoted(m.name), daysText(least), daysText(most))
	default:
		*to = d
	}
}

// amount is size for what fits into an int.
func (e *entry) amount(to *int, m member, least, most int64) {
	e.size(m, `a text such as "8KiB", or a number of bytes`, least, most, func(n int64) { *to = int(n) })
}

// link reads an address. It may hold a token, and is not shown.
func (e *entry) link(m member, kind hub.Kind) string {
	text := e.text(m.name, m.value)
	address, open := withoutPlaceholders(text)
	if open || text == "" {
		return text
	}
	if fault := urlFault(address, kind); fault != "" {
		e.problem(m.value.StartOffset, "%s%s %s", e.where, quoted(m.name), message.Term(fault))
	}
	return text
}

// header reads what is sent as the value of an HTTP header.
func (e *entry) header(m member) string {
	text := e.plain(m.name, m.value)
	if hasControl(text) {
		e.problem(m.value.StartOffset, "%s%s has a control character", e.where, quoted(m.name))
	}
	return text
}
