package call

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

// What somebody else has decided meanwhile holds, but where the caller says no: then
// its call is not made.
func TestDecidedMeanwhile(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		with         approval.Deciding
		want         string // that is sent, or the code
	}{
		{"approved", saysYes, approval.Deciding{Kind: approval.Approve}, `"n":1`},
		{"rejected", saysYes, approval.Deciding{Kind: approval.Reject}, string(message.ApprovalRejected)},
		{"edited", saysYes, approval.Deciding{Kind: approval.Edit, Arguments: []byte(`{"n":2}`), ArgumentsHash: ArgumentsHash([]byte(`{"n":2}`))}, `"n":2`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newFormOffice(t)
				_, state := o.asked(`{"n":1}`)
				o.decide(o.pending().ID, tt.with)
				res, err := o.call(t.Context(), "s__do", `{"n":1}`, answering(state, tt.answer), modern)
				if tt.with.Kind == approval.Reject {
					o.refusedAs(tt.name, res, err, message.Code(tt.want))
				} else if text, wrong, _ := told(t, res, err); wrong || len(o.params()) != 1 || !strings.Contains(o.params()[0], tt.want) {
					t.Errorf("got %q, sent %q", text, o.params())
				}
			})
		})
	}
	t.Run("and the caller has closed the question", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newFormOffice(t)
			_, state := o.asked(`{"n":1}`)
			ch := o.begin(t.Context(), "s__do", `{"n":1}`, answering(state, `{"action":"cancel"}`), modern)
			o.decide(o.pending().ID, approval.Deciding{Kind: approval.Approve})
			a := <-ch
			if text, wrong, _ := told(t, a.res, a.err); wrong || o.sent() != "do" {
				t.Errorf("got %q", text)
			}
		})
	})
	t.Run("and the rules forbid it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newFormOffice(t)
			_, state := o.asked(`{"n":1}`)
			o.setRules(denies("do"))
			res, err := o.call(t.Context(), "s__do", `{"n":1}`, answering(state, saysYes), modern)
			o.refusedAs("denied", res, err, message.PolicyDenied)
		})
	})
	t.Run("and the rules allow it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newFormOffice(t)
			_, state := o.asked(`{"n":1}`)
			o.setRules()
			res, err := o.call(t.Context(), "s__do", `{"n":1}`, answering(state, saysNo), modern)
			o.refusedAs("it was said no", res, err, message.ApprovalRejected)
		})
	})
	t.Run("and another one has found the rules to allow it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newFormOffice(t)
			_, state := o.asked(`{"n":1}`)
			o.setRules()
			_, err := o.desk.Supersede(t.Context(), o.pending().ID, approval.NoteChanged)
			must(t, err)
			res, err := o.call(t.Context(), "s__do", `{"n":1}`, answering(state, saysYes), modern)
			if text, wrong, _ := told(t, res, err); wrong || o.sent() != "do" {
				t.Errorf("got %q", text)
			}
		})
	})
	t.Run("and the rules ask otherwise", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newFormOffice(t)
			_, state := o.asked(`{"n":1}`)
			o.setRules(asks("do"), denies("other"))
			if _, again := o.asked(`{"n":1}`, answering(state, saysYes)); again == state || o.sent() != "" {
				t.Errorf("sent %q", o.sent())
			} else if res, err := o.call(t.Context(), "s__do", `{"n":1}`, answering(again, saysYes), modern); err != nil || res.Fault != nil || o.sent() != "do" {
				t.Errorf("sent %q", o.sent())
			}
		})
	})
}

// Who says no makes no call, whatever has become of the request meanwhile and whatever
// would let the call pass by now; and nor does an equal call by what others have said.
func TestNoIsNo(t *testing.T) {
	edit := approval.Deciding{Kind: approval.Edit, Arguments: []byte(`{"n":2}`), ArgumentsHash: ArgumentsHash([]byte(`{"n":2}`))}
	fails := func(o *office) {
		must(o.t, o.db.Tx(context.Background(), store.Disk, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(context.Background(), `CREATE TRIGGER fails BEFORE UPDATE ON approval BEGIN SELECT RAISE(FAIL, 'it fails'); END`)
			return err
		}))
	}
	grants := func(o *office) {
		_, err := o.desk.Grant(context.Background(), hub.Principal{Subject: "bob", Role: hub.RoleOperator}, approval.Grant{
			Server: "s", Tool: "do", ToolHash: o.status(o.pending().ID).ToolHash, MaxRisk: hub.RiskHigh, Expires: time.Now().Add(time.Hour),
		})
		must(o.t, err)
	}
	supersedes := func(o *office) {
		_, err := o.desk.Supersede(context.Background(), o.pending().ID, approval.NoteChanged)
		must(o.t, err)
	}
	for name, tt := range map[string]struct {
		before func(o *office)
		change func(r *Request)
		status approval.Status
		by     string // who has decided at last; "" for nobody
	}{
		"approved":                       {func(o *office) { o.decide(o.pending().ID, approval.Deciding{Kind: approval.Approve}) }, modern, approval.Cancelled, "bob"},
		"edited":                         {func(o *office) { o.decide(o.pending().ID, edit) }, modern, approval.Cancelled, "bob"},
		"rejected":                       {func(o *office) { o.decide(o.pending().ID, approval.Deciding{Kind: approval.Reject}) }, modern, approval.Rejected, "bob"},
		"expired":                        {func(*office) { time.Sleep(approval.DefaultExpires + time.Second) }, modern, approval.Expired, ""},
		"superseded":                     {func(o *office) { supersedes(o); o.setRules() }, modern, approval.Superseded, ""},
		"allowed":                        {func(o *office) { o.setRules() }, modern, approval.Rejected, "ann at its client"},
		"granted":                        {grants, modern, approval.Rejected, "ann at its client"},
		"approved, and it fails":         {func(o *office) { o.decide(o.pending().ID, approval.Deciding{Kind: approval.Approve}); fails(o) }, modern, approval.Approved, "bob"},
		"granted, and it fails":          {func(o *office) { grants(o); fails(o) }, modern, approval.Pending, ""},
		"granted, and without forms":     {grants, func(*Request) {}, approval.Rejected, "ann at its client"},
		"allowed, and without forms":     {func(o *office) { o.setRules() }, func(*Request) {}, approval.Rejected, "ann at its client"},
		"granted, and nobody asks there": {func(o *office) { grants(o); o.settings.Approval.Elicit = false }, modern, approval.Rejected, "ann at its client"},
		"approved, and nobody asks there": {func(o *office) {
			o.decide(o.pending().ID, approval.Deciding{Kind: approval.Approve})
			o.settings.Approval.Elicit = false
		}, modern, approval.Cancelled, "bob"},
	} {
		for _, way := range []string{"the call", "the ticket"} {
			t.Run(name+" by "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := newFormOffice(t)
					_, state := o.asked(`{"n":1}`)
					id := o.pending().ID
					tt.before(o)
					again := func(change ...func(*Request)) (*Result, error) {
						if way == "the call" {
							return o.call(t.Context(), "s__do", `{"n":1}`, change...)
						}
						door := func(r *Request) { r.Principal.Door = hub.DoorMCP }
						return o.ask("tools/call", `"name":"approval_result","arguments":{"ticket":"`+id+`"}`, append(change, door)...)
					}
					res, err := again(answering(state, saysNo), tt.change)
					o.refusedAs(name, res, err, message.ApprovalRejected)
					if text, _, ticket := told(t, res, err); !strings.Contains(text, "no way") || ticket != id || o.latest().Approval != id {
						t.Errorf("it says %q, recorded %+v", text, o.latest())
					}
					q, by := o.status(id), ""
					if n := len(q.Decisions); n > 0 {
						by = q.Decisions[n-1].By
					}
					if q.Status != tt.status || by != tt.by || q.Status == approval.Cancelled && q.Note != approval.WithdrawnBy("ann at its client") {
						t.Errorf("it is %s by %q, %q", q.Status, by, q.Note)
					}
				})
			})
		}
	}
	t.Run("and an equal call waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newFormOffice(t)
			_, state := o.asked(`{"n":1}`)
			ch := o.begin(t.Context(), "s__do", `{"n":1}`, answering(state, `{"action":"cancel"}`), modern)
			res, err := o.call(t.Context(), "s__do", `{"n":1}`, answering(state, saysNo), modern, func(r *Request) { r.Session = "another" })
			o.refusedAs("the no", res, err, message.ApprovalRejected)
			a := <-ch
			o.refusedAs("the other", a.res, a.err, message.ApprovalRejected)
		})
	})
	t.Run("and nothing is left to agree by", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newFormOffice(t)
			_, state := o.asked(`{"n":1}`)
			o.decide(o.pending().ID, approval.Deciding{Kind: approval.Approve})
			res, err := o.call(t.Context(), "s__do", `{"n":1}`, answering(state, saysNo), modern)
			o.refusedAs("the no", res, err, message.ApprovalRejected)
			if _, next := o.asked(`{"n":1}`); next == state || o.sent() != "" {
				t.Errorf("sent %q", o.sent())
			}
		})
	})
}

// An agreement does not outlive a rule that forbids its call when it comes: it is good
// for nothing when the rule is gone again.
func TestDeniedMeanwhile(t *testing.T) {
	for name, tt := range map[string]struct {
		with   approval.Deciding // "" for none
		answer string
	}{
		"approved":      {approval.Deciding{Kind: approval.Approve}, `null`},
		"and confirmed": {approval.Deciding{Kind: approval.Approve}, saysYes},
		"edited":        {approval.Deciding{Kind: approval.Edit, Arguments: []byte(`{"n":2}`), ArgumentsHash: ArgumentsHash([]byte(`{"n":2}`))}, `null`},
		"undecided":     {approval.Deciding{}, saysYes},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newFormOffice(t)
				_, state := o.asked(`{"n":1}`)
				id := o.pending().ID
				if tt.with.Kind != "" {
					o.decide(id, tt.with)
				}
				o.setRules(denies("do"))
				// What is said to another call has no effect on this one.
				res, err := o.call(t.Context(), "s__do", `{"n":3}`, answering(state, tt.answer), modern)
				o.refusedAs("of another call", res, err, message.PolicyDenied)
				if q := o.status(id); q.Status == approval.Superseded {
					t.Error("another call has ended it")
				}
				res, err = o.call(t.Context(), "s__do", `{"n":1}`, answering(state, tt.answer), modern)
				o.refusedAs("denied", res, err, message.PolicyDenied)
				o.setRules(asks("do"))
				if _, next := o.asked(`{"n":1}`, answering(state, tt.answer)); next == state || o.sent() != "" {
					t.Errorf("sent %q", o.sent())
				}
				if q := o.status(id); q.Status != approval.Superseded {
					t.Errorf("it is %s", q.Status)
				}
			})
		})
	}
}
