package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Limits of a login session.
const (
	sessionLife    = 12 * time.Hour // whatever is done
	sessionIdle    = time.Hour      // without a request
	sessionIDStart = "s-"
	cookieLength   = 43 // characters: 32 bytes in base64url
	mostRecalls    = 50 // sessions a second that are looked for in the database
)

// Person is who has signed in.
type Person struct {
	Subject string
	Name    string // as the provider calls him; "" if it does not
	Tenant  string
	Role    hub.Role
}

// session is a login session.
type session struct {
	Person
	id            string
	expires, seen time.Time
}

func isSessionID(id string) bool { return strings.HasPrefix(id, sessionIDStart) }

// Begin makes a login session, and returns what its cookie is to hold and when it
// ends at the latest. The session whose cookie is given as before, if there is
// one, is over. The error is tenant_unknown if the person's tenant is.
func (b *Book) Begin(ctx context.Context, who Person, before string) (cookie string, end time.Time, err error) {
	raw := make([]byte, entropy)
	_, _ = rand.Read(raw) // never fails
	cookie = base64.RawURLEncoding.EncodeToString(raw)
	now := time.Now()
	end = now.Add(sessionLife)
	err = b.change(ctx, func(tx *sql.Tx) error {
		if err := haveTenant(ctx, tx, who.Tenant); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM login_session WHERE digest = $1", hexOf(digestOf(before))); err != nil {
			return fmt.Errorf("ending a login session: %w", err)
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO login_session (id, digest, subject, name, tenant, role, created, expires, seen)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			sessionIDStart+newID(), hexOf(digestOf(cookie)), who.Subject, who.Name, who.Tenant, string(who.Role), micro(now), micro(end), micro(now))
		if err != nil {
			return fmt.Errorf("writing a login session: %w", err)
		}
		return nil
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return cookie, end, nil
}

// End ends the session of a cookie; one that is not known is over already.
func (b *Book) End(ctx context.Context, cookie string) error {
	digest := digestOf(cookie)
	if _, ok := b.now.Load().sessions[digest]; !ok && !b.db.Postgres() {
		return nil
	}
	return b.change(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM login_session WHERE digest = $1", hexOf(digest)); err != nil {
			return fmt.Errorf("ending a login session: %w", err)
		}
		return nil
	})
}

// session finds the session of a cookie.
func (b *Book) session(ctx context.Context, cookie string, now time.Time) (Shown, bool) {
	if len(cookie) != cookieLength {
		return Shown{}, false
	}
	digest := digestOf(cookie)
	s, ok := b.now.Load().sessions[digest]
	if !ok || now.Sub(b.lastUse(s.id, s.seen)) >= sessionIdle {
		// Another hub may have begun it, or have seen it, since the rows were read.
		if s, ok = b.recall(ctx, digest, now); !ok {
			return Shown{}, false
		}
	}
	if !now.Before(s.expires) || now.Sub(b.lastUse(s.id, s.seen)) >= sessionIdle || !b.HasTenant(s.Tenant) {
		return Shown{}, false
	}
	b.touch(s.id, now)
	return Shown{
		Principal: hub.Principal{Subject: s.Subject, Role: s.Role, Tenant: s.Tenant, Token: s.id},
		How:       HowSession, Name: s.Name, Expires: s.expires, watch: b.watching(digest, true),
	}, true
}

// recall looks for a session in the database that others write to as well. It is
// not done more often than a second allows: anybody can send cookies.
func (b *Book) recall(ctx context.Context, digest [sha256.Size]byte, now time.Time) (*session, bool) {
	if !b.db.Postgres() || !b.missed.allow(now, mostRecalls) {
		return nil, false
	}
	var found *session
	err := eachSession(ctx, b.db, "WHERE digest = $1", []any{hexOf(digest)}, func(_ [sha256.Size]byte, s session) { found = &s })
	if err != nil {
		b.log.WarnContext(ctx, "a login session cannot be looked for", "error", err)
	}
	return found, found != nil
}

func eachSession(ctx context.Context, q querier, where string, args []any, f func([sha256.Size]byte, session)) error {
	query := "SELECT id, digest, subject, name, tenant, role, expires, seen FROM login_session " + where + " ORDER BY id"
	return each(ctx, q, query, args, func(scan func(...any) error) error {
		var s session
		var digest, role string
		var expires, seen int64
		if err := scan(&s.id, &digest, &s.Subject, &s.Name, &s.Tenant, &role, &expires, &seen); err != nil {
			return err
		}
		key, err := fromHex(digest)
		if err != nil {
			return err
		}
		s.Role, s.expires, s.seen = hub.Role(role), fromMicro(expires), fromMicro(seen)
		f(key, s)
		return nil
	})
}
