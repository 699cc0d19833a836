package approval

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Ask asks that somebody agree to a call, and returns the request once it is on the
// disk. If the same caller has asked for the same (server, tool, its description,
// arguments, policy) and that is pending, or agreed to and neither taken nor
// expired, it is returned instead; see [Desk.Withdraw]. Codes: approvals_full, approval_invalid.
func (d *Desk) Ask(ctx context.Context, a Asking) (Request, error) {
	r, err := newRow(&a, now(), d.opt.Settings().Expires)
	if err != nil {
		return Request{}, err
	}
	r.Node = d.opt.Node
	if equal, err := d.equal(ctx, d.db, r); err != nil || equal != nil && !equal.join(r.Call) {
		return d.openedOr(equal, err)
	}
	r.join(r.Call)
	if r.arguments, err = d.seal(ctx, r.ID, "arguments", a.Arguments); err == nil {
		r.extra, err = d.seal(ctx, r.ID, "extra", a.Extra)
	}
	if err != nil {
		return Request{}, err
	}
	var equal *row
	err = d.db.Tx(ctx, store.Disk, func(tx *sql.Tx) error {
		whole := context.WithoutCancel(ctx)
		if err := d.inOrder(whole, tx); err != nil {
			return err
		}
		if equal, err = d.equal(whole, tx, r); err != nil {
			return err
		}
		if equal != nil {
			return equal.joined(whole, tx, r.Call)
		}
		if err := d.room(whole, tx, r); err != nil {
			return err
		}
		if _, err := tx.ExecContext(whole, insert, r.values()...); err != nil {
			return fmt.Errorf("writing a request for approval: %w", err)
		}
		return d.db.Notify(whole, tx, channel, r.ID)
	})
	if err != nil || equal != nil {
		return d.openedOr(equal, err)
	}
	d.count(Pending)
	d.tell(r)
	whole := r.Request
	whole.Arguments, whole.Extra = a.Arguments, a.Extra
	return whole, nil
}

// inOrder has the transaction wait for others that add to requests or take away from
// them.
func (d *Desk) inOrder(ctx context.Context, tx *sql.Tx) error {
	if !d.db.Postgres() {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(askingOrder)); err != nil {
		return fmt.Errorf("waiting to ask for approval: %w", err)
	}
	return nil
}

// joined writes that one more call asks.
func (r *row) joined(ctx context.Context, tx *sql.Tx, call string) error {
	if !r.join(call) {
		return nil
	}
	return r.writeBody(ctx, tx)
}

// writeBody writes what has changed of the body.
func (r *row) writeBody(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "UPDATE approval SET body = $2 WHERE id = $1", r.ID, r.body()); err != nil {
		return fmt.Errorf("writing who asks for approval: %w", err)
	}
	return nil
}

const insert = "INSERT INTO approval (" + columns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
	$18, $19, $20, $21, $22, $23, $24, $25)`

func (d *Desk) openedOr(r *row, err error) (Request, error) {
	if err != nil {
		return Request{}, err
	}
	return d.opened(r), nil
}

// newRow is the row of what is asked, without its arguments.
func newRow(a *Asking, at time.Time, expires time.Duration) (*row, error) {
	if a.Subject == "" || a.ArgumentsHash == "" {
		return nil, invalid(message.Say("it does not say whose call it is, or with which arguments"))
	}
	for _, raw := range [...][]byte{a.Arguments, a.Extra} {
		if err := checkArguments(raw); err != nil {
			return nil, err
		}
	}
	if expires <= 0 {
		expires = DefaultExpires
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, hub.E(message.Internal, err)
	}
	r := &row{
		Request: Request{
			Details: a.Details, Judged: a.Judged, ID: id.String(), Status: Pending, Created: at, Expires: at.Add(expires),
			Shown: clean(a.Shown), Hash: clean(a.ArgumentsHash), key: referenceKey(),
		},
		open: true, revision: 1, changed: at,
	}
	r.Persons = min(max(r.Persons, 1), 2)
	for _, text := range []*string{&r.Tenant, &r.Subject, &r.Server, &r.Tool} {
		*text = clean(*text)
	}
	r.ExtraShown = clean(r.ExtraShown)
	what := []string{r.Tenant, r.Subject, r.Server, r.Tool, r.ToolHash, r.ArgumentsHash, r.Policy, r.Method}
	if by := r.Retrier; by != nil && (by.Subject != r.Subject || by.Tenant != r.Tenant) { // whose call it is as well
		what = append(what, by.Tenant, by.Subject, by.Token)
	}
	r.same = digest(what...)
	return r, nil
}

// digest stands for texts in their order.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		_ = binary.Write(h, binary.BigEndian, uint64(len(t))) // a hash never fails
		h.Write([]byte(t))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func invalid(detail message.Phrase) error {
	return hub.E(message.ApprovalInvalid, nil).With("detail", detail)
}

// checkArguments refuses what is none, and what nobody can look through. Where a
// member stands twice, a person may read the one and the server the other.
func checkArguments(raw []byte) error {
	switch {
	case raw == nil:
		return nil
	case len(raw) > MaxArguments:
		return invalid(message.Say("the arguments are larger than %d KiB, which is more than a person can look through", MaxArguments>>10))
	case wire.Valid(raw, wire.Limits{}) != nil || raw[wire.Value(raw).Start] != '{':
		return invalid(message.Say("the arguments are no JSON object"))
	case wire.Valid(raw, wire.Limits{UniqueKeys: true}) != nil:
		return invalid(message.Say("a member stands twice in the arguments"))
	}
	return nil
}

// equal is a request for the same that can be used, one that was agreed to before
// one that is pending; nil if there is none.
func (d *Desk) equal(ctx context.Context, from reader, r *row) (*row, error) {
	found, err := scan(from.QueryRowContext(ctx, "SELECT "+columns+` FROM approval WHERE same = $1 AND open = 1 AND expires > $2
		ORDER BY CASE status WHEN 'pending' THEN 1 ELSE 0 END, id DESC LIMIT 1`, r.same, micros(r.Created)))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, d.db.Err(fmt.Errorf("looking for an equal request for approval: %w", err))
	}
	return found, nil
}

// room refuses what is too much.
func (d *Desk) room(ctx context.Context, tx *sql.Tx, r *row) error {
	most := d.opt.Settings().Pending
	if most <= 0 {
		most = DefaultPending
	}
	var own, all int
	err := tx.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM approval WHERE status = 'pending' AND tenant = $1 AND subject = $2),
		(SELECT COUNT(*) FROM approval WHERE status = 'pending')`, r.Tenant, r.Subject).Scan(&own, &all)
	if err != nil {
		return fmt.Errorf("counting requests for approval: %w", err)
	}
	full := func(what message.Phrase, n int) error {
		return hub.E(message.ApprovalsFull, nil, "waiting", strconv.Itoa(n)).With("what", what)
	}
	switch {
	case own >= most:
		return full(message.Say("of this caller"), own)
	case all >= MaxPending:
		return full(message.Say("of all callers"), all)
	}
	return nil
}
