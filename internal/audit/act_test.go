package audit

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// act is the n-th act of a test.
func act(n int) *Act {
	return &Act{
		Operation: fmt.Sprint("operation", n%3), Target: fmt.Sprintf("key=%d", n), Server: fmt.Sprint("s", n%2), Tenant: []string{"", "acme"}[n%2],
		Subject: "alice", Role: hub.RoleOperator, Door: hub.DoorREST, Token: "t-1", Request: "r", Outcome: hub.OutcomeOK, Status: 200, Duration: time.Millisecond,
	}
}

func acts(t testing.TB, l *Log, f ActFilter) []Act {
	t.Helper()
	page, err := l.Acts(t.Context(), f, "", MaxLimit)
	if err != nil {
		t.Fatal(err)
	}
	return page.Acts
}

// Acts stand in the chain of the calls, and are found by what they were; calls are
// found as if there were none.
func TestActs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		run(t, l)
		const n = 600 // so that there are parts
		begin := time.Now()
		for i := range n {
			call(t, l, record(i))
			a := act(i)
			if i%2 == 1 {
				if err := l.Begin(t.Context(), a); err != nil {
					t.Fatal(err)
				}
			}
			if i%5 == 0 {
				a.Outcome, a.Code, a.Status = hub.OutcomeFailed, "role_refused", 403
			}
			if err := l.Act(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if i%100 == 0 {
				l.flush(t.Context())
			}
		}
		all := acts(t, l, ActFilter{})
		if len(all) != n {
			t.Fatalf("there are %d acts", len(all))
		}
		for i, a := range all {
			want := act(n - 1 - i)
			if k := n - 1 - i; k%5 == 0 {
				want.Outcome, want.Code, want.Status = hub.OutcomeFailed, "role_refused", 403
			}
			if a.ID == "" || a.Time.Before(begin.Truncate(time.Microsecond)) || a.Ended.Before(a.Time) || a.Node != l.node || a.Seq == 0 {
				t.Fatalf("act %d: %+v", i, a)
			}
			a.ID, a.Time, a.Ended, a.Node, a.Seq = "", time.Time{}, time.Time{}, "", 0
			if a != *want {
				t.Fatalf("act %d: %+v, want %+v", i, a, *want)
			}
		}
		none, acme := "", "acme"
		for _, c := range []struct {
			name   string
			filter ActFilter
			want   int
		}{
			{"a tenant", ActFilter{Tenant: &acme}, n / 2},
			{"the hub itself", ActFilter{Tenant: &none}, n / 2},
			{"an operation", ActFilter{Operation: "operation1"}, n / 3},
			{"a server", ActFilter{Server: "s1"}, n / 2},
			{"a subject", ActFilter{Subject: "alice"}, n},
			{"nobody", ActFilter{Subject: "local"}, 0},
			{"a code", ActFilter{Code: "role_refused"}, n / 5},
			{"an outcome", ActFilter{Outcomes: []hub.Outcome{hub.OutcomeOK}}, n - n/5},
			{"a door", ActFilter{Door: DoorFile}, 0},
			{"one", ActFilter{ID: all[7].ID}, 1},
			{"one of another tenant", ActFilter{ID: all[7].ID, Tenant: map[string]*string{"": &acme, "acme": &none}[all[7].Tenant]}, 0},
			{"before", ActFilter{Until: begin}, 0},
			{"since", ActFilter{Since: begin}, n},
		} {
			if got := acts(t, l, c.filter); len(got) != c.want {
				t.Errorf("%s: %d acts, want %d", c.name, len(got), c.want)
			}
		}
		if got := query(t, l, Filter{}); len(got) != n {
			t.Errorf("there are %d calls", len(got))
		}
		if got := query(t, l, Filter{Call: all[0].ID}); len(got) != 0 {
			t.Errorf("an act is a call: %+v", got)
		}
		if got := query(t, l, Filter{Tenant: &acme}); len(got) != 0 {
			t.Errorf("the tenant has calls: %+v", got)
		}
		a, err := l.Analyse(t.Context(), begin.Add(-time.Hour), time.Now().Add(time.Hour), Filter{})
		if err != nil || a.Total.Calls != n {
			t.Errorf("the figures count %+v, %v", a.Total, err)
		}
		wantSound(t, l)

		var whole, own bytes.Buffer
		if err := l.Export(t.Context(), &whole, JSONL, Filter{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(whole.String(), `"kind":"act"`); got != n {
			t.Errorf("the export has %d acts", got)
		}
		if err := l.Export(t.Context(), &own, JSONL, Filter{Tenant: &acme}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(own.String(), `"kind":"act"`); got != n/2 || strings.Contains(own.String(), `"kind":"call"`) || strings.Contains(own.String(), "operation0\",\"subject\":\"alice\",\"door\":\"rest\",\"server\":\"s0") {
			t.Errorf("the tenant's export has %d acts", got)
		}
		for _, x := range []*bytes.Buffer{&whole, &own} {
			if r, err := VerifyExport(x, nil); err != nil || len(r.Problems) > 0 {
				t.Errorf("the export: %+v, %v", r, err)
			}
		}
	})
}

// What was to be done when the hub was killed is unknown, and stays so; what had
// ended is known, also if only the journal has it.
func TestActsOfAnEarlierLife(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		keys, dir := testKeys(t), t.TempDir()
		l := openIn(t, db, keys, dir) // and Run never runs
		done, cut := act(1), act(2)
		for _, a := range []*Act{done, cut} {
			if err := l.Begin(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Act(t.Context(), done); err != nil {
			t.Fatal(err)
		}
		left := copyJournal(t, dir)
		for range 2 {
			l = openIn(t, db, keys, copyJournal(t, left))
			for a, want := range map[*Act]hub.Outcome{done: hub.OutcomeOK, cut: hub.OutcomeUnknown} {
				got := acts(t, l, ActFilter{ID: a.ID})
				if len(got) != 1 || got[0].Outcome != want || got[0].Role != a.Role || got[0].Token != a.Token || got[0].Operation != a.Operation || got[0].Request != "r" {
					t.Errorf("%+v, want the outcome %s", got, want)
				}
			}
			if got := query(t, l, Filter{}); len(got) != 0 {
				t.Errorf("there are calls: %+v", got)
			}
			wantSound(t, l)
		}
	})
}

// An act is told while it is being done, and is not begun if that cannot be
// written.
func TestActUnderWay(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		stop := run(t, l)
		a := act(1)
		if err := l.Begin(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		under := ActFilter{Outcomes: []hub.Outcome{UnderWay}}
		if got := acts(t, l, under); len(got) != 1 || got[0].ID != a.ID || !got[0].Ended.IsZero() || got[0].Outcome != UnderWay || got[0].Status != a.Status {
			t.Errorf("under way are %+v", got)
		}
		if err := l.Act(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if got := acts(t, l, under); len(got) != 0 {
			t.Errorf("under way are still %+v", got)
		}
		if got := acts(t, l, ActFilter{}); len(got) != 1 || got[0].Outcome != hub.OutcomeOK {
			t.Errorf("it is %+v", got)
		}
		wantSound(t, l)
		l.failed.Store(hub.E(message.StoreFull, nil, "store", "s"))
		if err := l.Begin(t.Context(), act(2)); !hub.IsCode(err, message.AuditUnwritable) {
			t.Errorf("begun though nothing can be written: %v", err)
		}
		l.failed.Store(nil)
		stop()
		if err := l.Begin(t.Context(), act(3)); !hub.IsCode(err, message.ShuttingDown) {
			t.Errorf("begun after the end: %v", err)
		}
	})
}

// The figures of a tenant are of its calls alone.
func TestFiguresOfATenant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		run(t, l)
		for i := range 600 {
			r := record(i)
			r.Tenant = []string{"", "acme", "other"}[i%3]
			call(t, l, r)
		}
		none, acme, nobody := "", "acme", "nobody"
		for _, c := range []struct {
			tenant *string
			want   int64
		}{{nil, 600}, {&none, 200}, {&acme, 200}, {&nobody, 0}} {
			a, err := l.Analyse(t.Context(), time.Now().Add(-time.Hour), time.Now().Add(time.Hour), Filter{Tenant: c.tenant})
			if err != nil || a.Total.Calls != c.want {
				t.Errorf("%v calls, want %d; %v", a.Total.Calls, c.want, err)
			}
			if got := query(t, l, Filter{Tenant: c.tenant}); int64(len(got)) != c.want {
				t.Errorf("%d calls are found, want %d", len(got), c.want)
			}
		}
		wantSound(t, l)
	})
}
