package approval

import (
	"fmt"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// A request that equal calls have in common ends with the last of them that wants
// it, also over two hubs and a restart.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		one, two := open(t, db, "n1"), open(t, db, "n2")
		ask := func(c *counter, call string) Request {
			a := asking("local", `{"path":"/a"}`)
			a.Call = call
			return c.mustAsk(t, a)
		}
		withdraw := func(c *counter, id, call string, want Status) {
			t.Helper()
			if err := c.Withdraw(t.Context(), id, call, "not wanted"); err != nil {
				t.Fatal(err)
			}
			if r, err := c.Get(t.Context(), id); err != nil || r.Status != want {
				t.Errorf("after %s: %s, %v", call, r.Status, err)
			}
		}
		q := ask(one, "call-1")
		if other := ask(two, "call-2"); other.ID != q.ID {
			t.Fatal("equal calls ask by two requests")
		}
		ask(one, "call-1") // once more, which is no further call
		withdraw(one, q.ID, "call-1", Pending)
		withdraw(one, q.ID, "call-1", Pending) // twice
		withdraw(one, q.ID, "a call that picks it up", Pending)
		withdraw(open(t, db, "n2"), q.ID, "call-2", Cancelled)
		refused(t, "one that is over", one.Withdraw(t.Context(), q.ID, "call-2", ""), message.ApprovalDecided)
		refused(t, "none", one.Withdraw(t.Context(), "none", "call-2", ""), message.ApprovalUnknown)

		// An agreement that others still want stays good.
		q = ask(one, "call-3")
		ask(two, "call-4")
		one.mustDecide(t, q.ID, approve("alice"))
		withdraw(one, q.ID, "call-3", Approved)
		if _, err := two.Take(t.Context(), q.ID, "call-4"); err != nil {
			t.Error(err)
		}

		// Of more than are kept none is the last.
		q = ask(one, "call-0")
		for i := range maxAskers + 1 {
			ask(one, fmt.Sprint("more-", i))
		}
		for i := range maxAskers + 1 {
			withdraw(one, q.ID, fmt.Sprint("more-", i), Pending)
		}
		withdraw(one, q.ID, "call-0", Pending)
		withdraw(one, q.ID, several, Pending)
	})
}

// Of calls that withdraw at once one is the last.
func TestWithdrawAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		hubs := []*counter{open(t, db, "n1"), open(t, db, "n2")}
		var q Request
		const calls = 8
		for i := range calls {
			a := asking("local", `{}`)
			a.Call = fmt.Sprint("call-", i)
			q = hubs[i%2].mustAsk(t, a)
		}
		var wg sync.WaitGroup
		for i := range calls - 1 {
			wg.Go(func() {
				if err := hubs[i%2].Withdraw(t.Context(), q.ID, fmt.Sprint("call-", i), ""); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if r, err := hubs[0].Get(t.Context(), q.ID); err != nil || r.Status != Pending {
			t.Errorf("%s, %v", r.Status, err)
		}
		if err := hubs[0].Withdraw(t.Context(), q.ID, fmt.Sprint("call-", calls-1), ""); err != nil {
			t.Error(err)
		}
		if r, err := hubs[1].Get(t.Context(), q.ID); err != nil || r.Status != Cancelled {
			t.Errorf("%s, %v", r.Status, err)
		}
	})
}

// What is remembered with an agreement is given with it or not at all.
func TestGrantWithAgreement(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		with := func(q *Request, change func(*Grant)) Deciding {
			g := granting("local")
			g.ArgumentsHash, g.Request = q.Hash, q.ID
			if change != nil {
				change(&g)
			}
			d := approve("alice")
			d.Saw, d.Grant = q.Hash, &g
			return d
		}
		q := c.mustAsk(t, asking("local", `{"n":1}`))
		// Others were put in the place of the arguments meanwhile: nothing is agreed to and nothing given.
		two := asking("local", `{"n":2}`)
		two.Persons = 2
		changed := c.mustAsk(t, two)
		stale := with(&changed, nil)
		c.mustDecide(t, changed.ID, edit("bob", `{"n":3}`))
		_, err := c.Decide(t.Context(), changed.ID, stale)
		refused(t, "stale", err, message.ApprovalChanged)
		// A grant that may not be, or finds no room, leaves the request as it is.
		_, err = c.Decide(t.Context(), q.ID, with(&q, func(g *Grant) { g.MaxRisk = hub.RiskCritical }))
		refused(t, "critical", err, message.GrantInvalid)
		blind := with(&q, nil)
		blind.Saw = ""
		_, err = c.Decide(t.Context(), q.ID, blind)
		refused(t, "not seen", err, message.ApprovalInvalid)
		if err := c.db.Tx(t.Context(), store.Process, txExec("ALTER TABLE approval_grant RENAME TO away")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Decide(t.Context(), q.ID, with(&q, nil)); err == nil {
			t.Error("it was decided although nothing can be given")
		}
		if err := c.db.Tx(t.Context(), store.Process, txExec("ALTER TABLE away RENAME TO approval_grant")); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Get(t.Context(), q.ID); err != nil || r.Status != Pending || len(r.Decisions) > 0 {
			t.Errorf("half done: %+v, %v", r, err)
		}
		if all, err := c.Grants(t.Context(), GrantQuery{}); err != nil || len(all) != 0 {
			t.Errorf("grants: %+v, %v", all, err)
		}
		// Both.
		if r := c.mustDecide(t, q.ID, with(&q, nil)); r.Status != Approved {
			t.Errorf("%+v", r)
		}
		call := asked("local", `{"n":1}`)
		if g, ok := c.Granted(&call); !ok || g.Request != q.ID || g.By != "alice" {
			t.Errorf("%+v, %t", g, ok)
		}
		// The first of two agreements gives nothing.
		two.Arguments, two.ArgumentsHash = []byte(`{"n":4}`), hashOf(`{"n":4}`)
		first := c.mustAsk(t, two)
		c.mustDecide(t, first.ID, with(&first, nil))
		if all, err := c.Grants(t.Context(), GrantQuery{}); err != nil || len(all) != 1 {
			t.Errorf("grants: %+v, %v", all, err)
		}
	})
}
