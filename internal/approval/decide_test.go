package approval

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// Nobody decides about their own calls: neither the same subject of the tenant nor
// whoever has the same token. Who is asked in their own client is an exception that
// the configuration makes.
func TestOwn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		a := asking("alice", `{}`)
		a.Token = "token of bob"
		r := c.mustAsk(t, a)
		for _, with := range []Deciding{approve("alice"), reject("alice"), edit("alice", `{"a":1}`), approve("bob"), reject("bob")} {
			_, err := c.Decide(t.Context(), r.ID, with)
			refused(t, string(with.Kind)+" by "+with.By.Subject, err, message.ApprovalOwn)
		}
		// Another one of that name is in another tenant.
		a = asking("alice", `{}`)
		a.Tenant = "red"
		if other := c.mustDecide(t, c.mustAsk(t, a).ID, approve("alice")); other.Status != Approved {
			t.Errorf("%+v", other)
		}
		there := Deciding{By: hub.Principal{Subject: "alice", Role: hub.RoleCaller, Door: hub.DoorMCP}, Kind: Approve, There: true}
		if r := c.mustDecide(t, r.ID, there); r.Status != Approved || r.Decisions[0].Door != hub.DoorMCP {
			t.Errorf("%+v", r)
		}
	})
}

// Two have to agree: each to what they have seen, neither twice by accident, and
// where it is asked for not the same person. What one of them changes the other has
// to agree to anew.
func TestTwo(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		ask := func(arguments string, second bool) Request {
			a := asking("local", arguments)
			a.Persons, a.Second = 2, second
			return c.mustAsk(t, a)
		}
		confirm := func(by, hash string) Deciding {
			with := approve(by)
			with.Confirmation, with.Saw = 2, hash
			return with
		}
		r := ask(`{"n":1}`, false)
		_, err := c.Decide(t.Context(), r.ID, confirm("alice", r.Hash))
		refused(t, "the second before the first", err, message.ApprovalConfirm)
		if first := c.mustDecide(t, r.ID, approve("alice")); first.Status != Pending || len(first.Decisions) != 1 || !first.Expires.Equal(r.Expires) {
			t.Errorf("%+v", first)
		}
		_, err = c.Take(t.Context(), r.ID, "call")
		refused(t, "after one of two", err, message.ApprovalUndecided)
		_, err = c.Decide(t.Context(), r.ID, approve("alice"))
		refused(t, "a click that comes twice", err, message.ApprovalConfirm)
		_, err = c.Decide(t.Context(), r.ID, confirm("alice", ""))
		refused(t, "without what was seen", err, message.ApprovalChanged)
		_, err = c.Decide(t.Context(), r.ID, confirm("alice", "other"))
		refused(t, "of something else", err, message.ApprovalChanged)
		if done := c.mustDecide(t, r.ID, confirm("alice", r.Hash)); done.Status != Approved || len(done.Decisions) != 2 {
			t.Errorf("%+v", done)
		}

		r = ask(`{"n":2}`, true)
		c.mustDecide(t, r.ID, approve("alice"))
		_, err = c.Decide(t.Context(), r.ID, confirm("alice", r.Hash))
		refused(t, "the same person", err, message.ApprovalSecond)
		same := confirm("alice at work", r.Hash)
		same.By.Token = operator("alice").Token
		_, err = c.Decide(t.Context(), r.ID, same)
		refused(t, "the same token", err, message.ApprovalSecond)
		if done := c.mustDecide(t, r.ID, reject("alice")); done.Status != Rejected {
			t.Errorf("rejected after an agreement: %+v", done)
		}

		r = ask(`{"n":3}`, true)
		c.mustDecide(t, r.ID, approve("alice"))
		changed := c.mustDecide(t, r.ID, edit("bob", `{"n":4}`))
		if changed.Status != Pending || changed.Hash == r.Hash || string(changed.Edited) != `{"n":4}` || changed.Shown != `{"n":4}` || string(changed.Arguments) != `{"n":3}` {
			t.Errorf("%+v", changed)
		}
		_, err = c.Decide(t.Context(), r.ID, confirm("carol", r.Hash))
		refused(t, "to what it was before", err, message.ApprovalChanged)
		_, err = c.Decide(t.Context(), r.ID, confirm("bob", changed.Hash))
		refused(t, "who has changed it", err, message.ApprovalSecond)
		_, err = c.Decide(t.Context(), r.ID, edit("carol", `{"n":4}`))
		refused(t, "a change that is none, as a second agreement", err, message.ApprovalConfirm)
		done := c.mustDecide(t, r.ID, confirm("alice", changed.Hash)) // to these she has not agreed yet
		if done.Status != Edited || string(done.Edited) != `{"n":4}` {
			t.Errorf("%+v", done)
		}
		taken, err := c.Take(t.Context(), r.ID, "call")
		if err != nil || string(taken.Edited) != `{"n":4}` || taken.Hash != hashOf(`{"n":4}`) || taken.ArgumentsHash != hashOf(`{"n":3}`) {
			t.Errorf("%+v, %v", taken, err)
		}

		// What was harmless and is not any more needs two from then on.
		r = c.mustAsk(t, asking("local", `{"n":5}`))
		worse := edit("alice", `{"n":6}`)
		worse.Judged = &Judged{Risk: hub.RiskCritical, Persons: 2, Second: true, Warning: Text{EN: "worse"}, Policy: "v2"}
		if r = c.mustDecide(t, r.ID, worse); r.Status != Pending || r.Risk != hub.RiskCritical || r.Warning.EN != "worse" || !r.Second {
			t.Errorf("%+v", r)
		}
		better := edit("bob", `{"n":7}`)
		better.Judged = &Judged{Risk: hub.RiskLow, Persons: 1}
		if r = c.mustDecide(t, r.ID, better); r.Status != Pending || r.Persons != 2 || !r.Second {
			t.Errorf("it takes fewer persons: %+v", r)
		}
		if r = c.mustDecide(t, r.ID, confirm("alice", r.Hash)); r.Status != Edited {
			t.Errorf("%+v", r)
		}
	})
}

// An edit is an agreement to what it says, of one person.
func TestEdit(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		r := c.mustAsk(t, asking("local", `{"n":1}`))
		for what, with := range map[string]Deciding{
			"array": edit("a", `[]`), "twice": edit("a", `{"a":1,"a":2}`), "none": {By: operator("a"), Kind: Edit}, "kind": {By: operator("a"), Kind: "maybe"},
			"no hash": {By: operator("a"), Kind: Edit, Arguments: []byte(`{}`)}, "arguments": {By: operator("a"), Kind: Approve, Arguments: []byte(`{}`)},
			"large": edit("a", `{"a":"`+strings.Repeat("x", MaxArguments)+`"}`), "note": {By: operator("a"), Kind: Reject, Note: strings.Repeat("x", MaxNote+1)},
		} {
			_, err := c.Decide(t.Context(), r.ID, with)
			refused(t, what, err, message.ApprovalInvalid)
		}
		stale := edit("alice", `{"n":2}`)
		stale.Saw = "other"
		_, err := c.Decide(t.Context(), r.ID, stale)
		refused(t, "of what is not there", err, message.ApprovalChanged)
		if same := c.mustDecide(t, r.ID, edit("alice", `{"n":1}`)); same.Status != Approved || same.Edited != nil || same.Decisions[0].Kind != Approve {
			t.Errorf("an edit that changes nothing: %+v", same)
		}
		r = c.mustAsk(t, asking("local", `{"n":2}`))
		if done := c.mustDecide(t, r.ID, edit("alice", `{"hunter2":3}`)); done.Status != Edited || done.Decisions[0].Hash != hashOf(`{"hunter2":3}`) {
			t.Errorf("%+v", done)
		}
		var edited string
		if err := db.QueryRow("SELECT edited FROM approval WHERE id = $1", r.ID).Scan(&edited); err != nil || edited == "" || strings.Contains(edited, "hunter2") {
			t.Errorf("in clear: %q, %v", edited, err)
		}
		// Who can write to the database cannot show what was sealed for another request.
		other := c.mustAsk(t, asking("local", `{"n":3}`))
		if err := db.Tx(t.Context(), store.Process, txExec("UPDATE approval SET arguments = $1 WHERE id = $2", edited, other.ID)); err != nil {
			t.Fatal(err)
		}
		if shown, err := c.Get(t.Context(), other.ID); err != nil || !shown.Hidden || shown.Arguments != nil {
			t.Errorf("%+v, %v", shown, err)
		}
	})
}

// Whatever people say in whichever order, a status follows only one that it may
// follow, and nothing is agreed to by fewer than have to, or by the caller.
func TestAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"ann", "bob", "eve", "caller"}
	pick := func(some ...string) string { return some[random.IntN(len(some))] }
	reached := map[Status]int{}
	for range 5000 {
		a := asking("caller", `{}`)
		a.Persons, a.Second = 1+random.IntN(2), random.IntN(2) == 0
		at := time.Now().UTC()
		r, err := newRow(&a, at, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range random.IntN(8) {
			at = at.Add(time.Duration(random.IntN(90)) * time.Second)
			with := Deciding{
				By: operator(pick(names...)), Kind: Kind(pick("approve", "approve", "edit", "reject")), Confirmation: random.IntN(3),
				Saw: pick("", r.Hash, r.Hash, hashOf("x")), ArgumentsHash: pick(r.Hash, "h1", "h2"),
			}
			next, err := r.decided(&with, at)
			if err != nil {
				continue
			}
			if next.Status != r.Status && !slices.Contains(Transitions()[r.Status], next.Status) {
				t.Fatalf("%s became %s", r.Status, next.Status)
			}
			r = next
		}
		reached[r.Status]++
		people := map[string]bool{}
		for _, one := range r.Agreements() {
			if one.By == "caller" || one.Hash != r.Hash && one.Kind != Reject {
				t.Fatalf("%+v", r)
			}
			people[one.By] = true
		}
		if n := len(r.Agreements()); r.Status.Agreed() && (n != r.Persons || r.Second && len(people) != n) || (r.Status == Edited) != (r.edited != "" && r.Status.Agreed()) {
			t.Fatalf("%+v", r)
		}
		if text, err := json.Marshal(r.Decisions); err != nil || len(text) == 0 {
			t.Fatal(err)
		}
	}
	for _, s := range []Status{Pending, Approved, Edited, Rejected} {
		if reached[s] == 0 {
			t.Errorf("no request is %s: %v", s, reached)
		}
	}
}
