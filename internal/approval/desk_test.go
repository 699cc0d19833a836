package approval

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

func containsBrace(text string) bool {
	return strings.ContainsAny(text, "{}") && !strings.Contains(text, `"confirmation"`)
}

func txExec(query string, args ...any) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	}
}

// A request goes its way from the question to the call, over restarts, and every
// member comes back as it was given.
func TestWay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		key := newKey(t)
		c := openWith(t, db, "n1", key)
		a := asking("local", `{"path":"/tmp/hunter2","n":1}`)
		a.Shown = `{"path":"***"}`
		asked := c.mustAsk(t, a)
		if uuid.Validate(asked.ID) != nil || asked.ID[14] != '7' || asked.Status != Pending || !asked.Expires.Equal(asked.Created.Add(DefaultExpires)) {
			t.Errorf("asked: %+v", asked)
		}
		var stored string
		if err := db.QueryRow("SELECT body || judged || shown || arguments FROM approval").Scan(&stored); err != nil || strings.Contains(stored, "hunter2") {
			t.Errorf("in clear: %s, %v", stored, err)
		}
		// Asked again, also after a restart, it is the same request.
		c = openWith(t, db, "n1", key)
		if again := c.mustAsk(t, a); again.ID != asked.ID || string(again.Arguments) != string(a.Arguments) {
			t.Errorf("again: %+v", again)
		}
		for what, change := range map[string]func(*Asking){
			"subject": func(a *Asking) { a.Subject = "other" }, "tenant": func(a *Asking) { a.Tenant = "other" }, "tool": func(a *Asking) { a.ToolHash = "other" },
			"policy": func(a *Asking) { a.Policy = "other" }, "arguments": func(a *Asking) { a.ArgumentsHash = "other" }, "server": func(a *Asking) { a.Server = "other" },
		} {
			b := a
			change(&b)
			if other := c.mustAsk(t, b); other.ID == asked.ID {
				t.Errorf("another %s is the same request", what)
			}
		}
		if _, err := c.Take(t.Context(), asked.ID, "call-1"); !hub.IsCode(err, message.ApprovalUndecided) {
			t.Errorf("taken before it was decided: %v", err)
		}
		decided := c.mustDecide(t, asked.ID, approve("alice"))
		if decided.Status != Approved || decided.Decided.IsZero() || !decided.Expires.Equal(decided.Decided.Add(Agreement)) || len(decided.Decisions) != 1 {
			t.Errorf("decided: %+v", decided)
		}
		if again := c.mustAsk(t, a); again.ID != asked.ID || again.Status != Approved {
			t.Errorf("asked after the decision: %+v", again)
		}
		taken, err := c.Take(t.Context(), asked.ID, "call-2")
		if err != nil || string(taken.Arguments) != string(a.Arguments) || taken.Edited != nil || taken.Taken != "call-2" || taken.Hidden {
			t.Errorf("taken: %+v, %v", taken, err)
		}
		want := asked
		want.Status, want.Decided, want.Expires, want.Decisions, want.Taken = taken.Status, taken.Decided, taken.Expires, taken.Decisions, taken.Taken
		if fmt.Sprintf("%+v", taken) != fmt.Sprintf("%+v", want) {
			t.Errorf("\n%+v came back as\n%+v", want, taken)
		}
		if _, err := c.Take(t.Context(), asked.ID, "call-2"); err != nil {
			t.Errorf("again for the same call: %v", err)
		}
		_, err = c.Take(t.Context(), asked.ID, "call-3")
		refused(t, "for another call", err, message.ApprovalTaken)
		refused(t, "returned by another call", c.Return(t.Context(), asked.ID, "call-3"), message.ApprovalTaken)
		if again := c.mustAsk(t, a); again.ID == asked.ID {
			t.Error("an agreement is good for two calls")
		}
		if err := errors.Join(c.Return(t.Context(), asked.ID, "call-2"), c.Return(t.Context(), asked.ID, "call-2")); err != nil {
			t.Error(err)
		}
		if r, err := c.Take(t.Context(), asked.ID, "call-3"); err != nil || r.Taken != "call-3" {
			t.Errorf("after it was given back: %+v, %v", r, err)
		}
		_, err = c.Decide(t.Context(), asked.ID, reject("bob"))
		refused(t, "decided when it was taken", err, message.ApprovalTaken)
		_, err = c.Get(t.Context(), "no\x00thing")
		refused(t, "nothing", err, message.ApprovalUnknown)
	})
}

// Of 200 who decide at once one wins, and all others are told who did.
func TestDeciders(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c, other := open(t, db, "n1"), open(t, db, "n2")
		asked := c.mustAsk(t, asking("local", `{}`))
		var wg sync.WaitGroup
		var won atomic.Int64
		var winner atomic.Value
		var said sync.Map
		for i := range 200 {
			wg.Go(func() {
				name := fmt.Sprintf("p%d", i)
				with := [...]Deciding{approve(name), reject(name), edit(name, `{"a":1}`)}[i%3]
				_, err := [...]*counter{c, other}[i%2].Decide(context.Background(), asked.ID, with)
				if err == nil {
					won.Add(1)
					winner.Store(name)
					return
				}
				if !hub.IsCode(err, message.ApprovalDecided) {
					t.Error(err)
				}
				said.Store(hub.AsError(err).Args["by"], true)
			})
		}
		wg.Wait()
		r, err := c.Get(t.Context(), asked.ID)
		if err != nil || won.Load() != 1 || len(r.Decisions) != 1 || r.Decisions[0].By != winner.Load() {
			t.Errorf("%d have won: %+v, %v", won.Load(), r, err)
		}
		said.Range(func(by, _ any) bool {
			if by != winner.Load() {
				t.Errorf("%s is said to have decided, not %s", by, winner.Load())
			}
			return true
		})
	})
}

// Of many calls that take an agreement at once one gets it, over two hubs.
func TestTakers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c, other := open(t, db, "n1"), open(t, db, "n2")
		asked := c.mustAsk(t, asking("local", `{}`))
		c.mustDecide(t, asked.ID, approve("alice"))
		var wg sync.WaitGroup
		var won atomic.Int64
		for i := range 50 {
			wg.Go(func() {
				_, err := [...]*counter{c, other}[i%2].Take(context.Background(), asked.ID, fmt.Sprint("call", i))
				if err == nil {
					won.Add(1)
				} else if !hub.IsCode(err, message.ApprovalTaken) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%d calls have taken it", won.Load())
		}
	})
}

// Equal calls that come at once wait for one decision.
func TestEqualAskers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c, other := open(t, db, "n1"), open(t, db, "n2")
		var wg sync.WaitGroup
		var ids sync.Map
		for i := range 20 {
			wg.Go(func() {
				r, err := [...]*counter{c, other}[i%2].Ask(context.Background(), asking("local", `{}`))
				if err != nil {
					t.Error(err)
				}
				ids.Store(r.ID, true)
			})
		}
		wg.Wait()
		n := 0
		ids.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// Whatever boundary a hub is killed at, nothing is lost, and no agreement serves
// two calls: what was sent stays taken, and what was not is given back.
func TestKilled(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		key := newKey(t)
		again := func() *counter { return openWith(t, db, "n1", key) }
		c := again()
		sent := map[string]bool{}
		ids := map[string]string{}
		for _, at := range []string{"asked", "decided", "taken", "intended", "sent"} {
			a := asking("local", `{"at":"`+at+`"}`)
			r := c.mustAsk(t, a)
			ids[at] = r.ID
			if at == "asked" {
				continue
			}
			c.mustDecide(t, r.ID, approve("alice"))
			if at == "decided" {
				continue
			}
			if _, err := c.Take(t.Context(), r.ID, "call "+at); err != nil {
				t.Fatal(err)
			}
			sent["call "+at] = at != "taken"
		}
		other := open(t, db, "n2")
		elsewhere := other.mustAsk(t, asking("local", `{"at":"another hub"}`))
		other.mustDecide(t, elsewhere.ID, approve("alice"))
		if _, err := other.Take(t.Context(), elsewhere.ID, "call of n2"); err != nil {
			t.Fatal(err)
		}

		c = again()
		known := func(_ context.Context, call string) (bool, error) {
			if _, ours := sent[call]; !ours {
				t.Errorf("%s is none of this hub's", call)
			}
			return sent[call], nil
		}
		if err := errors.Join(c.Recover(t.Context(), known), c.Recover(t.Context(), known)); err != nil {
			t.Fatal(err)
		}
		for at, want := range map[string]message.Code{"asked": message.ApprovalUndecided, "decided": "", "taken": "", "intended": message.ApprovalTaken, "sent": message.ApprovalTaken} {
			r := c.mustAsk(t, asking("local", `{"at":"`+at+`"}`))
			if same := r.ID == ids[at]; same != (want != message.ApprovalTaken) {
				t.Errorf("killed when it was %s, it is the same request: %v", at, same)
			}
			r, err := c.Take(t.Context(), ids[at], "call after "+at)
			if want != "" {
				refused(t, at, err, want)
			} else if err != nil || string(r.Arguments) != `{"at":"`+at+`"}` {
				t.Errorf("killed when it was %s: %+v, %v", at, r, err)
			}
		}
		_, err := c.Take(t.Context(), elsewhere.ID, "x")
		refused(t, "of another hub", err, message.ApprovalTaken)

		lost := errors.New("the record cannot be read")
		if err := c.Recover(t.Context(), func(context.Context, string) (bool, error) { return false, lost }); !errors.Is(err, lost) {
			t.Errorf("without the record: %v", err)
		}
		_, err = c.Take(t.Context(), ids["sent"], "x")
		refused(t, "without the record", err, message.ApprovalTaken)
	})
}

// What is not decided in time expires, and so does what is not taken in time.
func TestExpires(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		pending, agreed, taken := c.mustAsk(t, asking("a", `{}`)), c.mustAsk(t, asking("b", `{}`)), c.mustAsk(t, asking("c", `{}`))
		c.mustDecide(t, agreed.ID, approve("alice"))
		c.mustDecide(t, taken.ID, approve("alice"))
		if _, err := c.Take(t.Context(), taken.ID, "call"); err != nil {
			t.Fatal(err)
		}
		c.published()
		c.age(t, DefaultExpires)
		// Nobody has looked yet, and it is over all the same.
		_, err := c.Decide(t.Context(), pending.ID, approve("alice"))
		refused(t, "decided", err, message.ApprovalExpired)
		_, err = c.Take(t.Context(), agreed.ID, "call")
		refused(t, "taken", err, message.ApprovalExpired)
		_, err = c.Cancel(t.Context(), pending.ID, "")
		refused(t, "cancelled", err, message.ApprovalExpired)
		if r := c.mustAsk(t, asking("a", `{}`)); r.ID == pending.ID {
			t.Error("what has expired is asked for again")
		}
		c.published()
		c.run(t)
		for _, id := range []string{pending.ID, agreed.ID} {
			for r, err := c.Get(t.Context(), id); r.Status != Expired; r, err = c.Get(t.Context(), id) {
				if err != nil {
					t.Fatal(err)
				}
				<-c.sub.C()
			}
			_, err := c.Decide(t.Context(), id, approve("alice"))
			refused(t, "decided", err, message.ApprovalExpired)
		}
		if r, err := c.Get(t.Context(), taken.ID); err != nil || r.Status != Approved {
			t.Errorf("what was taken is %s, %v", r.Status, err)
		}
	})
}

// A request that nobody wants, or whose call would be another one, ends.
func TestCancel(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		for _, end := range []func(context.Context, string, string) (Request, error){c.Cancel, c.Supersede} {
			for _, agreed := range []bool{false, true} {
				r := c.mustAsk(t, asking("local", `{}`))
				if agreed {
					c.mustDecide(t, r.ID, approve("alice"))
				}
				ended, err := end(t.Context(), r.ID, "why\x00")
				if err != nil || ended.Status != Cancelled && ended.Status != Superseded || !strings.HasPrefix(ended.Note, "why") {
					t.Errorf("%+v, %v", ended, err)
				}
				_, err = end(t.Context(), r.ID, "")
				refused(t, "twice", err, message.ApprovalDecided)
				_, err = c.Take(t.Context(), r.ID, "call")
				refused(t, "taken", err, message.ApprovalDecided)
				_, err = c.Decide(t.Context(), r.ID, approve("bob"))
				refused(t, "decided", err, message.ApprovalDecided)
			}
		}
		r := c.mustAsk(t, asking("local", `{}`))
		c.mustDecide(t, r.ID, approve("alice"))
		if _, err := c.Take(t.Context(), r.ID, "call"); err != nil {
			t.Fatal(err)
		}
		_, err := c.Cancel(t.Context(), r.ID, "")
		refused(t, "taken", err, message.ApprovalTaken)
		if got := c.published(); !slices.Equal(got, []string{
			"pending", "cancelled", "pending", "approved", "cancelled", "pending", "superseded", "pending", "approved", "superseded", "pending", "approved",
		}) {
			t.Errorf("published: %q", got)
		}
	})
}

// What is too much, or cannot be what a tool is called with, is refused.
func TestAskRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		c.opt.Settings = func() hub.Approval { return hub.Approval{Pending: 3, Expires: time.Hour} }
		for i := range 3 {
			if r := c.mustAsk(t, asking("local", fmt.Sprintf(`{"i":%d}`, i))); time.Until(r.Expires) < 59*time.Minute {
				t.Errorf("it expires at %v", r.Expires)
			}
		}
		_, err := c.Ask(t.Context(), asking("local", `{"i":4}`))
		refused(t, "a fourth", err, message.ApprovalsFull)
		c.mustAsk(t, asking("local", `{"i":1}`))
		c.mustAsk(t, asking("other", `{"i":4}`))
		for _, arguments := range []string{"[]", "{", `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, "", `{"a":"` + strings.Repeat("x", MaxArguments) + `"}`} {
			_, err := c.Ask(t.Context(), asking("third", arguments))
			refused(t, arguments[:min(len(arguments), 20)], err, message.ApprovalInvalid)
		}
		_, err = c.Ask(t.Context(), asking("", `{}`))
		refused(t, "nobody", err, message.ApprovalInvalid)
		odd := asking("a\x00b\xff", `{}`)
		odd.Shown, odd.Name, odd.Warning.EN = "\x00\xff", "\x00\xff", "\x00\xff"
		if _, err := c.Get(t.Context(), c.mustAsk(t, odd).ID); err != nil {
			t.Error(err)
		}
	})
}

// Lists are newest first, in pages, without arguments, and hold what the viewer may
// see and nothing else; what may not be seen is unknown.
func TestSeen(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		var ids []string
		for _, tenant := range []string{"", "red", "blue"} {
			for _, subject := range []string{"ann", "bob"} {
				for _, server := range []string{"files", "git"} {
					a := asking(subject, `{}`)
					a.Tenant, a.Server = tenant, server
					ids = append(ids, c.mustAsk(t, a).ID)
				}
			}
		}
		all := func(q Query) (got []int) {
			t.Helper()
			q.Limit = 3
			for {
				page, err := c.List(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range page {
					if r.Arguments != nil || r.Shown != "{}" {
						t.Errorf("arguments in a list: %+v", r)
					}
					got = append(got, slices.Index(ids, r.ID))
					q.After = r.ID
				}
				if len(page) < q.Limit {
					slices.Sort(got)
					return got
				}
			}
		}
		who := func(tenant, subject string, role hub.Role, scope string) *hub.Principal {
			return &hub.Principal{Tenant: tenant, Subject: subject, Role: role, Scope: scope}
		}
		for _, test := range []struct {
			q    Query
			want []int
		}{
			{Query{}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
			{Query{Viewer: who("", "root", hub.RoleAdmin, "")}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
			{Query{Viewer: who("", "root", hub.RoleOperator, "server:git")}, []int{1, 3, 5, 7, 9, 11}},
			{Query{Viewer: who("", "root", hub.RoleApprover, "")}, []int{0, 1, 2, 3}},
			{Query{Viewer: who("red", "eve", hub.RoleOperator, "")}, []int{4, 5, 6, 7}},
			{Query{Viewer: who("red", "ann", hub.RoleCaller, "")}, []int{4, 5}},
			{Query{Viewer: who("red", "ann", hub.RoleViewer, "server:git server:x")}, []int{5}},
			{Query{Viewer: who("", "ann", hub.RoleCaller, "")}, []int{0, 1}},
			{Query{Viewer: who("green", "ann", hub.RoleAdmin, "")}, nil},
			{Query{Subject: "bob", Server: "git"}, []int{3, 7, 11}},
			{Query{Tool: "x"}, nil},
			{Query{Status: []Status{Approved, Pending}, Server: "files' OR ''='"}, nil},
			{Query{Status: []Status{Approved, Pending}, Server: "files"}, []int{0, 2, 4, 6, 8, 10}},
			{Query{Status: []Status{Approved}}, nil},
		} {
			if got := all(test.q); !slices.Equal(got, test.want) {
				t.Errorf("%+v finds %v, not %v", test.q, got, test.want)
			}
			if v := test.q.Viewer; v != nil {
				for i, id := range ids {
					_, err := c.Look(t.Context(), id, *v)
					if sees := slices.Contains(test.want, i); sees != (err == nil) || !sees && !hub.IsCode(err, message.ApprovalUnknown) {
						t.Errorf("%+v looks at %d: %v", v, i, err)
					}
					if !slices.Contains(test.want, i) {
						_, err := c.Decide(t.Context(), id, Deciding{By: *v, Kind: Approve})
						refused(t, "decided by who does not see it", err, message.ApprovalUnknown)
					}
				}
			}
		}
	})
}
