package approval

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// Who waits is told of the decision of this hub and of another one, and of nothing
// that leaves the request pending.
func TestAwait(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		c.run(t)
		others := []*counter{c}
		if db.Postgres() {
			others = append(others, open(t, db, "n2"))
		}
		for i, other := range others {
			a := asking("local", fmt.Sprint(`{"n":`, i, `}`))
			a.Persons = 2
			asked := c.mustAsk(t, a)
			got := make(chan Request, 1)
			go func() {
				r, err := c.Await(context.Background(), asked.ID)
				if err != nil {
					t.Error(err)
				}
				got <- r
			}()
			other.mustDecide(t, asked.ID, approve("alice"))
			select {
			case r := <-got:
				t.Fatalf("after one of two: %+v", r)
			default:
			}
			second := approve("bob")
			second.Confirmation, second.Saw = 2, asked.Hash
			other.mustDecide(t, asked.ID, second)
			if r := <-got; r.Status != Approved || r.Decisions[1].By != "bob" {
				t.Errorf("%+v", r)
			}
		}
		if c.mu.Lock(); len(c.waits) != 0 {
			t.Errorf("%d are still waited for", len(c.waits))
		}
		c.mu.Unlock()
		_, err := c.Await(t.Context(), "nothing")
		refused(t, "nothing", err, message.ApprovalUnknown)

		asked := c.mustAsk(t, asking("local", `{}`))
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if _, err := c.Await(ctx, asked.ID); !errors.Is(err, gone) && !errors.Is(err, context.Canceled) {
			t.Errorf("who is gone: %v", err)
		}
	})
}

// Each hub publishes each change once, whoever has made it; also changes of which
// it was not told, as its connection was lost.
func TestHubs(t *testing.T) {
	one := storetest.PostgreSQL(t)
	a, b := open(t, storetest.Open(t, one), "n1"), open(t, storetest.Open(t, one), "n2")
	stopA := a.run(t)
	b.run(t)
	next := func(c *counter) hub.ApprovalChanged {
		t.Helper()
		select {
		case e := <-c.sub.C():
			return e.(hub.ApprovalChanged)
		case <-time.After(20 * time.Second):
			t.Fatal("nothing is heard")
			panic("not reached")
		}
	}
	for range 3 {
		asked := a.mustAsk(t, asking("local", `{}`))
		if e := next(b); e.ID != asked.ID || e.Status != "pending" || e.Tool != "files__delete" || e.Risk != hub.RiskHigh {
			t.Errorf("%+v", e)
		}
		b.mustDecide(t, asked.ID, reject("alice"))
		for range 2 {
			if e := next(a); e.ID != asked.ID {
				t.Errorf("%+v", e)
			}
		}
		if e := next(b); e.Status != "rejected" || e.By != "alice" {
			t.Errorf("%+v", e)
		}
	}
	// One that does not listen is told at its next look.
	stopA()
	asked := b.mustAsk(t, asking("local", `{"n":1}`))
	got := make(chan Request, 1)
	go func() {
		r, err := a.Await(context.Background(), asked.ID)
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	for waiting := 0; waiting == 0; runtime.Gosched() {
		a.mu.Lock()
		waiting = len(a.waits)
		a.mu.Unlock()
	}
	b.mustDecide(t, asked.ID, approve("alice"))
	a.catchUp(t.Context())
	if r := <-got; r.Status != Approved {
		t.Errorf("%+v", r)
	}
	a.catchUp(t.Context())
	if left := a.published(); !slices.Equal(left, []string{"approved"}) {
		t.Errorf("published in the end: %q", left)
	}
	next(b)
	next(b)
	// One that comes later does not tell of what was before it.
	late := open(t, storetest.Open(t, one), "n3")
	late.catchUp(t.Context())
	late.hear(t.Context(), asked.ID)
	late.hear(t.Context(), "what is that")
	if left := append(late.published(), b.published()...); len(left) != 0 {
		t.Errorf("published twice: %q", left)
	}
}

// A hub hears again of what others decide when the database was away.
func TestOutage(t *testing.T) {
	one := storetest.PostgreSQL(t)
	a, b := open(t, storetest.Open(t, one), "n1"), open(t, storetest.Open(t, one), "n2")
	a.run(t)
	asked := a.mustAsk(t, asking("local", `{}`))
	got := make(chan Request, 1)
	go func() {
		r, err := a.Await(context.Background(), asked.ID)
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	for waiting := 0; waiting == 0; runtime.Gosched() {
		a.mu.Lock()
		waiting = len(a.waits)
		a.mu.Unlock()
	}
	resume := storetest.Outage(t, "QUIT")
	if _, err := b.Decide(t.Context(), asked.ID, approve("alice")); err == nil {
		t.Error("it was decided without a database")
	}
	resume()
	for _, err := b.Decide(t.Context(), asked.ID, approve("alice")); err != nil; _, err = b.Decide(t.Context(), asked.ID, approve("alice")) {
		if !hub.IsCode(err, message.StoreUnavailable) {
			t.Fatal(err)
		}
	}
	if r := <-got; r.Status != Approved {
		t.Errorf("%+v", r)
	}
}

// What two hubs that share a database write can be read by both, and by no other.
func TestSealedForBoth(t *testing.T) {
	one := storetest.PostgreSQL(t)
	a, b := open(t, storetest.Open(t, one), "n1"), open(t, storetest.Open(t, one), "n2")
	asked := a.mustAsk(t, asking("local", `{"n":1}`))
	if r, err := b.Get(t.Context(), asked.ID); err != nil || r.Hidden || string(r.Arguments) != `{"n":1}` {
		t.Errorf("on the other hub: %+v, %v", r, err)
	}
	b.mustDecide(t, asked.ID, edit("alice", `{"n":2}`))
	if r, err := a.Take(t.Context(), asked.ID, "call"); err != nil || r.Hidden || string(r.Edited) != `{"n":2}` {
		t.Errorf("what the other hub has changed: %+v, %v", r, err)
	}
	late := open(t, storetest.Open(t, one), "n3")
	if r, err := late.Get(t.Context(), asked.ID); err != nil || !r.Hidden || r.Arguments != nil || r.Shown != `{"n":2}` {
		t.Errorf("on one that was not there yet: %+v, %v", r, err)
	}
	spoil := txExec("UPDATE approval_node SET recipient = 'age1nothing' WHERE node = 'n2'")
	if err := a.db.Tx(t.Context(), store.Process, spoil); err != nil {
		t.Fatal(err)
	}
	asked = a.mustAsk(t, asking("local", `{"n":3}`))
	if r, err := a.Get(t.Context(), asked.ID); err != nil || r.Hidden {
		t.Errorf("with a key that is none: %+v, %v", r, err)
	}
}

// 1,000 pending requests take no goroutine of their own, and those who wait for
// them only their own.
func TestGoroutines(t *testing.T) {
	db := storetest.Open(t, storetest.SQLite(t))
	c := open(t, db, "n1")
	c.opt.Settings = func() hub.Approval { return hub.Approval{Pending: 2000} }
	c.run(t)
	ids := []string{c.mustAsk(t, asking("local", "{}")).ID}
	before := runtime.NumGoroutine()
	for i := range 49 {
		ids = append(ids, c.mustAsk(t, asking("local", fmt.Sprintf(`{"n":%d}`, i))).ID)
	}
	err := db.Tx(t.Context(), store.Process, func(tx *sql.Tx) error { // the others as they would be: to ask takes some time
		for len(ids) < 1000 {
			r := newTestRow(t, asking("local", fmt.Sprint(len(ids))))
			ids = append(ids, r.ID)
			if _, err := tx.Exec(insert, r.values()...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := runtime.NumGoroutine(); n > before+2 { // of database/sql
		t.Errorf("%d goroutines, and %d with 1,000 pending requests", before, n)
	}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for _, id := range ids {
		wg.Go(func() { _, _ = c.Await(ctx, id) })
	}
	for waiting := 0; waiting < len(ids); runtime.Gosched() {
		c.mu.Lock()
		waiting = len(c.waits)
		c.mu.Unlock()
	}
	n := runtime.NumGoroutine() // those that read have one of database/sql
	for end := time.Now().Add(20 * time.Second); n > before+len(ids)+2 && time.Now().Before(end); n = runtime.NumGoroutine() {
		runtime.Gosched()
	}
	if n > before+len(ids)+2 {
		t.Errorf("%d goroutines while %d wait", n, len(ids))
	}
	cancel()
	wg.Wait()
	if c.mu.Lock(); len(c.waits) != 0 {
		t.Errorf("%d are still waited for", len(c.waits))
	}
	c.mu.Unlock()
}

// Run ends what is due when it is due, however the requests come.
func TestRunExpires(t *testing.T) {
	path := storetest.SQLite(t)
	key := newKey(t)
	synctest.Test(t, func(t *testing.T) {
		db, err := store.Open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		c := openWith(t, db, "n1", key)
		expires := time.Hour
		c.opt.Settings = func() hub.Approval { return hub.Approval{Expires: expires} }
		stop := c.run(t)
		defer stop()
		began := time.Now()
		long := c.mustAsk(t, asking("a", `{}`))
		expires = 2 * time.Minute
		short := c.mustAsk(t, asking("b", `{}`))
		r, err := c.Await(t.Context(), short.ID)
		if err != nil || r.Status != Expired || time.Since(began) != expires {
			t.Errorf("after %v: %+v, %v", time.Since(began), r, err)
		}
		time.Sleep(10 * time.Minute)
		c.mustDecide(t, long.ID, approve("alice"))
		decided := time.Now()
		c.published()
		e := (<-c.sub.C()).(hub.ApprovalChanged)
		if e.Status != "expired" || e.ID != long.ID || time.Since(decided) != Agreement {
			t.Errorf("after %v: %+v", time.Since(decided), e)
		}
	})
}

// What was over long ago is dropped, and no sooner; what is open never is.
func TestPrune(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := open(t, db, "n1")
		err := db.Tx(t.Context(), store.Process, func(tx *sql.Tx) error {
			for i := range pruneAtOnce + 5 {
				r := newTestRow(t, asking("local", fmt.Sprint(i)))
				r.Status, r.open = Rejected, i == 0
				if _, err := tx.Exec(insert, r.values()...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			age  time.Duration
			left int
		}{{Retention - time.Minute, pruneAtOnce + 5}, {2 * time.Minute, 1}} {
			c.age(t, step.age)
			c.prune(t.Context())
			var left int
			if err := db.QueryRow("SELECT COUNT(*) FROM approval").Scan(&left); err != nil || left != step.left {
				t.Errorf("%d are left, %v, not %d", left, err, step.left)
			}
		}
	})
}

func newTestRow(t testing.TB, a Asking) *row {
	t.Helper()
	a.Arguments = nil
	r, err := newRow(&a, now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A copy of the database has the requests and the grants, also from one kind to the
// other, and they can be read with the key.
func TestCopied(t *testing.T) {
	key, from, to := newKey(t), storetest.SQLite(t), storetest.PostgreSQL(t)
	c := openWith(t, storetest.Open(t, from), "n1", key)
	asked := c.mustAsk(t, asking("local", `{"n":1}`))
	g := c.mustGrant(t, operator("alice"), granting("local"))
	var text bytes.Buffer
	if _, err := store.Save(t.Context(), from, &text); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(t.Context(), to, bytes.NewReader(text.Bytes()), true); err != nil {
		t.Fatal(err)
	}
	c = openWith(t, storetest.Open(t, to), "n1", key)
	if r, err := c.Get(t.Context(), asked.ID); err != nil || fmt.Sprintf("%+v", r) != fmt.Sprintf("%+v", asked) {
		t.Errorf("%+v, %v", r, err)
	}
	if all, err := c.Grants(t.Context(), GrantQuery{}); err != nil || len(all) != 1 || fmt.Sprintf("%+v", all[0]) != fmt.Sprintf("%+v", g) {
		t.Errorf("%+v, %v", all, err)
	}
}
