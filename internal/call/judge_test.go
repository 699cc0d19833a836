package call

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Doors that only observe judge and record, and let everything pass.
func TestObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{asks("do"), denies("see")})
		at := func(r *Request) { r.Principal.Door = hub.DoorStdio }
		for _, tool := range []string{"do", "see"} {
			res, err := o.call(t.Context(), "s__"+tool, `{}`, at)
			if _, wrong, _ := told(t, res, err); wrong {
				t.Error("refused")
			}
			if r := o.latest(); r.Mode != hub.PolicyObserve || r.Verdict == hub.VerdictAllow || r.Verdict == "" || r.Approval != "" {
				t.Errorf("recorded %+v", r)
			}
		}
		if o.Asks(hub.DoorStdio) || !o.Asks(hub.DoorMCP) {
			t.Error("what asks is another door")
		}
	})
}

// No name leads around a rule: not call_tool, not a group's name for the tool, not
// the server's own; and nobody is served who may not call.
func TestNoWayAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{denies("s__do")})
		o.catalog.SetViews([]hub.Group{{Name: "g", Servers: []string{"s"}, Rename: map[string]string{"s__do": "innocent"}}}, []hub.Profile{{Client: "small", MaxTools: 1}})
		for _, tt := range []struct{ tool, args, group, client string }{
			{"s__do", `{}`, "", ""},
			{"do", `{}`, "", ""},
			{"innocent", `{}`, "g", ""},
			{"do", `{}`, "g", ""},
			{"call_tool", `{"name":"s__do","arguments":{}}`, "", "small"},
			{"call_tool", `{"name":"do"}`, "", "small"},
		} {
			res, err := o.call(t.Context(), tt.tool, tt.args, func(r *Request) { r.Viewer = hub.Viewer{Group: tt.group, Client: tt.client} })
			text, wrong, _ := told(t, res, err)
			if r := o.latest(); !wrong || r.Code != string(message.PolicyDenied) || r.Rule != "d-s__do" || r.Verdict != hub.VerdictDeny || o.sent() != "" {
				t.Errorf("%+v: %q, recorded %+v", tt, text, r)
			}
		}
		for _, role := range []hub.Role{"", hub.RoleViewer, hub.RoleApprover} {
			for _, tool := range []string{"s__see", "approval_result", "none"} {
				if _, err := o.call(t.Context(), tool, `{}`, func(r *Request) { r.Principal.Role = role }); !hub.IsCode(err, message.RoleRefused) {
					t.Errorf("%q, %s: %v", role, tool, err)
				}
			}
		}
	})
}

// In a pool a call goes to any of the servers that were judged alike, and to no
// other; what is forbidden at one may be carried out by another.
func TestPoolsAreJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := builtin("a"), builtin("b")
		a.Pool, b.Pool = "p", "p"
		o := newOffice(t, []hub.Rule{{ID: "not-a", Effect: hub.VerdictDeny, Servers: []string{"a"}}}, a, b)
		for range 4 {
			res, err := o.call(t.Context(), "p__do", `{}`)
			if _, wrong, _ := told(t, res, err); wrong || res.Server != "b" {
				t.Errorf("it went to %q", res.Server)
			}
		}
		o.setRules(asks("do"))
		for i := range 3 { // whichever is the least busy, it is the same request
			res, err := o.call(t.Context(), "p__do", `{"n":1}`)
			if _, _, ticket := told(t, res, err); ticket != o.pending().ID {
				t.Errorf("%d: the ticket is %q", i, ticket)
			}
		}
		id := o.pending().ID
		o.decide(id, approval.Deciding{Kind: approval.Approve})
		res, err := o.call(t.Context(), "p__do", `{"n":1}`)
		if _, wrong, _ := told(t, res, err); wrong {
			t.Error("refused")
		}
	})
}

// A client's profile and the caller's own limit say how long a call is held.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		client string
		limit  time.Duration
		want   time.Duration
	}{{"", 0, DefaultHold}, {"quick", 0, 10 * time.Second}, {"", 5 * time.Second, 5 * time.Second}, {"quick", time.Minute, 10 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t, []hub.Rule{asks("do")})
			o.catalog.SetViews(nil, []hub.Profile{{Client: "quick", Hold: 10 * time.Second}})
			began := time.Now()
			res, err := o.call(t.Context(), "s__do", `{}`, func(r *Request) { r.Viewer.Client, r.Timeout = tt.client, tt.limit })
			if _, wrong, ticket := told(t, res, err); !wrong || ticket == "" || time.Since(began).Round(time.Second) != tt.want {
				t.Errorf("%+v: held for %v", tt, time.Since(began))
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
