//go:build unix

package audit

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// BenchmarkRecord measures what a call costs, from the record to the committed
// row, in processor time of all threads.
func BenchmarkRecord(b *testing.B) {
	for _, callers := range []int{1, 16} {
		for _, changes := range []bool{false, true} {
			b.Run(fmt.Sprintf("callers=%d/changing=%v", callers, changes), func(b *testing.B) {
				l := open(b, storetest.Open(b, storetest.SQLite(b)), testKeys(b))
				stop := run(b, l)
				raw := []byte(`{"path":"/home/user/notes/2026.md","limit":100,"recursive":true}`)
				ctx := context.Background()
				b.ResetTimer()
				before := cpu(b)
				var wg sync.WaitGroup
				for c := range callers {
					wg.Go(func() {
						for i := c; i < b.N; i += callers {
							r := record(i)
							r.Changing = changes
							r.Arguments, r.Digest = l.Arguments(raw)
							if changes {
								if err := l.Intend(ctx, r); err != nil {
									b.Error(err)
								}
							}
							if err := l.Finish(ctx, r); err != nil {
								b.Error(err)
							}
							// The rest of a call: the queue is for bursts.
							if l.Waiting() > queueSize/2 {
								l.flush(ctx)
							}
						}
					})
				}
				wg.Wait()
				stop()
				b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/1e3, "us-cpu/op")
				m := l.Measured()
				b.ReportMetric(float64(m.Written)/float64(max(1, m.Commits)), "entries/commit")
				if l.Lost() > 0 {
					b.Errorf("%d lost", l.Lost())
				}
			})
		}
	}
}

func BenchmarkArguments(b *testing.B) {
	l := open(b, storetest.Open(b, storetest.SQLite(b)), testKeys(b))
	for name, raw := range map[string]string{
		"small": `{"path":"/home/user/notes/2026.md","limit":100,"recursive":true}`,
		"large": `{"text":"` + fmt.Sprint(make([]int, 1500)) + `"}`,
		"huge":  `{"text":"` + fmt.Sprint(make([]int, 8000)) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Arguments([]byte(raw))
			}
		})
	}
}

func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// million makes a record of a million calls that ended within a day, in which
// most fields differ, and some values are rare.
func million(b *testing.B) *Log {
	b.Helper()
	if testing.Short() {
		b.Skip("it takes half a minute to make a million rows")
	}
	db := storetest.Open(b, storetest.SQLite(b))
	keys := testKeys(b)
	l, err := Open(b.Context(), Options{DB: db, Keys: keys, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	const rows, batch = 1_000_000, 4096
	start := time.Now().Add(-24 * time.Hour)
	c := l.chain
	for n := 0; n < rows; {
		x := c.begin()
		for ; n < rows && len(x.entries) < batch; n++ {
			r := record(n)
			r.Time = start.Add(time.Duration(n) * 86400 * time.Microsecond)
			r.ID = fmt.Sprintf("%012x-7%03x-8000-%012x", r.Time.UnixMilli(), n&0xfff, n)
			r.Server = fmt.Sprintf("server%d", n%12)
			r.Tool = fmt.Sprintf("tool_%d", n%240)
			r.Session = hub.SessionRef(fmt.Sprint(n % 211))
			if n%50 == 7 {
				r.Outcome, r.Code = hub.OutcomeFailed, "timeout"
			}
			if n%20_011 == 5 {
				r.Server, r.Tool, r.Session, r.Outcome, r.Code = "rare", "seldom", hub.SessionRef("rare"), hub.OutcomeUnknown, "outcome_unknown"
			}
			o := newOp(kindCall, r)
			o.at = r.Time.UnixMicro()
			x.op(c.node, o)
		}
		if err := c.commit(b.Context(), x, store.Process, nil); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// BenchmarkMillion asks a record of a million calls of one day.
func BenchmarkMillion(b *testing.B) {
	began := time.Now()
	l := million(b)
	b.Logf("made in %v", time.Since(began))
	day := time.Now().Add(-24 * time.Hour)
	for _, q := range []struct {
		name string
		f    Filter
	}{
		{"all", Filter{}},
		{"server", Filter{Server: "server3"}},
		{"tool", Filter{Tool: "tool_17"}},
		{"session", Filter{Session: hub.SessionRef("100")}},
		{"failed", Filter{Outcomes: []hub.Outcome{hub.OutcomeFailed}}},
		{"server and failed", Filter{Server: "server7", Outcomes: []hub.Outcome{hub.OutcomeFailed}}},
		{"rare server", Filter{Server: "rare"}},
		{"rare tool", Filter{Tool: "seldom"}},
		{"rare session", Filter{Session: hub.SessionRef("rare")}},
		{"rare status", Filter{Outcomes: []hub.Outcome{hub.OutcomeUnknown}}},
		{"no session", Filter{Session: hub.SessionRef("none")}},
		{"under way", Filter{Outcomes: []hub.Outcome{UnderWay}}},
		{"noon", Filter{Since: day.Add(12 * time.Hour), Until: day.Add(13 * time.Hour), Server: "server3"}},
	} {
		b.Run(q.name, func(b *testing.B) {
			n := 0
			before := cpu(b)
			for b.Loop() {
				f := q.f
				if f.Since.IsZero() {
					f.Since = day
				}
				page, err := l.Query(b.Context(), f, "", DefaultLimit)
				if err != nil {
					b.Fatal(err)
				}
				n = len(page.Calls)
			}
			b.ReportMetric(float64(n), "calls")
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/1e6, "ms-cpu/op")
		})
	}
	b.Run("analyse", func(b *testing.B) {
		before := cpu(b)
		defer func() { b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/1e6, "ms-cpu/op") }()
		for b.Loop() {
			if _, err := l.Analyse(b.Context(), day, time.Now(), Filter{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verify", func(b *testing.B) {
		before := cpu(b)
		defer func() { b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/1e6, "ms-cpu/op") }()
		for b.Loop() {
			r, err := l.Verify(b.Context(), nil)
			if err != nil || len(r.Problems) > 0 {
				b.Fatal(err, r)
			}
		}
	})
	var pages, size int64
	_ = l.db.View(b.Context(), func(tx *sql.Tx) error {
		return tx.QueryRow("SELECT page_count, page_size FROM pragma_page_count, pragma_page_size").Scan(&pages, &size)
	})
	b.Logf("%d bytes a call", pages*size/1_000_000)
}
