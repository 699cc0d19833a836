package app

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/oauth"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// Logins at servers are kept for tokens that are good and for people whose tenant is
// the one that it was.
func TestKnowsOwner(t *testing.T) {
	db, err := store.Open(t.Context(), storetest.SQLite(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	book, err := auth.OpenBook(t.Context(), auth.BookOptions{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	a := &App{gate: auth.NewGate(auth.GateOptions{Book: book})}
	root := hub.Principal{Subject: "admin", Role: hub.RoleAdmin}
	if _, err := book.AddTenant(t.Context(), root, "sales", ""); err != nil {
		t.Fatal(err)
	}
	_, token, err := book.Issue(t.Context(), root, auth.Wanted{Subject: "ada", Role: hub.RoleCaller})
	if err != nil {
		t.Fatal(err)
	}
	for o, want := range map[oauth.Owner]bool{
		{Subject: "ada", ID: token.ID}:             true,
		{Subject: "ada", ID: "t-0000000000000000"}: false,
		{Subject: "ada"}:                           false,
		{Subject: "9@issuer"}:                      true,
		{Subject: "9@issuer", Tenant: "sales", ID: book.TenantID("sales")}:   true,
		{Subject: "9@issuer", Tenant: "sales", ID: "1"}:                      false,
		{Subject: "9@issuer", Tenant: "gone", ID: book.TenantID("sales")}:    false,
		{Subject: "ada", Tenant: "sales", ID: "s-" + book.TenantID("sales")}: false,
	} {
		if a.knowsOwner(o) != want {
			t.Errorf("%+v: %v", o, !want)
		}
	}
}
