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
	body             []byte
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

// newBatch makes a batch of the first of the events, of which there is one at
// least, and returns how many those were.
func newBatch(events []*event, latest map[string]*event) (b batch, n int) {
	b.first = events[0].id
	b.body = make([]byte, 0, min(len(events)*1024, maxBatch+maxBatch/8))
	for n < len(events) && len(b.body) < maxBatch {
		e := events[n]
		if e.kind != api.KindCallState || latest[e.session] == e {
			b.body = e.appendLine(b.body)
		}
		b.last, b.seq = e.id, e.seq
		n++
	}
	return b, n
}

// appendLine writes what is needed to make the event anew.
func (e *event) appendLine(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"n":`...), e.seq, 10)
	for _, m := range [...]struct{ name, value string }{{"server", e.server}, {"session", e.session}, {"subject", e.subject}} {
		if m.value != "" {
			b = append(b, `,"`+m.name+`":`...)
			b = wire.AppendString(b, m.value)
		}
	}
	b = append(b, `,"event":`...)
	b = append(b, e.data()...)
	return append(b, "}\n"...)
}

// decode reads the events of a batch after the one with the id; its own last one
// is known. A batch in which anything is amiss has none.
func decode(body []byte, after, last int64) ([]*event, error) {
	var events []*event
	at := int64(0)
	for line := range bytes.Lines(body) {
		var l struct {
			N                        int64
			Server, Session, Subject string
			Event                    json.RawMessage
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
				id: at, seq: l.N, kind: head.Kind, server: l.Server, session: l.Session, subject: l.Subject, line: l.Event, size: len(line),
			})
		}
	}
	if at != last {
		return nil, fmt.Errorf("a batch of events ends with %d, not with %d", at, last)
	}
	return events, nil
}
