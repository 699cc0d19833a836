package auth

import (
	"slices"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// showing is who shows a token.
func showing(t testing.TB, b *Book, secret string) hub.Principal {
	t.Helper()
	shown, _, good := b.token(secret, time.Now())
	if !good {
		t.Fatal("the token is not good")
	}
	return shown.Principal
}

// A token is good no longer than the one that it was made by, and is revoked with
// it, as is all that was made by it.
func TestTokenLine(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b, ctx := openBook(t, db), t.Context()
		secret, first := issue(t, b, root, Wanted{Subject: "boss", Role: hub.RoleAdmin, Expiry: 24 * time.Hour})
		boss := showing(t, b, secret)

		for name, want := range map[string]Wanted{
			"for ever": {Subject: "x", Role: hub.RoleAdmin, Never: true},
			"longer":   {Subject: "x", Role: hub.RoleAdmin, Expiry: 25 * time.Hour},
		} {
			_, _, err := b.Issue(ctx, boss, want)
			wantCode(t, name, err, message.GrantRefused)
		}
		secondSecret, second := issue(t, b, boss, Wanted{Subject: "deputy", Role: hub.RoleAdmin})
		if !second.Expires.Equal(first.Expires) || second.Parent != first.ID {
			t.Errorf("it is good until %v, by %q; its maker until %v", second.Expires, second.Parent, first.Expires)
		}
		_, short := issue(t, b, boss, Wanted{Subject: "short", Role: hub.RoleCaller, Expiry: time.Hour})
		if time.Until(short.Expires) > time.Hour {
			t.Errorf("it is good until %v", short.Expires)
		}
		deputy := showing(t, b, secondSecret)
		thirdSecret, third := issue(t, b, deputy, Wanted{Subject: "third", Role: hub.RoleCaller})
		otherSecret, other := issue(t, b, root, Wanted{Subject: "other", Role: hub.RoleAdmin, Never: true})

		revoke(t, b, root, short.ID)
		also := revoke(t, b, root, first.ID)
		slices.Sort(also)
		if want := []string{second.ID, third.ID}; !slices.Equal(also, slices.Sorted(slices.Values(want))) {
			t.Errorf("revoked with it are %v, not %v", also, want)
		}
		for _, s := range []string{secret, secondSecret, thirdSecret} {
			if _, _, good := b.token(s, time.Now()); good {
				t.Error("one of its line is good still")
			}
		}
		list, err := openBook(t, db).List(ctx, root)
		must(t, err)
		for _, one := range list {
			if one.Revoked.IsZero() != (one.ID == other.ID) {
				t.Errorf("%s was revoked at %v", one.Subject, one.Revoked)
			}
		}
		_, _, err = b.Issue(ctx, deputy, Wanted{Subject: "late", Role: hub.RoleCaller})
		wantCode(t, "by one that was revoked", err, message.TokenExpired)
		// One that never expires bounds nothing.
		_, child := issue(t, b, showing(t, b, otherSecret), Wanted{Subject: "child", Role: hub.RoleCaller, Never: true})
		if !child.Expires.IsZero() || child.Parent != other.ID {
			t.Errorf("%+v", child)
		}
	})
}

// A login ends within hours: what it has made goes on, and it is known by whom it
// was made.
func TestTokenOfALogin(t *testing.T) {
	b := openBook(t, storetest.Open(t, storetest.SQLite(t)))
	cookie, _, err := b.Begin(t.Context(), Person{Subject: "alice@idp", Role: hub.RoleAdmin}, "")
	must(t, err)
	shown, ok := b.session(t.Context(), cookie, time.Now())
	if !ok {
		t.Fatal("nobody is signed in")
	}
	_, token := issue(t, b, shown.Principal, Wanted{Subject: "hers", Role: hub.RoleCaller})
	if token.Parent != shown.Principal.Token || time.Until(token.Expires) < 89*24*time.Hour {
		t.Errorf("%+v", token)
	}
}

// Whoever shows a token with a scope sees and revokes those within it alone.
func TestTokensWithinScope(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b, ctx := openBook(t, db), t.Context()
		_, wide := issue(t, b, root, Wanted{Subject: "wide", Role: hub.RoleCaller})
		_, mail := issue(t, b, root, Wanted{Subject: "mail", Role: hub.RoleCaller, Scopes: []string{"server:mail"}})
		_, git := issue(t, b, root, Wanted{Subject: "git", Role: hub.RoleCaller, Scopes: []string{"server:git", "door:mcp"}})
		scoped := hub.Principal{Subject: "keeper", Role: hub.RoleAdmin, Scope: "server:git"}
		list, err := b.List(ctx, scoped)
		must(t, err)
		if len(list) != 1 || list[0].ID != git.ID {
			t.Errorf("it sees %+v", list)
		}
		for _, id := range []string{wide.ID, mail.ID} {
			_, err := b.Revoke(ctx, scoped, id)
			wantCode(t, "beyond the scope", err, message.TokenUnknown)
		}
		revoke(t, b, scoped, git.ID)
	})
}

// By whom a token was made is known, over several steps, by the token that was shown
// and by the name of whoever showed it.
func TestMade(t *testing.T) {
	b := openBook(t, storetest.Open(t, storetest.SQLite(t)))
	secret, first := issue(t, b, root, Wanted{Subject: "boss", Role: hub.RoleAdmin})
	boss := showing(t, b, secret)
	secondSecret, second := issue(t, b, boss, Wanted{Subject: "deputy", Role: hub.RoleAdmin})
	_, third := issue(t, b, showing(t, b, secondSecret), Wanted{Subject: "third", Role: hub.RoleCaller})
	for name, c := range map[string]struct {
		token string
		by    hub.Principal
		want  bool
	}{
		"its maker":                       {second.ID, boss, true},
		"its maker's maker":               {third.ID, boss, true},
		"its maker, by another token":     {second.ID, hub.Principal{Subject: "boss", Token: "t-other"}, true},
		"one of its maker's name, abroad": {second.ID, hub.Principal{Subject: "boss", Tenant: "sales"}, false},
		"what it has made":                {first.ID, showing(t, b, secondSecret), false},
		"who shows a file's token":        {first.ID, root, false}, // everybody's begins there
		"itself":                          {second.ID, showing(t, b, secondSecret), false},
		"no token":                        {"", boss, false},
		"one that is not known":           {"t-0", boss, false},
	} {
		if got := b.Made(c.token, c.by); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
