//go:build linux

package record

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// TestOnPostgreSQL: the same hub on the other database. Its subtests share one
// server, which some of them end.
func TestOnPostgreSQL(t *testing.T) {
	t.Run("killed", func(t *testing.T) {
		killAgainAndAgain(t, storetest.PostgreSQL(t), 10, 3, 6*time.Second)
	})
	for _, signal := range []string{"INT", "QUIT"} {
		t.Run("ended by "+signal, func(t *testing.T) { outage(t, signal) })
	}
	t.Run("ended after an outcome", endedAfterOutcome)
}

// endedAfterOutcome ends PostgreSQL, without a chance to write anything down, right
// after a caller has been told how its call ended. The hub, which lives, would add
// to a chain of which the database has forgotten the end.
func endedAfterOutcome(t *testing.T) {
	l := newLab(t, storetest.PostgreSQL(t), nil)
	h := l.start()
	const times = 5
	for n := range times {
		text := fmt.Sprint("call-", n)
		rig.Await(t, "calls are taken", func() bool { return l.call(h.URL, n%2 == 0, "far__work", work(text, 0)) == told })
		if n == times-1 {
			break
		}
		storetest.Outage(t, "QUIT")()
	}
	rig.Await(t, "all of them are recorded", func() bool {
		l.readOn()
		return len(l.book.intents) == times && len(l.book.open()) == 0
	})
	l.agree()
	h.Stop()
	l.verify()
}

// outage ends PostgreSQL while callers call, and starts it again.
func outage(t *testing.T, signal string) {
	l := newLab(t, storetest.PostgreSQL(t), nil)
	h := l.start()
	if got := l.call(h.URL, false, "far__work", work("before", 0)); got != told {
		t.Fatalf("the caller was told %s", got)
	}
	var (
		all  sync.WaitGroup
		went atomic.Int64 // calls that went well
	)
	ctx, end := context.WithCancel(t.Context())
	defer func() {
		end()
		all.Wait()
	}()
	for c := range callers {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				switch got := l.call(h.URL, c%2 == 0, "far__work", work(fmt.Sprintf("%d-%d", c, n), 1)); got {
				case told:
					went.Add(1)
				case string(message.AuditUnwritable):
					time.Sleep(20 * time.Millisecond) // or there would be many
				default:
					t.Errorf("a caller was told %s", got)
					return
				}
			}
		})
	}
	more := func(n int64) {
		from := went.Load()
		rig.Await(t, "calls go well", func() bool { return went.Load() >= from+n || t.Failed() })
	}
	more(40)
	resume := storetest.Outage(t, signal)
	l.refused(h, "down", message.StoreUnavailable)
	l.reads(h, 20)
	resume()
	more(40)
	end()
	all.Wait()
	rig.Await(t, "what waited is recorded", func() bool {
		l.readAll(h)
		return l.book.reads >= 20 && len(l.book.open()) == 0
	})
	l.agree()
	if l.book.lost != 0 {
		t.Errorf("%d records were lost", l.book.lost)
	}
	h.Stop()
	l.verify()
	t.Logf("the record: %v", l.book.kinds)
}
