package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// farEnd is after every entry.
const farEnd = int64(1) << 62

func micro(at int64) time.Time { return time.UnixMicro(at).UTC() }

// merge walks all chains from their ends at once.
type merge struct {
	walks []*walk
	left  int // entries that may still be read
}

// newMerge begins after a cursor. position is how the database calls the
// function that tells where a text stands in another.
func newMerge(ctx context.Context, tx *sql.Tx, position string, f *Filter, after cursor) (*merge, error) {
	all, err := nodes(ctx, tx)
	if err != nil {
		return nil, err
	}
	m := &merge{left: most}
	for _, node := range all {
		before, given := after[node]
		if f.Node != "" && f.Node != node || after != nil && !given {
			continue // a chain that has come since the first page
		}
		if !given {
			before = farEnd
		}
		w, err := newWalk(ctx, tx, position, f, node, before)
		if err != nil {
			return nil, err
		}
		m.walks = append(m.walks, w)
	}
	return m, nil
}

// next is the newest call that is left; nil if there is none, or if enough was
// read.
func (m *merge) next(ctx context.Context) (*Call, error) {
	var newest *walk
	for _, w := range m.walks {
		if w.found == nil {
			if err := w.advance(ctx, &m.left); err != nil {
				return nil, err
			}
		}
		if w.found == nil && !w.done {
			return nil, nil // enough was read, and what is to come may be the newest
		}
		if w.found != nil && (newest == nil || w.at > newest.at) {
			newest = w
		}
	}
	if newest == nil {
		return nil, nil
	}
	c := newest.found
	newest.found, newest.before = nil, c.Seq
	return c, nil
}

// cursor is where the next page begins; "" if there is nothing left.
func (m *merge) cursor() string {
	c := make(cursor)
	more := false
	for _, w := range m.walks {
		c[w.node] = w.before
		more = more || !w.done || w.found != nil
	}
	if !more {
		return ""
	}
	return c.String()
}

// walk goes back through one chain.
type walk struct {
	tx       *sql.Tx
	filter   *Filter
	all, any []string // terms
	pieces   string   // condition on bodies, and its parameters
	values   []any
	node     string
	open     map[int64]bool // intents without an outcome

	before int64 // what was given out, or passed over, begins here
	buffer []entry
	low    int64  // where the part in the buffer begins
	parts  []part // to be looked at, newest first
	bound  int64  // parts that begin before it were not read yet
	done   bool   // there is nothing more to be read

	found *Call // not given out yet
	at    int64 // the time of its entry
}

func newWalk(ctx context.Context, tx *sql.Tx, position string, f *Filter, node string, before int64) (*walk, error) {
	w := &walk{tx: tx, filter: f, node: node, open: make(map[int64]bool), before: before, low: farEnd, bound: before}
	w.all, w.any = f.terms()
	for _, piece := range f.pieces() {
		w.values = append(w.values, piece)
		w.pieces += fmt.Sprintf(" AND %s(body, $%d) > 0", position, len(w.values)+3)
	}
	t, err := readTail(ctx, tx, node)
	if err != nil {
		return nil, err
	}
	for _, seq := range t.open {
		w.open[seq] = true
	}
	for _, e := range t.entries {
		if e.seq < before {
			w.buffer = append(w.buffer, e)
		}
	}
	return w, nil
}

// advance looks for the next call, and takes what it reads from left.
func (w *walk) advance(ctx context.Context, left *int) error {
	for {
		for n := len(w.buffer); n > 0; n = len(w.buffer) {
			e := w.buffer[n-1]
			w.buffer = w.buffer[:n-1]
			if c := w.look(&e); c != nil {
				w.found, w.at = c, e.at
				return nil
			}
			w.before = e.seq
		}
		w.before = min(w.before, w.low)
		if w.done || *left <= 0 {
			return nil
		}
		if err := w.fill(ctx, left); err != nil {
			return err
		}
	}
}

// look returns the call that an entry tells of, if it is asked for.
func (w *walk) look(e *entry) *Call {
	switch {
	case e.kind.isAct() != w.filter.acts:
		return nil
	case e.kind.begins() && !w.open[e.seq]:
		return nil
	case !e.kind.begins() && e.kind != kindCall && e.kind != kindOutcome && e.kind != kindAct:
		return nil
	case !w.filter.during(e.at, e.at):
		return nil
	}
	if c := callOf(e); w.filter.wants(&c, e.at) {
		return &c
	}
	return nil
}

// fill reads the next part that may have what is asked for.
func (w *walk) fill(ctx context.Context, left *int) error {
	if len(w.parts) == 0 {
		const atOnce = 64
		since, until := int64(-1)<<62, farEnd
		if !w.filter.Since.IsZero() {
			since = w.filter.Since.UnixMicro()
		}
		if !w.filter.Until.IsZero() {
			until = w.filter.Until.UnixMicro()
		}
		list, err := parts(ctx, w.tx, "node = $1 AND first < $2 AND until >= $3 AND since < $4 ORDER BY first DESC LIMIT $5",
			w.node, w.bound, since, until, atOnce)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			w.done = true
			return nil
		}
		w.parts, w.bound = list, list[len(list)-1].first
	}
	p := &w.parts[0]
	w.parts = w.parts[1:]
	*left-- // it was read as well
	if !w.may(p) {
		w.before = min(w.before, p.first)
		return nil
	}
	w.buffer, w.low = w.buffer[:0], min(w.before, p.first)
	*left -= int(p.last - p.first)
	keep := func(e *entry) { w.buffer = append(w.buffer, *e) }
	return eachOfPart(ctx, w.tx, keep, w.node, p.first, min(p.last, w.before-1), w.pieces, w.values...)
}

// may reports whether a part may have what is asked for.
func (w *walk) may(p *part) bool {
	if !p.has(w.all) {
		return false
	}
	if len(w.any) == 0 {
		return true
	}
	for i, t := range w.any {
		if w.filter.Outcomes[i] == UnderWay && w.hasOpen(p) || t != "" && p.has([]string{t}) {
			return true
		}
	}
	return false
}

func (w *walk) hasOpen(p *part) bool {
	for seq := range w.open {
		if p.first <= seq && seq <= p.last {
			return true
		}
	}
	return false
}

// endings goes through the entries of a chain that tell how calls ended, in
// their order, from those of since to before until.
func endings(ctx context.Context, q reader, node string, since, until int64, f func(*entry)) error {
	if since >= until {
		return nil
	}
	list, err := parts(ctx, q, "node = $1 AND until >= $2 AND since < $3 ORDER BY first", node, since, until)
	if err != nil {
		return err
	}
	for i := range list {
		err := eachOfPart(ctx, q, f, node, list[i].first, list[i].last, " AND at >= $4 AND at < $5 AND kind IN ('call', 'outcome')", since, until)
		if err != nil {
			return err
		}
	}
	return nil
}

// intentOf is the call of an intent; an empty one if it is not there any more.
func intentOf(ctx context.Context, q reader, node string, seq int64) (hub.CallRecord, error) {
	var r hub.CallRecord
	var body string
	err := q.QueryRowContext(ctx, "SELECT body FROM audit_entry WHERE node = $1 AND seq = $2", node, seq).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("reading an intent: %w", err)
	}
	decode(body, &r)
	return r, nil
}
