package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Bounds of an API token.
const (
	tokenPrefix  = "tct_"
	maxSubject   = 64
	maxNote      = 200
	maxScopes    = 100
	usualExpiry  = 90 * 24 * time.Hour
	minExpiry    = time.Minute
	maxExpiry    = 3650 * 24 * time.Hour
	tokenIDStart = "t-"
)

// Token is what is known of an API token; the token itself is known to nobody but
// whom it was given to. It is a value.
type Token struct {
	ID      string
	Subject string
	Tenant  string
	Role    hub.Role
	Scope   hub.Scope
	Note    string
	Created time.Time
	By      string    // who made it
	Parent  string    // id of the token or login session that the maker showed; "" for neither
	Expires time.Time // zero for never
	Used    time.Time // within a minute or so; zero for never
	Revoked time.Time // zero if it was not
}

// Good reports whether it lets anybody in.
func (t *Token) Good(now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

// Wanted is what a token is to be.
type Wanted struct {
	Subject string // whoever shows it is called so
	Tenant  string // "" for that of its maker
	Role    hub.Role
	Scopes  []string // as [hub.NewScope] takes them
	Note    string
	Expiry  time.Duration // 0 for 90 days
	Never   bool          // it does not expire
}

var subjectName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Issue makes a token for the maker, and returns it: this once. It allows no more
// than its maker may and, if he shows a token of the book, is good no longer than
// that one. Errors are role_refused, grant_refused, body_invalid, tenant_unknown,
// and token_expired if the maker's token was revoked meanwhile.
func (b *Book) Issue(ctx context.Context, by hub.Principal, want Wanted) (string, Token, error) {
	t, e := wanted(by, want)
	if e != nil {
		return "", Token{}, e
	}
	raw := make([]byte, entropy)
	_, _ = rand.Read(raw) // never fails
	secret := tokenPrefix + base64.RawURLEncoding.EncodeToString(raw)
	t.ID, t.Created = tokenIDStart+newID(), time.Now().UTC().Truncate(time.Microsecond)
	switch {
	case want.Never:
	case want.Expiry == 0:
		t.Expires = t.Created.Add(usualExpiry)
	default:
		t.Expires = t.Created.Add(want.Expiry).Truncate(time.Microsecond)
	}
	t.Parent = by.Token
	err := b.change(ctx, func(tx *sql.Tx) error {
		if err := haveTenant(ctx, tx, t.Tenant); err != nil {
			return err
		}
		if err := t.bound(ctx, tx, want.Expiry == 0 && !want.Never); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO api_token
			(id, digest, subject, tenant, role, scope, note, created, maker, expires, used, revoked, revoker, parent)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, '', $11)`,
			t.ID, hexOf(digestOf(secret)), t.Subject, t.Tenant, string(t.Role), string(t.Scope), t.Note, micro(t.Created), t.By, micro(t.Expires), t.Parent)
		if err != nil {
			return fmt.Errorf("writing a token: %w", err)
		}
		return nil
	})
	if err != nil {
		return "", Token{}, err
	}
	return secret, t, nil
}

// wanted checks what is wanted against who wants it.
func wanted(by hub.Principal, want Wanted) (Token, *hub.Error) {
	unfit := func(format string, args ...any) (Token, *hub.Error) {
		return Token{}, hub.E(message.BodyInvalid, nil).With("detail", message.Say(format, args...))
	}
	refused := func(detail message.Phrase) (Token, *hub.Error) {
		return Token{}, hub.E(message.GrantRefused, nil).With("detail", detail)
	}
	if !by.Role.May(hub.MayManage) {
		return Token{}, hub.E(message.RoleRefused, nil, "role", roleName(by.Role))
	}
	t := Token{Subject: want.Subject, Tenant: want.Tenant, Role: want.Role, Note: want.Note, By: nameOf(by)}
	switch {
	case len(t.Subject) > maxSubject || !subjectName.MatchString(t.Subject):
		return unfit("subject: it must have 1 to %d letters, digits, dots, underscores and hyphens", maxSubject)
	case reserved(t.Subject):
		return unfit("subject: the name %s is the hub's own", message.Quote(t.Subject))
	case !slices.Contains(hub.Roles[:], t.Role):
		return unfit("role: it must be one of %s", roleNames())
	case len(want.Scopes) > maxScopes:
		return unfit("scopes: there may be %d at most", maxScopes)
	case utf8.RuneCountInString(t.Note) > maxNote || strings.ContainsFunc(t.Note, unicode.IsControl):
		return unfit("note: it must have at most %d characters, and no control characters", maxNote)
	case want.Expiry != 0 && (want.Expiry < minExpiry || want.Expiry > maxExpiry):
		return unfit("expires: it must be from 1m to 3650d")
	}
	scope, wrong := hub.NewScope(want.Scopes)
	if wrong != "" {
		return unfit("scopes: %s is none; each is server:KEY, group:NAME or door:NAME", message.Quote(wrong))
	}
	t.Scope = scope
	if !by.Hubwide() {
		if t.Tenant != "" && t.Tenant != by.Tenant {
			return refused(message.Say("it would be of another tenant"))
		}
		t.Tenant = by.Tenant
	}
	if !t.Role.Within(by.Role) {
		return refused(message.Say("its role would be %s, and yours is %s", string(t.Role), string(by.Role)))
	}
	if !t.Scope.Within(hub.Scope(by.Scope)) {
		return refused(message.Say("its scope would be wider than yours"))
	}
	return t, nil
}

// reserved are the names of who shows no token of the book.
func reserved(name string) bool {
	return slices.ContainsFunc([]string{"local", "admin", "caller", "hub", "toolcrib"}, func(ours string) bool { return strings.EqualFold(ours, name) })
}

func roleNames() string {
	names := make([]string, len(hub.Roles))
	for i, role := range hub.Roles {
		names[i] = string(role)
	}
	return strings.Join(names, ", ")
}

// nameOf is who somebody is, as it stands beside what he has made.
func nameOf(p hub.Principal) string {
	if p.Tenant == "" {
		return p.Subject
	}
	return p.Tenant + "/" + p.Subject
}

// token finds the token that somebody shows: whether it is known, and whether it is
// good.
func (b *Book) token(secret string, now time.Time) (_ Shown, known, good bool) {
	p, digest := b.now.Load(), digestOf(secret)
	t, ok := p.tokens[digest]
	if !ok {
		return Shown{}, false, false
	}
	if !t.Good(now) || t.Tenant != "" && !p.tenants[t.Tenant] {
		return Shown{}, true, false
	}
	b.touch(t.ID, now)
	return Shown{
		Principal: hub.Principal{Subject: t.Subject, Role: t.Role, Tenant: t.Tenant, Token: t.ID, Scope: string(t.Scope)},
		How:       HowToken, Name: t.Note, Expires: t.Expires, watch: b.watching(digest, false),
	}, true, true
}

// eachToken calls f for every token.
func eachToken(ctx context.Context, q querier, where string, args []any, f func([sha256.Size]byte, Token)) error {
	query := "SELECT id, digest, subject, tenant, role, scope, note, created, maker, expires, used, revoked, parent FROM api_token " + where + " ORDER BY id"
	return each(ctx, q, query, args, func(scan func(...any) error) error {
		var t Token
		var digest, role, scope string
		var created, expires, used, revoked int64
		if err := scan(&t.ID, &digest, &t.Subject, &t.Tenant, &role, &scope, &t.Note, &created, &t.By, &expires, &used, &revoked, &t.Parent); err != nil {
			return err
		}
		key, err := fromHex(digest)
		if err != nil {
			return err
		}
		t.Role, t.Scope = hub.Role(role), hub.Scope(scope)
		t.Created, t.Expires, t.Used, t.Revoked = fromMicro(created), fromMicro(expires), fromMicro(used), fromMicro(revoked)
		f(key, t)
		return nil
	})
}

// newID is an id that nobody has: it names, and lets nobody in.
func newID() string {
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // never fails
	return hex.EncodeToString(raw)
}
