package auth

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Of which tokens somebody knows, and what follows from by which one a token was
// made: it is good no longer, and is revoked with it.

func isTokenID(id string) bool { return strings.HasPrefix(id, tokenIDStart) }

// bound has a token that is to be made be good no longer than the one that its maker
// shows; what would be is refused, unless no time was asked for. A login bounds
// nothing: it ends within hours.
func (t *Token) bound(ctx context.Context, tx *sql.Tx, usual bool) error {
	if !isTokenID(t.Parent) {
		return nil
	}
	var maker Token
	var expires, revoked int64
	err := tx.QueryRowContext(ctx, "SELECT expires, revoked FROM api_token WHERE id = $1", t.Parent).Scan(&expires, &revoked)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("reading the maker's token: %w", err)
	}
	maker.Expires, maker.Revoked = fromMicro(expires), fromMicro(revoked)
	switch {
	case err != nil || !maker.Good(t.Created): // since it was shown
		return hub.E(message.TokenExpired, nil)
	case maker.Expires.IsZero() || !t.Expires.IsZero() && !t.Expires.After(maker.Expires):
		return nil
	case !usual:
		return hub.E(message.GrantRefused, nil).With("detail", message.Say("it would be good for longer than yours, which ends at %s", maker.Expires.Format(time.RFC3339)))
	}
	t.Expires = maker.Expires
	return nil
}

// mayKnow reports whether somebody may see a token and end it: one of his tenant, or
// any if he is of the hub itself, and within the scope of what he shows.
func mayKnow(by *hub.Principal, tenant string, scope hub.Scope) bool {
	return (by.Hubwide() || tenant == by.Tenant) && scope.Within(hub.Scope(by.Scope))
}

// List is the tokens that somebody may see, those of his tenant or all, as far as
// they are within his scope, the newest first; also those that are good no more, for
// 90 days.
func (b *Book) List(ctx context.Context, by hub.Principal) ([]Token, error) {
	var all []Token
	err := eachToken(ctx, b.db, "", nil, func(_ [sha256.Size]byte, t Token) {
		if mayKnow(&by, t.Tenant, t.Scope) {
			t.Used = b.lastUse(t.ID, t.Used)
			all = append(all, t)
		}
	})
	if err != nil {
		return nil, b.db.Err(err)
	}
	slices.SortStableFunc(all, func(a, b Token) int { return b.Created.Compare(a.Created) })
	return all, nil
}

// line is a token, and all that were made by it, directly or not.
const line = `WITH RECURSIVE line (id) AS (SELECT id FROM api_token WHERE id = $1
	UNION SELECT t.id FROM api_token t JOIN line ON t.parent = line.id) `

// Revoke has a token let nobody in any more, nor those that were made by it, whose
// ids it returns; again changes nothing. Errors are role_refused, and token_unknown
// also for one that is of another tenant or beyond the scope of who asks.
func (b *Book) Revoke(ctx context.Context, by hub.Principal, id string) (also []string, err error) {
	if !by.Role.May(hub.MayManage) {
		return nil, hub.E(message.RoleRefused, nil, "role", roleName(by.Role))
	}
	err = b.change(ctx, func(tx *sql.Tx) error {
		var tenant, scope string
		also = nil // it may be tried again
		err := tx.QueryRowContext(ctx, "SELECT tenant, scope FROM api_token WHERE id = $1", id).Scan(&tenant, &scope)
		switch {
		case errors.Is(err, sql.ErrNoRows), err == nil && !mayKnow(&by, tenant, hub.Scope(scope)):
			return unknownToken(id)
		case err != nil:
			return fmt.Errorf("reading a token: %w", err)
		}
		now := micro(time.Now())
		err = each(ctx, tx, line+"SELECT id FROM api_token WHERE id IN (SELECT id FROM line) AND revoked = 0 AND (expires = 0 OR expires > $2 OR id = $1) ORDER BY id",
			[]any{id, now}, func(scan func(...any) error) error {
				var one string
				err := scan(&one)
				if one != id {
					also = append(also, one)
				}
				return err
			})
		if err != nil {
			return err
		}
		for _, one := range append([]string{id}, also...) {
			if _, err := tx.ExecContext(ctx, "UPDATE api_token SET revoked = $1, revoker = $2 WHERE id = $3 AND revoked = 0", now, nameOf(by), one); err != nil {
				return fmt.Errorf("revoking a token: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return also, nil
}

func unknownToken(id string) *hub.Error {
	return hub.E(message.TokenUnknown, nil, "id", message.Quote(id))
}

// Made reports whether a token, by its id, was made by somebody, directly or by one
// that he has made: with what he shows, or under his name. Who shows a token of a
// file has made nothing by that: all that there is began there.
func (b *Book) Made(token string, by hub.Principal) bool {
	byID, name := b.now.Load().byID, nameOf(by)
	for t := byID[token]; t != nil; t = byID[t.Parent] { // a parent is older, so that this ends
		if t.Parent != "" && (t.Parent == by.Token || t.By == name) {
			return true
		}
	}
	return false
}
