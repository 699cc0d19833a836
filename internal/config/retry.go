package config

import (
	"strconv"
	"time"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
)

const maxRetries = 10

// retrying is what is said about calls that are tried again: of a server, or of
// one of its tools. What is nil is not said.
type retrying struct {
	max      *int
	delay    *time.Duration
	maxDelay *time.Duration
	jitter   *float64

	maxDelayAt int // offset of the value
}

// parts are the members that say it.
func (t *retrying) parts(e *entry) []part {
	return []part{
		{"retries", func(m member) { t.readMax(e, m) }},
		{"retryDelay", func(m member) { t.readDelay(e, m) }},
		{"maxRetryDelay", func(m member) { t.readMaxDelay(e, m) }},
		{"retryJitter", func(m member) { t.readJitter(e, m) }},
	}
}

func (t *retrying) readMax(e *entry, m member) {
	t.max = new(int)
	e.whole(t.max, m, 0, maxRetries)
}

func (t *retrying) readDelay(e *entry, m member) {
	t.delay = new(time.Duration)
	e.pause(t.delay, m)
}

func (t *retrying) readMaxDelay(e *entry, m member) {
	t.maxDelayAt = m.value.StartOffset
	if d := e.duration(m, e.where, time.Millisecond, ""); d > 0 {
		t.maxDelay = &d
	}
}

func (t *retrying) readJitter(e *entry, m member) {
	t.jitter = new(float64)
	e.share(t.jitter, m)
}

func (e *entry) readRetries(m member)       { e.retry.readMax(e, m) }
func (e *entry) readRetryDelay(m member)    { e.retry.readDelay(e, m) }
func (e *entry) readMaxRetryDelay(m member) { e.retry.readMaxDelay(e, m) }
func (e *entry) readRetryJitter(m member)   { e.retry.readJitter(e, m) }

// over is what holds where base does if nothing is said. The longest delay is
// never less than the first one.
func (t *retrying) over(base hub.Retry, e *entry) hub.Retry {
	if t.max != nil {
		base.Max = *t.max
	}
	if t.jitter != nil {
		base.Jitter = *t.jitter
	}
	if t.delay != nil {
		base.Delay = *t.delay
	}
	switch {
	case t.maxDelay == nil:
		base.MaxDelay = max(base.MaxDelay, base.Delay)
	case t.delay == nil:
		base.MaxDelay = *t.maxDelay
		base.Delay = min(base.Delay, base.MaxDelay)
	case *t.maxDelay < *t.delay:
		e.problem(t.maxDelayAt, `%s"maxRetryDelay" is less than "retryDelay"`, e.where)
	default:
		base.MaxDelay = *t.maxDelay
	}
	return base
}

// pause is span for what may be left out: 0 or "off".
func (e *entry) pause(to *time.Duration, m member) {
	if lit, ok := m.value.Value.(hujson.Literal); ok {
		switch lit.String() {
		case "0", "0s", "off":
			*to = 0
			return
		}
	}
	if d := e.duration(m, e.where, time.Millisecond, `, or "off" for none`); d > 0 {
		*to = d
	}
}

// share reads a number from 0 to 1.
func (e *entry) share(to *float64, m member) {
	lit, ok := m.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '0' {
		e.wrong(m.name, m.value, "a number from 0 to 1")
		return
	}
	n, err := strconv.ParseFloat(string(lit), 64)
	if err != nil || n < 0 || n > 1 {
		e.problem(m.value.StartOffset, "%s%s must be a number from 0 to 1", e.where, quoted(m.name))
		return
	}
	*to = n + 0 // not the -0 that may be written
}
