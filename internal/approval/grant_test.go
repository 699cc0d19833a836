package approval

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// granting is a grant for all that calls a tool as it is described.
func granting(subject string) Grant {
	return Grant{Subject: subject, Server: "files", Tool: "delete", ToolHash: hashOf("tool"), MaxRisk: hub.RiskHigh, Expires: time.Now().Add(time.Hour)}
}

func (c *counter) mustGrant(t testing.TB, by hub.Principal, g Grant) Grant {
	t.Helper()
	g, err := c.Grant(t.Context(), by, g)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func asked(subject, arguments string) Asked {
	return Asked{
		Subject: subject, Server: "files", Tool: "delete", ToolHash: hashOf("tool"), ArgumentsHash: hashOf(arguments), Arguments: []byte(arguments), Risk: hub.RiskHigh,
	}
}

// A grant covers what it says and nothing else, until it expires or is revoked,
// also after a restart; its uses are counted.
func TestGrant(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		stop := c.run(t)
		g := c.mustGrant(t, operator("alice"), granting("local"))
		covers := func(what string, c *counter, q Asked, want bool) {
			t.Helper()
			if got, ok := c.Granted(&q); ok != want || ok && got.ID != g.ID {
				t.Errorf("%s: %v, %s", what, ok, got.ID)
			}
		}
		call := asked("local", `{}`)
		covers("the call", c, call, true)
		for what, change := range map[string]func(*Asked){
			"subject": func(q *Asked) { q.Subject = "other" }, "tenant": func(q *Asked) { q.Tenant = "red" }, "server": func(q *Asked) { q.Server = "x" },
			"tool": func(q *Asked) { q.Tool = "x" }, "description": func(q *Asked) { q.ToolHash = "x" }, "risk": func(q *Asked) { q.Risk = hub.RiskCritical },
			"own": func(q *Asked) { q.Token = "token of alice" },
		} {
			q := call
			change(&q)
			covers("another "+what, c, q, false)
		}
		covers("less risk", c, Asked{Subject: "local", Server: "files", Tool: "delete", ToolHash: hashOf("tool")}, true)
		covers("after a restart", open(t, db, "n1"), call, true)
		stop()
		all, err := c.Grants(t.Context(), GrantQuery{})
		if err != nil || len(all) != 1 || all[0].Uses != 2 || all[0].Used.IsZero() || all[0].By != "alice" || !all[0].Expires.Equal(g.Expires) || !all[0].InForce(time.Now()) {
			t.Errorf("%+v, %v", all, err)
		}
		_, err = c.Revoke(t.Context(), hub.Principal{Subject: "local", Role: hub.RoleCaller}, g.ID)
		refused(t, "revoked by whose calls it covers", err, message.GrantUnknown)
		if done, err := c.Revoke(t.Context(), operator("bob"), g.ID); err != nil || done.Revoker != "bob" || done.Revoked.IsZero() {
			t.Errorf("%+v, %v", done, err)
		}
		covers("revoked", c, call, false)
		_, err = c.Revoke(t.Context(), operator("bob"), g.ID)
		refused(t, "twice", err, message.GrantUnknown)
		_, err = c.Revoke(t.Context(), operator("bob"), "no\x00thing")
		refused(t, "nothing", err, message.GrantUnknown)

		g = c.mustGrant(t, operator("alice"), granting(""))
		covers("all of the tenant", c, asked("other", `{}`), true)
		own := asked("alice", `{}`)
		covers("but not who gave it", c, own, false)
		own.Tenant = "red"
		covers("another tenant", c, own, false)
		err = db.Tx(t.Context(), store.Process, txExec("UPDATE approval_grant SET expires = $1, changed = changed + 1", time.Now().UnixMicro()))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.renewGrants(t.Context()); err != nil {
			t.Error(err)
		}
		covers("expired", c, call, false)
		if all, err := c.Grants(t.Context(), GrantQuery{All: true}); err != nil || len(all) != 2 || all[0].ID != g.ID {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// What must not stand is refused.
func TestGrantRefused(t *testing.T) {
	c := open(t, storetest.Open(t, storetest.SQLite(t)), "n1")
	for what, change := range map[string]func(*Grant){
		"server": func(g *Grant) { g.Server = "" }, "tool": func(g *Grant) { g.Tool = "" }, "description": func(g *Grant) { g.ToolHash = "" },
		"no end": func(g *Grant) { g.Expires = time.Time{} }, "over": func(g *Grant) { g.Expires = time.Now() }, "long": func(g *Grant) { g.Expires = time.Now().Add(LongestGrant + time.Minute) },
		"critical": func(g *Grant) { g.MaxRisk = hub.RiskCritical }, "note": func(g *Grant) { g.Note = strings.Repeat("x", MaxNote+1) },
		"members": func(g *Grant) { g.Members = map[string]json.RawMessage{"a": []byte("{")} },
		"twice":   func(g *Grant) { g.Members = map[string]json.RawMessage{"a": []byte(`{"b":1,"b":2}`)} },
		"large": func(g *Grant) {
			g.Members = map[string]json.RawMessage{"a": []byte(`"` + strings.Repeat("x", maxMembers) + `"`)}
		},
	} {
		g := granting("local")
		change(&g)
		_, err := c.Grant(t.Context(), operator("alice"), g)
		refused(t, what, err, message.GrantInvalid)
	}
	_, err := c.Grant(t.Context(), operator("local"), granting("local"))
	refused(t, "own", err, message.ApprovalOwn)
	red, git := operator("alice"), operator("alice")
	red.Tenant, git.Scope = "red", "server:git"
	for _, by := range []hub.Principal{red, git, {Subject: "eve", Role: hub.RoleCaller}, {Subject: "eve", Role: hub.RoleApprover, Tenant: "red"}} {
		_, err = c.Grant(t.Context(), by, granting("local"))
		refused(t, "another tenant's or server's", err, message.GrantInvalid)
	}
}

// A grant with members covers calls that have them, as any server would read them.
func TestGrantMembers(t *testing.T) {
	c := open(t, storetest.Open(t, storetest.SQLite(t)), "n1")
	g := granting("local")
	g.Members = map[string]json.RawMessage{"path": []byte(`"/tmp/x"`), "how": []byte(` {"n": 1, "l": [1, "a", null]} `)}
	c.mustGrant(t, operator("alice"), g)
	for arguments, want := range map[string]bool{
		`{"path":"/tmp/x","how":{"n":1,"l":[1,"a",null]}}`:                         true,
		`{"how":{"l":[1,"a",null],"n":1},"other":true,"\u0070ath":"\/tmp\u002fx"}`: true,
		`{"path":"/tmp/x"}`: false,
		`{"path":"/tmp/y","how":{"n":1,"l":[1,"a",null]}}`:               false,
		`{"path":"/tmp/x","how":{"n":1.0,"l":[1,"a",null]}}`:             false,
		`{"path":"/tmp/x","how":{"n":1,"l":["a",1,null]}}`:               false,
		`{"path":"/tmp/x","path":"/etc","how":{"n":1,"l":[1,"a",null]}}`: false,
		`{"path":"/tmp/x","Path":"/etc","how":{"n":1,"l":[1,"a",null]}}`: false,
		`{"path":"/tmp/x","how":{"n":1,"l":[1,"a",null]},"x":"\ud800"}`:  false,
		`{"path":"/tmp/x","how":{"n":1,"l":[1,"a",null],"m":1}}`:         false,
		`[]`: false, ``: false, `{`: false,
	} {
		q := asked("local", arguments)
		if _, ok := c.Granted(&q); ok != want {
			t.Errorf("%s: %v", arguments, ok)
		}
	}
	exact := granting("other")
	exact.ArgumentsHash = hashOf(`{"n":1}`)
	c.mustGrant(t, operator("alice"), exact)
	for arguments, want := range map[string]bool{`{"n":1}`: true, `{"n":2}`: false} {
		q := asked("other", arguments)
		if _, ok := c.Granted(&q); ok != want {
			t.Errorf("exactly %s: %v", arguments, ok)
		}
	}
}

// Who sees a grant: those whose calls it covers, and those who may decide there.
func TestGrantsSeen(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		var ids []string
		for _, tenant := range []string{"", "red"} {
			for _, subject := range []string{"", "ann", "bob"} {
				g := granting(subject)
				g.Tenant = tenant
				ids = append(ids, c.mustGrant(t, operator("alice"), g).ID)
			}
		}
		for _, test := range []struct {
			viewer hub.Principal
			want   []int
		}{
			{operator("x"), []int{0, 1, 2, 3, 4, 5}},
			{hub.Principal{Subject: "ann", Role: hub.RoleCaller}, []int{0, 1}},
			{hub.Principal{Subject: "ann", Role: hub.RoleCaller, Tenant: "red"}, []int{3, 4}},
			{hub.Principal{Subject: "eve", Role: hub.RoleApprover, Tenant: "red"}, []int{3, 4, 5}},
			{hub.Principal{Subject: "eve", Role: hub.RoleApprover, Tenant: "red", Scope: "server:git"}, nil},
		} {
			all, err := c.Grants(t.Context(), GrantQuery{Viewer: &test.viewer, Server: "files"})
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, g := range all {
				got = append(got, slices.Index(ids, g.ID))
				if !g.SeenBy(&test.viewer) {
					t.Errorf("%+v is told %+v", test.viewer, g)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("%+v sees %v, not %v", test.viewer, got, test.want)
			}
		}
		if _, err := c.Revoke(t.Context(), hub.Principal{Subject: "x", Role: hub.RoleOperator, Tenant: "blue"}, ids[3]); !hub.IsCode(err, message.GrantUnknown) {
			t.Errorf("revoked by another tenant: %v", err)
		}
	})
}

// A grant holds on each hub that shares the database, and its end too.
func TestGrantsOfHubs(t *testing.T) {
	one := storetest.PostgreSQL(t)
	a, b := open(t, storetest.Open(t, one), "n1"), open(t, storetest.Open(t, one), "n2")
	b.run(t)
	until := func(want bool) {
		t.Helper()
		q := asked("local", `{}`)
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
			if _, ok := b.Granted(&q); ok == want {
				return
			}
			time.Sleep(time.Millisecond) // of another process: there is nothing to wait for
		}
		t.Errorf("it is not %v", want)
	}
	g := a.mustGrant(t, operator("alice"), granting("local"))
	until(true)
	if _, err := a.Revoke(t.Context(), operator("alice"), g.ID); err != nil {
		t.Fatal(err)
	}
	until(false)
}

// Uses are counted while grants come and go.
func TestGrantUses(t *testing.T) {
	c := open(t, storetest.Open(t, storetest.SQLite(t)), "n1")
	g := c.mustGrant(t, operator("alice"), granting("local"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			q := asked("local", `{}`)
			for range 1000 {
				c.Granted(&q)
			}
		})
	}
	for range 5 {
		c.mustGrant(t, operator("alice"), granting("x"))
		c.countUses(t.Context())
	}
	wg.Wait()
	c.countUses(t.Context())
	all, err := c.Grants(t.Context(), GrantQuery{})
	if err != nil || all[len(all)-1].ID != g.ID || all[len(all)-1].Uses != 8000 {
		t.Errorf("%+v, %v", all, err)
	}
}

// FuzzMembers: what is covered has the members, whoever reads it.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"path":"/x"}`, `{"path":"/x","Path":"/y"}`, `{"path":"/x","path":"/y"}`, `{"\u0070ath":"\/x"}`, `[]`, `{"path":"\ud800"}`, `{"path":1e5}`, ``} {
		f.Add([]byte(s))
	}
	want := map[string]any{"path": "/x"}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !hasMembers(raw, want) {
			return
		}
		var strict map[string]any
		var loose struct{ Path any }
		if err := json.Unmarshal(raw, &strict); err != nil || strict["path"] != "/x" {
			t.Errorf("%q: %v, %v", raw, strict, err)
		}
		if err := json.Unmarshal(raw, &loose); err != nil || loose.Path != "/x" {
			t.Errorf("%q reads %v where case does not count, %v", raw, loose.Path, err)
		}
	})
}

// FuzzArguments: what a person can agree to is an object that reads in one way.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, ` {"a":1}`, `[]`, `{"a":1,"a":2}`, `{"a":{"b":1,"\u0062":2}}`, `null`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if raw == nil || checkArguments(raw) != nil {
			return
		}
		var v map[string]any
		if err := json.Unmarshal(raw, &v); err != nil || v == nil {
			t.Errorf("%q: %v", raw, err)
		}
	})
}
