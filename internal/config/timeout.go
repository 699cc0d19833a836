package config

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/message"
)

// maxTimeout is the longest time that a call may take.
const maxTimeout = 24 * time.Hour

// timeoutUnit is what a bare number for "timeout" counts. Most programs count
// milliseconds. Cline and Roo Code count seconds, up to an hour; their entries
// are told by the calls that need no asking. Kiro has the same member and
// counts milliseconds, but nobody means less than four seconds by those.
func (e *entry) timeoutUnit(m member) time.Duration {
	const longest = 3600 // seconds
	counts := find(e.value, "autoApprove") != nil || find(e.value, "alwaysAllow") != nil
	lit, ok := m.value.Value.(hujson.Literal)
	if e.unit != time.Millisecond || !counts || !ok || lit.Kind() != '0' {
		return e.unit
	}
	if n, err := strconv.Atoi(string(lit)); err != nil || n <= 0 || n > longest {
		return e.unit
	}
	e.warn(m.value.StartOffset, `%s"timeout" is taken for %ss, since Cline and Roo Code count seconds`, e.where, lit)
	return time.Second
}

// duration reads a bare number of units, or a text with units of its own. It
// is 0 if it is of no use, which is then reported. never is what a problem says
// besides, of one that may be none.
func (d *document) duration(m member, where message.Phrase, unit time.Duration, never string) time.Duration {
	besides := message.Term(never)
	form := message.Say(`whole milliseconds, such as 30000, or a duration, such as "30s"%s`, besides)
	if unit == time.Second {
		form = message.Say(`whole seconds, such as 30, or a duration, such as "30s"%s`, besides)
	}
	lit, ok := m.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '0' && lit.Kind() != '"' {
		d.problem(m.value.StartOffset, "%s%s must be %s, but is %s", where, quoted(m.name), form, kindOf(m.value))
		return 0
	}
	limit, err := time.ParseDuration(lit.String())
	if lit.Kind() == '0' {
		limit, err = times(string(lit), unit)
	}
	if err != nil {
		d.problem(m.value.StartOffset, "%s%s must be %s", where, quoted(m.name), form)
		return 0
	}
	if lit.Kind() == '0' && 0 < limit && limit < time.Second {
		d.warn(m.value.StartOffset, `%s%s is in milliseconds; write "%ss" if seconds are meant`, where, quoted(m.name), lit)
	}
	switch {
	case limit <= 0:
		d.problem(m.value.StartOffset, "%s%s must be more than 0%s", where, quoted(m.name), besides)
		return 0
	case limit > maxTimeout:
		d.problem(m.value.StartOffset, "%s%s must be at most 24h%s", where, quoted(m.name), besides)
		return 0
	}
	return limit
}

// times is the duration that a whole number of units stands for. One that no
// duration can hold becomes the longest or shortest.
func times(lit string, unit time.Duration) (time.Duration, error) {
	n, err := strconv.ParseInt(lit, 10, 64) // nearest to lit if that is out of range
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, err
	}
	limit := math.MaxInt64 / int64(unit)
	return time.Duration(min(max(n, -limit), limit)) * unit, nil
}
