package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxBatch is how large a batch is about. The smaller, the shorter others wait
// that write to the database too.
const maxBatch = 64 << 10

// batch is what is written of some events that follow each other: a line of JSON
// for each that is kept.
type batch struct {
	first, last, seq int64
	body             string
}

// maker makes batches, one after the other in the same room.
type maker struct {
	body  []byte
	lines []line
}

// line is where the text of an event stands in a batch.
type line struct {
	of       *event
	from, to int
}

// latest are those of the events that are kept of their session's states: of
// those that come within one writing only the last, since the others were over
// within a fraction of a second.
func latest(events []*event) map[string]*event {
	last := make(map[string]*event)
	for _, e := range events {
		if e.kind == api.KindCallState {
			last[e.session] = e
		}
	}
	return last
}

// batch makes a batch of the first of the events, of which there is one at
// least, and returns how many those were. From then on they have their text from
// it, so that it is in memory once.
func (m *maker) batch(events []*event, latest map[string]*event) (b batch, n int) {
	b.first = events[0].id
	m.body = m.body[:0]
	for n < len(events) && len(m.body) < maxBatch {
		e := events[n]
		if e.kind != api.KindCallState || latest[e.session] == e {
			from, to := m.add(e)
			m.lines = append(m.lines, line{e, from, to})
		}
		b.last, b.seq = e.id, e.seq
		n++
	}
	b.body = string(m.body)
	for _, l := range m.lines {
		l.of.set(b.body[l.from:l.to])
	}
	clear(m.lines)
	m.lines = m.lines[:0]
	return b, n
}

// add writes what is needed to make the event anew, and returns where its text
// stands.
func (m *maker) add(e *event) (from, to int) {
	b := strconv.AppendInt(append(m.body, `{"n":`...), e.seq, 10)
	for _, m := range [...]struct{ name, value string }{{"server", e.server}, {"session", e.session}, {"tenant", e.tenant}, {"subject", e.subject}} {
		if m.value != "" {
			b = append(b, `,"`...)
			b = append(b, m.name...)
			b = append(b, `":`...)
			b = wire.AppendString(b, m.value)
		}
	}
	b = append(b, `,"event":`...)
	from = len(b)
	b = e.appendData(b)
	to = len(b)
	m.body = append(b, "}\n"...)
	return from, to
}

// decode reads the events of a batch after the one with the id; its own last one
// is known. A batch in which anything is amiss has none.
func decode(body []byte, after, last int64) ([]*event, error) {
	var events []*event
	at := int64(0)
	for line := range bytes.Lines(body) {
		var l struct {
			N                                int64
			Server, Session, Tenant, Subject string
			Event                            json.RawMessage
		}
		var head struct {
			ID   int64
			Kind string
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("reading a batch of events: %w", err)
		}
		if err := json.Unmarshal(l.Event, &head); err != nil {
			return nil, fmt.Errorf("reading an event: %w", err)
		}
		if head.ID <= at {
			return nil, fmt.Errorf("the event %d stands after the event %d", head.ID, at)
		}
		if at = head.ID; at > after {
			events = append(events, &event{
				id: at, seq: l.N, kind: head.Kind, server: l.Server, session: l.Session, tenant: l.Tenant, subject: l.Subject,
				line: string(l.Event), size: len(line),
			})
		}
	}
	if at != last {
		return nil, fmt.Errorf("a batch of events ends with %d, not with %d", at, last)
	}
	return events, nil
}
