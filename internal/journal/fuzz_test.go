package journal

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// The files may hold anything: they are read, and the journal goes on.
func FuzzOpen(f *testing.F) {
	good := `{"time":"2026-11-21T12:00:00Z","subject":"local","door":"mcp","name":"a__b","server":"a","tool":"b","outcome":"ok","durationMs":1.5,"bytes":3}`
	f.Add([]byte(""), []byte(""))
	f.Add([]byte(good+"\n"+good), []byte("\n\n"+good+"\n"))
	f.Add([]byte(good[:40]), []byte(`{"time":"2026-11-21T12:00:00Z","outcome":"ok","durationMs":1e300}`+"\n"))
	f.Add([]byte("null\n[]\n{}\n\x00\xff"), []byte(`{"TIME":"2026-11-21T12:00:00Z","outcome":"cancelled","bytes":-1}`))
	path := filepath.Join(f.TempDir(), "calls.jsonl")
	f.Fuzz(func(t *testing.T, before, now []byte) {
		for name, text := range map[string][]byte{path + ".1": before, path: now} {
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		j, err := Open(path, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		old := j.Recent(0, "")
		for _, r := range old {
			if r.Duration < 0 || r.Bytes < 0 || r.Time.IsZero() {
				t.Fatalf("a record of %+v", r)
			}
		}
		next := hub.CallRecord{Time: time.Unix(0, 0).UTC(), Outcome: hub.OutcomeCancelled, Name: "n"}
		j.take(hub.CallEnded{Call: next})
		j.flush(new(bus.Bus).Subscribe(1))
		j.close()
		again, err := Open(path, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Recent(0, ""); len(got) != min(len(old)+1, kept) || got[0] != next {
			t.Fatalf("%d records became %d, the last of which is %+v", len(old), len(got), got[0])
		}
	})
}

// A line is what encoding/json makes of the shape that the API has.
func FuzzEncode(f *testing.F) {
	f.Add("local", "a__b", "", "", int64(0), int64(0), 0)
	f.Add(`"\<>&`, "天气\u2028", "\x00\x1f\x7f", "\xff", int64(-1), int64(1), -1)
	f.Add("s", "n", "server_down", "It said: \"no\".\n", int64(1<<62), int64(1<<62), 1<<40)
	f.Fuzz(func(t *testing.T, subject, name, code, reason string, at, took int64, size int) {
		r := hub.CallRecord{
			Time: time.Unix(at, at).UTC(), Subject: subject, Door: hub.DoorMCP, Name: name, Server: code, Tool: reason,
			Outcome: hub.OutcomeFailed, Code: code, Reason: reason, Duration: time.Duration(took), Bytes: size,
		}
		want, err := json.Marshal(api.CallRecord{
			Time: r.Time, Subject: subject, Door: "mcp", Name: name, Server: code, Tool: reason,
			Outcome: "failed", Code: code, Reason: reason, Duration: float64(took) / 1e6, Bytes: size,
		})
		if err == nil {
			want = append(want, '\n')
		}
		if got := encode([]byte("before "), &r); string(got) != "before "+string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	r := hub.CallRecord{
		Time: time.Now(), Subject: "local", Door: hub.DoorMCP, Name: "everything__echo", Server: "everything", Tool: "echo",
		Outcome: hub.OutcomeOK, Duration: 1234567, Bytes: 345,
	}
	var line []byte
	b.ReportAllocs()
	for b.Loop() {
		line = encode(line[:0], &r)
	}
}
