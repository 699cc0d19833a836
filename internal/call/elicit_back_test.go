package call

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

const (
	saysYes = `{"action":"accept","content":{"decision":"approve"}}`
	saysNo  = `{"action":"accept","content":{"decision":"reject","note":"no way"}}`
)

// modern has the caller be one that is asked by an answer.
func modern(r *Request) { r.Forms = true }

// newFormOffice is an office that asks callers about their own calls of "do".
func newFormOffice(t *testing.T) *office {
	t.Helper()
	o := newOffice(t, []hub.Rule{asks("do")})
	o.settings.Approval.Elicit = true
	return o
}

// answering has a call be made once more with an answer to the hub's question.
func answering(state, answer string) func(*Request) {
	return saying(`"requestState":` + string(wire.AppendString(nil, state)) + `,"inputResponses":{"approval":` + answer + `}`)
}

// questionOf is what a result asks by the hub, and the state that is to come back;
// "" if it asks nothing.
func questionOf(t *testing.T, r *Result, err error) (asked, state string) {
	t.Helper()
	must(t, err)
	m := &r.Message
	if protocol.KindOf(m, r.Era) == protocol.ResultComplete {
		return "", ""
	}
	var result struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]struct {
			Method string
			Params json.RawMessage
		}
	}
	must(t, json.Unmarshal(m.Result.Of(m.Raw), &result))
	one := result.InputRequests["approval"]
	if result.ResultType != "input_required" || len(result.InputRequests) != 1 || one.Method != "elicitation/create" || result.RequestState == "" {
		t.Fatalf("answered with %s", m.Raw)
	}
	return string(one.Params), result.RequestState
}

// asked makes a call that the caller is asked about.
func (o *office) asked(arguments string, change ...func(*Request)) (asked, state string) {
	o.t.Helper()
	began := time.Now()
	res, err := o.call(o.t.Context(), "s__do", arguments, append(change, modern)...)
	asked, state = questionOf(o.t, res, err)
	if state == "" || time.Since(began) != 0 {
		o.t.Fatalf("answered after %s with %s", time.Since(began), res.Message.Raw)
	}
	return asked, state
}

// refusedAs fails unless a call was refused with the code, and nothing was sent.
func (o *office) refusedAs(what string, res *Result, err error, code message.Code) {
	o.t.Helper()
	must(o.t, err)
	if res.Fault == nil || res.Fault.Code != code || o.sent() != "" {
		o.t.Errorf("%s: answered with %s, sent %q", what, res.Message.Raw, o.sent())
	}
}

// A caller of the modern era is asked by the answer to its call, and makes it once
// more with what its person says. Neither the state nor the response is sent.
func TestAskedByAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		status       approval.Status
		code         message.Code
	}{
		{"approves", saysYes, approval.Approved, ""},
		{"rejects", saysNo, approval.Rejected, message.ApprovalRejected},
		{"declines", `{"action":"decline"}`, approval.Rejected, message.ApprovalRejected},
		{"closes", `{"action":"cancel"}`, approval.Pending, message.ApprovalPending},
		{"forges", `{"action":"accept","content":{"decision":"yes"}}`, approval.Pending, message.ApprovalPending},
		{"says nothing", `null`, approval.Pending, message.ApprovalPending},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newFormOffice(t)
				asked, state := o.asked(`{"n":1}`)
				if !strings.Contains(asked, "s__do") || !strings.Contains(asked, `{\"n\":1}`) || !strings.Contains(asked, `"enum":["approve","reject"]`) {
					t.Errorf("asked %s", asked)
				}
				if c := o.latest(); c.Code != string(message.ApprovalPending) || c.Approval == "" || o.sent() != "" {
					t.Errorf("recorded %+v", c)
				}
				if n := len(o.askers.byState.byKey); n != 0 {
					t.Errorf("%d servers are said to have asked", n)
				}
				id, began := o.pending().ID, time.Now()
				res, err := o.call(t.Context(), "s__do", `{"n":1}`, answering(state, tt.answer), modern)
				if tt.code != "" {
					o.refusedAs(tt.name, res, err, tt.code)
				} else if text, wrong, _ := told(t, res, err); wrong || o.sent() != "do" || o.bare != 0 {
					t.Errorf("got %q", text)
				}
				if held := time.Since(began); (held == DefaultHold) != (tt.status == approval.Pending) {
					t.Errorf("it was held for %s", held)
				}
				if q := o.status(id); q.Status != tt.status || q.Extra != nil || o.latest().Approval != id ||
					tt.status != approval.Pending && (len(q.Decisions) != 1 || q.Decisions[0].By != "ann at its client") {
					t.Errorf("it is %+v", q)
				}
				if all := strings.Join(o.params(), ""); strings.Contains(all, "requestState") || strings.Contains(all, "inputResponses") {
					t.Errorf("sent %s", all)
				}
				// What comes twice decides nothing, and makes no call.
				sent := o.sent()
				res, err = o.call(t.Context(), "s__do", `{"n":1}`, answering(state, saysNo), modern)
				must(t, err)
				switch tt.status {
				case approval.Approved:
					if res.Fault == nil || res.Fault.Code != message.ApprovalTaken {
						t.Errorf("again: %s", res.Message.Raw)
					}
				default:
					o.refusedAs("again", res, err, message.ApprovalRejected)
				}
				if o.sent() != sent || len(o.status(id).Decisions) != 1 {
					t.Errorf("sent %q, decided %+v", o.sent(), o.status(id).Decisions)
				}
			})
		})
	}
}

// A state approves nothing that was not made by the hub, or is another's, or of
// another call, or comes too late, or by a way on which nobody is asked.
func TestStatesThatDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newFormOffice(t)
		_, state := o.asked(`{"n":1}`)
		_, other := o.asked(`{"n":2}`)
		id := strings.Split(state, ".")[1]
		soon := func(r *Request) { r.Timeout = time.Second }
		try := func(what, state, arguments string, code message.Code, change ...func(*Request)) {
			t.Helper()
			res, err := o.call(t.Context(), "s__do", arguments, append(change, answering(state, saysYes), soon)...)
			o.refusedAs(what, res, err, code)
			if q := o.status(id); len(q.Decisions) != 0 {
				t.Errorf("%s: decided %+v", what, q.Decisions)
			}
		}
		part, foreign := strings.Split(state, "."), strings.Split(other, ".")
		try("forged", strings.Join(part[:4], ".")+"."+foreign[4], `{"n":1}`, message.ApprovalUnknown, modern)
		try("of another round", strings.Join([]string{part[0], part[1], "2", part[3], part[4]}, "."), `{"n":1}`, message.ApprovalUnknown, modern)
		try("of another call", other, `{"n":1}`, message.ApprovalForeign, modern)
		try("for another call", state, `{"n":3}`, message.ApprovalForeign, modern)
		try("for one that says more", state, `{"n":1}`, message.ApprovalForeign, modern, saying(`"_meta":{"who/it":1}`))
		try("of another principal", state, `{"n":1}`, message.ApprovalUnknown, modern, func(r *Request) { r.Principal.Subject = "eve" })
		try("of another tenant", state, `{"n":1}`, message.ApprovalUnknown, modern, func(r *Request) { r.Principal.Tenant = "acme" })
		try("by another way", state, `{"n":1}`, message.ApprovalPending)
		try("made once more by hand", state, `{"n":1}`, message.ApprovalPending, modern, func(r *Request) {
			r.Retrier = &hub.Principal{Subject: "bob", Role: hub.RoleOperator, Door: hub.DoorMCP}
		})
		res, err := o.ask("tools/call", `"name":"approval_result","arguments":{"ticket":"`+strings.Split(other, ".")[1]+`"}`, modern, answering(state, saysYes))
		o.refusedAs("with the ticket of another", res, err, message.ApprovalForeign)
		for lang, want := range map[message.Lang]string{message.English: "about another call", message.Chinese: "另一次调用"} {
			res, err = o.call(t.Context(), "s__do", `{"n":3}`, answering(state, saysYes), modern, func(r *Request) { r.Lang = lang })
			if text, _, _ := told(t, res, err); !strings.Contains(text, want) || !strings.Contains(text, id) {
				t.Errorf("in %q it says %s", lang, text)
			}
		}
		o.settings.Approval.Elicit = false
		try("switched off", state, `{"n":1}`, message.ApprovalPending, modern)
		o.settings.Approval.Elicit = true
		// What refers to no request of this hub is of the tool: it is agreed to with the
		// call, and here by nobody.
		part[1] = "019ab3c4-51f2-7a10-9d3c-0c6f5a8e1b77"
		if asked, _ := o.asked(`{"n":1}`, answering(strings.Join(part, "."), saysYes)); !strings.Contains(asked, part[1]) {
			t.Errorf("asked %s", asked)
		}
		time.Sleep(approval.DefaultExpires)
		try("expired", state, `{"n":1}`, message.ApprovalExpired, modern)
		res, err = o.call(t.Context(), "s__do", `{"n":2}`, answering(other, saysYes), modern)
		o.refusedAs("also expired", res, err, message.ApprovalExpired)
	})
}

// Two answers that come at the same time make one call.
func TestAnswersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newFormOffice(t)
		_, state := o.asked(`{"n":1}`)
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				res, err := o.call(t.Context(), "s__do", `{"n":1}`, answering(state, saysYes), modern, func(r *Request) { r.Session = strconv.Itoa(i) })
				if err != nil || res.Fault != nil && res.Fault.Code != message.ApprovalTaken {
					t.Errorf("got %v, %v", res, err)
				}
			})
		}
		all.Wait()
		if o.sent() != "do" {
			t.Errorf("sent %q", o.sent())
		}
	})
}

// What a session shows of a call has no question of the hub's own in it, which has the
// arguments as they are.
func TestQuestionsAreNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newFormOffice(t)
		o.states = callstate.New(callstate.Options{})
		const secret = `{"n":1,"password":"hunter2"}`
		asked, state := o.asked(secret)
		if !strings.Contains(asked, "hunter2") {
			t.Errorf("asked %s", asked)
		}
		s, _ := o.states.State(hub.SessionRef("session"))
		if s.Code != string(message.ApprovalPending) || s.Result != nil || strings.Contains(s.Arguments, "hunter2") {
			t.Errorf("it shows %+v, with %s", s, s.Result)
		}
		res, err := o.call(t.Context(), "s__do", secret, answering(state, saysYes), modern)
		must(t, err)
		if s, _ = o.states.State(hub.SessionRef("session")); string(s.Result) != string(res.Message.Result.Of(res.Message.Raw)) {
			t.Errorf("it shows %s", s.Result)
		}
	})
}

// A decision is that of whoever brings the answer, also if an equal call has asked by
// another way.
func TestDecidedByWhoAnswers(t *testing.T) {
	by := func(token string, door hub.Door) func(*Request) {
		return func(r *Request) { r.Principal.Token, r.Principal.Door = token, door }
	}
	from := func(o *office, id string) {
		o.t.Helper()
		q := o.status(id)
		if d := q.Decisions; q.Door != hub.DoorMCP || len(d) != 1 || d[0].By != "ann at its client" || d[0].Token != "t-two" || d[0].Door != hub.DoorREST {
			o.t.Errorf("asked by %s, decided %+v", q.Door, d)
		}
	}
	for _, answer := range []string{saysYes, saysNo} {
		synctest.Test(t, func(t *testing.T) {
			o := newFormOffice(t)
			_, state := o.asked(`{"n":1}`, by("t-one", hub.DoorMCP))
			id := o.pending().ID
			_, err := o.call(t.Context(), "s__do", `{"n":1}`, answering(state, answer), modern, by("t-two", hub.DoorREST))
			must(t, err)
			from(o, id)
		})
	}
	synctest.Test(t, func(t *testing.T) { // asked by a request of its own
		o := newFormOffice(t)
		res, err := o.call(t.Context(), "s__do", `{"n":1}`, by("t-one", hub.DoorMCP), func(r *Request) { r.Timeout = time.Second })
		_, _, ticket := told(t, res, err)
		_, err = o.call(t.Context(), "s__do", `{"n":1}`, by("t-two", hub.DoorREST), func(r *Request) { r.Exchange = &interview{} })
		must(t, err)
		from(o, ticket)
	})
}

// Where two agreements are needed the caller is asked twice, each time with another
// state; the first one is good for no second agreement.
func TestAskedTwiceByAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newFormOffice(t)
		first, state := o.asked(critical)
		second, next := o.asked(critical, answering(state, saysYes))
		if !strings.Contains(first, "agreement 1 of 2") || !strings.Contains(second, "agreement 2 of 2") || next == state {
			t.Errorf("asked %s, then %s", first, second)
		}
		if again, same := o.asked(critical, answering(state, saysYes)); again != second || same != next || o.sent() != "" {
			t.Errorf("asked %s, sent %q", again, o.sent())
		}
		res, err := o.call(t.Context(), "s__do", critical, answering(next, saysYes), modern)
		if text, wrong, _ := told(t, res, err); wrong || o.sent() != "do" {
			t.Errorf("got %q", text)
		}
	})
}

// If the second agreement has to be another person's the call is held for that.
func TestAnotherPersonIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newFormOffice(t)
		compiled, faults := policy.Compile(hub.Policy{Given: true, SecondPerson: true, Rules: []hub.Rule{asks("do")}, Modes: map[hub.Door]hub.PolicyMode{hub.DoorMCP: hub.PolicyEnforce}})
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		o.rules.Store(compiled)
		_, state := o.asked(critical)
		res, err := o.call(t.Context(), "s__do", critical, answering(state, saysYes), modern)
		o.refusedAs("by one person", res, err, message.ApprovalPending)
		// Nor is it asked for more by an equal call, as it could not say more.
		began, x := time.Now(), &interview{}
		res, err = o.call(t.Context(), "s__do", critical, modern)
		if asked, _ := questionOf(t, res, err); asked != "" || time.Since(began) != DefaultHold {
			t.Errorf("asked %q, held for %s", asked, time.Since(began))
		}
		res, err = o.call(t.Context(), "s__do", critical, func(r *Request) { r.Exchange = x })
		if o.refusedAs("asked by a request", res, err, message.ApprovalPending); len(x.asked) != 0 {
			t.Errorf("asked %q", x.asked)
		}
		q := o.pending()
		o.decide(q.ID, approval.Deciding{Kind: approval.Approve, Confirmation: 2, Saw: q.Hash})
		res, err = o.call(t.Context(), "s__do", critical, answering(state, saysYes), modern)
		if text, wrong, _ := told(t, res, err); wrong || o.sent() != "do" {
			t.Errorf("got %q", text)
		}
	})
}

// What the caller says of other arguments than those that would be sent now does not
// count: it is asked anew, about these.
func TestAskedAnewAboutEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newFormOffice(t)
		edited := []byte(`{"command":"rm -rf /tmp/only-this"}`)
		_, state := o.asked(critical)
		q := o.status(o.pending().ID)
		j, err := o.Check(context.Background(), q, edited)
		must(t, err)
		judged := approval.JudgedOf(&j)
		o.decide(q.ID, approval.Deciding{Kind: approval.Edit, Arguments: edited, ArgumentsHash: ArgumentsHash(edited), Judged: &judged})
		asked, next := o.asked(critical, answering(state, saysYes))
		if !strings.Contains(asked, "only-this") || strings.Contains(asked, "no-preserve-root") || !strings.Contains(asked, "agreement 2 of 2") {
			t.Errorf("asked %s", asked)
		}
		res, err := o.call(t.Context(), "s__do", critical, answering(next, saysYes), modern)
		if text, wrong, _ := told(t, res, err); wrong || len(o.params()) != 1 || !strings.Contains(o.params()[0], "only-this") {
			t.Errorf("got %q, sent %q", text, o.params())
		}
	})
}

// A call that answers its tool keeps that answer while its caller is asked, and is
// sent with it; the question is about both.
func TestAskedAboutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newFormOffice(t)
		const said = `"inputResponses":{"q":{"action":"accept"}},"requestState":"s1"`
		asked, state := o.asked(`{"n":1}`, saying(said))
		if !strings.Contains(asked, `\"s1\"`) || !strings.Contains(asked, "inputResponses") {
			t.Errorf("asked %s", asked)
		}
		res, err := o.call(t.Context(), "s__do", `{"n":1}`, answering(state, saysYes), modern)
		if text, wrong, _ := told(t, res, err); wrong || len(o.params()) != 1 {
			t.Fatalf("got %q, sent %q", text, o.params())
		}
		raw := []byte(o.params()[0])
		for member, want := range map[string]string{"inputResponses": `{"q":{"action":"accept"}}`, "requestState": `"s1"`, "arguments": `{"n":1}`} {
			if got := string(wire.Lookup(raw, wire.Value(raw), member).Of(raw)); got != want {
				t.Errorf("sent %s", raw)
			}
		}
		// The next round is a call of its own.
		if _, next := o.asked(`{"n":1}`, saying(`"inputResponses":{"q":{"action":"accept"}},"requestState":"s2"`)); next == state || o.sent() != "do" {
			t.Errorf("sent %q", o.sent())
		}
	})
}

// Who picks up by a ticket is asked as well, and so is who reads a resource or gets a
// prompt.
func TestOthersAreAskedByAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newFormOffice(t)
		res, err := o.call(t.Context(), "s__do", `{"n":1}`, func(r *Request) { r.Timeout = time.Second })
		_, _, ticket := told(t, res, err)
		pick := func(change ...func(*Request)) (*Result, error) {
			return o.ask("tools/call", `"name":"approval_result","arguments":{"ticket":"`+ticket+`"}`, append(change, modern, func(r *Request) { r.Principal.Door = hub.DoorMCP })...)
		}
		res, err = pick()
		_, state := questionOf(t, res, err)
		res, err = pick(answering(state, saysYes))
		if text, wrong, _ := told(t, res, err); wrong || o.sent() != "do" {
			t.Errorf("got %q", text)
		}
	})
	for method, params := range map[string]string{"resources/read": `"uri":"mem:a"`, "prompts/get": `"name":"s__hi"`} {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t, []hub.Rule{{ID: "all", Effect: hub.VerdictAsk, Methods: []string{method}}})
			o.settings.Approval.Elicit = true
			door := func(r *Request) { r.Principal.Door = hub.DoorMCP }
			res, err := o.ask(method, params, modern, door)
			_, state := questionOf(t, res, err)
			if state == "" || o.sent() != "" {
				t.Fatalf("%s: answered with %s", method, res.Message.Raw)
			}
			if _, err = o.ask(method, params, modern, door, answering(state, saysNo)); !hub.IsCode(err, message.ApprovalRejected) {
				t.Errorf("%s: got %v", method, err)
			}
			res, err = o.ask(method, params, modern, door)
			_, state = questionOf(t, res, err)
			if res, err = o.ask(method, params, modern, door, answering(state, saysYes)); err != nil || o.sent() == "" {
				t.Errorf("%s: got %v, %v", method, res, err)
			}
			if all := fmt.Sprint(o.params()); strings.Contains(all, "requestState") {
				t.Errorf("%s: sent %s", method, all)
			}
		})
	}
}

// A call is held where its caller is not to be asked: it does not show forms, there is
// more than it could see, or it was not configured.
func TestHeldAndNotAsked(t *testing.T) {
	for name, change := range map[string]func(o *office, r *Request){
		"no forms": func(_ *office, r *Request) { r.Forms = false },
		"not set":  func(o *office, _ *Request) { o.settings.Approval.Elicit = false },
		"by a retrier": func(_ *office, r *Request) {
			r.Retrier = &hub.Principal{Subject: "bob", Role: hub.RoleOperator, Door: hub.DoorMCP}
		},
		"too much": func(_ *office, r *Request) {
			saying(`"_meta":{"who/text":"` + strings.Repeat("x", maxElicited) + `"}`)(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newFormOffice(t)
				began := time.Now()
				res, err := o.call(t.Context(), "s__do", `{"n":1}`, modern, func(r *Request) { change(o, r) })
				if o.refusedAs(name, res, err, message.ApprovalPending); time.Since(began) != DefaultHold {
					t.Errorf("it was held for %s", time.Since(began))
				}
				if asked, _ := questionOf(t, res, err); asked != "" {
					t.Errorf("asked %s", asked)
				}
			})
		})
	}
}
