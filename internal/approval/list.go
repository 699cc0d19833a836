package approval

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// How many there are on a page.
const (
	defaultLimit = 50
	maxLimit     = 1000
)

// Get returns a request with its arguments. Code: approval_unknown.
func (d *Desk) Get(ctx context.Context, id string) (Request, error) {
	return d.openedOr(d.find(ctx, d.db, id))
}

// Look is Get for somebody, to whom what may not be seen is unknown.
func (d *Desk) Look(ctx context.Context, id string, viewer hub.Principal) (Request, error) {
	r, err := d.find(ctx, d.db, id)
	if err == nil && !r.SeenBy(&viewer) {
		err = unknown(id)
	}
	return d.openedOr(r, err)
}

// SeenBy reports whether somebody may see the request: who has asked for it, and
// of the tenant, who may decide, or of the hub itself, who operates it; within the
// scope of what was shown.
func (r *Request) SeenBy(p *hub.Principal) bool { return sees(p, r.Tenant, r.Subject, r.Server) }

// sees reports whether somebody may see what is about a call.
func sees(p *hub.Principal, tenant, subject, server string) bool {
	switch {
	case !hub.Scope(p.Scope).Server(server):
		return false
	case p.Role.May(hub.MayDecide):
		return p.Tenant == tenant || overseer(p)
	}
	return p.Tenant == tenant && p.Subject == subject
}

// overseer reports whether somebody sees what all tenants have.
func overseer(p *hub.Principal) bool { return p.Hubwide() && p.Role.May(hub.MayOperate) }

// Query says which requests are wanted. The zero value stands for all.
type Query struct {
	Viewer  *hub.Principal // only what this one may see; nil for all
	Status  []Status       // one of these
	Subject string         // asked for by this one
	Server  string
	Tool    string // the server's own name
	After   string // id that the page before has ended with
	Limit   int    // 0 for 50, at most 1000
}

// List returns a page of requests, newest first, without their arguments.
func (d *Desk) List(ctx context.Context, q Query) ([]Request, error) {
	var c conditions
	c.seenBy(q.Viewer, "")
	if len(q.Status) > 0 {
		c.in("status", q.Status)
	}
	for column, value := range map[string]string{"subject": q.Subject, "server": q.Server, "tool": q.Tool} {
		if value != "" {
			c.add(column+" = ?", clean(value))
		}
	}
	var all []Request
	err := d.each(ctx, c.page("SELECT "+columns+" FROM approval", q.After, q.Limit), c.args, func(s scanner) error {
		r, err := scan(s)
		if err == nil {
			all = append(all, r.Request)
		}
		return err
	})
	return all, err
}

// Waiting returns how many requests are pending, over all hubs that share the
// database: of those that the viewer may see, or nil for all.
func (d *Desk) Waiting(ctx context.Context, viewer *hub.Principal) (int, error) {
	var c conditions
	c.seenBy(viewer, "")
	c.in("status", []Status{Pending})
	c.add("expires > ?", micros(now()))
	var n int
	err := d.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM approval WHERE "+strings.Join(c.all, " AND "), c.args...).Scan(&n)
	if err != nil {
		return 0, d.db.Err(fmt.Errorf("counting requests for approval: %w", err))
	}
	return n, nil
}

// Counted returns how many requests have come to each status by this hub's doing
// since it was opened, so that hubs that share a database count each of them once. A
// request counts under pending when it is made.
func (d *Desk) Counted() map[Status]int64 {
	all := make(map[Status]int64, len(Statuses))
	for i, s := range Statuses {
		all[s] = d.counts[i].Load()
	}
	return all
}

// count notes that a request has come to a status.
func (d *Desk) count(s Status) {
	if i := slices.Index(Statuses[:], s); i >= 0 {
		d.counts[i].Add(1)
	}
}

// each calls f with each row that a query finds.
func (d *Desk) each(ctx context.Context, query string, args []any, f func(scanner) error) error {
	rows, err := d.db.QueryContext(ctx, query, args...)
	if err == nil {
		err = gather(rows, f)
	}
	if err != nil {
		return d.db.Err(fmt.Errorf("reading approvals: %w", err))
	}
	return nil
}

// scanner is a row that was found.
type scanner interface{ Scan(dest ...any) error }

// gather calls f with each row, and closes them.
func gather(rows *sql.Rows, f func(scanner) error) error {
	var err error
	for err == nil && rows.Next() {
		err = f(rows)
	}
	return errors.Join(err, rows.Err(), rows.Close())
}

// conditions are what rows have to meet.
type conditions struct {
	all  []string
	args []any
}

// add adds a condition, in which each question mark stands for the next value.
func (c *conditions) add(condition string, values ...any) {
	for _, v := range values {
		c.args = append(c.args, v)
		condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(c.args)), 1)
	}
	c.all = append(c.all, condition)
}

// in has a column be one of some values.
func (c *conditions) in(column string, values []Status) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = string(v)
	}
	c.add(column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", args...)
}

// seenBy leaves what somebody may see, as [sees] says; nil sees all. What has one of
// the further subjects may be seen as what is their own.
func (c *conditions) seenBy(p *hub.Principal, further string) {
	if p == nil {
		return
	}
	var servers []any
	for _, word := range hub.Scope(p.Scope).Words() {
		if server, ok := strings.CutPrefix(word, "server:"); ok {
			servers = append(servers, clean(server))
		}
	}
	if len(servers) > 0 {
		c.add("server IN (?"+strings.Repeat(", ?", len(servers)-1)+")", servers...)
	}
	switch {
	case !p.Role.May(hub.MayDecide):
		c.add("tenant = ? AND subject IN ("+further+"?)", clean(p.Tenant), clean(p.Subject))
	case !overseer(p):
		c.add("tenant = ?", clean(p.Tenant))
	}
}

// page is the query for a page, newest first.
func (c *conditions) page(query, after string, limit int) string {
	if after != "" {
		c.add("id < ?", clean(after))
	}
	if len(c.all) > 0 {
		query += " WHERE " + strings.Join(c.all, " AND ")
	}
	if limit <= 0 {
		limit = defaultLimit
	}
	return query + " ORDER BY id DESC LIMIT " + strconv.Itoa(min(limit, maxLimit))
}
