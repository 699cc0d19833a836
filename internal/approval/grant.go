package approval

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// LongestGrant is how long a grant holds at most.
const LongestGrant = 30 * 24 * time.Hour

// Grant is an agreement that stands: calls that it covers ask nobody. It never
// covers calls of who gave it, nor critical ones: those need a person each time.
type Grant struct {
	ID      string `json:"-"`
	Tenant  string `json:"-"` // whose calls
	Subject string `json:"-"` // of this caller; "" for all of the tenant
	Server  string `json:"-"` // of this server

	Tool          string                     `json:"tool"`                    // the server's own name
	ToolHash      string                     `json:"toolHash"`                // described like this: a tool that changed is not covered
	ArgumentsHash string                     `json:"argumentsHash,omitempty"` // with exactly these arguments; "" for any
	Members       map[string]json.RawMessage `json:"members,omitempty"`       // with these members, whatever else there is; nil for any
	MaxRisk       hub.Risk                   `json:"maxRisk"`                 // of no more risk than this

	Request  string    `json:"request,omitempty"` // id of the request it was given with; "" for none
	Note     string    `json:"note,omitempty"`
	By       string    `json:"by"` // subject of who gave it
	ByTenant string    `json:"byTenant,omitempty"`
	ByToken  string    `json:"byToken,omitempty"`
	Created  time.Time `json:"-"`
	Expires  time.Time `json:"-"`
	Revoked  time.Time `json:"-"` // zero if it was not
	Revoker  string    `json:"revoker,omitempty"`
	Uses     int64     `json:"-"` // calls that it covered; those of the last seconds may be missing
	Used     time.Time `json:"-"` // when it covered one last; zero for never
}

// InForce reports whether the grant covers calls at a time.
func (g *Grant) InForce(at time.Time) bool { return g.Revoked.IsZero() && at.Before(g.Expires) }

// SeenBy reports whether somebody may see the grant: whose calls it covers, and who
// may decide there.
func (g *Grant) SeenBy(p *hub.Principal) bool {
	return sees(p, g.Tenant, g.Subject, g.Server) || g.Subject == "" && sees(p, g.Tenant, p.Subject, g.Server)
}

// GrantQuery says which grants are wanted. The zero value stands for all that are
// in force.
type GrantQuery struct {
	Viewer *hub.Principal // only what this one may see; nil for all
	All    bool           // also those that are over
	Server string
	After  string // id that the page before has ended with
	Limit  int    // 0 for 50, at most 1000
}

const (
	grantColumns = "id, tenant, subject, server, created, expires, revoked, uses, used, body"
	maxMembers   = 64 << 10 // bytes of the members of a grant
)

// Grant has an agreement stand from now on. Of g, ID, By, Created and what is about
// its use are filled in. Codes: grant_invalid, approval_own.
func (d *Desk) Grant(ctx context.Context, by hub.Principal, g Grant) (Grant, error) {
	g, err := newGrant(&by, g, now())
	if err != nil {
		return Grant{}, err
	}
	err = d.changeGrants(ctx, func(ctx context.Context, tx *sql.Tx) error { return d.insertGrant(ctx, tx, &g) })
	if err != nil {
		return Grant{}, err
	}
	return g, nil
}

// newGrant is a grant as it begins, if it may be given.
func newGrant(by *hub.Principal, g Grant, at time.Time) (Grant, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Grant{}, hub.E(message.Internal, err)
	}
	g.ID, g.Created, g.Revoked, g.Revoker, g.Uses, g.Used = id.String(), at, time.Time{}, "", 0, time.Time{}
	g.By, g.ByTenant, g.ByToken = by.Subject, by.Tenant, by.Token
	g.Tenant, g.Subject, g.Server = clean(g.Tenant), clean(g.Subject), clean(g.Server)
	g.Expires = g.Expires.UTC().Truncate(time.Microsecond)
	if err := g.check(by, at); err != nil {
		return Grant{}, err
	}
	return g, nil
}

func (d *Desk) insertGrant(ctx context.Context, tx *sql.Tx, g *Grant) error {
	var n int
	err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM approval_grant WHERE expires > $1 AND revoked = 0", micros(g.Created)).Scan(&n)
	if err != nil {
		return fmt.Errorf("counting grants: %w", err)
	}
	if n >= MaxGrants {
		return invalidGrant(message.Say("there are too many"))
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO approval_grant (id, tenant, subject, server, created, changed, expires, revoked, uses, used, body)
		VALUES ($1, $2, $3, $4, $5, $5, $6, 0, 0, 0, $7)`, g.ID, g.Tenant, g.Subject, g.Server, micros(g.Created), micros(g.Expires), jsonOf(g))
	if err != nil {
		return fmt.Errorf("writing a grant: %w", err)
	}
	return nil
}

// writeGrant writes a grant in the transaction of something else, and tells other
// hubs of it; see renewed.
func (d *Desk) writeGrant(ctx context.Context, tx *sql.Tx, g *Grant) error {
	if err := d.insertGrant(ctx, tx, g); err != nil {
		return err
	}
	return d.db.Notify(ctx, tx, channel, grantsWord)
}

// CheckGrant says why somebody could not give a grant; nil if that is no reason not
// to. Codes: grant_invalid, approval_own.
func (d *Desk) CheckGrant(by hub.Principal, g Grant) error {
	g.Expires = g.Expires.UTC().Truncate(time.Microsecond)
	return g.check(&by, now())
}

func invalidGrant(detail message.Phrase) error {
	return hub.E(message.GrantInvalid, nil).With("detail", detail)
}

// check refuses what must not stand, and writes members as they are compared.
func (g *Grant) check(by *hub.Principal, at time.Time) error {
	switch {
	case g.Server == "" || g.Tool == "":
		return invalidGrant(message.Say("it names no server and tool"))
	case g.ToolHash == "":
		return invalidGrant(message.Say("it does not say how the tool is described"))
	case !g.Expires.After(at) || g.Expires.After(at.Add(LongestGrant)):
		return invalidGrant(message.Say("it has to expire within 30 days"))
	case g.MaxRisk >= hub.RiskCritical:
		return invalidGrant(message.Say("it may not cover critical calls, to which somebody has to agree each time"))
	case !by.Role.May(hub.MayDecide) || !sees(by, g.Tenant, "", g.Server) || !hub.Scope(by.Scope).Server(g.Server):
		return invalidGrant(message.Say("it is for the calls of another tenant, or of a server that your token is not for"))
	case len(g.Note) > MaxNote:
		return invalidGrant(message.Say("the note is longer than %d bytes", MaxNote))
	case g.Subject != "" && g.Subject == by.Subject && g.Tenant == by.Tenant:
		return hub.E(message.ApprovalOwn, nil, "subject", message.Quote(g.Subject))
	}
	members := make(map[string]json.RawMessage, len(g.Members))
	size := 0
	for name, value := range g.Members {
		var b bytes.Buffer
		if wire.Valid(value, wire.Limits{UniqueKeys: true}) != nil || json.Compact(&b, value) != nil {
			return invalidGrant(message.Say("the members are too large, or not JSON"))
		}
		members[name] = b.Bytes()
		size += len(name) + b.Len()
	}
	if size > maxMembers {
		return invalidGrant(message.Say("the members are too large, or not JSON"))
	}
	g.Members = nil
	if len(members) > 0 {
		g.Members = members
	}
	return nil
}

// changeGrants carries out a change of grants, tells other hubs of it, and goes by
// it.
func (d *Desk) changeGrants(ctx context.Context, change func(context.Context, *sql.Tx) error) error {
	err := d.db.Tx(ctx, store.Disk, func(tx *sql.Tx) error {
		whole := context.WithoutCancel(ctx)
		if err := change(whole, tx); err != nil {
			return err
		}
		return d.db.Notify(whole, tx, channel, grantsWord)
	})
	if err != nil {
		return err
	}
	d.renewed(ctx)
	return nil
}

// renewed goes by the grants as they are after a change.
func (d *Desk) renewed(ctx context.Context) {
	if err := d.readGrants(context.WithoutCancel(ctx)); err != nil {
		d.stale.Store(true)
		d.log.WarnContext(ctx, "a change of grants holds a little later", "error", err) // see catchUp
	}
}

// Grants returns a page of grants, newest first.
func (d *Desk) Grants(ctx context.Context, q GrantQuery) ([]Grant, error) {
	var c conditions
	c.seenBy(q.Viewer, "'', ")
	if q.Server != "" {
		c.add("server = ?", clean(q.Server))
	}
	if !q.All {
		c.add("expires > ? AND revoked = 0", micros(now()))
	}
	return d.findGrants(ctx, c.page("SELECT "+grantColumns+" FROM approval_grant", q.After, q.Limit), c.args...)
}

func (d *Desk) findGrants(ctx context.Context, query string, args ...any) ([]Grant, error) {
	var all []Grant
	err := d.each(ctx, query, args, func(s scanner) error {
		g, err := scanGrant(s)
		all = append(all, g)
		return err
	})
	return all, err
}

func scanGrant(from scanner) (Grant, error) {
	var g Grant
	var created, expires, revoked, used int64
	var body string
	if err := from.Scan(&g.ID, &g.Tenant, &g.Subject, &g.Server, &created, &expires, &revoked, &g.Uses, &used, &body); err != nil {
		return Grant{}, err
	}
	if err := json.Unmarshal([]byte(body), &g); err != nil {
		return Grant{}, fmt.Errorf("reading the grant %s: %w", g.ID, err)
	}
	g.Created, g.Expires, g.Revoked, g.Used = moment(created), moment(expires), moment(revoked), moment(used)
	return g, nil
}

// Revoke ends a grant, on this hub at once and on others within seconds. Code:
// grant_unknown, also for one about which by may not decide, or that is over.
func (d *Desk) Revoke(ctx context.Context, by hub.Principal, id string) (Grant, error) {
	at := now()
	var g Grant
	err := d.changeGrants(ctx, func(ctx context.Context, tx *sql.Tx) error {
		unknown := hub.E(message.GrantUnknown, nil, "id", message.Quote(id))
		var err error
		g, err = scanGrant(tx.QueryRowContext(ctx, "SELECT "+grantColumns+" FROM approval_grant WHERE id = $1", clean(id)))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return unknown
		case err != nil:
			return fmt.Errorf("reading a grant: %w", err)
		case !by.Role.May(hub.MayDecide) || !sees(&by, g.Tenant, g.Subject, g.Server) || !g.InForce(at):
			return unknown
		}
		g.Revoked, g.Revoker = at, by.Subject
		done, err := tx.ExecContext(ctx, "UPDATE approval_grant SET revoked = $2, changed = $2, body = $3 WHERE id = $1 AND revoked = 0", g.ID, micros(at), jsonOf(g))
		if err != nil {
			return fmt.Errorf("revoking a grant: %w", err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, unknown)
		}
		return nil
	})
	if err != nil {
		return Grant{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.tallies[g.ID]; t != nil {
		t.over.Store(true)
	}
	return g, nil
}
