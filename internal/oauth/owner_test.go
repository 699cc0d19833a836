package oauth

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// After a restart nobody with a name goes on by the hub's login, also while the
// server was not connected to yet.
func TestOwnerOfColdServer(t *testing.T) {
	s, b := newSite(t), newBench(t)
	ada := hub.Principal{Subject: "ada", Token: "t-1", Role: hub.RoleCaller}
	for _, owner := range []string{"", b.OwnerOf(ada)} {
		if _, err := b.login(s, nil, owner); err != nil {
			t.Fatal(err)
		}
	}
	again := openBench(t, b.dir)
	for _, p := range []hub.Principal{ada, {Subject: "bob", Token: "t-2"}, {Subject: "9@issuer"}} {
		if got := again.Owner("site", p); got == "" || got != again.OwnerOf(p) {
			t.Errorf("%s: the hub's own login is used: %q", p.Subject, got)
		}
	}
	a := again.Account(s.definition(nil), again.Owner("site", ada))
	if header, _ := a.Authorization(t.Context()); header == "" {
		t.Error("her own login is not used")
	}
	again.Account(s.definition(&hub.OAuth{Shared: true}), "")
	if got := again.Owner("site", ada); got != "" {
		t.Errorf("it is shared, which is known once it was connected: %q", got)
	}

	// Her login alone says that people log in there.
	b.Logout(t.Context(), "site", "")
	again = openBench(t, b.dir)
	if got := again.Owner("site", ada); got != again.OwnerOf(ada) {
		t.Errorf("without a login of the hub: %q", got)
	}
	if got := again.Owner("site", hub.Principal{Subject: "bob", Token: "t-2"}); got != "" {
		t.Errorf("nobody knows yet that people log in: %q", got)
	}
}

// The hub's own way in without people is everybody's, also before it was taken.
func TestOwnerOfColdClient(t *testing.T) {
	s, b := newSite(t), newBench(t)
	conf := &hub.OAuth{Grant: hub.GrantClient, ClientID: "me", ClientSecret: "my-secret", AuthorizationServer: s.url}
	if status, err := request(t, b.Account(s.definition(conf), ""), s, ""); status != 200 || err != nil {
		t.Fatal(status, err)
	}
	if got := openBench(t, b.dir).Owner("site", hub.Principal{Subject: "ada", Token: "t-1"}); got != "" {
		t.Errorf("%q", got)
	}
}

// Nobody has the login of somebody else for having the same name: a token's is that
// token's, and a tenant's that tenant's.
func TestOwnersAreNotNames(t *testing.T) {
	b := newBench(t)
	tenant := "1"
	b.opt.Tenant = func(name string) string { return name + tenant }
	seen := map[string]hub.Principal{}
	for _, p := range []hub.Principal{
		{Subject: "ada", Token: "t-1"},
		{Subject: "ada", Token: "t-2"},
		{Subject: "ada", Tenant: "acme", Token: "t-1"},
		{Subject: "ada@issuer", Tenant: "acme"},
		{Subject: "ada@issuer"},
		{Subject: "ada@other"},
	} {
		owner := b.OwnerOf(p)
		if other, there := seen[owner]; there || owner == "" {
			t.Errorf("%+v and %+v are one", p, other)
		}
		seen[owner] = p
	}
	signedIn := hub.Principal{Subject: "ada@issuer", Tenant: "acme", Token: "s-1"}
	before := b.OwnerOf(signedIn)
	if signedIn.Token = "s-2"; b.OwnerOf(signedIn) != before {
		t.Error("with the next session it is somebody else")
	}
	if tenant = "2"; b.OwnerOf(signedIn) == before {
		t.Error("a new tenant has the logins of the one that was called so")
	}
}

// What somebody had who may not come any more is forgotten, and revoked; so is what
// is kept of a mere name.
func TestSweep(t *testing.T) {
	s, b := newSite(t), newBench(t)
	for _, owner := range []string{"", "\x00ada\x00t-1", "\x00bob\x00t-2"} {
		if _, err := b.login(s, nil, owner); err != nil {
			t.Fatal(err)
		}
		<-b.told
	}
	if err := b.save(&record{Server: "site", Owner: "acme\x00ada", URL: s.mcp(), Tokens: tokens{Access: "x"}}); err != nil {
		t.Fatal(err)
	}
	kept := func(k *Keeper) int {
		all, err := k.opt.Vault.List()
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if n := kept(openBench(t, b.dir).Keeper); n != 4 { // with the client
		t.Errorf("%d are sealed", n)
	}
	again := openBench(t, b.dir, func(opt *Options) {
		opt.Known = func(o Owner) bool { return o == Owner{Subject: "bob", ID: "t-2"} }
	})
	if told := <-again.told; told != "site/\x00ada\x00t-1" { // by the time that it is, she is logged out
		t.Errorf("told of %q", told)
	}
	if n := kept(again.Keeper); n != 3 || len(s.revoked) != 1 {
		t.Errorf("%d are sealed, %v revoked", n, s.revoked)
	}
	for owner, want := range map[string]State{"": StateGranted, "\x00bob\x00t-2": StateGranted, "\x00ada\x00t-1": StateNone} {
		if st, _ := again.Status(s.definition(nil), owner); st.State != want {
			t.Errorf("%q is %s", owner, st.State)
		}
	}
}

// It is looked at once an hour.
func TestSweepByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looked := 0
		k, err := Open(Options{Vault: newBench(t).opt.Vault, Known: func(Owner) bool { looked++; return true }})
		if err != nil {
			t.Fatal(err)
		}
		k.at(account{"site", "\x00ada\x00t-1"})
		ctx, cancel := context.WithTimeout(t.Context(), 2*sweepEvery+time.Minute)
		defer cancel()
		if err := k.Run(ctx); err != nil || looked != 3 {
			t.Errorf("%v, %d times", err, looked)
		}
		k.Close()
	})
}

// There are only so many accounts: those of which nothing is kept go, and a login
// for which there is no room is refused.
func TestBoundOfAccounts(t *testing.T) {
	s, b := newSite(t), newBench(t)
	b.most = 3
	named := func(i int) string { return fmt.Sprintf("\x00ada\x00t-%d", i) }
	for i := range 50 {
		b.Account(s.definition(nil), named(i))
	}
	if n := len(b.accounts); n > b.most {
		t.Errorf("%d accounts of nothing", n)
	}
	for _, owner := range []string{"", named(100), named(101)} {
		if _, err := b.login(s, nil, owner); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Begin(t.Context(), s.definition(nil), named(102)); code(err) != message.UpstreamLoginsFull {
		t.Errorf("%v", err)
	}
	if status, err := request(t, b.Account(s.definition(nil), named(102)), s, ""); status != 401 || code(err) != message.UpstreamLoginNeeded {
		t.Errorf("%d, %v", status, err)
	}
	if _, err := b.Begin(t.Context(), s.definition(nil), named(100)); err != nil {
		t.Errorf("who has one cannot log in again: %v", err)
	}
	b.Logout(t.Context(), "site", named(101))
	if _, err := b.Begin(t.Context(), s.definition(nil), named(102)); err != nil {
		t.Errorf("after a logout: %v", err)
	}
}

// Servers cannot have the hub keep any number of clients that have registered
// themselves, on the disk neither.
func TestBoundOfClients(t *testing.T) {
	b := newBench(t)
	for i := range maxClients {
		b.clients[registration{fmt.Sprint("https://", i), redirect}] = &client{ID: "x"}
	}
	for i := range 5 {
		b.keepClient(fmt.Sprint("https://more", i), redirect, &client{ID: "y", Dynamic: true})
	}
	if len(b.clients) != maxClients || b.registered("https://more4", redirect) == nil {
		t.Errorf("%d clients", len(b.clients))
	}
	b.clients[registration{"https://old", redirect}] = &client{ID: "z", Expires: time.Now().Add(-time.Hour)}
	b.keepClient("https://last", redirect, &client{ID: "y", Dynamic: true})
	if b.clients[registration{"https://old", redirect}] != nil || len(b.clients) != maxClients+1 {
		t.Errorf("one that is over stays, of %d", len(b.clients))
	}
}
