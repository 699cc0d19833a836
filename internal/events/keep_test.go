package events

import (
	"database/sql"
	"fmt"
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
	l.reserve(1)
	l.add(describe(hub.ToolsChanged{}))
	var reserved int64
	must(t, db.QueryRow("SELECT reserved FROM event_mark").Scan(&reserved))
	if l.last > reserved || l.reserved > reserved {
		t.Errorf("the id %d is used, %d are reserved, and %d are taken to be", l.last, reserved, l.reserved)
	}
	must(t, l.insert(t.Context(), batch{first: reserved, last: reserved, body: "{}"}))
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

// An event is the same before it is written, when it has been, and as it is read
// from the database.
func TestTextOfAnEvent(t *testing.T) {
	db := storetest.Open(t, storetest.SQLite(t))
	l := begin(t, Options{DB: db, Node: "n"})
	from := l.last
	l.bus.Publish(ended("read early"))
	early := l.next(t, l.Read(from, Filter{}), 1)
	l.bus.Publish(ended("written first"))
	l.settle(t, 2)
	l.writtenDown(t)
	late := l.next(t, l.Read(from, Filter{}), 2)
	if diff := cmp.Diff(early, late[:1]); diff != "" {
		t.Error(diff)
	}
	l.stop()
	l = begin(t, Options{DB: db, Node: "n"})
	if diff := cmp.Diff(late, l.next(t, l.Read(from, Filter{}), 2)); diff != "" {
		t.Error(diff)
	}
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
