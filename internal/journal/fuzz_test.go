package journal

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

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
