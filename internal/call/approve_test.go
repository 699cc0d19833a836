package call

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// A call that a person has to agree to is held, and made once somebody has; nothing
// is sent before, and the record says by what it was made.
func TestHeldUntilApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{asks("do")})
		ch := o.begin(t.Context(), "s__do", `{"n":1}`)
		time.Sleep(30 * time.Second)
		q := o.pending()
		if q.Subject != "ann" || q.Server != "s" || q.Tool != "do" || q.Name != "s__do" || q.Rule != "r-do" || q.Because != "it bites" || o.sent() != "" {
			t.Fatalf("asked: %+v, sent: %q", q, o.sent())
		}
		o.decide(q.ID, approval.Deciding{Kind: approval.Approve})
		a := <-ch
		if text, wrong, _ := told(t, a.res, a.err); wrong || o.sent() != "do" {
			t.Errorf("got %q, sent: %q", text, o.sent())
		}
		r := o.latest()
		if r.Approval != q.ID || r.Verdict != hub.VerdictAsk || r.Mode != hub.PolicyEnforce || r.Rule != "r-do" || r.Policy == "" || r.Risk == "" || r.Outcome != hub.OutcomeOK {
			t.Errorf("recorded %+v", r)
		}
		if now := o.status(q.ID); now.Taken != r.ID {
			t.Errorf("taken by %q, the call is %q", now.Taken, r.ID)
		}
		if ok, err := o.audit.Sent(t.Context(), r.ID); !ok || err != nil {
			t.Errorf("the record knows the call: %t, %v", ok, err)
		}
		page, err := o.audit.Query(t.Context(), audit.Filter{Verdict: hub.VerdictAsk}, "", 10)
		if must(t, err); len(page.Calls) != 1 || page.Calls[0].Approval != q.ID {
			t.Errorf("found %+v", page.Calls)
		}
		// It is good for one call.
		ch = o.begin(t.Context(), "s__do", `{"n":1}`)
		if next := o.pending(); next.ID == q.ID {
			t.Error("the same request again")
		}
		time.Sleep(2 * time.Minute)
		<-ch
		if o.sent() != "do" {
			t.Errorf("sent: %q", o.sent())
		}
	})
}

// When nobody decides in time the caller gets a ticket, by which the result is picked
// up: by the same principal only, once, and by an equal call as well.
func TestTicket(t *testing.T) {
	for _, way := range []string{"ticket", "equal call", "equal call in another order"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t, []hub.Rule{asks("do")})
				began := time.Now()
				res, err := o.call(t.Context(), "s__do", `{"n":1,"to":"x"}`)
				text, wrong, ticket := told(t, res, err)
				if took := time.Since(began).Round(time.Second); took != DefaultHold || !wrong || ticket == "" || !strings.Contains(text, ticket) || !strings.Contains(text, "approval_result") {
					t.Fatalf("after %v: %t, %q", took, wrong, text)
				}
				if r := o.latest(); r.Code != string(message.ApprovalPending) || r.Outcome != hub.OutcomeFailed || r.Approval != ticket {
					t.Errorf("recorded %+v", r)
				}
				pick := func(change ...func(*Request)) (*Result, error) {
					switch way {
					case "equal call":
						return o.call(t.Context(), "s__do", `{"n":1,"to":"x"}`, change...)
					case "equal call in another order":
						return o.call(t.Context(), "s__do", `{ "to":"x" , "n":1}`, change...)
					}
					return o.call(t.Context(), "approval_result", `{"ticket":"`+ticket+`"}`, change...)
				}
				res, err = pick()
				if _, wrong, again := told(t, res, err); !wrong || again != ticket {
					t.Errorf("the second ticket is %q", again)
				}
				o.decide(ticket, approval.Deciding{Kind: approval.Approve})
				if way == "ticket" {
					for _, other := range []hub.Principal{
						{Subject: "eve", Door: hub.DoorMCP, Role: hub.RoleCaller}, {Subject: "ann", Tenant: "x", Door: hub.DoorMCP, Role: hub.RoleAdmin},
					} {
						res, err = pick(func(r *Request) { r.Principal = other })
						if text, wrong, _ := told(t, res, err); !wrong || !strings.Contains(text, "no request for approval") {
							t.Errorf("%v got %q", other, text)
						}
					}
				}
				res, err = pick(func(r *Request) { r.Session = "another" })
				if text, wrong, _ := told(t, res, err); wrong || o.sent() != "do" {
					t.Errorf("got %q, sent %q", text, o.sent())
				}
				if r := o.latest(); r.Name != "s__do" || r.Tool != "do" || r.Approval != ticket || !strings.Contains(r.Arguments, `"to":"x"`) {
					t.Errorf("recorded %+v", r)
				}
				if way == "ticket" {
					res, err = pick()
					if text, wrong, _ := told(t, res, err); !wrong || !strings.Contains(text, "already") || o.sent() != "do" {
						t.Errorf("again: %q, sent %q", text, o.sent())
					}
				}
			})
		})
	}
}

// Whoever comes back with a ticket before anybody has decided waits again, and the
// tool has all of its time after that.
func TestTicketWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{asks("do")})
		res, err := o.call(t.Context(), "s__do", `{"n":1}`)
		_, _, ticket := told(t, res, err)
		ch := o.begin(t.Context(), "approval_result", `{"ticket":"`+ticket+`"}`)
		time.Sleep(30 * time.Second) // the tool has 10
		o.decide(ticket, approval.Deciding{Kind: approval.Approve})
		a := <-ch
		if text, wrong, _ := told(t, a.res, a.err); wrong || o.sent() != "do" {
			t.Errorf("got %q, sent %q", text, o.sent())
		}
		if r := o.latest(); r.Held < 29*time.Second || r.Duration > time.Second { // which says how long the tool took
			t.Errorf("recorded as held for %v, and as taking %v", r.Held, r.Duration)
		}
	})
}

// Whatever a person says but yes, nothing is sent, and the caller learns what was
// said; time-out is an outcome of its own.
func TestNotApproved(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(o *office, id string)
		want message.Code
		text string
	}{
		{"rejected", func(o *office, id string) {
			o.decide(id, approval.Deciding{Kind: approval.Reject, Note: "not on a Friday"})
		}, message.ApprovalRejected, "not on a Friday"},
		{"cancelled", func(o *office, id string) { _, err := o.desk.Cancel(context.Background(), id, "gone"); must(o.t, err) }, message.ApprovalCancelled, "gone"},
		{"expired", func(o *office, _ string) { time.Sleep(10 * time.Minute) }, message.ApprovalExpired, "in time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t, []hub.Rule{asks("do")})
				heard := &caller{}
				ch := o.begin(t.Context(), "s__do", `{"n":1}`, func(r *Request) {
					m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__do","arguments":{},"_meta":{"progressToken":7}}}`), wire.Limits{})
					must(t, err)
					r.Message, r.Exchange = &m, heard
				})
				id := o.pending().ID
				time.Sleep(2 * time.Minute)
				tt.do(o, id)
				a := <-ch
				text, wrong, ticket := told(t, a.res, a.err)
				if !wrong || ticket != id || !strings.Contains(text, tt.text) || o.sent() != "" {
					t.Errorf("got %q, sent %q", text, o.sent())
				}
				if r := o.latest(); r.Code != string(tt.want) {
					t.Errorf("recorded %+v", r)
				}
				waits := hub.E(message.ApprovalWaits, nil, "risk", "medium", "ticket", id, "left", "5m0s").In(message.English)
				if n := len(heard.heard); n < 20 || !strings.Contains(heard.heard[0], string(wire.AppendString(nil, waits))) {
					t.Errorf("heard %d: %q", n, heard.heard[0])
				}
			})
		})
	}
}

// What a person has put in the place of the arguments is what is sent, and it has to
// be valid and not forbidden.
func TestEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{asks("do"), {ID: "never", Effect: hub.VerdictDeny, Tools: []string{"do"}, When: `call.args.n == 13`}})
		ch := o.begin(t.Context(), "s__do", `{"n":1}`)
		q := o.status(o.pending().ID)
		for edited, want := range map[string]message.Code{
			`{"n":"x"}`: message.ArgumentsInvalid, `[1]`: message.ParamsInvalid, `{"n":1,"n":2}`: message.ParamsInvalid, ``: message.ParamsInvalid,
			`{"n":13}`: message.PolicyDenied,
		} {
			if _, err := o.Check(t.Context(), q, []byte(edited)); !hub.IsCode(err, want) {
				t.Errorf("%s: %v, want %s", edited, err, want)
			}
		}
		other := q
		other.ToolHash = "x"
		if _, err := o.Check(t.Context(), other, []byte(`{}`)); !hub.IsCode(err, message.ApprovalStale) {
			t.Errorf("of a tool that has changed: %v", err)
		}
		edited := []byte(`{"n":2}`)
		j, err := o.Check(t.Context(), q, edited)
		if must(t, err); j.Verdict != hub.VerdictAsk {
			t.Errorf("judged %+v", j)
		}
		judged := approval.JudgedOf(&j)
		o.decide(q.ID, approval.Deciding{Kind: approval.Edit, Arguments: edited, ArgumentsHash: ArgumentsHash(edited), Judged: &judged})
		a := <-ch
		if _, wrong, _ := told(t, a.res, a.err); wrong || o.sent() != "do" {
			t.Errorf("sent %q", o.sent())
		}
		if r := o.latest(); !strings.Contains(r.Arguments, `"n":2`) {
			t.Errorf("recorded %+v", r)
		}
		// The rules that come into force before it is picked up count.
		res, err := o.call(t.Context(), "s__do", `{"n":3}`)
		_, _, ticket := told(t, res, err)
		edited = []byte(`{"n":4}`)
		o.decide(ticket, approval.Deciding{Kind: approval.Edit, Arguments: edited, ArgumentsHash: ArgumentsHash(edited)})
		o.setRules(denies("do"))
		res, err = o.call(t.Context(), "approval_result", `{"ticket":"`+ticket+`"}`)
		if text, wrong, _ := told(t, res, err); !wrong || !strings.Contains(text, "rules") || o.sent() != "do" {
			t.Errorf("got %q, sent %q", text, o.sent())
		}
		if now := o.status(ticket); now.Status != approval.Superseded {
			t.Errorf("it is %s", now.Status)
		}
	})
}

// An agreement is good for the call that was judged: if the rules say something else
// by then, it is judged again.
func TestRulesChangeWhileHeld(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rules []hub.Rule
		sent  string
		then  approval.Status
	}{
		{"allowed now", nil, "do", approval.Approved},
		{"forbidden now", []hub.Rule{denies("do")}, "", approval.Superseded},
		{"asked otherwise", []hub.Rule{asks("do"), asks("see")}, "", approval.Superseded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t, []hub.Rule{asks("do")})
				ch := o.begin(t.Context(), "s__do", `{"n":1}`)
				q := o.pending()
				o.setRules(tt.rules...)
				o.decide(q.ID, approval.Deciding{Kind: approval.Approve})
				a := <-ch
				text, wrong, ticket := told(t, a.res, a.err)
				if o.sent() != tt.sent || wrong != (tt.sent == "") || o.status(q.ID).Status != tt.then {
					t.Errorf("got %q, sent %q, the request is %s", text, o.sent(), o.status(q.ID).Status)
				}
				if tt.name != "asked otherwise" {
					return
				}
				if next := o.pending(); next.ID != ticket || next.ID == q.ID || next.Hash != q.Hash || next.Policy == q.Policy {
					t.Errorf("asked anew: %+v, the ticket is %s", next, ticket)
				}
			})
		})
	}
}

// Whoever takes a call back takes the request back; whoever only goes away may come
// back for it, and so may whoever called a hub that stops.
func TestCallersWhoLeave(t *testing.T) {
	for _, tt := range []struct {
		name  string
		leave func(o *office, gone context.CancelFunc)
		then  approval.Status
		code  message.Code
	}{
		{"cancels", func(o *office, _ context.CancelFunc) { o.Calls().Cancel(Key{"session", "1"}, &hub.Cancellation{}) }, approval.Cancelled, message.Cancelled},
		{"goes", func(_ *office, gone context.CancelFunc) { gone() }, approval.Pending, message.Cancelled},
		{"session ends", func(o *office, _ context.CancelFunc) { o.Calls().CancelSession("session") }, approval.Pending, message.Cancelled},
		{"hub stops", func(o *office, _ context.CancelFunc) { must(o.t, o.Calls().Drain(context.Background())) }, approval.Pending, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t, []hub.Rule{asks("do")})
				ctx, gone := context.WithCancel(t.Context())
				defer gone()
				ch := o.begin(ctx, "s__do", `{"n":1}`)
				q := o.pending()
				tt.leave(o, gone)
				a := <-ch
				if tt.code == "" {
					if _, wrong, ticket := told(t, a.res, a.err); !wrong || ticket != q.ID {
						t.Errorf("the ticket is %q", ticket)
					}
				} else if !hub.IsCode(a.err, tt.code) {
					t.Errorf("got %v", a.err)
				}
				if now := o.status(q.ID); now.Status != tt.then || o.sent() != "" {
					t.Errorf("it is %s, sent %q", now.Status, o.sent())
				}
			})
		})
	}
}

// Who takes a call back takes nothing from an equal call that waits for the same
// request, nor from one that has its ticket.
func TestEqualCallsLeave(t *testing.T) {
	for _, ticketed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t, []hub.Rule{asks("do")})
			call := func(session string) <-chan outcome {
				return o.begin(t.Context(), "s__do", `{"n":1}`, func(r *Request) { r.Session = session })
			}
			stays := call("a")
			if ticketed {
				told(t, (<-stays).res, nil)
			}
			leaves := call("b")
			q := o.pending()
			o.Calls().Cancel(Key{"b", "1"}, &hub.Cancellation{})
			if a := <-leaves; !hub.IsCode(a.err, message.Cancelled) {
				t.Errorf("who left got %v", a.err)
			}
			if now := o.status(q.ID); now.Status != approval.Pending {
				t.Fatalf("it is %s", now.Status)
			}
			o.decide(q.ID, approval.Deciding{Kind: approval.Approve})
			if ticketed {
				stays = call("a")
			}
			a := <-stays
			if text, wrong, _ := told(t, a.res, a.err); wrong || o.sent() != "do" {
				t.Errorf("who stayed got %q, sent %q", text, o.sent())
			}
		})
	}
}

// Of two equal calls that wait for one request, one is made.
func TestOneAgreementOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{asks("do")})
		var all []<-chan outcome
		for i := range 5 {
			all = append(all, o.begin(t.Context(), "s__do", `{"n":1}`, func(r *Request) { r.Session = fmt.Sprint(i) }))
		}
		o.decide(o.pending().ID, approval.Deciding{Kind: approval.Approve})
		good := 0
		for _, ch := range all {
			a := <-ch
			if text, wrong, _ := told(t, a.res, a.err); !wrong {
				good++
			} else if !strings.Contains(text, "already") {
				t.Errorf("got %q", text)
			}
		}
		if good != 1 || o.sent() != "do" {
			t.Errorf("%d were made, sent %q", good, o.sent())
		}
	})
}

// Critical calls need two agreements; a grant stands in for a person, and what
// cannot be sent gives the agreement back.
func TestGrantsAndReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{asks("do")})
		ch := o.begin(t.Context(), "s__do", `{"n":1}`)
		q := o.pending()
		must(t, o.fleet.Stop(t.Context(), "s"))
		o.decide(q.ID, approval.Deciding{Kind: approval.Approve})
		if a := <-ch; !hub.IsCode(a.err, message.ServerStopped) {
			t.Fatalf("got %v, %v", a.res, a.err)
		}
		if now := o.status(q.ID); now.Taken != "" || now.Status != approval.Approved {
			t.Errorf("it is %s, and taken by %q", now.Status, now.Taken)
		}
		must(t, o.fleet.Start(t.Context(), "s"))
		res, err := o.call(t.Context(), "s__do", `{"n":1}`)
		if text, wrong, _ := told(t, res, err); wrong || o.sent() != "do" {
			t.Errorf("got %q, sent %q", text, o.sent())
		}
		g, err := o.desk.Grant(t.Context(), hub.Principal{Subject: "bob", Role: hub.RoleAdmin}, approval.Grant{
			Subject: "ann", Server: "s", Tool: "do", ToolHash: q.ToolHash, MaxRisk: hub.RiskHigh, Expires: time.Now().Add(time.Hour),
		})
		must(t, err)
		res, err = o.call(t.Context(), "s__do", `{"n":99}`)
		if text, wrong, _ := told(t, res, err); wrong || o.sent() != "do do" {
			t.Errorf("got %q, sent %q", text, o.sent())
		}
		if r := o.latest(); r.Grant != g.ID || r.Approval != "" {
			t.Errorf("recorded %+v", r)
		}
	})
}

// What only reads is not answered from before if somebody has to agree, and its
// intent is recorded all the same; other verbs are asked about by rules that name
// them, and refused with errors.
func TestAskedOfOtherKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := builtin("s")
		s.ToolCache, s.ResourceCache = time.Hour, time.Hour
		o := newOffice(t, []hub.Rule{
			asks("see"),
			{ID: "read", Effect: hub.VerdictAsk, Methods: []string{"resources/read"}},
			{ID: "complete", Effect: hub.VerdictAsk, Methods: []string{"completion/complete"}},
			{ID: "prompt", Effect: hub.VerdictDeny, Methods: []string{"prompts/get"}},
		}, s)
		for range 2 {
			ch := o.begin(t.Context(), "s__see", `{}`)
			o.decide(o.pending().ID, approval.Deciding{Kind: approval.Approve})
			a := <-ch
			if _, wrong, _ := told(t, a.res, a.err); wrong {
				t.Error("refused")
			}
			if r := o.latest(); r.Changing || r.Cached || o.bare != 0 {
				t.Errorf("%d without an intent, recorded %+v", o.bare, r)
			}
		}
		at := func(r *Request) { r.Principal.Door = hub.DoorMCP }
		_, err := o.ask("resources/read", `"uri":"mem:a"`, at)
		if !hub.IsCode(err, message.ApprovalPending) {
			t.Errorf("got %v", err)
		}
		ticket := hub.AsError(err).Args["ticket"]
		res, err := o.call(t.Context(), "approval_result", `{"ticket":"`+ticket+`"}`)
		if _, _, other := told(t, res, err); other != "" {
			t.Error("a ticket of another caller")
		}
		o.decide(ticket, approval.Deciding{Kind: approval.Approve})
		if _, err = o.ask("resources/read", `"uri":"mem:a"`, at); err != nil {
			t.Error(err)
		}
		if _, err = o.ask("prompts/get", `"name":"s__hi"`, at); !hub.IsCode(err, message.PolicyDenied) {
			t.Errorf("got %v", err)
		}
		if _, err = o.ask("completion/complete", `"ref":{"type":"ref/prompt","name":"s__hi"},"argument":{"name":"n","value":""}`, at); !hub.IsCode(err, message.PolicyDenied) {
			t.Errorf("got %v", err)
		}
		if o.sent() != "see see mem:a" || o.bare != 0 {
			t.Errorf("sent %q", o.sent())
		}
	})
}
