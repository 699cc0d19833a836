package audit

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

const (
	// DefaultLimit is how many calls a page has where nothing is said.
	DefaultLimit = 50
	// MaxLimit is how many calls a page has at most.
	MaxLimit = 1000
	// most is how many entries are read for one page: what takes longer goes on
	// at the cursor.
	most = 25_600
)

// Query returns a page of the calls that the filter wants, newest first: by the
// time at which they ended, and those under way by that at which they began. An
// empty cursor begins with the newest; limit is as [DefaultLimit] and [MaxLimit]
// say. Its errors are [*hub.Error]s.
//
// What ended before is on a page, also if it was not written yet.
func (l *Log) Query(ctx context.Context, f Filter, from string, limit int) (*Page, error) {
	return l.query(ctx, f, from, limit)
}

// query is Query, also for acts.
func (l *Log) query(ctx context.Context, f Filter, from string, limit int) (*Page, error) {
	after, err := parseCursor(from)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, MaxLimit)
	l.flush(ctx)
	page := &Page{Calls: []Call{}}
	err = l.db.View(ctx, func(tx *sql.Tx) error {
		if f.Call != "" {
			return byID(ctx, tx, &f, page)
		}
		m, err := newMerge(ctx, tx, l.position(), &f, after)
		if err != nil {
			return err
		}
		for len(page.Calls) < limit {
			c, err := m.next(ctx)
			if err != nil {
				return err
			}
			if c == nil {
				break
			}
			page.Calls = append(page.Calls, *c)
		}
		page.Next = m.cursor()
		return withIntents(ctx, tx, page.Calls)
	})
	if err != nil {
		return nil, unreadable(err)
	}
	return page, nil
}

// position is how the database calls the function that tells where a text stands in
// another.
func (l *Log) position() string {
	if l.db.Postgres() {
		return "strpos"
	}
	return "instr"
}

// Recent returns the last n calls that ended, newest first. Unless it is empty,
// only those of the server count.
func (l *Log) Recent(ctx context.Context, n int, server string) ([]hub.CallRecord, error) {
	var all []hub.CallRecord
	from := ""
	for len(all) < n {
		page, err := l.Query(ctx, Filter{Server: server}, from, min(n, MaxLimit))
		if err != nil {
			return nil, err
		}
		for i := range page.Calls {
			if c := &page.Calls[i]; c.Outcome != UnderWay && len(all) < n {
				all = append(all, c.CallRecord)
			}
		}
		if from = page.Next; from == "" {
			break
		}
	}
	return all, nil
}

// byID finds the one call with an id.
func byID(ctx context.Context, tx *sql.Tx, f *Filter, page *Page) error {
	list, err := entries(ctx, tx, "call <> '' AND call = $1 ORDER BY node, seq", f.Call)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(e entry) bool { return e.kind.isAct() != f.acts })
	ended := slices.ContainsFunc(list, func(e entry) bool { return e.kind == kindOutcome || e.kind == kindAct })
	for i := range list {
		e := &list[i]
		if e.kind.begins() && ended {
			continue
		}
		if c := callOf(e); f.wants(&c, e.at) {
			page.Calls = append(page.Calls, c)
		}
	}
	return withIntents(ctx, tx, page.Calls)
}

// callOf is the call that an entry tells of.
func callOf(e *entry) Call {
	c := Call{Node: e.node, Seq: e.seq}
	c.Intent, _ = decode(e.body, &c.CallRecord)
	c.ID = e.call
	if e.kind.isAct() {
		c.body = e.body
	}
	if e.kind.begins() {
		c.Intent, c.Outcome = e.seq, UnderWay
	} else {
		c.Ended = micro(e.at)
	}
	return c
}

// wants reports whether the filter asks for a call whose entry was made at a
// time.
func (f *Filter) wants(c *Call, at int64) bool {
	is := func(asked, value string) bool { return asked == "" || asked == value }
	switch {
	case !f.during(at, at), f.Tenant != nil && *f.Tenant != c.Tenant, !is(f.Session, c.Session), !is(f.Subject, c.Subject), !is(string(f.Door), string(c.Door)),
		!is(f.Server, c.Server), !is(f.Tool, c.Tool), !is(f.Method, c.Method), !is(f.Code, c.Code), !is(f.Call, c.ID), !is(f.Node, c.Node),
		!is(f.Verdict, c.Verdict), !is(f.Risk, c.Risk):
		return false
	case len(f.Outcomes) > 0 && !slices.Contains(f.Outcomes, c.Outcome), f.Servers != nil && !slices.Contains(f.Servers, c.Server):
		return false
	case f.Text == "":
		return true
	}
	text := strings.ToLower(f.Text)
	return strings.Contains(strings.ToLower(c.Name), text) || strings.Contains(strings.ToLower(c.Tool), text)
}

// during reports whether any of the time from since to until is asked for.
func (f *Filter) during(since, until int64) bool {
	return (f.Since.IsZero() || until >= f.Since.UnixMicro()) && (f.Until.IsZero() || since < f.Until.UnixMicro())
}

// terms are what a part must have to have what is asked for, save outcomes, of
// which it must have any.
func (f *Filter) terms() (all, outcomes []string) {
	tenant, kind := "", ""
	if f.Tenant != nil {
		tenant = *f.Tenant
	}
	if f.acts {
		kind = termAct
	}
	for _, t := range [...]string{
		term('n', tenant), term('k', kind), term('s', f.Session), term('u', f.Subject), term('d', string(f.Door)), term('v', f.Server), term('t', f.Tool),
		term('m', f.Method), term('c', f.Code),
	} {
		if t != "" {
			all = append(all, t)
		}
	}
	for _, o := range f.Outcomes {
		outcomes = append(outcomes, term('o', string(o)))
	}
	return all, outcomes
}

// pieces are what stands in the body of an entry that has what is asked for, and
// in few others: those are not handed over by the database.
func (f *Filter) pieces() []string {
	var all []string
	add := func(name, value string) {
		if value != "" {
			all = append(all, strings.ToValidUTF8(string(appendText(nil, name, value)), "\ufffd"))
		}
	}
	if f.Tenant != nil {
		add(`"tenant":`, *f.Tenant)
	}
	add(`"session":`, f.Session)
	add(`"subject":`, f.Subject)
	add(`"door":`, string(f.Door))
	add(`"server":`, f.Server)
	add(`"tool":`, f.Tool)
	add(`"method":`, f.Method)
	add(`"code":`, f.Code)
	add(`"verdict":`, f.Verdict)
	add(`"risk":`, f.Risk)
	if len(f.Outcomes) == 1 {
		add(`"outcome":`, string(f.Outcomes[0]))
	}
	return all
}

// withIntents puts in what only the intents of calls tell: the arguments.
func withIntents(ctx context.Context, tx *sql.Tx, calls []Call) error {
	for i := range calls {
		c := &calls[i]
		if c.Intent == 0 || c.Intent == c.Seq || c.body != "" {
			continue
		}
		r, err := intentOf(ctx, tx, c.Node, c.Intent)
		if err != nil {
			return err
		}
		c.Arguments, c.Digest = r.Arguments, r.Digest
	}
	return nil
}
