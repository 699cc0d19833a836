package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// The figures are those of counting, however the time is cut.
func TestAnalyse(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		start := time.Date(2026, 3, 1, 10, 17, 0, 0, time.UTC)
		const n = 10 * partSize // 43 minutes to each 2,560 seconds
		var all []hub.CallRecord
		fill(t, l, n+100, start, func(i int, r *hub.CallRecord) {
			r.Time = start.Add(time.Duration(i) * 7 * time.Second)
			r.Server, r.Changing = fmt.Sprintf("s%d", i%3), i%5 == 0
			if i%10 == 3 {
				r.Outcome, r.Code = hub.OutcomeFailed, "timeout"
			}
			r.Cached = i%20 == 1
			all = append(all, *r)
		})
		for _, span := range [][2]time.Duration{{0, 24 * time.Hour}, {90 * time.Minute, 200 * time.Minute}, {10 * time.Minute, 20 * time.Minute}, {43 * time.Minute, 103 * time.Minute}, {5 * time.Hour, 5*time.Hour + time.Second}} {
			since, until := start.Add(span[0]), start.Add(span[1])
			a, err := l.Analyse(t.Context(), since, until, Filter{})
			if err != nil {
				t.Fatal(err)
			}
			calls, failed, cached, bytes := int64(0), int64(0), int64(0), int64(0)
			var slowest time.Duration
			for _, r := range all {
				if r.Time.Before(since) || !r.Time.Before(until) {
					continue
				}
				calls++
				bytes += int64(r.Bytes)
				if r.Outcome == hub.OutcomeFailed {
					failed++
				}
				if r.Cached {
					cached++
				} else {
					slowest = max(slowest, r.Duration)
				}
			}
			if a.Total.Calls != calls || a.Total.Outcomes[hub.OutcomeFailed] != failed || a.Total.Cached != cached || a.Total.Bytes != bytes || a.Total.Max != slowest {
				t.Errorf("%v: %+v, want %d, %d failed, %d cached, %d bytes, %v", span, a.Total, calls, failed, cached, bytes, slowest)
			}
			var tools, servers, hours, reasons int64
			var share float64
			for _, f := range a.Tools {
				tools += f.Calls
				share += f.Share
			}
			for _, f := range a.Servers {
				servers += f.Calls
			}
			for _, f := range a.Hours {
				hours += f.Calls
			}
			for _, f := range a.Failures {
				reasons += f.Calls
				if f.Code != "timeout" {
					t.Errorf("%+v", f)
				}
			}
			if tools != calls || servers != calls || hours != calls || reasons != failed || calls > 0 && (share < 0.999 || share > 1.001) {
				t.Errorf("%v: %d, %d, %d of %d; %d of %d; %v", span, tools, servers, hours, calls, reasons, failed, share)
			}
			if _, err := json.Marshal(a); err != nil {
				t.Error(err)
			}
		}
	})
}

// A quantile is off by an eighth at most.
func TestQuantiles(t *testing.T) {
	for us := int64(0); us < 1<<40; us += us/7 + 1 {
		b := bucket(us)
		if got := middle(b); got < us-us/8-1 || got > us+us/8+1 {
			t.Fatalf("%d is in bucket %d, for which %d stands", us, b, got)
		}
		if next := bucket(us + us/3 + 1); next < b {
			t.Fatalf("bucket %d of %d, then %d", b, us, next)
		}
	}
	var v tally
	v.Buckets = map[uint8]int64{}
	for us := int64(1); us <= 1000; us++ {
		v.Buckets[bucket(us)]++
	}
	v.Slowest = 1000
	if p50, p95 := v.quantile(0.5).Microseconds(), v.quantile(0.95).Microseconds(); p50 < 440 || p50 > 560 || p95 < 840 || p95 > 1000 {
		t.Errorf("%d, %d", p50, p95)
	}
	if q := (&tally{}).quantile(0.5); q != 0 {
		t.Errorf("%v of nothing", q)
	}
}

// The figures and the calls of one caller and of some servers are those of counting,
// as they are of all.
func TestOfSomebodyAndSomeServers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		start := time.Date(2026, 3, 1, 10, 17, 0, 0, time.UTC)
		const n = 3*partSize + 100
		counted := make(map[[2]string]int64)
		fill(t, l, n, start, func(i int, r *hub.CallRecord) {
			r.Time = start.Add(time.Duration(i) * 10 * time.Second)
			r.Server, r.Subject = [...]string{"git", "mail", ""}[i%3], [...]string{"ann", "bob"}[i%2]
			counted[[2]string{r.Subject, r.Server}]++
		})
		for name, c := range map[string]struct {
			f    Filter
			want int64
		}{
			"somebody":              {Filter{Subject: "ann"}, counted[[2]string{"ann", "git"}] + counted[[2]string{"ann", "mail"}] + counted[[2]string{"ann", ""}]},
			"a server":              {Filter{Servers: []string{"git"}}, counted[[2]string{"ann", "git"}] + counted[[2]string{"bob", "git"}]},
			"somebody at servers":   {Filter{Subject: "bob", Servers: []string{"mail", ""}}, counted[[2]string{"bob", "mail"}] + counted[[2]string{"bob", ""}]},
			"no server":             {Filter{Servers: []string{}}, 0},
			"a server but not that": {Filter{Server: "git", Servers: []string{"mail"}}, 0},
		} {
			var found int64
			for from := ""; ; {
				page, err := l.Query(t.Context(), c.f, from, MaxLimit)
				if err != nil {
					t.Fatal(err)
				}
				found += int64(len(page.Calls))
				if from = page.Next; from == "" {
					break
				}
			}
			if found != c.want {
				t.Errorf("%s: %d calls, not %d", name, found, c.want)
			}
			if c.f.Server != "" {
				continue
			}
			a, err := l.Analyse(t.Context(), start, start.Add(24*time.Hour), c.f)
			if err != nil {
				t.Fatal(err)
			}
			if a.Total.Calls != c.want {
				t.Errorf("%s: the figures are of %d calls, not %d", name, a.Total.Calls, c.want)
			}
			var out strings.Builder
			if err := l.Export(t.Context(), &out, CSV, c.f); err != nil {
				t.Fatal(err)
			}
			if lines := int64(strings.Count(out.String(), "\n")) - 1; lines != c.want {
				t.Errorf("%s: the export has %d calls, not %d", name, lines, c.want)
			}
		}
	})
}

// The figures of one subject are of the newest calls, if there is more to read than
// may be read for them; they tell so, and from when on they are.
func TestAnalysisOfOneIsCut(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		start := time.Date(2026, 3, 1, 10, 17, 0, 0, time.UTC)
		const n = 6*partSize + 10
		var ended []time.Time // of ann, the oldest first
		fill(t, l, n, start, func(i int, r *hub.CallRecord) {
			r.Time = start.Add(time.Duration(i) * time.Second)
			if r.Subject = [...]string{"ann", "bob"}[i%2]; r.Subject == "ann" {
				ended = append(ended, r.Time)
			}
		})
		l.flush(t.Context())
		since, until := start.Add(-time.Hour), start.Add(24*time.Hour)
		for _, c := range []struct {
			bound int
			cut   bool
		}{{mostOfOne, false}, {2 * partSize, true}, {0, true}} {
			a, err := l.analyseOne(t.Context(), since, until, Filter{Subject: "ann"}, c.bound)
			if err != nil {
				t.Fatal(err)
			}
			want := int64(len(ended))
			if c.cut {
				want = 0
				for _, at := range ended {
					if !at.Before(a.Since) {
						want++
					}
				}
			}
			if a.Cut != c.cut || a.Total.Calls != want || a.Since.Equal(since) == c.cut || c.cut && a.Total.Calls > int64(c.bound+2*partSize) {
				t.Errorf("of %d entries: %d calls since %v, cut: %v; want %d", c.bound, a.Total.Calls, a.Since, a.Cut, want)
			}
		}
		a, err := l.Analyse(t.Context(), since, until, Filter{Subject: "ann"})
		if err != nil || a.Cut || a.Total.Calls != int64(len(ended)) {
			t.Errorf("%+v, %v", a, err)
		}
	})
}
