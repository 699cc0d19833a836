package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// thousand makes a record of a thousand entries, with checkpoints among them.
func thousand(t testing.TB, db *store.DB) *Log {
	t.Helper()
	l := open(t, db, testKeys(t))
	for i := range 5 {
		fill(t, l, 140, time.Now().Add(time.Duration(i-6)*time.Hour), func(i int, r *hub.CallRecord) {
			if r.Changing = i%3 == 0; i%50 == 1 {
				r.Outcome, r.Code, r.Reason = hub.OutcomeFailed, "timeout", "Es dauerte zu lange: 太慢"
			}
		})
		sign(t, l)
	}
	return l
}

func sign(t testing.TB, l *Log) {
	t.Helper()
	x := l.chain.begin()
	if err := x.sign(l.keys, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := l.chain.commit(t.Context(), x, store.Process, nil); err != nil {
		t.Fatal(err)
	}
}

// verdict verifies entries as they would stand in the database.
func verdict(node string, list []entry, heads ...position) *Report {
	r := &Report{}
	v := newVerifier(r, node, heads)
	for i := range list {
		v.entry(&list[i])
	}
	v.finish()
	return r
}

// Every change of one byte of any column of any row is found, and it is the
// right entry that is told.
func TestEveryByte(t *testing.T) {
	l := thousand(t, storetest.Open(t, storetest.SQLite(t)))
	list, err := entries(t.Context(), l.db, "node = $1 ORDER BY seq", l.node)
	if err != nil || len(list) < 930 {
		t.Fatalf("%d entries, %v", len(list), err)
	}
	if r := verdict(l.node, list); len(r.Problems) > 0 {
		t.Fatal(r.Problems[0].Err)
	}
	changed := 0
	for i := range list {
		// What stands before and after decides too, but not what is farther away:
		// so it is enough to look at these three.
		from, to := max(0, i-1), min(len(list), i+2)
		near := slices.Clone(list[from:to])
		e := &near[i-from]
		was := *e
		find := func(what string) {
			t.Helper()
			changed++
			r := &Report{}
			v := newVerifier(r, l.node, nil)
			if from > 0 {
				v.Entries, v.Last, v.prev, v.First = 1, list[from-1].seq, list[from-1].hash, 1
			}
			for j := range near {
				v.entry(&near[j])
			}
			if len(r.Problems) == 0 || r.Problems[0].Seq != was.seq {
				t.Fatalf("entry %d, %s: %+v", was.seq, what, r.Problems)
			}
			*e = was
		}
		for _, column := range []struct {
			name string
			text *string
		}{{"kind", (*string)(&e.kind)}, {"call", &e.call}, {"body", &e.body}, {"hash", &e.hash}} {
			text := *column.text
			for at := range len(text) {
				*column.text = text[:at] + string([]byte{text[at] ^ 1<<((at+i)%8)}) + text[at+1:]
				find(column.name)
			}
			*column.text = text + "\x00"
			find(column.name + ", one more")
			if text != "" {
				*column.text = text[1:]
				find(column.name + ", one less")
			}
		}
		for bit := range 63 {
			e.at ^= 1 << bit
			find("at")
		}
	}
	t.Logf("%d changes were found", changed)
}

// The same in the database itself, also what a verification of single entries
// does not see: rows that were moved, removed and put in.
func TestTampered(t *testing.T) {
	for name, test := range map[string]struct {
		tamper []string
		seq    int64
		code   message.Code
	}{
		"body":           {[]string{"UPDATE audit_entry SET body = REPLACE(body, 'tool_', 'tool-') WHERE seq = 4"}, 4, message.AuditEntryChanged},
		"time":           {[]string{"UPDATE audit_entry SET at = at + 1 WHERE seq = 500"}, 500, message.AuditEntryChanged},
		"kind":           {[]string{"UPDATE audit_entry SET kind = 'call' WHERE seq = 1"}, 1, message.AuditEntryChanged},
		"hash":           {[]string{"UPDATE audit_entry SET hash = REPLACE(hash, 'a', 'b') WHERE seq = 9"}, 9, message.AuditEntryChanged},
		"upper case":     {[]string{"UPDATE audit_entry SET hash = UPPER(hash) WHERE seq = 9"}, 9, message.AuditEntryChanged},
		"removed":        {[]string{"DELETE FROM audit_entry WHERE seq = 40"}, 40, message.AuditEntryMissing},
		"several":        {[]string{"DELETE FROM audit_entry WHERE seq BETWEEN 300 AND 900"}, 300, message.AuditEntryMissing},
		"beginning":      {[]string{"DELETE FROM audit_entry WHERE seq <= 256", "DELETE FROM audit_part WHERE first = 1"}, 1, message.AuditEntryMissing},
		"end":            {[]string{"DELETE FROM audit_entry WHERE seq > 700"}, 513, message.AuditIndexWrong},
		"exchanged":      {[]string{"UPDATE audit_entry SET seq = -7 WHERE seq = 7", "UPDATE audit_entry SET seq = 7 WHERE seq = 8", "UPDATE audit_entry SET seq = 8 WHERE seq = -7"}, 7, message.AuditEntryChanged},
		"given away":     {[]string{"UPDATE audit_entry SET node = 'other' WHERE seq = 30"}, 30, message.AuditEntryMissing},
		"put in":         {[]string{"INSERT INTO audit_entry SELECT node, 0, at, kind, call, body, hash FROM audit_entry WHERE seq = 1"}, 0, message.AuditEntryChanged},
		"terms":          {[]string{"UPDATE audit_part SET terms = SUBSTR(terms, 5) WHERE first = 257"}, 257, message.AuditIndexWrong},
		"bytes":          {[]string{"UPDATE audit_entry SET call = CAST(call AS BLOB) WHERE seq = 77"}, 77, message.AuditEntryChanged},
		"no number":      {[]string{"UPDATE audit_entry SET seq = 'x' WHERE seq = 77"}, 0, message.AuditEntryChanged},
		"part as bytes":  {[]string{"UPDATE audit_part SET since = CAST(CAST(since AS TEXT) AS BLOB) WHERE first = 257"}, 257, message.AuditIndexWrong},
		"no name":        {[]string{"INSERT INTO audit_entry SELECT '', seq, at, kind, call, body, hash FROM audit_entry WHERE seq = 1"}, 1, message.AuditEntryChanged},
		"name as bytes":  {[]string{"INSERT INTO audit_entry SELECT CAST('a' AS BLOB), seq, at, kind, call, body, hash FROM audit_entry WHERE seq = 1"}, 1, message.AuditEntryChanged},
		"figures":        {[]string{`UPDATE audit_hour SET figures = REPLACE(figures, '"n":', '"n":1') WHERE hour = (SELECT MIN(hour) FROM audit_hour)`}, 0, message.AuditFiguresWrong},
		"no figures":     {[]string{"DELETE FROM audit_hour WHERE hour = (SELECT MAX(hour) FROM audit_hour)"}, 0, message.AuditFiguresWrong},
		"more figures":   {[]string{"INSERT INTO audit_hour SELECT node, hour - 3600000000, figures FROM audit_hour ORDER BY hour LIMIT 1"}, 0, message.AuditFiguresWrong},
		"spoilt figures": {[]string{"UPDATE audit_hour SET figures = '{'"}, 0, message.AuditFiguresWrong},
		"part removed":   {[]string{"DELETE FROM audit_part WHERE first = 257"}, 257, message.AuditIndexWrong},
	} {
		t.Run(name, func(t *testing.T) {
			l := thousand(t, storetest.Open(t, storetest.SQLite(t)))
			wantSound(t, l)
			for _, s := range test.tamper {
				exec(t, l.db, s)
			}
			r, err := l.Verify(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Seq == test.seq && p.Err.Code == test.code }) {
				t.Errorf("%+v", r.Problems)
			}
		})
	}
}

// Who can write the database but has no key can make the chain fit again, but
// not sign it.
func TestRewritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := thousand(t, db)
		list, err := entries(t.Context(), db, "node = $1 ORDER BY seq", l.node)
		if err != nil {
			t.Fatal(err)
		}
		list[10].body = strings.Replace(list[10].body, "files", "other", 1)
		prev := list[9].hash
		for i := 10; i < len(list); i++ {
			list[i].hash = list[i].sum(prev)
			prev = list[i].hash
			exec(t, db, "UPDATE audit_entry SET body = $1, hash = $2 WHERE node = $3 AND seq = $4", list[i].body, list[i].hash, l.node, list[i].seq)
		}
		r, err := l.Verify(t.Context(), nil)
		if err != nil || len(r.Problems) == 0 || r.Problems[0].Err.Code != message.AuditUnsigned {
			t.Fatalf("%+v, %v", r, err)
		}
		// Another key signs for another chain only.
		forged := testKeys(t)
		for i := range list {
			if list[i].kind == kindCheckpoint {
				list[i].body, _ = statement(forged, claim{"checkpoint", l.node, list[i].seq - 1, list[i-1].hash, list[i].at})
			}
			if i >= 10 {
				list[i].hash = list[i].sum(list[i-1].hash)
			}
		}
		if r := verdict(l.node, list); len(r.Problems) == 0 || r.Problems[0].Err.Code != message.AuditUnsigned {
			t.Errorf("%+v", r.Problems)
		}
	})
}

// A head that was exported shows that the end was cut off, or written anew.
func TestHead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := thousand(t, db)
		head, err := l.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(head)
		if err != nil {
			t.Fatal(err)
		}
		if head, err = ParseHead(raw); err != nil || head.Seq != l.chain.seq {
			t.Fatalf("%+v, %v", head, err)
		}
		for at := range raw {
			spoilt := bytes.Clone(raw)
			spoilt[at] ^= 1
			if other, err := ParseHead(spoilt); err == nil && *pointless(other) != *pointless(head) {
				t.Errorf("%s is taken", spoilt)
			} else if err != nil && !hub.IsCode(err, message.AuditHeadInvalid) {
				t.Error(err)
			}
		}
		fill(t, l, 10, time.Now(), nil)
		with := func() *Report {
			t.Helper()
			r, err := l.Verify(t.Context(), head)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := with(); len(r.Problems) > 0 {
			t.Error(r.Problems[0].Err)
		}
		exec(t, db, "UPDATE audit_entry SET hash = 'x' WHERE seq = $1", head.Seq)
		if r := with(); !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Err.Code == message.AuditHeadDiffers && p.Seq == head.Seq }) {
			t.Errorf("%+v", r.Problems)
		}
		exec(t, db, "DELETE FROM audit_entry WHERE seq >= $1", head.Seq)
		if r := with(); !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Err.Code == message.AuditTruncated && p.Seq == head.Seq }) {
			t.Errorf("%+v", r.Problems)
		}
		exec(t, db, "DELETE FROM audit_entry WHERE seq >= $1", 0)
		if r := with(); !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Err.Code == message.AuditTruncated }) {
			t.Errorf("%+v", r.Problems)
		}
	})
}

// pointless is what a head says, without what is compared by address.
func pointless(h *Head) *[4]string {
	return &[4]string{h.Node, fmt.Sprint(h.Seq), h.Hash, h.Time.String()}
}

// A hub that runs knows where its own chain ends.
func TestCutOffUnderWay(t *testing.T) {
	l := thousand(t, storetest.Open(t, storetest.SQLite(t)))
	run(t, l)
	wantSound(t, l)
	exec(t, l.db, "DELETE FROM audit_entry WHERE seq = $1", l.chain.seq)
	r, err := l.Verify(t.Context(), nil)
	if err != nil || len(r.Problems) != 1 || r.Problems[0].Err.Code != message.AuditTruncated {
		t.Errorf("%+v, %v", r, err)
	}
}

// The chain is signed every thousand entries, and at the end of Run.
func TestCheckpoints(t *testing.T) {
	l := open(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t))
	stop := run(t, l)
	for i := range 2*checkpointEvery + 5 {
		call(t, l, record(i))
		if i%500 == 0 {
			l.flush(t.Context())
		}
	}
	l.flush(t.Context())
	if r := wantSound(t, l); r.Chains[0].Checkpoints < 1 {
		t.Errorf("%+v", r.Chains[0])
	}
	stop()
	r := wantSound(t, l)
	if c := r.Chains[0]; c.Signed != c.Last-1 || c.Hash != l.chain.hash {
		t.Errorf("%+v", c)
	}
	// Nothing happened: nothing is signed.
	again := open(t, l.db, l.keys)
	stop = run(t, again)
	stop()
	if again.chain.seq != l.chain.seq {
		t.Errorf("%d entries more", again.chain.seq-l.chain.seq)
	}
}

// What is too old goes, and what is left is proved by the signature that takes
// its place.
func TestPrune(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		now := time.Now()
		fill(t, l, 3*pruneParts*partSize/2, now.Add(-40*24*time.Hour), func(i int, r *hub.CallRecord) {
			if i == 3 {
				r.Changing, r.Outcome = true, UnderWay // for ever
			}
		})
		fill(t, l, 600, now.Add(-time.Hour), nil)
		l.Set(Settings{Retention: 30 * 24 * time.Hour})
		w := &writer{Log: l}
		if err := w.prune(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		r := wantSound(t, l)
		if c := r.Chains[0]; c.First != 3*pruneParts*partSize/2+1 {
			t.Errorf("%+v", c)
		}
		if got := query2(t, l, Filter{}, 1000); len(got) != 599 && len(got) != 600 {
			t.Errorf("%d calls", len(got))
		}
		var old int
		if err := db.QueryRow("SELECT COUNT(*) FROM audit_hour WHERE hour < $1", floorHour(now.Add(-31*24*time.Hour).UnixMicro())).Scan(&old); err != nil || old > 0 {
			t.Errorf("figures of %d hours are left, %v", old, err)
		}
		// It is proved in the next life, and with what comes then.
		l = open(t, db, l.keys)
		fill(t, l, 300, now, nil)
		wantSound(t, l)
		// Who drops more than was signed is found.
		exec(t, db, "DELETE FROM audit_entry WHERE seq = $1", r.Chains[0].First)
		if r, err := l.Verify(t.Context(), nil); err != nil || len(r.Problems) == 0 || r.Problems[0].Err.Code != message.AuditEntryMissing {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
