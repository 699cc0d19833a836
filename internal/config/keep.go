package config

import (
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/message"
)

// day is what "d" stands for in how long something is kept.
const day = 24 * time.Hour

// keeping is what may be said of how long something is kept.
type keeping struct {
	least, most time.Duration
	forever     bool   // 0 and "never" stand for 0
	form        string // in which people are to write it
}

// keep reads how long something is kept.
func (e *entry) keep(to *time.Duration, m member, k keeping) {
	lit, ok := m.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '0' && lit.Kind() != '"' {
		e.wrong(m.name, m.value, k.form)
		return
	}
	if k.forever && (lit.Kind() == '0' && string(lit) == "0" || lit.Kind() == '"' && lit.String() == "never") {
		*to = 0
		return
	}
	d, ok := daysOf(lit.String())
	switch {
	case !ok || lit.Kind() == '0':
		e.problem(m.value.StartOffset, "%s%s must be %s", e.where, quoted(m.name), message.Term(k.form))
	case d < k.least || d > k.most:
		e.problem(m.value.StartOffset, "%s%s must be from %s to %s", e.where, quoted(m.name), daysText(k.least), daysText(k.most))
	default:
		*to = d
	}
}

// daysOf is the duration that a text names, which may begin with days.
func daysOf(text string) (time.Duration, bool) {
	const most = 50_000 // twice as many fit into a duration, and nothing is kept for so long
	d := time.Duration(0)
	if days, rest, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 64)
		if err != nil {
			return 0, false
		}
		d = time.Duration(min(n, most)) * day
		if text = rest; text == "" {
			return d, true
		}
	}
	more, err := time.ParseDuration(text)
	if err != nil || more < 0 {
		return 0, false
	}
	return d + min(more, most*day), true
}

// daysText is a duration of whole days, or of a unit, as [daysOf] reads it.
func daysText(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	text := d.String()
	for _, unit := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, unit) {
			text = text[:len(text)-len("0s")]
		}
	}
	return text
}
