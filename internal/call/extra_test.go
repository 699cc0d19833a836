package call

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// saying has a request say more than its arguments.
func saying(extra string) func(*Request) {
	return func(r *Request) {
		m := r.Message
		next, err := wire.Scan(wire.Splice(m.Raw, wire.Insert(m.Raw, m.Params, []byte(extra))), wire.Limits{UniqueKeys: true})
		if err != nil {
			panic(err)
		}
		r.Message = &next
	}
}

// params are those of the requests that came to the server, without what is of the
// leg.
func (o *office) params() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for _, raw := range o.raw {
		m := rescan([]byte(raw))
		all = append(all, string(m.Params.Of(m.Raw)))
	}
	return all
}

// What is sent besides the arguments is agreed to with them: it is shown, it is what
// makes a call another one, and it is what is sent in the end, whoever picks it up
// and whatever they say besides.
func TestExtraIsAgreedTo(t *testing.T) {
	const extra = `"inputResponses":{"q":{"action":"accept"}},"requestState":"s1","_meta":{"progressToken":7,"traceparent":"x","who/mode":"force"}`
	const kept = `{"inputResponses":{"q":{"action":"accept"}},"requestState":"s1","_meta":{"who/mode":"force"}}`
	for _, way := range []string{"ticket", "equal call", "held"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t, []hub.Rule{asks("do")})
				ch := o.begin(t.Context(), "s__do", `{"n":1}`, saying(extra), func(r *Request) { r.Timeout = 30 * time.Second })
				q := o.status(o.pending().ID)
				if string(q.Extra) != kept || !strings.Contains(q.ExtraShown, "force") || q.Hash == ArgumentsHash([]byte(`{"n":1}`)) || GrantHash(&q) != ArgumentsHash([]byte(`{"n":1}`)) {
					t.Errorf("asked about %s, %+v", q.Extra, q)
				}
				if way != "held" {
					<-ch
				}
				// The same arguments with something else are another call.
				for _, other := range []string{``, `"requestState":"s1"`, `"inputResponses":{"q":{"action":"decline"}},"requestState":"s1","_meta":{"who/mode":"force"}`} {
					change := func(*Request) {}
					if other != "" {
						change = saying(other)
					}
					res, err := o.call(t.Context(), "s__do", `{"n":1}`, change, func(r *Request) { r.Session = "other"; r.Timeout = time.Second })
					if _, _, ticket := told(t, res, err); ticket == q.ID {
						t.Errorf("%q is the same call", other)
					}
				}
				o.decide(q.ID, approval.Deciding{Kind: approval.Approve})
				var a outcome
				switch way {
				case "held":
					a = <-ch
				case "ticket":
					a.res, a.err = o.call(t.Context(), "approval_result", `{"ticket":"`+q.ID+`"}`, saying(`"inputResponses":{"q":{"action":"evil"}},"more":1,"_meta":{"progressToken":8,"who/mode":"evil"}`))
				default:
					a.res, a.err = o.call(t.Context(), "s__do", `{"n":1}`, saying(`"requestState":"s1","_meta":{"who/mode":"force","progressToken":9},"inputResponses":{"q":{"action":"accept"}}`))
				}
				if text, wrong, _ := told(t, a.res, a.err); wrong {
					t.Fatalf("got %q", text)
				}
				sent := o.params()
				if len(sent) != 1 || strings.Contains(sent[0], "evil") || strings.Contains(sent[0], `"more"`) {
					t.Fatalf("sent %q", sent)
				}
				raw := []byte(sent[0])
				for member, want := range map[string]string{"inputResponses": `{"q":{"action":"accept"}}`, "requestState": `"s1"`, "arguments": `{"n":1}`, "name": `"do"`} {
					if got := string(wire.Lookup(raw, wire.Value(raw), member).Of(raw)); got != want {
						t.Errorf("sent %s", raw)
					}
				}
				meta := wire.Lookup(raw, wire.Value(raw), "_meta")
				if mode, _ := wire.String(raw, wire.Lookup(raw, meta, "who/mode")); mode != "force" || !wire.Lookup(raw, meta, "progressToken").Exists() {
					t.Errorf("sent %s", raw)
				}
			})
		})
	}
}

// Arguments that a person has changed are sent with what was agreed to besides.
func TestExtraOfEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{asks("do")})
		ch := o.begin(t.Context(), "s__do", `{"n":1}`, saying(`"requestState":"s1"`))
		q, edited := o.status(o.pending().ID), []byte(`{"n":2}`)
		j, err := o.Check(t.Context(), q, edited)
		must(t, err)
		hash, err := o.EditedHash(&q, edited)
		must(t, err)
		judged := approval.JudgedOf(&j)
		o.decide(q.ID, approval.Deciding{Kind: approval.Edit, Arguments: edited, ArgumentsHash: hash, Judged: &judged})
		a := <-ch
		if text, wrong, _ := told(t, a.res, a.err); wrong || len(o.params()) != 1 || !strings.Contains(o.params()[0], `"n":2`) || !strings.Contains(o.params()[0], `"s1"`) {
			t.Errorf("got %q, sent %q", text, o.params())
		}
		if now := o.status(q.ID); GrantHash(&now) != ArgumentsHash(edited) {
			t.Errorf("a grant would be for %s", GrantHash(&now))
		}
		if sealed := (approval.Request{Details: approval.Details{PlainHash: "a", ArgumentsHash: "b"}, Hash: "c"}); GrantHash(&sealed) != "c" {
			t.Error("a grant for what was not agreed to")
		}
	})
}

// A grant covers no call that answers what its tool has asked, and no resource by
// what is not its URI.
func TestGrantsSeeAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{asks("do"), {ID: "read", Effect: hub.VerdictAsk, Methods: []string{"resources/read"}}})
		share, _ := o.catalog.Snapshot().Share("s")
		grant := func(g approval.Grant) {
			g.Subject, g.Server, g.MaxRisk, g.Expires = "ann", "s", hub.RiskHigh, time.Now().Add(time.Hour)
			_, err := o.desk.Grant(t.Context(), hub.Principal{Subject: "bob", Role: hub.RoleAdmin}, g)
			must(t, err)
		}
		grant(approval.Grant{Tool: "do", ToolHash: toolHash(share.Tools[0]), ArgumentsHash: ArgumentsHash([]byte(`{"n":1}`))})
		grant(approval.Grant{Tool: "mem:a", ToolHash: "resources/read", Members: map[string]json.RawMessage{"ok": json.RawMessage(`true`)}})
		soon := func(r *Request) { r.Timeout = time.Second; r.Principal.Door = hub.DoorMCP }
		for extra, covered := range map[string]bool{
			"": true, `"_meta":{"client/id":"7"}`: true, `"requestState":"s1"`: false, `"inputResponses":{}`: false, `"task":{}`: false,
		} {
			change := func(*Request) {}
			if extra != "" {
				change = saying(extra)
			}
			res, err := o.call(t.Context(), "s__do", `{"n":1}`, change, soon)
			if text, wrong, _ := told(t, res, err); wrong == covered {
				t.Errorf("%s: %q", extra, text)
			}
		}
		if _, err := o.ask("resources/read", `"uri":"mem:a","arguments":{"ok":true}`, soon); err == nil {
			t.Error("invented arguments are covered")
		}
		grant(approval.Grant{Tool: "mem:a", ToolHash: "resources/read", Members: map[string]json.RawMessage{"uri": json.RawMessage(`"mem:a"`)}})
		if _, err := o.ask("resources/read", `"uri":"mem:a","arguments":{"ok":true}`, soon); err == nil {
			t.Error("invented arguments ride along")
		}
		if _, err := o.ask("resources/read", `"uri":"mem:a"`, soon); err != nil {
			t.Error(err)
		}
	})
}
