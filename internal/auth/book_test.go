package auth

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

var (
	root  = hub.Principal{Subject: "admin", Role: hub.RoleAdmin}
	sales = hub.Principal{Subject: "eve", Role: hub.RoleAdmin, Tenant: "sales"}
)

func openBook(t testing.TB, db *store.DB) *Book {
	t.Helper()
	b, err := OpenBook(t.Context(), BookOptions{DB: db})
	must(t, err)
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, what string, err error, code message.Code) {
	t.Helper()
	if !hub.IsCode(err, code) {
		t.Errorf("%s: %v, not %s", what, err, code)
	}
}

func issue(t testing.TB, b *Book, by hub.Principal, want Wanted) (string, Token) {
	t.Helper()
	secret, token, err := b.Issue(t.Context(), by, want)
	must(t, err)
	return secret, token
}

func revoke(t testing.TB, b *Book, by hub.Principal, id string) []string {
	t.Helper()
	also, err := b.Revoke(t.Context(), by, id)
	must(t, err)
	return also
}

// A token lets in who shows it as whom it was made for, until it expires or is
// revoked; the database has no more than its digest.
func TestAPIToken(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b := openBook(t, db)
		secret, token := issue(t, b, root, Wanted{Subject: "builder", Role: hub.RoleCaller, Scopes: []string{"server:git", "door:mcp"}, Note: "nightly"})
		if !strings.HasPrefix(secret, "tct_") || len(secret) != len("tct_")+43 || time.Until(token.Expires).Round(time.Hour) != 90*24*time.Hour {
			t.Errorf("a token of %d characters until %v", len(secret), token.Expires)
		}
		shown, known, good := b.token(secret, time.Now())
		want := hub.Principal{Subject: "builder", Role: hub.RoleCaller, Token: token.ID, Scope: "door:mcp server:git"}
		if !known || !good || shown.Principal != want || shown.How != HowToken {
			t.Errorf("%+v, %t, %t", shown, known, good)
		}
		for _, wrong := range []string{secret[:len(secret)-1], secret + "A", "tct_", strings.ToUpper(secret), token.ID, hexOf(digestOf(secret))} {
			if _, known, good := b.token(wrong, time.Now()); known || good {
				t.Errorf("%q is taken", wrong)
			}
		}
		if _, known, good := b.token(secret, token.Expires); !known || good {
			t.Error("it does not expire")
		}
		var kept string
		must(t, db.QueryRowContext(t.Context(), "SELECT digest || subject || note || id FROM api_token").Scan(&kept))
		if strings.Contains(kept, secret[4:]) {
			t.Error("the token is in the database")
		}

		must(t, b.writeUses(t.Context()))
		again := openBook(t, db)
		list, err := again.List(t.Context(), root)
		must(t, err)
		if len(list) != 1 || time.Since(list[0].Used) > time.Minute || list[0].By != "admin" || list[0].Note != "nightly" {
			t.Errorf("%+v", list)
		}
		revoke(t, b, root, token.ID)
		revoke(t, b, root, token.ID) // which changes nothing
		if _, known, good := b.token(secret, time.Now()); !known || good {
			t.Error("it was revoked, and is good")
		}
		if _, _, good := again.token(secret, time.Now()); !good {
			t.Fatal("the other hub knows before it has looked")
		}
		must(t, again.poll(t.Context()))
		if _, _, good := again.token(secret, time.Now()); good {
			t.Error("the other hub does not know of it")
		}
		never, one := issue(t, b, root, Wanted{Subject: "old", Role: hub.RoleViewer, Never: true})
		if _, _, good := b.token(never, time.Now().AddDate(100, 0, 0)); !good || !one.Expires.IsZero() {
			t.Error("one that never expires does")
		}
	})
}

// Nobody gives more than he has, and nobody of a tenant sees or ends what is
// another's.
func TestTenants(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b := openBook(t, db)
		ctx := t.Context()
		_, err := b.AddTenant(ctx, root, "sales", "Who sells")
		must(t, err)
		_, err = b.AddTenant(ctx, root, "lab", "")
		must(t, err)
		_, err = b.AddTenant(ctx, root, "sales", "")
		wantCode(t, "again", err, message.TenantExists)
		for _, name := range []string{"", "-a", "A", "a b", "ä", strings.Repeat("a", 64), "a/b", "..", "a\n"} {
			_, err = b.AddTenant(ctx, root, name, "")
			wantCode(t, name, err, message.BodyInvalid)
		}
		_, err = b.AddTenant(ctx, sales, "other", "")
		wantCode(t, "a tenant's administrator", err, message.HubwideRequired)
		_, err = b.Tenants(ctx, sales)
		wantCode(t, "a tenant's administrator", err, message.HubwideRequired)
		wantCode(t, "a caller", b.RemoveTenant(ctx, hub.Principal{Role: hub.RoleCaller}, "lab"), message.RoleRefused)

		for name, c := range map[string]struct {
			by   hub.Principal
			want Wanted
			code message.Code
		}{
			"another tenant":   {sales, Wanted{Subject: "a", Role: hub.RoleCaller, Tenant: "lab"}, message.GrantRefused},
			"no tenant there":  {root, Wanted{Subject: "a", Role: hub.RoleCaller, Tenant: "none"}, message.TenantUnknown},
			"an operator":      {hub.Principal{Role: hub.RoleOperator}, Wanted{Subject: "a", Role: hub.RoleCaller}, message.RoleRefused},
			"a wider scope":    {hub.Principal{Role: hub.RoleAdmin, Scope: "server:git"}, Wanted{Subject: "a", Role: hub.RoleCaller}, message.GrantRefused},
			"another scope":    {hub.Principal{Role: hub.RoleAdmin, Scope: "server:git"}, Wanted{Subject: "a", Role: hub.RoleCaller, Scopes: []string{"server:mail"}}, message.GrantRefused},
			"no role":          {root, Wanted{Subject: "a", Role: "root"}, message.BodyInvalid},
			"no subject":       {root, Wanted{Role: hub.RoleCaller}, message.BodyInvalid},
			"our own name":     {root, Wanted{Subject: "Local", Role: hub.RoleCaller}, message.BodyInvalid},
			"an issuer's name": {root, Wanted{Subject: "alice@idp.example", Role: hub.RoleCaller}, message.BodyInvalid},
			"no scope":         {root, Wanted{Subject: "a", Role: hub.RoleCaller, Scopes: []string{"all"}}, message.BodyInvalid},
			"no time":          {root, Wanted{Subject: "a", Role: hub.RoleCaller, Expiry: time.Second}, message.BodyInvalid},
			"a strange note":   {root, Wanted{Subject: "a", Role: hub.RoleCaller, Note: "a\x1b[31m"}, message.BodyInvalid},
		} {
			_, _, err := b.Issue(ctx, c.by, c.want)
			wantCode(t, name, err, c.code)
		}

		secret, token := issue(t, b, sales, Wanted{Subject: "dave", Role: hub.RoleCaller})
		shown, _, good := b.token(secret, time.Now())
		if !good || shown.Principal.Tenant != "sales" || token.By != "sales/eve" {
			t.Errorf("%+v by %s", shown.Principal, token.By)
		}
		ours, ourToken := issue(t, b, root, Wanted{Subject: "erin", Role: hub.RoleCaller})
		list, err := b.List(ctx, sales)
		must(t, err)
		if len(list) != 1 || list[0].ID != token.ID {
			t.Errorf("a tenant sees %+v", list)
		}
		_, err = b.Revoke(ctx, sales, ourToken.ID)
		wantCode(t, "the hub's token", err, message.TokenUnknown)
		_, err = b.Revoke(ctx, sales, "t-0000000000000000")
		wantCode(t, "no token", err, message.TokenUnknown)
		if _, _, good := b.token(ours, time.Now()); !good {
			t.Error("a tenant has ended a token of the hub's")
		}

		wantCode(t, "with a token", b.RemoveTenant(ctx, root, "sales"), message.TenantInUse)
		cookie, _, err := b.Begin(ctx, Person{Subject: "x@idp", Tenant: "sales", Role: hub.RoleViewer}, "")
		must(t, err)
		revoke(t, b, sales, token.ID)
		must(t, b.RemoveTenant(ctx, root, "sales"))
		if _, ok := b.session(ctx, cookie, time.Now()); ok || b.HasTenant("sales") {
			t.Error("somebody of a tenant that is gone is signed in")
		}
		wantCode(t, "again", b.RemoveTenant(ctx, root, "sales"), message.TenantUnknown)
		wantCode(t, "the hub itself", b.RemoveTenant(ctx, root, ""), message.TenantUnknown)
		all, err := b.Tenants(ctx, root)
		must(t, err)
		if len(all) != 1 || all[0].Name != "lab" || all[0].Tokens != 0 {
			t.Errorf("%+v", all)
		}
	})
}

// A session ends when it is not used for an hour, after twelve hours, and with the
// next login of its browser.
func TestLoginSession(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b, ctx, now := openBook(t, db), t.Context(), time.Now()
		who := Person{Subject: "alice@idp", Name: "Alice", Role: hub.RoleOperator}
		cookie, end, err := b.Begin(ctx, who, "")
		must(t, err)
		shown, ok := b.session(ctx, cookie, now)
		if !ok || shown.Principal.Subject != "alice@idp" || shown.Principal.Role != hub.RoleOperator || !isSessionID(shown.Principal.Token) ||
			shown.Name != "Alice" || end.Sub(now).Round(time.Minute) != 12*time.Hour {
			t.Fatalf("%+v, %t until %v", shown, ok, end)
		}
		if _, ok := b.session(ctx, cookie, now.Add(time.Hour+time.Second)); ok {
			t.Error("it is good after an idle hour")
		}
		for at := time.Duration(0); at < 12*time.Hour-time.Minute; at += 50 * time.Minute {
			if _, ok := b.session(ctx, cookie, now.Add(at)); !ok {
				t.Fatalf("it is over after %v", at)
			}
			must(t, b.writeUses(ctx))
		}
		if _, ok := b.session(ctx, cookie, now.Add(12*time.Hour+time.Second)); ok {
			t.Error("it is good after twelve hours")
		}

		next, _, err := b.Begin(ctx, who, cookie)
		must(t, err)
		if _, ok := b.session(ctx, cookie, now); ok || next == cookie {
			t.Error("the session of before is good after a login")
		}
		other := openBook(t, db)
		late, _, err := b.Begin(ctx, who, "")
		must(t, err)
		if _, ok := other.session(ctx, late, now); ok != db.Postgres() { // which hubs share
			t.Errorf("another hub knows a new session: %t", ok)
		}
		must(t, b.End(ctx, next))
		if _, ok := b.session(ctx, next, now); ok {
			t.Error("it is good after its end")
		}
		for _, wrong := range []string{"", "x", strings.Repeat("A", cookieLength), next[:42]} {
			if _, ok := b.session(ctx, wrong, now); ok {
				t.Errorf("%q is taken", wrong)
			}
		}
	})
}

// What goes on by a token ends with it.
func TestHold(t *testing.T) {
	db := storetest.Open(t, storetest.SQLite(t))
	b := openBook(t, db)
	secret, token := issue(t, b, root, Wanted{Subject: "a", Role: hub.RoleViewer})
	shown, _, _ := b.token(secret, time.Now())
	ctx, release := Hold(WithShown(t.Context(), shown))
	defer release()
	revoke(t, b, root, token.ID)
	<-ctx.Done()
	if context.Cause(ctx) != ErrOver {
		t.Errorf("it ended for %v", context.Cause(ctx))
	}
	release()
	if len(b.watchers) > 0 {
		t.Error("somebody still watches")
	}
	shown.Expires = time.Now().Add(-time.Second)
	shown.watch = nil
	short, release := Hold(WithShown(t.Context(), shown))
	defer release()
	<-short.Done()
	if plain, release := Hold(t.Context()); plain != t.Context() {
		t.Error("who shows nothing has a time")
	} else {
		release()
	}
}

// Changes of several at once are all made.
func TestBookRace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b := openBook(t, db)
		secret, token := issue(t, b, root, Wanted{Subject: "a", Role: hub.RoleViewer})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { issue(t, b, root, Wanted{Subject: "b", Role: hub.RoleViewer}) })
			all.Go(func() {
				for range 50 {
					b.token(secret, time.Now())
				}
			})
			all.Go(func() { must(t, b.writeUses(t.Context())) })
			all.Go(func() { revoke(t, b, root, token.ID) })
		}
		all.Wait()
		list, err := b.List(t.Context(), root)
		must(t, err)
		if _, _, good := b.token(secret, time.Now()); len(list) != 9 || good {
			t.Errorf("%d tokens, the revoked one good %t", len(list), good)
		}
	})
}

// The book runs until it is told to end, and then writes what it knows.
func TestBookRun(t *testing.T) {
	db := storetest.Open(t, storetest.SQLite(t))
	b := openBook(t, db)
	secret, _ := issue(t, b, root, Wanted{Subject: "a", Role: hub.RoleViewer})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- b.Run(ctx) }()
	b.token(secret, time.Now())
	cancel()
	<-done
	list, err := openBook(t, db).List(t.Context(), root)
	must(t, err)
	if len(list) != 1 || list[0].Used.IsZero() {
		t.Errorf("%+v", list)
	}
	must(t, b.prune(t.Context()))
}

func BenchmarkToken(b *testing.B) {
	book := openBook(b, storetest.Open(b, storetest.SQLite(b)))
	secret, _ := issue(b, book, root, Wanted{Subject: "a", Role: hub.RoleViewer})
	now := time.Now()
	for b.Loop() {
		if _, _, good := book.token(secret, now); !good {
			b.Fatal("it is refused")
		}
	}
}
