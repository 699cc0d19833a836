package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// What is recorded comes back as it was, whichever way it went in.
func TestRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		run(t, l)
		full := changing(1)
		full.Time = full.Time.Truncate(time.Microsecond).UTC()
		full.Group, full.Trace, full.Code, full.Reason = "work", strings.Repeat("0f", 16), "timeout", "It \"took\" too long.\n第二行 \u2028 \x00 \xff"
		full.Outcome, full.Cached, full.Queued, full.Held = hub.OutcomeFailed, true, 3*time.Millisecond, 4*time.Millisecond
		full.Attempts = []hub.Attempt{{Server: "a", Code: "server_down", Duration: time.Millisecond}, {Server: "b", Duration: 2 * time.Millisecond}}
		call(t, l, full)
		plain := record(2)
		plain.Time = plain.Time.Truncate(time.Microsecond).UTC()
		plain.Method, plain.Tool, plain.Arguments, plain.Digest = "resources/read", "", "", ""
		call(t, l, plain)

		got := query(t, l, Filter{})
		if len(got) != 2 {
			t.Fatalf("%d calls: %+v", len(got), got)
		}
		full.Reason = strings.ToValidUTF8(full.Reason, "\ufffd")
		for i, want := range []*hub.CallRecord{plain, full} {
			if diff := cmp.Diff(*want, got[i].CallRecord); diff != "" {
				t.Error(diff)
			}
			if got[i].Ended.Before(want.Time) || got[i].Node != l.Node() {
				t.Errorf("%+v", got[i])
			}
		}
		if got[0].Intent != 0 || got[1].Intent >= got[1].Seq || got[1].Seq >= got[0].Seq {
			t.Errorf("entries %d, %d of %d", got[0].Seq, got[1].Seq, got[1].Intent)
		}
		recent, err := l.Recent(t.Context(), 1, "files")
		if err != nil || len(recent) != 1 || recent[0].ID != plain.ID {
			t.Errorf("%+v, %v", recent, err)
		}
	})
}

// An intent whose outcome comes before it is taken over has no entry of its own.
func TestOneEntry(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		w := newWriter(l)
		quick, long := changing(1), changing(2)
		call(t, l, quick)
		if err := l.Intend(t.Context(), long); err != nil {
			t.Fatal(err)
		}
		w.write(t.Context())
		if err := l.Finish(t.Context(), long); err != nil {
			t.Fatal(err)
		}
		w.write(t.Context())
		got := query(t, l, Filter{})
		if len(got) != 2 || l.chain.seq != 3 || got[1].ID != quick.ID || got[1].Intent != 0 || got[0].ID != long.ID || got[0].Intent != 2 {
			t.Errorf("%d entries: %+v", l.chain.seq, got)
		}
		wantSound(t, l)
	})
}

// A call under way can be seen, and one that the hub's end cut off gets an
// outcome at the next start.
func TestUnderWay(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		keys := testKeys(t)
		l := open(t, db, keys)
		stop := run(t, l)
		cut, done := changing(1), changing(2)
		cut.Outcome, done.Outcome = "", ""
		for _, r := range []*hub.CallRecord{cut, done} {
			if err := l.Intend(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if got := query(t, l, Filter{Outcomes: []hub.Outcome{UnderWay}}); len(got) != 2 || !got[0].Ended.IsZero() || got[1].ID != cut.ID || got[1].Arguments == "" {
			t.Errorf("under way: %+v", got)
		}
		done.Outcome = hub.OutcomeOK
		call := done
		if err := l.Finish(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		stop()

		l = open(t, db, keys)
		got := query(t, l, Filter{Call: cut.ID})
		if len(got) != 1 || got[0].Outcome != hub.OutcomeUnknown || got[0].Code != string(message.OutcomeUnknown) || got[0].Arguments != cut.Arguments || !strings.Contains(got[0].Reason, "Toolcrib went away") {
			t.Errorf("cut off: %+v", got)
		}
		if got := query(t, l, Filter{Call: done.ID}); len(got) != 1 || got[0].Outcome != hub.OutcomeOK {
			t.Errorf("done: %+v", got)
		}
		if got := query(t, l, Filter{Outcomes: []hub.Outcome{UnderWay}}); len(got) != 0 {
			t.Errorf("still under way: %+v", got)
		}
		// A second start has nothing to close.
		before := l.chain.seq
		if l = open(t, db, keys); l.chain.seq != before {
			t.Errorf("the second start added %d entries", l.chain.seq-before)
		}
		wantSound(t, l)
	})
}

// Intents stay known when they are in a part already.
func TestUnderWayForLong(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		keys := testKeys(t)
		l := open(t, db, keys)
		stop := run(t, l)
		long := changing(0)
		if err := l.Intend(t.Context(), long); err != nil {
			t.Fatal(err)
		}
		for i := range 3 * partSize {
			call(t, l, record(i))
		}
		if got := query(t, l, Filter{Outcomes: []hub.Outcome{UnderWay}}); len(got) != 1 || got[0].ID != long.ID {
			t.Errorf("under way: %+v", got)
		}
		stop()
		l = open(t, db, keys)
		if got := query(t, l, Filter{Outcomes: []hub.Outcome{hub.OutcomeUnknown}}); len(got) != 1 || got[0].ID != long.ID || got[0].Arguments == "" {
			t.Errorf("unknown: %+v", got)
		}
		wantSound(t, l)
	})
}

// What callers do at once is one chain, of which nothing is missing.
func TestManyAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		stop := run(t, l)
		const callers, each = 16, 40
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for i := range each {
					r := record(i)
					r.Changing, r.Subject = i%2 == 0, fmt.Sprint(c)
					call(t, l, r)
				}
			})
		}
		wg.Wait()
		got := query(t, l, Filter{})
		if len(got) != callers*each {
			t.Errorf("%d calls", len(got))
		}
		for i := range got {
			if c := &got[i]; c.Outcome != hub.OutcomeOK || c.Arguments == "" || c.Intent > 0 && !c.Changing {
				t.Fatalf("%+v", c)
			}
		}
		stop()
		wantSound(t, l)
		if err := l.Finish(t.Context(), record(0)); !hub.IsCode(err, message.ShuttingDown) {
			t.Errorf("after the end: %v", err)
		}
		if err := l.Intend(t.Context(), changing(0)); !hub.IsCode(err, message.ShuttingDown) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// While the database cannot be written, no call is sent that may change
// something; what has ended is kept, and written later.
func TestUnwritable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		stop := run(t, l)
		begun := changing(1)
		if err := l.Intend(t.Context(), begun); err != nil {
			t.Fatal(err)
		}
		exec(t, db, "ALTER TABLE audit_entry RENAME TO audit_gone")
		// It is in the journal that it has ended, and the first to find out is Run.
		if err := l.Finish(t.Context(), begun); err != nil {
			t.Errorf("Finish of one that changes something: %v", err)
		}
		if l.flush(t.Context()) != nil {
			t.Error("there is nothing to be written to, and it was")
		}
		if err := l.Intend(t.Context(), changing(2)); !hub.IsCode(err, message.AuditUnwritable) {
			t.Errorf("Intend: %v", err)
		}
		for i := range 10 {
			if err := l.Finish(t.Context(), record(i)); err != nil {
				t.Errorf("Finish: %v", err)
			}
		}
		if _, err := l.Query(t.Context(), Filter{}, "", 0); !hub.IsCode(err, message.AuditUnreadable) {
			t.Errorf("Query: %v", err)
		}
		exec(t, db, "ALTER TABLE audit_gone RENAME TO audit_entry")
		if got := query(t, l, Filter{}); len(got) != 11 || got[10].ID != begun.ID || got[10].Outcome != hub.OutcomeOK {
			t.Errorf("%d calls: %+v", len(got), got)
		}
		stop()
		wantSound(t, l)
		if l.Lost() != 0 {
			t.Errorf("%d lost", l.Lost())
		}
	})
}

// What ends while old entries are dropped is written as soon as anything else.
func TestWrittenAfterPruning(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := open(t, storetest.Open(t, store.Options{Path: filepath.Join(dir, "toolcrib.db")}), testKeys(t))
		x := l.chain.begin()
		for i := range (pruneParts + 1) * partSize { // dropped in two rounds
			o := newOp(kindCall, record(i))
			o.at = time.Now().Add(-2 * time.Hour).UnixMicro()
			x.op(l.node, o)
		}
		if err := l.chain.commit(t.Context(), x, store.Process, nil); err != nil {
			t.Fatal(err)
		}
		l.Set(Settings{Retention: time.Hour})
		run(t, l)
		time.Sleep(59 * time.Second)
		held, release := make(chan struct{}), make(chan struct{})
		released := make(chan error, 1)
		go func() {
			released <- l.db.Tx(context.Background(), store.Process, func(*sql.Tx) error {
				close(held)
				<-release
				return nil
			})
		}()
		<-held
		time.Sleep(2 * time.Second) // the first round waits
		late := record(0)
		if err := l.Finish(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		close(release)
		if err := <-released; err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * delay)
		synctest.Wait()
		list, err := entries(t.Context(), l.db, "call = $1", late.ID)
		if err != nil || len(list) != 1 {
			t.Errorf("%d entries, %v", len(list), err)
		}
	})
}

// What finds no room is counted, and the record says so.
func TestLost(t *testing.T) {
	l := open(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t))
	const more = 7
	for i := range queueSize + more { // nobody takes them yet
		if err := l.Finish(t.Context(), record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if l.Lost() != more || l.Waiting() != queueSize {
		t.Errorf("%d lost, %d wait", l.Lost(), l.Waiting())
	}
	run(t, l)
	l.flush(t.Context())
	var found string
	err := eachEntry(t.Context(), l.db, func(e *entry) error {
		found = e.body
		return nil
	}, "kind = 'lost'")
	if want := fmt.Sprintf(`{"lost":%d}`, more); found != want || err != nil {
		t.Errorf("%s, %v", found, err)
	}
	wantSound(t, l)
}

// What is kept while nothing can be written is bounded, whatever callers do: a
// call that was refused for it ends, too. Those that were sent are kept.
func TestBacklogIsBounded(t *testing.T) {
	l := open(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t))
	w := newWriter(l)
	sent := []*hub.CallRecord{changing(1), changing(2)}
	w.take(newOp(kindIntent, sent[0]))
	w.write(t.Context())
	exec(t, l.db, "ALTER TABLE audit_entry RENAME TO audit_gone")
	w.take(newOp(kindIntent, sent[1]))
	const more = 5
	for i := range backlogSize - 1 + more {
		w.take(newOp(kindCall, changing(i)))
	}
	for _, r := range sent {
		w.take(newOp(kindCall, r))
	}
	w.write(t.Context())
	if len(w.batch) != backlogSize+len(sent) || l.Lost() != more {
		t.Errorf("%d are kept, %d lost", len(w.batch), l.Lost())
	}
	exec(t, l.db, "ALTER TABLE audit_gone RENAME TO audit_entry")
	w.write(t.Context())
	if len(w.batch) != 0 || l.chain.seq < backlogSize+1 { // and one that tells of those
		t.Errorf("%d are left, the chain has %d", len(w.batch), l.chain.seq)
	}
	for _, r := range sent {
		if got := query(t, l, Filter{Call: r.ID}); len(got) != 1 || got[0].Outcome != hub.OutcomeOK {
			t.Errorf("%+v", got)
		}
	}
	wantSound(t, l)
}

// An answer to a commit that was lost on its way is no loss, and no second
// entry.
func TestCommittedAllTheSame(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		c := l.chain
		w := newWriter(l)
		for _, r := range []*hub.CallRecord{record(1), record(2)} {
			w.take(newOp(kindCall, r))
		}
		x := c.begin()
		for _, o := range w.batch {
			x.op(c.node, o)
		}
		if err := c.commit(t.Context(), x, store.Process, nil); err != nil {
			t.Fatal(err)
		}
		// As if the error had come in place of the success.
		*c = chain{db: db, keys: l.keys, node: c.node, hash: origin(c.node), open: map[string]int64{}, at: time.Now()}
		c.tried = x
		w.take(newOp(kindCall, record(3)))
		w.write(t.Context())
		if got := query(t, l, Filter{}); len(got) != 3 || len(w.batch) != 0 {
			t.Errorf("%d calls, %d left", len(got), len(w.batch))
		}
		wantSound(t, l)
	})
}

// A commit whose connection was lost may still be under way on the server. It is
// not taken for one that failed.
func TestCommitStillUnderWay(t *testing.T) {
	db := storetest.Open(t, storetest.PostgreSQL(t))
	l := open(t, db, testKeys(t))
	c := l.chain
	x := c.begin()
	x.op(c.node, newOp(kindCall, record(1)))
	c.tried = x
	tx, err := db.BeginTx(t.Context(), nil) // as the connection that was lost
	if err != nil {
		t.Fatal(err)
	}
	if err := c.insert(t.Context(), tx, x.entries); err != nil {
		t.Fatal(err)
	}
	type settled struct {
		x   *extension
		err error
	}
	got := make(chan settled, 1)
	go func() {
		x, err := c.settle(t.Context())
		got <- settled{x, err}
	}()
	for waiting := 0; waiting == 0 && len(got) == 0; {
		if err := db.QueryRow("SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'").Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s.err != nil || s.x != x || c.seq != x.seq {
		t.Errorf("%v, %v", s.x, s.err)
	}
	// What was undone is found out, too, and leaves nothing.
	x = c.begin()
	x.op(c.node, newOp(kindCall, record(2)))
	c.tried = x
	if done, err := c.settle(t.Context()); done != nil || err != nil || c.tried != nil {
		t.Errorf("%v, %v", done, err)
	}
	wantSound(t, l)
}

// Two hubs with the same key would write the same entries.
func TestNodeTaken(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		keys := testKeys(t)
		one, other := open(t, db, keys), open(t, db, keys)
		run(t, one)
		call(t, one, changing(1))
		one.flush(t.Context())
		w := newWriter(other)
		for range 2 {
			if err := other.Finish(t.Context(), changing(2)); err != nil {
				t.Fatal(err)
			}
			w.write(t.Context()) // its number is taken
		}
		err := other.Intend(t.Context(), changing(2))
		cause, _ := errors.AsType[*hub.Error](errors.Unwrap(err))
		if !hub.IsCode(err, message.AuditUnwritable) || cause == nil || cause.Code != message.AuditNodeTaken {
			t.Errorf("%v", err)
		}
		wantSound(t, one)
	})
}

// Whoever does not wait any more has sent nothing, and is not recorded as if.
func TestIntendGivenUp(t *testing.T) {
	l := open(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if err := l.Intend(ctx, changing(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	run(t, l)
	if got := query(t, l, Filter{}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// Every cut of a record is one from which the next life goes on.
func TestResumeAnywhere(t *testing.T) {
	db := storetest.Open(t, storetest.SQLite(t))
	keys := testKeys(t)
	n := 0
	for range 40 {
		l, err := Open(t.Context(), Options{DB: db, Dir: t.TempDir(), Keys: keys, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		x := l.chain.begin()
		for range 1 + n%61 {
			r := record(n)
			k := kindCall
			if n++; n%9 == 0 {
				k = kindIntent
			}
			x.op(l.node, newOp(k, r))
		}
		if err := l.chain.commit(t.Context(), x, store.Process, nil); err != nil {
			t.Fatal(err)
		}
		again, err := resume(t.Context(), db, keys)
		if err != nil {
			t.Fatal(err)
		}
		opt := cmp.Options{cmp.AllowUnexported(entry{}), cmpopts.EquateEmpty()}
		if again.seq != l.chain.seq || again.hash != l.chain.hash || !cmp.Equal(again.tail, l.chain.tail, opt) || !cmp.Equal(again.open, l.chain.open, opt) {
			t.Fatalf("resumed at %d with %d and %d, not %d with %d and %d", again.seq, len(again.tail), len(again.open), l.chain.seq, len(l.chain.tail), len(l.chain.open))
		}
	}
	wantSound(t, open(t, db, keys))
}

func wantSound(t *testing.T, l *Log) *Report {
	t.Helper()
	r, err := l.Verify(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("entry %d: %v", p.Seq, p.Err)
	}
	return r
}
