package events

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

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
		l.note(taken{event: ended("a")})
		l.note(taken{event: state("s", "local", hub.CallCalling)})
		b, _ := l.maker.batch(l.pending, latest(l.pending))
		must(t, l.insert(t.Context(), b))
		l.note(taken{event: state("s", "local", hub.CallSuccess)})
		l.note(taken{event: ended("b")})
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
		l.publish(0, 200)
		l.next(t, l.Read(from, Filter{}), 200)
		l.stop()
		l = begin(t, Options{DB: db, Node: "n"})
		var wg sync.WaitGroup
		for range 20 {
			r := l.Read(from, Filter{})
			wg.Go(func() {
				for n := 0; n < 200; {
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

// A database that is held for long does not hold up the end of the hub.
func TestEndWithoutDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t, storetest.SQLite(t))
		l := begin(t, Options{DB: db, Node: "n"})
		held, release := make(chan struct{}), make(chan struct{})
		var holder sync.WaitGroup
		holder.Go(func() {
			must(t, db.Tx(context.Background(), store.Process, func(*sql.Tx) error {
				close(held)
				<-release
				return nil
			}))
		})
		<-held
		l.publish(0, 1)
		time.Sleep(2 * writeEvery) // now it is waited for
		l.stop()
		close(release)
		holder.Wait()
		again := begin(t, Options{DB: db, Node: "n"})
		if all := again.next(t, again.Read(l.pruned, Filter{}), 1); all[0].Gap == nil || all[0].Gap.Reason != gapKilled {
			t.Errorf("got %+v", all)
		}
	})
}
