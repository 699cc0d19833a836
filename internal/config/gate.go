package config

import (
	"math"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Bounds of "callLimits", and how many calls wait where only their number at
// once is bounded.
const (
	maxConcurrency = 10_000
	maxWaiting     = 10_000
	usualWaiting   = 100
	maxRate        = 100_000.0  // a second
	minRate        = 1.0 / 3600 // which is one an hour
	maxBurst       = 100_000
)

// gate reads "callLimits", be it of a server, a tool or every caller.
func (e *entry) gate(to *hub.Gate, m member) {
	if m.value.Value.Kind() != '{' {
		e.wrong(m.name, m.value, `an object with "concurrency", "queue", "rate" and "burst"`)
		return
	}
	var g hub.Gate
	var queue, burst *member
	e.parts(m,
		part{"concurrency", func(m member) { e.whole(&g.Concurrency, m, 1, maxConcurrency) }},
		part{"queue", func(m member) {
			queue = &m
			e.whole(&g.Queue, m, 0, maxWaiting)
		}},
		part{"rate", func(m member) { e.rate(&g.Rate, m) }},
		part{"burst", func(m member) {
			burst = &m
			e.whole(&g.Burst, m, 1, maxBurst)
		}},
	)
	if g.Concurrency > 0 && queue == nil {
		g.Queue = usualWaiting
	}
	if g.Rate > 0 && burst == nil {
		g.Burst = usualBurst(g.Rate)
	}
	e.without(m, "concurrency", queue)
	e.without(m, "rate", burst)
	*to = g
}

// without reports a member of an object that means nothing without another one.
func (e *entry) without(m member, needed string, given *member) {
	if v := find(m.value, needed); given != nil && (v == nil || isNull(*v)) {
		e.problem(given.value.StartOffset, "%s%s needs %s", e.where, quoted(given.name), quoted(m.name+"."+needed))
	}
}

// usualBurst is the calls of a second, at least one.
func usualBurst(rate float64) int { return int(max(1, math.Ceil(rate))) }

// rate reads calls in a unit of time, or a second.
func (e *entry) rate(to *float64, m member) {
	const form = `a text such as "10/s", "100/m" or "1000/h", or a number of calls a second`
	lit, ok := m.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '0' && lit.Kind() != '"' {
		e.wrong(m.name, m.value, form)
		return
	}
	n, ok := rateOf(lit.String(), lit.Kind() == '0')
	switch {
	case !ok:
		e.problem(m.value.StartOffset, "%s%s must be %s", e.where, quoted(m.name), message.Term(form))
	case n < minRate || n > maxRate:
		e.problem(m.value.StartOffset, `%s%s must be from "1/h" to "%v/s"`, e.where, quoted(m.name), int(maxRate))
	default:
		*to = n
	}
}

// rateUnit is a unit of time in which calls are counted.
type rateUnit struct {
	name    string
	seconds float64
}

func rateUnits() []rateUnit { return []rateUnit{{"s", 1}, {"m", 60}, {"h", 3600}} }

// rateOf is the calls a second that a text names, which is a bare number or has
// a unit.
func rateOf(text string, bare bool) (float64, bool) {
	count, unit, named := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(strings.TrimSpace(count), 64)
	if err != nil || math.IsNaN(n) || named == bare {
		return 0, false
	}
	if bare {
		return n, true
	}
	for _, u := range rateUnits() {
		if strings.TrimSpace(unit) == u.name {
			return n / u.seconds, true
		}
	}
	return 0, false
}

// rateText is a rate as [rateOf] reads it, in the first unit in which it is a
// whole number of calls; "" if there is none.
func rateText(rate float64) string {
	for _, u := range rateUnits() {
		if n := math.Round(rate * u.seconds); n > 0 && n/u.seconds == rate {
			return strconv.FormatFloat(n, 'f', -1, 64) + "/" + u.name
		}
	}
	return ""
}
