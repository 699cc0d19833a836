package oauth

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// A login that was kept by a name is still that of somebody whom an issuer names,
// who can be nobody else; how many are not is told.
func TestLoginsOfNames(t *testing.T) {
	s, b := newSite(t), newBench(t)
	if _, err := b.login(s, nil, ""); err != nil {
		t.Fatal(err)
	}
	old := *b.Account(s.definition(nil), "").record
	for i, owner := range []string{"\x00ada@issuer", "\x00bob@issuer", "\x00bob@issuer\x00", "\x00ada", "acme\x00ada", "acme\x00ada@issuer"} {
		r := old
		r.Owner, r.Tokens.Access = owner, string(rune('0'+i))+"-secret"
		if err := b.save(&r); err != nil {
			t.Fatal(err)
		}
	}
	for _, start := range []string{"first", "second"} {
		again := openBench(t, b.dir)
		for owner, want := range map[string]string{
			"\x00ada@issuer\x00": "Bearer 0-secret", "\x00bob@issuer\x00": "Bearer 2-secret", // the newer one
			"\x00ada\x00": "", "acme\x00ada\x00": "", "acme\x00ada@issuer\x00": "",
		} {
			if got, err := again.Account(s.definition(nil), owner).Authorization(t.Context()); got != want || err != nil {
				t.Errorf("at the %s start %q has %q, %v", start, owner, got, err)
			}
		}
		if all, err := again.opt.Vault.List(); err != nil || len(all) != 4 { // with the hub's and the client
			t.Errorf("%d are sealed, %v", len(all), err)
		}
		told := strings.Contains(again.log.String(), "level=WARN") && strings.Contains(again.log.String(), "count=3")
		if told != (start == "first") {
			t.Errorf("at the %s start the log has:\n%s", start, again.log)
		}
	}
}

// What is given to somebody who has logged out meanwhile is given back.
func TestLogoutDuringRefresh(t *testing.T) {
	s, b := newSite(t), newBench(t)
	s.rotates = true
	a, err := b.login(s, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	a.age(2 * time.Hour)
	s.during = func() { b.Logout(t.Context(), "site", "") }
	if header, err := a.Authorization(t.Context()); header != "" || err != nil {
		t.Errorf("%q, %v", header, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := []string{"rt-1-secret", "rt-2-secret"}; !slices.Equal(s.revoked, want) {
		t.Errorf("revoked: %v", s.revoked)
	}
}

// Who is logging in stays, also between the browser's return and the token.
func TestRoomDuringExchange(t *testing.T) {
	s, b := newSite(t), newBench(t)
	b.most = 1
	const ada = "\x00ada\x00t-1"
	l, err := b.Begin(t.Context(), s.definition(nil), ada)
	if err != nil {
		t.Fatal(err)
	}
	s.during = func() { b.Account(s.definition(nil), "\x00bob\x00t-2") }
	if _, err := b.Complete(t.Context(), visit(t, l.URL)); err != nil {
		t.Fatal(err)
	}
	if header, err := b.Account(s.definition(nil), ada).Authorization(t.Context()); header == "" || err != nil {
		t.Errorf("her login is lost: %v", err)
	}
	b.Logout(t.Context(), "site", ada)
	if a := b.Account(s.definition(nil), "\x00bob\x00t-2"); a.trial {
		t.Error("there is no room after it")
	}
}

// That a server is near is looked at again: its name may be another's by then.
func TestNearIsForgotten(t *testing.T) {
	s := newSite(t)
	n := &names{answers: []string{"127.0.0.1"}}
	k, err := Open(Options{Vault: newBench(t).opt.Vault, Resolver: n.resolver(t), Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), ":")
	server, other := &url.URL{Scheme: "http", Host: "mcp.test:" + port, Path: "/mcp"}, &url.URL{Scheme: "http", Host: "other.test:" + port}
	if !k.reachFor(t.Context(), server).local || !k.reachFor(t.Context(), other).local {
		t.Fatal("they are not near")
	}
	n.mu.Lock()
	n.answers = []string{"198.51.100.1"}
	n.mu.Unlock()
	if !k.reachFor(t.Context(), server).local {
		t.Error("it is looked at each time")
	}
	for name := range k.near {
		k.near[name] = k.near[name].Add(-nearFor)
	}
	if k.reachFor(t.Context(), server).local {
		t.Error("an hour later it still is near")
	}
	n.mu.Lock()
	n.answers, n.asked = []string{"127.0.0.1"}, 0
	n.mu.Unlock()
	if !k.reachFor(t.Context(), server).local || len(k.near) != 1 {
		t.Errorf("what is over is kept: %v", k.near)
	}
}
