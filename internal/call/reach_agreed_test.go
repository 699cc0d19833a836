package call

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// pool is two servers of one pool.
func twins() []hub.Server {
	a, b := builtin("a"), builtin("b")
	a.Pool, b.Pool = "p", "p"
	return []hub.Server{a, b}
}

// A call goes only to those servers of a pool that it was judged for, and that who
// agreed may decide about; a grant is for its own server.
func TestAgreementReachesItsServers(t *testing.T) {
	for _, tt := range []struct {
		scope string
		left  []string
		sent  string
	}{{"", []string{"a", "b"}, "do"}, {"server:a", []string{"a"}, ""}} {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t, []hub.Rule{asks("do")}, twins()...)
			ch := o.begin(t.Context(), "p__do", `{"n":1}`)
			q := o.pending()
			if !slices.Equal(q.Servers, []string{"a", "b"}) {
				t.Fatalf("judged for %q", q.Servers)
			}
			must(t, o.fleet.Stop(t.Context(), "a"))
			now, err := o.desk.Decide(t.Context(), q.ID, approval.Deciding{Kind: approval.Approve, By: hub.Principal{Subject: "bob", Role: hub.RoleApprover, Scope: tt.scope}})
			must(t, err)
			if <-ch; !slices.Equal(now.Servers, tt.left) || o.sent() != tt.sent {
				t.Errorf("agreed to with the scope %q it may go to %q, sent %q", tt.scope, now.Servers, o.sent())
			}
		})
	}
	t.Run("a server that came later", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t, []hub.Rule{asks("do")}, twins()...)
			must(t, o.fleet.Stop(t.Context(), "b"))
			o.setRules(asks("do"), hub.Rule{ID: "not-b", Effect: hub.VerdictDeny, Servers: []string{"b"}})
			ch := o.begin(t.Context(), "p__do", `{"n":1}`)
			q := o.pending()
			if !slices.Equal(q.Servers, []string{"a"}) {
				t.Fatalf("judged for %q", q.Servers)
			}
			must(t, o.fleet.Start(t.Context(), "b"))
			o.decide(q.ID, approval.Deciding{Kind: approval.Approve})
			if a := <-ch; a.err != nil || a.res.Server != "a" {
				t.Errorf("it went to %v, %v", a.res, a.err)
			}
		})
	})
	t.Run("a grant", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t, []hub.Rule{asks("do")}, twins()...)
			share, _ := o.catalog.Snapshot().Share("b")
			_, err := o.desk.Grant(t.Context(), hub.Principal{Subject: "bob", Role: hub.RoleAdmin, Scope: "server:b"}, approval.Grant{
				Server: "b", Tool: "do", ToolHash: toolHash(share.Tools[0]), MaxRisk: hub.RiskHigh, Expires: time.Now().Add(time.Hour),
			})
			must(t, err)
			for range 4 {
				res, err := o.call(t.Context(), "p__do", `{"n":1}`)
				if _, wrong, _ := told(t, res, err); wrong || res.Server != "b" {
					t.Fatalf("it went to %q", res.Server)
				}
			}
			must(t, o.fleet.Stop(t.Context(), "b"))
			if res, err := o.call(t.Context(), "p__do", `{"n":1}`, func(r *Request) { r.Timeout = time.Second }); err == nil {
				if _, wrong, _ := told(t, res, err); !wrong {
					t.Errorf("it went to %q", res.Server)
				}
			}
		})
	})
}

// Other arguments are judged as from the same caller, at every server the call may go
// to; what is riskier than what was seen has to be agreed to once more.
func TestEditedIsJudgedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{
			asks("do"),
			{ID: "no-role", Effect: hub.VerdictDeny, Roles: []hub.Role{hub.RoleCaller}, When: `call.args.to == "callers-may-not"`},
			{ID: "not-b", Effect: hub.VerdictDeny, Servers: []string{"b"}, When: `call.args.to == "not-at-b"`},
		}, twins()...)
		ch := o.begin(t.Context(), "p__do", `{"n":1,"to":"x"}`)
		q := o.status(o.pending().ID)
		for _, to := range []string{"callers-may-not", "not-at-b"} {
			if _, err := o.Check(t.Context(), q, []byte(`{"n":1,"to":"`+to+`"}`)); !hub.IsCode(err, message.PolicyDenied) {
				t.Errorf("%s: %v", to, err)
			}
		}
		edited := []byte(`{"n":2,"to":"y"}`)
		j, err := o.Check(t.Context(), q, edited)
		must(t, err)
		judged := approval.JudgedOf(&j)
		judged.Risk = q.Risk + 1
		now := o.decide(q.ID, approval.Deciding{Kind: approval.Edit, Arguments: edited, ArgumentsHash: ArgumentsHash(edited), Judged: &judged})
		if now.Status != approval.Pending || now.Persons != 2 || now.Risk != judged.Risk || !slices.Equal(now.Servers, q.Servers) {
			t.Fatalf("after an edit of more risk: %+v", now)
		}
		o.decide(q.ID, approval.Deciding{Kind: approval.Approve, Confirmation: 2, Saw: now.Hash})
		if a := <-ch; a.err != nil || len(o.params()) != 1 {
			t.Errorf("got %v, sent %q", a.err, o.params())
		}
	})
	// Whoever edits past the check, and does not say of what risk that is, has agreed to
	// no more than what was asked.
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{{ID: "all", Effect: hub.VerdictAsk, Tools: []string{"do"}}})
		ch := o.begin(t.Context(), "s__do", `{"to":"x"}`)
		q := o.pending()
		edited := []byte(`{"command":"rm -rf / --no-preserve-root"}`)
		j, err := o.Check(t.Context(), q, edited)
		must(t, err)
		if j.Risk <= q.Risk {
			t.Fatalf("%s is no riskier than %s", j.Risk, q.Risk)
		}
		o.decide(q.ID, approval.Deciding{Kind: approval.Edit, Arguments: edited, ArgumentsHash: ArgumentsHash(edited)})
		time.Sleep(time.Minute)
		a := <-ch
		if _, wrong, ticket := told(t, a.res, a.err); !wrong || ticket == q.ID || o.sent() != "" {
			t.Errorf("sent %q, the ticket is %q", o.sent(), ticket)
		}
	})
}

// A call that somebody makes once more for another is both's: the rules are held
// against both, and neither decides about it, nor by a grant.
func TestRetrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eve := hub.Principal{Subject: "eve", Door: hub.DoorREST, Role: hub.RoleOperator, Token: "t-eve"}
		by := func(r *Request) { r.Retrier = &eve }
		o := newOffice(t, []hub.Rule{asks("do"), {ID: "not-eve", Effect: hub.VerdictDeny, Tools: []string{"see"}, Callers: []string{"eve"}}})
		share, _ := o.catalog.Snapshot().Share("s")
		g, err := o.desk.Grant(t.Context(), eve, approval.Grant{Server: "s", Tool: "do", ToolHash: toolHash(share.Tools[0]), MaxRisk: hub.RiskHigh, Expires: time.Now().Add(time.Hour)})
		must(t, err)
		ch := o.begin(t.Context(), "s__do", `{"n":1}`, by)
		q := o.pending()
		for _, who := range []hub.Principal{eve, {Subject: "ann", Role: hub.RoleApprover}, {Subject: "x", Token: "t-eve", Role: hub.RoleApprover}} {
			if _, err := o.desk.Decide(t.Context(), q.ID, approval.Deciding{By: who, Kind: approval.Approve}); !hub.IsCode(err, message.ApprovalOwn) {
				t.Errorf("%s: %v", who.Subject, err)
			}
		}
		o.decide(q.ID, approval.Deciding{Kind: approval.Approve})
		if a := <-ch; a.err != nil || o.sent() != "do" {
			t.Errorf("got %v, sent %q", a.err, o.sent())
		}
		if res, err := o.call(t.Context(), "s__do", `{"n":2}`); err != nil || o.latest().Grant == "" {
			t.Errorf("ann's own call is not covered: %v, %v", res, err)
		}
		res, err := o.call(t.Context(), "s__see", `{}`, by)
		if text, wrong, _ := told(t, res, err); !wrong {
			t.Errorf("eve may not, and got %q", text)
		}
		for _, less := range []hub.Principal{{Subject: "eve", Role: hub.RoleViewer}, {Subject: "ann", Role: hub.RoleApprover}} {
			if _, err := o.call(t.Context(), "s__see", `{}`, func(r *Request) { r.Retrier = &less }); !hub.IsCode(err, message.RoleRefused) {
				t.Errorf("%+v: %v", less, err)
			}
		}
		if _, err := o.call(t.Context(), "s__see", `{}`, func(r *Request) { r.Retrier = &hub.Principal{Subject: "ann", Role: hub.RoleCaller, Scope: "server:x"} }); !hub.IsCode(err, message.ToolUnknown) {
			t.Errorf("by a token that is not for the server: %v", err)
		}
		// What ann asked for herself is found by her own retry, and not by eve's.
		_, err = o.desk.Revoke(t.Context(), eve, g.ID)
		must(t, err)
		soon := func(r *Request) { r.Timeout = time.Second }
		res, err = o.call(t.Context(), "s__do", `{"n":3}`, soon)
		_, _, own := told(t, res, err)
		res, err = o.call(t.Context(), "s__do", `{"n":3}`, soon, func(r *Request) { again := r.Principal; again.Token = "other"; r.Retrier = &again })
		if _, _, ticket := told(t, res, err); ticket != own {
			t.Error("ann's retry does not find what she asked for")
		}
		res, err = o.call(t.Context(), "s__do", `{"n":3}`, soon, by)
		if _, _, ticket := told(t, res, err); ticket == own {
			t.Error("eve could decide about what she makes again")
		}
	})
}
