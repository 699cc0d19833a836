package events

import (
	"context"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Filter says which events are wanted, and may be seen. The zero value stands for
// all. Gaps are never left out.
type Filter struct {
	Kinds    []string // one of these; none for all
	Server   string   // about this one
	Sessions []string // about one of these; none for all
	Subject  string   // whose calls may be seen; "" for everybody's

	// Tenant is whose calls may be seen besides; nil for those of all tenants.
	Tenant *string
	// Sees reports whether a server may be seen, by its key; nil stands for all.
	Sees func(server string) bool
	// Servers are those of which calls and all else is told; nil for all, also for what
	// names none.
	Servers []string
	// Decides has requests for approval be seen whoever's they are, of the tenant.
	Decides bool
}

func (f *Filter) wants(e *event) bool {
	switch {
	case e.kind == api.KindGap:
		return true
	case len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.kind),
		f.Server != "" && e.server != f.Server,
		len(f.Sessions) > 0 && !slices.Contains(f.Sessions, e.session),
		f.Subject != "" && e.subject != "" && e.subject != f.Subject && !(f.Decides && e.kind == api.KindApprovalChanged),
		f.Tenant != nil && e.subject != "" && e.tenant != *f.Tenant,
		f.Servers != nil && (e.server != "" || e.subject != "") && !slices.Contains(f.Servers, e.server),
		f.Sees != nil && (e.subject == "" || e.kind == api.KindApprovalChanged) && e.server != "" && !f.Sees(e.server):
		return false
	}
	return true
}

// Event is one event for whoever listens.
type Event struct {
	ID   int64
	Kind string

	event *event
}

// AppendData appends the event as one line of JSON, an [api.Event].
func (e *Event) AppendData(b []byte) []byte {
	b = append(b, e.event.data()...)
	if e.event.result == nil && e.event.said == "" {
		return b
	}
	b = b[:len(b)-len("}}")]
	if e.event.said != "" {
		b = wire.AppendString(append(b, `,"errorMessage":`...), e.event.said)
	}
	if e.event.result != nil {
		b = append(append(b, `,"result":`...), e.event.result...)
	}
	return append(b, "}}"...)
}

// Reader is a place in the stream. It is of one goroutine, which closes it.
type Reader struct {
	log    *Log
	filter Filter
	at     int64 // id of the last event that was looked at
	seq    int64 // its number; 0 if that is not known
}

// What one [Reader.Next] returns at most.
const (
	manyEvents = 256
	manyBytes  = 256 << 10
)

// Now is the place after the last event.
const Now int64 = -1

// Read returns a reader of what comes after the event with the id, or after the
// last one if it is [Now].
func (l *Log) Read(after int64, f Filter) *Reader {
	r := &Reader{log: l, filter: f, at: after}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listen(1)
	if after == Now {
		r.at, r.seq = l.last, l.seq
	}
	return r
}

// Close says that nobody reads any more. It has to be called once.
func (r *Reader) Close() {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	r.log.listen(-1)
}

// Next appends to dst the events that come next, as many as there are but no
// more than fit into 256 KiB or so. If there are none yet, more is closed when
// there may be; else it is nil. Where events are missing there is one of the
// kind gap. After an error, of the database as [store.DB.Err] makes it, reading
// may be tried again.
func (r *Reader) Next(ctx context.Context, dst []Event) (_ []Event, more <-chan struct{}, err error) {
	for ctx.Err() == nil {
		got, more, behind := r.recall(dst)
		if len(got) > len(dst) || more != nil {
			return got, more, nil
		}
		if !behind {
			continue
		}
		if got, err = r.lookUp(ctx, got); err != nil || len(got) > len(dst) {
			return got, nil, err
		}
	}
	return dst, nil, context.Cause(ctx)
}

// recall reads on in memory. Behind says that what comes next is not there.
func (r *Reader) recall(dst []Event) (_ []Event, more <-chan struct{}, behind bool) {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case r.at > l.last:
		return append(dst, r.skip(gapUnknown, l.last, l.seq)), nil, false
	case r.at < l.pruned:
		return append(dst, r.skip(gapExpired, l.pruned, l.prunedSeq)), nil, false
	case r.at < l.ring.floor:
		return dst, nil, true
	}
	next := l.ring.after(r.at)
	if len(next) == 0 {
		return dst, l.listeners.join(), false
	}
	size := 0
	for _, e := range next[:min(len(next), 8*manyEvents)] {
		r.at, r.seq = e.id, e.seq
		if !r.filter.wants(e) {
			continue
		}
		dst = append(dst, Event{ID: e.id, Kind: e.kind, event: e})
		if size += e.size; size >= manyBytes || len(dst) >= manyEvents {
			break
		}
	}
	return dst, nil, false
}

// lookUp reads on in the database.
func (r *Reader) lookUp(ctx context.Context, dst []Event) ([]Event, error) {
	l := r.log
	l.mu.Lock()
	floor, hole := l.ring.floor, l.ring.hole
	l.mu.Unlock()
	events, last, seq, err := l.load(ctx, r.at)
	if err != nil {
		return dst, err
	}
	l.mu.Lock()
	pruned := l.pruned
	l.mu.Unlock()
	if r.at < pruned {
		return dst, nil // what was found may be all that is left of more
	}
	for _, e := range events {
		r.at, r.seq = e.id, e.seq
		if r.filter.wants(e) {
			dst = append(dst, Event{ID: e.id, Kind: e.kind, event: e})
		}
	}
	switch {
	case len(events) > 0:
	case last > 0:
		l.mu.Lock()
		defer l.mu.Unlock()
		dst = append(dst, r.skip(gapStore, last, seq))
	case hole > r.at:
		l.mu.Lock()
		defer l.mu.Unlock()
		dst = append(dst, r.skip(gapStore, floor, 0))
	default:
		r.at = floor
	}
	return dst, nil
}

// skip goes on after the event with the id, which is the seq-th if that is known,
// and returns the gap that tells so. The caller holds the log's mu.
func (r *Reader) skip(reason string, to, seq int64) Event {
	missed := int64(0)
	if reason != gapUnknown && r.seq > 0 && seq > r.seq {
		missed = seq - r.seq
	}
	r.log.figures.Missed += missed
	r.at, r.seq = to, seq
	e := missing(reason, missed)
	e.id, e.at = to, time.Now()
	return Event{ID: to, Kind: e.kind, event: e}
}
