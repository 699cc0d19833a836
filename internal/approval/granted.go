package approval

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Asked is a call, for [Desk.Granted].
type Asked struct {
	Tenant, Subject, Token string
	Server, Tool, ToolHash string
	ArgumentsHash          string
	Arguments              []byte // JSON object; nil for none
	Risk                   hub.Risk
	Retrier                *Retrier // as [Details.Retrier]
}

// book is the grants in force, as they were read last. Nobody changes it.
type book struct {
	of   map[place][]*standing
	mark [2]int64 // see markOfGrants
}

// place is of which tool a grant is.
type place struct{ tenant, server, tool string }

// standing is a grant as calls are held against it.
type standing struct {
	Grant
	members map[string]any
	tally   *tally
}

// tally counts the uses that are not written.
type tally struct {
	uses atomic.Int64
	last atomic.Int64 // microseconds
	over atomic.Bool  // it was revoked here
}

// Granted returns the grant that covers a call, and counts its use.
func (d *Desk) Granted(q *Asked) (Grant, bool) {
	at := time.Now()
	s := d.covering(q, at)
	if s == nil {
		return Grant{}, false
	}
	s.tally.last.Store(micros(at))
	s.tally.uses.Add(1)
	return s.Grant, true
}

// Covering returns the grant that covers a call now, without counting that as a use.
func (d *Desk) Covering(q *Asked) (Grant, bool) {
	if s := d.covering(q, time.Now()); s != nil {
		return s.Grant, true
	}
	return Grant{}, false
}

// covering is the standing grant that covers a call; nil for none.
func (d *Desk) covering(q *Asked, at time.Time) *standing {
	for _, s := range d.book.Load().of[place{q.Tenant, q.Server, q.Tool}] {
		if s.covers(q, at) && !d.gaveItself(s, q) {
			return s
		}
	}
	return nil
}

// gaveItself reports whether a grant was given with what was made by whoever makes
// the call, or by whoever has it made again.
func (d *Desk) gaveItself(s *standing, q *Asked) bool {
	if d.opt.Made == nil || s.ByToken == "" {
		return false
	}
	by := hub.Principal{Subject: q.Subject, Tenant: q.Tenant, Token: q.Token}
	return d.opt.Made(s.ByToken, by) || q.Retrier != nil &&
		d.opt.Made(s.ByToken, hub.Principal{Subject: q.Retrier.Subject, Tenant: q.Retrier.Tenant, Token: q.Retrier.Token})
}

func (s *standing) covers(q *Asked, at time.Time) bool {
	gave := s.By == q.Subject && s.ByTenant == q.Tenant || s.ByToken != "" && s.ByToken == q.Token || q.Retrier.is(s.By, s.ByTenant, s.ByToken)
	return !gave && !s.tally.over.Load() && s.InForce(at) && q.Risk <= s.MaxRisk && q.Risk < hub.RiskCritical && s.ToolHash == q.ToolHash &&
		(s.Subject == "" || s.Subject == q.Subject) &&
		(s.ArgumentsHash == "" || s.ArgumentsHash == q.ArgumentsHash) &&
		(s.members == nil || hasMembers(q.Arguments, s.members))
}

// hasMembers reports whether an object has members, each as often as it should. What
// a server may read in another way than it is read here is not covered: members that
// stand twice, or differ in upper and lower case only.
func hasMembers(raw []byte, want map[string]any) bool {
	if wire.Valid(raw, wire.Limits{UniqueKeys: true}) != nil || ambiguous(raw) {
		return false
	}
	whole := wire.Value(raw)
	if raw[whole.Start] != '{' {
		return false
	}
	found := 0
	for m := range wire.Object(raw, whole) {
		name, _ := wire.String(raw, m.Key)
		value, ok := want[name]
		if !ok {
			for other := range want {
				if strings.EqualFold(name, other) {
					return false
				}
			}
			continue
		}
		if got, err := decode(m.Value.Of(raw)); err != nil || !reflect.DeepEqual(got, value) {
			return false
		}
		found++
	}
	return found == len(want)
}

// ambiguous reports whether several strings may read the same: escapes of halves of
// characters, and what stands for what is none.
func ambiguous(raw []byte) bool {
	return bytes.Contains(raw, []byte(`\ud`)) || bytes.Contains(raw, []byte(`\uD`)) || bytes.ContainsRune(raw, '\uFFFD')
}

// decode reads JSON, with numbers as they are written.
func decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// readGrants takes over the grants in force.
func (d *Desk) readGrants(ctx context.Context) error {
	d.reading.Lock() // or an older list might come last
	defer d.reading.Unlock()
	mark, err := d.markOfGrants(ctx)
	if err != nil {
		return err
	}
	grants, err := d.findGrants(ctx, "SELECT "+grantColumns+" FROM approval_grant WHERE expires > $1 AND revoked = 0 ORDER BY id", micros(now()))
	if err != nil {
		return err
	}
	next := &book{of: make(map[place][]*standing), mark: mark}
	tallies := make(map[string]*tally, len(grants))
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range grants {
		s := &standing{Grant: grants[i], tally: d.tallies[grants[i].ID]}
		if s.tally == nil {
			s.tally = &tally{}
		}
		tallies[s.ID] = s.tally
		if s.Members != nil {
			s.members = make(map[string]any, len(s.Members))
			for name, value := range s.Members {
				if s.members[name], err = decode(value); err != nil {
					return fmt.Errorf("reading the grant %s: %w", s.ID, err)
				}
			}
		}
		at := place{s.Tenant, s.Server, s.Tool}
		next.of[at] = append(next.of[at], s)
	}
	for id, t := range d.tallies {
		if tallies[id] == nil && t.uses.Load() > 0 {
			tallies[id] = t // until that is written
		}
	}
	d.tallies = tallies
	d.book.Store(next)
	d.stale.Store(false)
	return nil
}

// markOfGrants is another one for each change of the grants.
func (d *Desk) markOfGrants(ctx context.Context) (mark [2]int64, err error) {
	err = d.db.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(MAX(changed), 0) FROM approval_grant").Scan(&mark[0], &mark[1])
	if err != nil {
		return mark, d.db.Err(fmt.Errorf("looking for changes of grants: %w", err))
	}
	return mark, nil
}

// renewGrants is readGrants if any were changed.
func (d *Desk) renewGrants(ctx context.Context) error {
	mark, err := d.markOfGrants(ctx)
	if err != nil || mark == d.book.Load().mark {
		return err
	}
	return d.readGrants(ctx)
}

// countUses writes how often grants were used since it was done last. What cannot
// be written is tried again.
func (d *Desk) countUses(ctx context.Context) {
	type count struct {
		id         string
		tally      *tally
		uses, last int64
	}
	var all []count
	d.mu.Lock()
	for id, t := range d.tallies {
		if n := t.uses.Swap(0); n > 0 {
			all = append(all, count{id, t, n, t.last.Load()})
		}
	}
	d.mu.Unlock()
	if len(all) == 0 {
		return
	}
	err := d.db.Tx(ctx, store.Process, func(tx *sql.Tx) error {
		for _, c := range all {
			_, err := tx.ExecContext(context.WithoutCancel(ctx), `UPDATE approval_grant SET uses = uses + $2,
				used = CASE WHEN used > $3 THEN used ELSE $3 END WHERE id = $1`, c.id, c.uses, c.last)
			if err != nil {
				return fmt.Errorf("counting the uses of grants: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		for _, c := range all {
			c.tally.uses.Add(c.uses)
		}
		d.log.WarnContext(ctx, "the uses of grants could not be written", "error", err)
	}
}
