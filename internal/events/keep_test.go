package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// Whoever was away over a restart goes on where he was.
func TestRestart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		opt := Options{DB: db, Node: "n"}
		l := begin(t, opt)
		from := l.Read(Now, Filter{}).at
		l.publish(0, 300)
		l.bus.Publish(hub.ServerChanged{Status: hub.Status{Key: "s", State: hub.StateReady}})
		before := l.next(t, l.Read(from, Filter{}), 301)
		l.stop()

		other := begin(t, Options{DB: db, Node: "another"})
		other.publish(0, 1)
		other.stop()

		l = begin(t, opt)
		first := l.Read(Now, Filter{}).at
		l.publish(300, 310)
		after := l.next(t, l.Read(first, Filter{}), 10)
		if after[0].ID <= before[300].ID {
			t.Errorf("the id %d was given after %d", after[0].ID, before[300].ID)
		}
		got := l.next(t, l.Read(before[9].ID, Filter{Kinds: []string{api.KindCallEnded}}), 300)
		if diff := cmp.Diff(append(tools(before[10:300]), tools(after)...), tools(got)); diff != "" {
			t.Error(diff)
		}
		if got := l.next(t, l.Read(from, Filter{Server: "s", Kinds: []string{api.KindServerChanged}}), 1); cmp.Diff(got[0], before[300]) != "" {
			t.Errorf("got %+v, was %+v", got[0], before[300])
		}
	})
}

// A hub that was killed uses no id again, also if the clock went back, and the
// next one says that something may be missing.
func TestKilled(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		opt := Options{DB: db, Node: "n"}
		killed := begin(t, opt)
		killed.publish(0, 5)
		r := killed.Read(Now, Filter{})
		// As if it had been a clock that went an hour back.
		ahead := time.Now().Add(time.Hour).UnixMicro()
		must(t, db.Tx(t.Context(), store.Process, func(tx *sql.Tx) error {
			_, err := tx.Exec("UPDATE event_mark SET reserved = $1", ahead)
			return err
		}))
		l := begin(t, opt)
		l.publish(5, 6)
		all := l.next(t, l.Read(ahead, Filter{}), 2)
		if all[0].Gap == nil || all[0].Gap.Reason != gapKilled || all[0].ID <= ahead {
			t.Errorf("the first event after %d is %+v", ahead, all[0])
		}
		if all = l.next(t, l.Read(r.at, Filter{}), 1); all[0].ID <= ahead {
			t.Errorf("%+v comes after %d", all[0], r.at)
		}
		// A third one, while the second has used ids beyond.
		third, err := Open(t.Context(), opt)
		must(t, err)
		if third.last <= l.last {
			t.Errorf("ids from %d on are used by two, up to %d", third.last, l.last)
		}
	})
}

// Ids are reserved before they are used, also after a long time without events.
func TestReserved(t *testing.T) {
	db := storetest.Open(t, storetest.SQLite(t))
	l, err := Open(t.Context(), Options{DB: db, Node: "n"})
	must(t, err)
	l.last = l.reserved // as if that time had passed
	l.reserve()
	l.add(describe(hub.ToolsChanged{}))
	var reserved int64
	must(t, db.QueryRow("SELECT reserved FROM event_mark").Scan(&reserved))
	if l.last > reserved || l.reserved > reserved {
		t.Errorf("the id %d is used, %d are reserved, and %d are taken to be", l.last, reserved, l.reserved)
	}
	must(t, l.insert(t.Context(), batch{first: reserved, last: reserved, body: []byte("{}")}))
	var further int64
	must(t, db.QueryRow("SELECT reserved FROM event_mark").Scan(&further))
	if further < reserved+reserveFor.Microseconds() || l.reserved != further {
		t.Errorf("with a batch up to the last reserved id %d, %d are reserved", reserved, further)
	}
}

// What memory does not hold is read from the database; nothing is missed.
func TestSlow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := begin(t, Options{DB: db, Node: "n", Ring: 32 << 10})
		r := l.Read(Now, Filter{})
		fast := l.Read(Now, Filter{})
		for i := range 10 {
			l.publish(i*500, i*500+500)
			l.next(t, fast, 500)
			l.writtenDown(t)
		}
		l.publish(5000, 5001) // which has the ring drop what is written
		all := l.next(t, r, 5001)
		l.mu.Lock()
		if l.ring.bytes > 64<<10 {
			t.Errorf("%d bytes are in memory", l.ring.bytes)
		}
		l.mu.Unlock()
		for i, e := range all {
			if e.Call == nil || e.Call.Tool != fmt.Sprint("tool", i) {
				t.Fatalf("event %d is %+v", i, e)
			}
		}
	})
}

// Of states that followed each other at once the last one is kept, without the
// result.
func TestStatesKept(t *testing.T) {
	db := storetest.Open(t, storetest.SQLite(t))
	l := begin(t, Options{DB: db, Node: "n"})
	from := l.last
	for range 10 {
		for _, status := range []hub.CallStatus{hub.CallCalling, hub.CallSuccess} {
			l.bus.Publish(state("a", "x", status))
			l.bus.Publish(state("b", "y", status))
		}
	}
	live := l.next(t, l.Read(from, Filter{Subject: "x"}), 20)
	if live[19].State.Result == nil {
		t.Error("the live event has no result")
	}
	l.stop()
	l = begin(t, Options{DB: db, Node: "n"})
	kept := l.next(t, l.Read(from, Filter{Kinds: []string{api.KindCallState}}), 2)
	if n := len(kept); n > 6 || kept[n-1].State.Status != "success" || kept[n-2].State.Status != "success" || kept[0].State.Result != nil {
		t.Errorf("%d states are kept, the last %+v", n, kept[n-1].State)
	}
}

func TestRetention(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := begin(t, Options{DB: db, Node: "n", MaxBytes: 200 << 10, Ring: 4 << 10})
		r, slow := l.Read(Now, Filter{}), l.Read(Now, Filter{})
		l.publish(0, 1)
		gone := l.Read(l.next(t, slow, 1)[0].ID, Filter{})
		l.publish(1, 3000)
		l.next(t, r, 3000)
		l.writtenDown(t)
		l.prune(t.Context())
		var size int64
		must(t, db.QueryRow("SELECT SUM(size) FROM event_batch").Scan(&size))
		if size > 200<<10 || size < 100<<10 || l.size != size {
			t.Errorf("%d bytes are left, taken to be %d", size, l.size)
		}
		l.publish(3000, 3001) // and the ring drops what is written
		l.next(t, r, 1)
		all := l.next(t, slow, 2)
		if gap := all[0].Gap; gap == nil || gap.Reason != gapExpired || gap.Missed < 1000 || all[1].Call.Tool != fmt.Sprint("tool", gap.Missed+1) {
			t.Errorf("got %+v, %+v", all[0].Gap, all[1])
		}
		// Who has but an id cannot be told how many, also after a restart.
		l.stop()
		l = begin(t, Options{DB: db, Node: "n"})
		gone.log = l.Log
		if all = l.next(t, gone, 2); all[0].Gap == nil || all[0].Gap.Missed != 0 || all[1].Call == nil {
			t.Errorf("got %+v", all[:2])
		}
		l.SetRetention(0) // the default
		l.prune(t.Context())
		must(t, db.QueryRow("SELECT COUNT(*) FROM event_batch").Scan(&size))
		if size == 0 {
			t.Error("what is not old was removed")
		}
		l.SetRetention(time.Nanosecond)
		l.prune(t.Context())
		must(t, db.QueryRow("SELECT COUNT(*) FROM event_batch").Scan(&size))
		if size != 0 {
			t.Errorf("%d batches are left", size)
		}
	})
}

// While the database cannot be written the events go on. What is too much for
// memory is told of when it can be.
func TestDatabaseAway(t *testing.T) {
	db := storetest.Open(t, storetest.SQLite(t))
	rename := func(from, to string) {
		must(t, db.Tx(context.Background(), store.Process, func(tx *sql.Tx) error {
			_, err := tx.Exec("ALTER TABLE " + from + " RENAME TO " + to)
			return err
		}))
	}
	l := begin(t, Options{DB: db, Node: "n"})
	r := l.Read(Now, Filter{})
	from := r.at
	rename("event_batch", "away")
	long := strings.Repeat("x", 1<<10)
	const n = 8000 // which are more bytes than may wait
	for i := range n {
		l.bus.Publish(ended(long))
		if i%1000 == 999 {
			l.next(t, r, 1000)
		}
	}
	l.mu.Lock()
	if l.bytes > maxPending || l.lost == 0 || l.ring.bytes > 2*max(l.ring.most, maxPending)+maxBatch {
		t.Errorf("%d bytes wait, %d are in memory, %d events are lost", l.bytes, l.ring.bytes, l.lost)
	}
	l.mu.Unlock()
	rename("away", "event_batch")
	l.writtenDown(t)
	l.stop()
	l = begin(t, Options{DB: db, Node: "n"})
	kept, missed := int64(0), int64(0)
	for r := l.Read(from, Filter{Kinds: []string{api.KindCallEnded}}); ; {
		got, more, err := r.Next(t.Context(), nil)
		must(t, err)
		for _, e := range got {
			if v := decoded(t, e); v.Gap == nil {
				kept++
			} else if missed += v.Gap.Missed; v.Gap.Reason != gapStore {
				t.Errorf("got %+v", v.Gap)
			}
		}
		if more != nil {
			break
		}
	}
	if missed == 0 || kept+missed != n {
		t.Errorf("%d were kept and %d are said to be missing, of %d", kept, missed, n)
	}
}

// What stands in the database and cannot be understood is a gap, of as many as
// there were: whoever reads is not stuck there.
func TestUnreadable(t *testing.T) {
	for name, broken := range map[string]func(string) string{
		"no JSON":        func(string) string { return "broken" },
		"nothing":        func(string) string { return "" },
		"no event":       func(string) string { return "{}\n" },
		"the first part": func(body string) string { return body[:strings.Index(body, "\n")+1] },
		"an id of later": func(body string) string { return strings.ReplaceAll(body, `"id":1`, `"id":9`) },
		"twice":          func(body string) string { return body + body },
	} {
		t.Run(name, func(t *testing.T) {
			db := storetest.Open(t, storetest.SQLite(t))
			l := begin(t, Options{DB: db, Node: "n"})
			from := l.last
			l.publish(0, 5)
			before := l.next(t, l.Read(from, Filter{}), 5)
			l.writtenDown(t)
			l.publish(5, 7)
			l.next(t, l.Read(before[4].ID, Filter{}), 2)
			l.stop()
			must(t, db.Tx(context.Background(), store.Process, func(tx *sql.Tx) error {
				var first int64
				var body string
				if err := tx.QueryRow("SELECT first, body FROM event_batch ORDER BY first").Scan(&first, &body); err != nil {
					return err
				}
				_, err := tx.Exec("UPDATE event_batch SET body = $1 WHERE first = $2", broken(body), first)
				return err
			}))
			l = begin(t, Options{DB: db, Node: "n"})
			r := l.Read(from, Filter{Kinds: []string{api.KindCallEnded}})
			all := l.next(t, r, 3)
			if gap := all[0].Gap; gap == nil || gap.Reason != gapStore || all[0].ID != before[4].ID || all[1].Call.Tool != "tool5" || all[2].Call.Tool != "tool6" {
				t.Errorf("got %+v", all)
			}
		})
	}
}

// A database that took what was written and was gone before it could say so, as
// PostgreSQL may be, is written to again.
func TestWrittenUnseen(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l, err := Open(t.Context(), Options{DB: db, Node: "n"})
		must(t, err)
		from := l.last
		l.one(taken{event: ended("a")})
		l.one(taken{event: state("s", "local", hub.CallCalling)})
		b, _ := newBatch(l.pending, latest(l.pending))
		must(t, l.insert(t.Context(), b))
		l.one(taken{event: state("s", "local", hub.CallSuccess)})
		l.one(taken{event: ended("b")})
		if !l.flush(t.Context()) {
			t.Fatal("nothing can be written any more")
		}
		again := begin(t, Options{DB: db, Node: "n"})
		all := again.next(t, again.Read(from, Filter{}), 4)
		if diff := cmp.Diff([]string{"a", api.KindCallState, "b", api.KindGap}, tools(all)); diff != "" {
			t.Error(diff)
		}
	})
}

// However many have fallen behind: of the connections to the database, which
// those who write the record of calls need too, they take few.
func TestManyBehind(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := begin(t, Options{DB: db, Node: "n"})
		from := l.last
		l.publish(0, 500)
		l.next(t, l.Read(from, Filter{}), 500)
		l.stop()
		l = begin(t, Options{DB: db, Node: "n"})
		var wg sync.WaitGroup
		for range 50 {
			r := l.Read(from, Filter{})
			wg.Go(func() {
				for n := 0; n < 500; {
					got, _, err := r.Next(t.Context(), nil)
					if n += len(got); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		done := make(chan struct{})
		go func() {
			wg.Wait()
			close(done)
		}()
		most := 0
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			default:
				most = max(most, db.Stats().InUse)
				time.Sleep(50 * time.Microsecond)
			}
		}
		if most > atOnce {
			t.Errorf("%d connections were in use at once", most)
		}
	})
}

// Whoever waits to read from the database waits no longer than he wants to.
func TestBehindAndGone(t *testing.T) {
	db := storetest.Open(t, storetest.SQLite(t))
	l := begin(t, Options{DB: db, Node: "n"})
	for range atOnce {
		l.looks <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Read(l.pruned, Filter{}).lookUp(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
