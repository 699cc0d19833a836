package audit

import (
	"bytes"
	"encoding/csv"
	"errors"
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

func export(t testing.TB, l *Log, format Format, f Filter) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := l.Export(t.Context(), &b, format, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An export proves itself, whole or in part.
func TestExport(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := thousand(t, db)
		head, err := l.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			f    Filter
			gaps bool
		}{
			"all":     {Filter{}, false},
			"since":   {Filter{Since: time.Now().Add(-3 * time.Hour)}, true},
			"failed":  {Filter{Outcomes: []hub.Outcome{hub.OutcomeFailed}}, true},
			"tool":    {Filter{Tool: "tool_3"}, true},
			"nothing": {Filter{Tool: "none"}, false},
		} {
			raw := export(t, l, JSONL, test.f)
			given := head
			if name != "all" {
				given = nil
			}
			r, err := VerifyExport(bytes.NewReader(raw), given)
			if err != nil || len(r.Problems) > 0 || r.Gaps > 0 != test.gaps {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			if lines := bytes.Count(raw, []byte("\n")); name == "all" && lines != int(l.chain.seq)+1 || name == "nothing" && lines != 1 {
				t.Errorf("%s: %d lines", name, lines)
			}
		}
	})
}

// Every change of one byte of an export is found.
func TestEveryByteOfAnExport(t *testing.T) {
	l := open(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t))
	fill(t, l, 6, time.Now(), func(i int, r *hub.CallRecord) { r.Changing = i%2 == 0 })
	sign(t, l)
	raw := export(t, l, JSONL, Filter{})
	for at := range raw {
		for _, bit := range []byte{1, 0x20, 0x80} {
			spoilt := bytes.Clone(raw)
			spoilt[at] ^= bit
			r, err := VerifyExport(bytes.NewReader(spoilt), nil)
			if err == nil && len(r.Problems) == 0 {
				t.Fatalf("byte %d, %q in %q", at, spoilt[at], spoilt[max(0, at-40):min(len(raw), at+40)])
			}
			if err != nil && !hub.IsCode(err, message.AuditExportInvalid) {
				t.Error(err)
			}
		}
		if r, err := VerifyExport(bytes.NewReader(raw[:at]), nil); err == nil && len(r.Problems) == 0 {
			t.Fatalf("cut off at byte %d", at)
		}
	}
	lines := bytes.SplitAfter(raw, []byte("\n"))
	for i := range lines[:len(lines)-2] {
		without := bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil)
		r, err := VerifyExport(bytes.NewReader(without), nil)
		if err != nil || !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Err.Code == message.AuditExportChanged }) {
			t.Errorf("without line %d: %+v, %v", i+1, r, err)
		}
	}
	head, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	head.Seq++
	if r, err := VerifyExport(bytes.NewReader(raw), head); err != nil || len(r.Problems) != 1 || r.Problems[0].Err.Code != message.AuditTruncated {
		t.Errorf("%+v, %v", r, err)
	}
}

// An entry that somebody has spoilt is exported all the same, for whoever
// looks into it.
func TestExportOfSpoiltEntry(t *testing.T) {
	l := open(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t))
	fill(t, l, 3, time.Now(), nil)
	exec(t, l.db, "UPDATE audit_entry SET body = '{\n' WHERE seq = 2")
	r, err := VerifyExport(bytes.NewReader(export(t, l, JSONL, Filter{})), nil)
	if err != nil || len(r.Problems) != 1 || r.Problems[0].Seq != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// No text of a caller becomes a formula in a spreadsheet.
func TestCSV(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		names := []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "plain", "a,\"b\"\nc", "\r=x"}
		fill(t, l, len(names), time.Now(), func(i int, r *hub.CallRecord) {
			r.Name, r.Changing = names[i], i == 1
			r.Attempts = []hub.Attempt{{Server: "a", Code: "timeout", Duration: time.Second}, {Server: "b", Duration: time.Millisecond}}
		})
		rows, err := csv.NewReader(bytes.NewReader(export(t, l, CSV, Filter{}))).ReadAll()
		if err != nil || len(rows) != len(names)+1 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		name, args, tries := slices.Index(rows[0], "name"), slices.Index(rows[0], "arguments"), slices.Index(rows[0], "attempts")
		for i, row := range rows[1:] {
			want := names[i]
			if i < 6 || i == 8 {
				want = "'" + want
			}
			if strings.ReplaceAll(row[name], "\r", "") != strings.ReplaceAll(want, "\r", "") {
				t.Errorf("%q of %q", row[name], names[i])
			}
			if row[args] != fmt.Sprintf(`{"n":%d}`, i) || row[tries] != "a timeout 1s; b 1ms" {
				t.Errorf("%q, %q", row[args], row[tries])
			}
			for _, field := range row {
				if field != "" && strings.ContainsRune("=+-@", rune(field[0])) {
					t.Errorf("%q is a formula", field)
				}
			}
		}
	})
}

type failing struct{ left int }

var errFull = errors.New("no room")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestExportToNowhere(t *testing.T) {
	l := thousand(t, storetest.Open(t, storetest.SQLite(t)))
	for _, format := range []Format{JSONL, CSV} {
		for _, room := range []int{0, 100_000} {
			if err := l.Export(t.Context(), &failing{room}, format, Filter{}); !errors.Is(err, errFull) {
				t.Errorf("%s with room for %d: %v", format, room, err)
			}
		}
	}
}

func FuzzVerifyExport(f *testing.F) {
	for _, s := range []string{"", "{}", `{"export":{}}`, `{"node":"a","seq":1,"body":{}}`, "{\"node\":\"a\"}\n{\"export\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := VerifyExport(bytes.NewReader(raw), nil)
		if err == nil && len(r.Problems) == 0 {
			t.Errorf("%q is taken for an export", raw)
		}
	})
}

func FuzzParseHead(f *testing.F) {
	f.Add([]byte(`{"node":"x","seq":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if h, err := ParseHead(raw); err == nil {
			t.Errorf("%+v", h)
		}
	})
}
