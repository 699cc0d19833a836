package approval

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Decide decides about a request. The first decision wins; of a request to which
// two have to agree a first agreement leaves it pending. Codes: approval_unknown,
// approval_own, approval_decided, approval_expired, approval_confirm (which
// agreement it would be), approval_second (it has to be another person's),
// approval_changed (the arguments are others than were seen), approval_invalid; with
// a grant also grant_invalid.
//
// What an edit puts in the place of the arguments has to be valid and judged by
// whoever calls.
func (d *Desk) Decide(ctx context.Context, id string, with Deciding) (Request, error) {
	if err := with.check(); err != nil {
		return Request{}, err
	}
	given, err := d.granting(&with)
	if err != nil {
		return Request{}, err
	}
	sealed := ""
	with.made = d.opt.Made
	for range 2 * MaxDecisions { // who loses against another one's agreement looks again
		r, err := d.find(ctx, d.db, id)
		if err != nil {
			return Request{}, err
		}
		if !r.SeenBy(&with.By) {
			return Request{}, unknown(id)
		}
		next, err := r.decided(&with, now())
		if err != nil {
			return Request{}, err
		}
		if with.edits(r) {
			if sealed == "" {
				if sealed, err = d.seal(ctx, r.ID, "edited", with.Arguments); err != nil {
					return Request{}, err
				}
			}
			next.edited = sealed
		}
		var also func(context.Context, *sql.Tx) error
		if given != nil && next.Status.Agreed() {
			also = func(ctx context.Context, tx *sql.Tx) error { return d.writeGrant(ctx, tx, given) }
		}
		done, err := d.changeWith(ctx, also, `UPDATE approval SET status = $3, open = $4, revision = revision + 1, changed = $5, expires = $6, decided = $7,
			judged = $8, decisions = $9, shown = $10, hash = $11, edited = $12
			WHERE id = $1 AND revision = $2 AND status = 'pending' AND expires > $5`,
			r.ID, r.revision, string(next.Status), next.state(), micros(next.changed), micros(next.Expires), micros(next.Decided),
			jsonOf(next.Judged), jsonOf(next.Decisions), next.Shown, next.Hash, next.edited)
		if err != nil {
			return Request{}, err
		}
		if done != nil {
			if done.Status != Pending { // or it waits for another agreement
				d.count(done.Status)
			}
			d.tell(done)
			if also != nil {
				d.renewed(ctx)
			}
			return d.opened(done), nil
		}
	}
	return Request{}, invalid(message.Say("it was changed too often"))
}

// granting is the grant that is to be given with an agreement, checked; nil for none.
func (d *Desk) granting(with *Deciding) (*Grant, error) {
	if with.Grant == nil {
		return nil, nil
	}
	if with.Kind != Approve || with.Saw == "" && with.Confirmation <= 1 {
		return nil, invalid(message.Say("what is to be remembered has to be agreed to as it was seen"))
	}
	g, err := newGrant(&with.By, *with.Grant, now())
	if err != nil {
		return nil, err
	}
	return &g, nil
}

// check refuses what is no decision.
func (with *Deciding) check() error {
	switch {
	case with.Kind != Approve && with.Kind != Edit && with.Kind != Reject:
		return invalid(message.Say("there is no decision \"%s\"", message.Quote(string(with.Kind))))
	case len(with.Note) > MaxNote:
		return invalid(message.Say("the note is longer than %d bytes", MaxNote))
	case with.Kind != Edit && with.Arguments != nil:
		return invalid(message.Say("only an edit has arguments"))
	case with.Kind != Edit:
		return nil
	case with.Arguments == nil:
		return invalid(message.Say("the arguments are no JSON object"))
	case with.ArgumentsHash == "":
		return invalid(message.Say("the hash of the arguments is missing"))
	}
	return checkArguments(with.Arguments)
}

// edits reports whether the decision puts others in the place of what would be
// sent. An edit that does not is an agreement.
func (with *Deciding) edits(r *row) bool { return with.Kind == Edit && with.ArgumentsHash != r.Hash }

// decided is the row as a decision leaves it. It asks nobody, and changes nothing.
func (r *row) decided(with *Deciding, at time.Time) (*row, error) {
	switch {
	case !with.There && with.own(r):
		return nil, hub.E(message.ApprovalOwn, nil, "subject", message.Quote(r.Subject))
	case r.Status != Pending || !at.Before(r.Expires):
		return nil, r.over(at)
	case with.Kind != Reject && with.Saw != "" && with.Saw != r.Hash:
		return nil, hub.E(message.ApprovalChanged, nil, "id", r.ID)
	case len(r.Decisions) >= MaxDecisions && with.Kind != Reject:
		return nil, invalid(message.Say("it was changed too often"))
	}
	next := *r
	next.changed = at
	said := Decision{By: clean(with.By.Subject), Tenant: with.By.Tenant, Token: with.By.Token, Door: with.By.Door, At: at, Kind: with.Kind, Hash: r.Hash, Note: clean(with.Note)}
	switch {
	case with.Kind == Reject:
		next.Status, next.Decided, next.open = Rejected, at, false
	case with.edits(r):
		said.Hash, next.Hash, next.Shown = with.ArgumentsHash, with.ArgumentsHash, clean(with.Shown)
		next.edited = "sealed" // by Decide
		if with.Judged != nil {
			persons, second := r.Persons, r.Second
			seen, servers := r.Risk, r.Servers
			next.Judged = *with.Judged
			next.Persons, next.Second, next.Servers = min(max(next.Persons, persons, 1), 2), next.Second || second, servers
			if next.Risk > seen { // nobody has seen that yet: it has to be said once more
				next.Persons = 2
			}
		}
		next.agree(1, at)
	default:
		said.Kind = Approve
		agreed := r.Agreements()
		if err := r.mayAgree(agreed, with); err != nil {
			return nil, err
		}
		next.agree(len(agreed)+1, at)
	}
	if with.Kind != Reject {
		next.leave(&with.By)
	}
	next.Decisions = append(slices.Clip(r.Decisions), said)
	return &next, nil
}

// agree has the request be agreed to by so many.
func (r *row) agree(n int, at time.Time) {
	if n < r.Persons {
		return
	}
	r.Status = Approved
	if r.edited != "" {
		r.Status = Edited
	}
	r.Decided, r.Expires = at, at.Add(Agreement)
}

// leave leaves of the servers that the call may go to those which somebody who
// agrees may decide about: [Request.SeenBy] has seen to it that r.Server is one.
func (r *row) leave(by *hub.Principal) {
	r.Servers = slices.DeleteFunc(slices.Clone(r.Servers), func(server string) bool { return !hub.Scope(by.Scope).Server(server) })
}

// Agreements are those to what would be sent now, in their order: since it was
// edited last. The next one would be the one after them.
func (r *Request) Agreements() []Decision {
	all := r.Decisions
	if n := len(all); n > 0 && all[n-1].Kind == Reject {
		all = all[:n-1]
	}
	for i, one := range slices.Backward(all) {
		if one.Kind == Edit {
			return all[i:]
		}
	}
	return all
}

// mayAgree refuses what is no further agreement.
func (r *row) mayAgree(agreed []Decision, with *Deciding) error {
	round := len(agreed) + 1
	for _, one := range agreed {
		same := one.By == clean(with.By.Subject) && one.Tenant == with.By.Tenant || one.Token != "" && one.Token == with.By.Token
		same = same || with.ownedBy(one.By, one.Tenant, one.Token) || with.made != nil && with.made(one.Token, with.By)
		if r.Second && same {
			return hub.E(message.ApprovalSecond, nil, "id", r.ID, "by", message.Quote(one.By))
		}
	}
	if max(with.Confirmation, 1) != round {
		return hub.E(message.ApprovalConfirm, nil, "id", r.ID, "round", strconv.Itoa(round), "persons", strconv.Itoa(r.Persons))
	}
	if round > 1 && with.Saw != r.Hash {
		return hub.E(message.ApprovalChanged, nil, "id", r.ID)
	}
	return nil
}

// own reports whether somebody would decide about a call of their own: one that they
// asked for, or whoever made what they show.
func (with *Deciding) own(r *row) bool {
	by := &with.By
	if by.Subject == r.Subject && by.Tenant == r.Tenant || by.Token != "" && by.Token == r.Token ||
		r.Retrier.is(by.Subject, by.Tenant, by.Token) || with.ownedBy(r.Subject, r.Tenant, r.Token) {
		return true
	}
	return r.Retrier != nil && with.ownedBy(r.Retrier.Subject, r.Retrier.Tenant, r.Retrier.Token)
}

// ownedBy reports whether what is shown was made by somebody.
func (with *Deciding) ownedBy(subject, tenant, token string) bool {
	return with.made != nil && with.By.Token != "" && with.made(with.By.Token, hub.Principal{Subject: subject, Tenant: tenant, Token: token})
}

// over says why a request can be neither decided, nor taken, nor ended at a time.
func (r *row) over(at time.Time) error {
	switch {
	case r.Taken != "":
		return hub.E(message.ApprovalTaken, nil, "id", r.ID, "call", r.Taken)
	case r.Status == Expired || r.open && !at.Before(r.Expires):
		return hub.E(message.ApprovalExpired, nil, "tool", message.Quote(r.Name), "expires", r.Expires.Format(time.RFC3339))
	case r.Status == Pending:
		return hub.E(message.ApprovalUndecided, nil, "id", r.ID)
	}
	e := hub.E(message.ApprovalDecided, nil, "id", r.ID)
	when := r.changed
	if n := len(r.Decisions); n > 0 && r.bySomebody() {
		last := r.Decisions[n-1]
		when = last.At
		e = e.With("by", message.Verbatim(message.Quote(last.By)))
	} else {
		e = e.With("by", message.Say("this Toolcrib"))
	}
	e.Args["at"] = when.Format(time.RFC3339)
	return e.With("what", r.Status.said())
}

// said is the status as a person reads that it came to it.
func (s Status) said() message.Phrase {
	switch s {
	case Approved:
		return message.Say("approved")
	case Edited:
		return message.Say("approved with changes")
	case Rejected:
		return message.Say("rejected")
	case Cancelled:
		return message.Say("cancelled")
	case Superseded:
		return message.Say("superseded")
	}
	return message.Verbatim(string(s))
}
