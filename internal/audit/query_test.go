package audit

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// fill writes calls whose entries are a second apart, from start on; change may
// alter each.
func fill(t testing.TB, l *Log, n int, start time.Time, change func(i int, r *hub.CallRecord)) {
	t.Helper()
	c := l.chain
	x := c.begin()
	for i := range n {
		r := record(i)
		r.Time = start.Add(time.Duration(i) * time.Second)
		if change != nil {
			change(i, r)
		}
		o := newOp(kindCall, r)
		o.at = r.Time.UnixMicro()
		if r.Changing {
			intent := newOp(kindIntent, r)
			intent.at = o.at
			x.op(c.node, intent)
			if r.Outcome == UnderWay {
				continue
			}
		}
		x.op(c.node, o)
	}
	if err := c.commit(context.Background(), x, store.Process, nil); err != nil {
		t.Fatal(err)
	}
}

// Each filter finds what going through everything finds, on pages of any size.
func TestFilters(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		start := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
		const n = 5*partSize + 17
		fill(t, l, n, start, func(i int, r *hub.CallRecord) {
			r.Changing = i%3 == 0
			r.Server = fmt.Sprintf("s%d", i%4)
			switch {
			case i%400 == 3:
				r.Server, r.Tool, r.Name, r.Session = "rare", "seldom", "rare__Seldom", hub.SessionRef("rare")
			case i%100 == 50:
				r.Outcome, r.Code = hub.OutcomeFailed, "timeout"
			case i%100 == 60:
				r.Changing, r.Outcome = true, UnderWay
			case i%100 == 70:
				r.Outcome, r.Subject, r.Door = hub.OutcomeToolError, "anna", hub.DoorREST
			case i%100 == 80:
				r.Method, r.Tool, r.Name = "resources/read", "", "file:///a\nb"
			}
		})
		everything := query2(t, l, Filter{}, MaxLimit)
		if len(everything) != n {
			t.Fatalf("%d calls of %d", len(everything), n)
		}
		if !slices.IsSortedFunc(everything, func(a, b Call) int { return int(b.Seq - a.Seq) }) {
			t.Error("not newest first")
		}
		for name, f := range map[string]Filter{
			"server": {Server: "s1"}, "rare server": {Server: "rare"}, "tool": {Tool: "tool_3"}, "both": {Server: "s1", Tool: "tool_3"},
			"session": {Session: hub.SessionRef("rare")}, "subject": {Subject: "anna"}, "door": {Door: hub.DoorREST}, "method": {Method: "resources/read"},
			"failed": {Outcomes: []hub.Outcome{hub.OutcomeFailed}}, "under way": {Outcomes: []hub.Outcome{UnderWay}},
			"any": {Outcomes: []hub.Outcome{UnderWay, hub.OutcomeToolError}}, "code": {Code: "timeout"}, "text": {Text: "SELDOM"}, "text of a name": {Text: "file:///A"},
			"since": {Since: start.Add(400 * time.Second)}, "until": {Until: start.Add(400 * time.Second)},
			"hour":    {Since: start.Add(300 * time.Second), Until: start.Add(700 * time.Second), Server: "s2"},
			"nothing": {Server: "none"}, "node": {Node: l.Node()}, "other node": {Node: "other"}, "like": {Tool: "tool_"}, "prefix": {Server: "s"},
		} {
			var want []int64
			for i := range everything {
				c := &everything[i]
				at := c.Ended
				if at.IsZero() {
					at = c.Time
				}
				if f.wants(c, at.UnixMicro()) {
					want = append(want, c.Seq)
				}
			}
			for _, limit := range []int{1000, 7} {
				var got []int64
				for _, c := range query2(t, l, f, limit) {
					got = append(got, c.Seq)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, %d at once: %d calls, not %d", name, limit, len(got), len(want))
				}
			}
			if empty := name == "nothing" || name == "other node" || name == "like" || name == "prefix"; (len(want) == 0) != empty {
				t.Errorf("%s: %d calls", name, len(want))
			}
		}
		wantSound(t, l)
	})
}

// query2 follows the cursors to the end.
func query2(t testing.TB, l *Log, f Filter, limit int) []Call {
	t.Helper()
	var all []Call
	cursor := ""
	for {
		page, err := l.Query(context.Background(), f, cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Calls) > limit {
			t.Fatalf("%d calls on a page of %d", len(page.Calls), limit)
		}
		all = append(all, page.Calls...)
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

// What comes while somebody turns pages changes none that follows.
func TestPagesAreStable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		fill(t, l, 2*partSize, time.Now().Add(-time.Hour), nil)
		page, err := l.Query(t.Context(), Filter{}, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		want, err := l.Query(t.Context(), Filter{}, page.Next, 500)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, l, 2*partSize, time.Now(), nil)
		got, err := l.Query(t.Context(), Filter{}, page.Next, 500)
		if err != nil || len(got.Calls) == 0 || len(got.Calls) != len(want.Calls) || got.Calls[0].Seq != want.Calls[0].Seq || got.Calls[0].Seq != page.Calls[9].Seq-1 {
			t.Errorf("%d calls, not %d: %v", len(got.Calls), len(want.Calls), err)
		}
	})
}

// Several chains are one list, by time.
func TestChainsTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		one, two := open(t, db, testKeys(t)), open(t, db, testKeys(t))
		start := time.Now().Add(-time.Hour)
		fill(t, one, 400, start, nil)
		fill(t, two, 300, start.Add(500*time.Millisecond), nil)
		got := query2(t, one, Filter{}, 33)
		if len(got) != 700 || !slices.IsSortedFunc(got, func(a, b Call) int { return b.Ended.Compare(a.Ended) }) {
			t.Errorf("%d calls", len(got))
		}
		if got := query2(t, one, Filter{Node: two.Node()}, 33); len(got) != 300 {
			t.Errorf("%d calls of the second", len(got))
		}
		if r := wantSound(t, one); len(r.Chains) != 2 || r.Chains[0].Entries+r.Chains[1].Entries != 700 {
			t.Errorf("%+v", r.Chains)
		}
	})
}

// A page that would take too long ends, and goes on at its cursor.
func TestLongSearch(t *testing.T) {
	l := open(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t))
	fill(t, l, most+2*partSize, time.Now().Add(-24*time.Hour), func(i int, r *hub.CallRecord) {
		if i == 5 {
			r.Name = "needle"
		}
	})
	page, err := l.Query(t.Context(), Filter{Text: "needle"}, "", 10)
	if err != nil || len(page.Calls) != 0 || page.Next == "" {
		t.Fatalf("%d calls, next %q, %v", len(page.Calls), page.Next, err)
	}
	if page, err = l.Query(t.Context(), Filter{Text: "needle"}, page.Next, 10); err != nil || len(page.Calls) != 1 || page.Next != "" {
		t.Fatalf("%d calls, next %q, %v", len(page.Calls), page.Next, err)
	}
}

func TestCursors(t *testing.T) {
	l := open(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t))
	for _, bad := range []string{"x", "MQ", "MSw", "MSxhOi0x", "!", "MixhOjE"} {
		if _, err := l.Query(t.Context(), Filter{}, bad, 1); !hub.IsCode(err, message.AuditCursorUnknown) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{"a": 1, "b": 22}.String())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text)
		if err != nil || text == "" {
			return
		}
		if again, err := parseCursor(c.String()); err != nil || again.String() != c.String() {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	head, tail := encode(record(1))
	f.Add(string(head) + string(tail) + `,"intent":3}`)
	f.Add(`{"a":[1,{"b":"\""}],"time":1e3}`)
	f.Fuzz(func(t *testing.T, body string) {
		var r hub.CallRecord
		decode(body, &r)
	})
}

// FuzzRoundTrip encodes any texts and decodes them.
func FuzzRoundTrip(f *testing.F) {
	f.Add("a", "b\"", `{"x":1}`, int64(3))
	f.Add("\xff", "\x00", `[`, int64(-1))
	f.Fuzz(func(t *testing.T, name, reason, args string, n int64) {
		in := hub.CallRecord{Time: time.UnixMicro(n % (1 << 50)).UTC(), Name: name, Reason: reason, Arguments: args, Bytes: int(n), Attempts: []hub.Attempt{{Server: reason}}}
		head, tail := encode(&in)
		body := string(head) + string(tail) + "}"
		var out hub.CallRecord
		if _, ok := decode(body, &out); !ok {
			t.Fatalf("no object: %q", body)
		}
		valid := func(s string) string { return string([]rune(s)) }
		if len(name) < longestText && valid(out.Name) != valid(in.Name) || out.Bytes != in.Bytes || !out.Time.Equal(in.Time) || len(out.Attempts) != 1 {
			t.Errorf("%q: %+v", body, out)
		}
	})
}
