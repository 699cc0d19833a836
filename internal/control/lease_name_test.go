package control_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Names are looked up at each change, so that all holders of a caller have only so
// many.
func TestLeasedNamesTogether(t *testing.T) {
	s := open(t, "")
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint("nothing", i)
	}
	for i := range 4 {
		s.lease(fmt.Sprint(i), time.Hour, many...)
	}
	_, err := s.Lease(hub.Principal{}, "other", []string{"a"}, 0)
	wantCode(t, err, message.BodyInvalid)
	wantCode(t, s.Release(hub.Principal{}, "other"), message.LeaseUnknown)
	s.lease("0", 0, many...) // in place of as many
	s.lease("0", 0, many[1:]...)
	s.lease("other", 0, "a")
	if err := s.Release(hub.Principal{}, "1"); err != nil {
		t.Fatal(err)
	}
	s.lease("2", 0, many...)
	s.lease("third", 0, many...)
}

// The key of a server means the server, also if another has a tool of that name.
func TestLeaseOfKeyAndTool(t *testing.T) {
	s := open(t, `{"mcpServers":{"first":`+faultServer(t, `"priority":99`)+`,"bare":`+faultServer(t, `"bareNames":true`)+
		`,"echo":`+faultServer(t)+`,"note":`+faultServer(t)+`}}`)
	s.lists("first", "echo", "", "note", "")
	s.lists("bare", "note", "")
	g := s.lease("h", 0, "echo", "note")
	if len(g.Unknown) > 0 {
		t.Errorf("the grant is %+v", g)
	}
	s.wantLeases("bare h note", "echo h") // "note" is what the tool of "bare" is called
}

// What one caller holds is his: nobody else ends it by the name of its holder, is kept
// from holding anything by how much it is, or has anything to do with it in another
// tenant.
func TestLeasesOfSeveral(t *testing.T) {
	s := open(t, one("a"))
	ann, bob := hub.Principal{Subject: "ann", Role: hub.RoleCaller}, hub.Principal{Subject: "bob", Role: hub.RoleCaller}
	lease := func(by hub.Principal, holder string, names ...string) {
		t.Helper()
		if g, err := s.Lease(by, holder, names, time.Hour); err != nil || g.Holder != holder {
			t.Fatalf("%s: %+v, %v", by.Subject, g, err)
		}
	}
	lease(ann, "x", "a")
	lease(bob, "x", "a")
	s.wantLeases("a x", "a x")
	if err := s.Release(bob, "x"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.Release(bob, "x"), message.LeaseUnknown)
	if all := s.Leases(); len(all) != 1 || all[0].Subject != "ann" || all[0].Holder != "x" {
		t.Errorf("held are %+v", all)
	}
	s.Use(bob, "x")()
	// One caller has as much as he may, and others have room; so has his tenant.
	for i := range 199 {
		lease(ann, fmt.Sprint(i))
	}
	_, err := s.Lease(ann, "more", nil, 0)
	wantCode(t, err, message.BodyInvalid)
	for _, one := range []hub.Principal{bob, {Subject: "ann", Tenant: "red"}} {
		lease(one, "more", "a")
	}
	many := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("nothing", i))
		}
		return names
	}
	for who := range 5 { // of whom all together have what a tenant may
		for i := range 4 {
			lease(hub.Principal{Subject: fmt.Sprint(who), Tenant: "blue"}, fmt.Sprint(i), many(1000)...)
		}
	}
	_, err = s.Lease(hub.Principal{Subject: "late", Tenant: "blue"}, "x", []string{"a"}, 0)
	wantCode(t, err, message.BodyInvalid)
	lease(hub.Principal{Subject: "late", Tenant: "red"}, "x", "a")
	if err := s.Release(hub.Principal{Subject: "0", Tenant: "blue"}, "0"); err != nil {
		t.Fatal(err)
	}
	lease(hub.Principal{Subject: "late", Tenant: "blue"}, "x", "a")
}

// Whoever is on this machine without a token is many: only the bounds of all hold for
// them together.
func TestLeasesOfLocal(t *testing.T) {
	s := open(t, one("a"))
	for by, want := range map[hub.Principal]int{
		hub.Local(""): 1000, {Subject: "ann", Token: "t-1"}: 200, {Subject: "local", Token: "t-2"}: 200, {Subject: "local", Tenant: "acme"}: 200,
	} {
		n := 0
		for ; n <= want; n++ {
			if _, err := s.Lease(by, fmt.Sprint(n), []string{"nothing"}, time.Hour); err != nil {
				wantCode(t, err, message.BodyInvalid)
				break
			}
		}
		if n != want {
			t.Errorf("%+v has %d holders", by, n)
		}
		for i := range n {
			if err := s.Release(by, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint("nothing", i)
	}
	for i := range 20 {
		if _, err := s.Lease(hub.Local(""), fmt.Sprint(i), many, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Lease(hub.Local(""), "20", many, time.Hour)
	wantCode(t, err, message.BodyInvalid)
}
