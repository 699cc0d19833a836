package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, path string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// run runs the journal until stop, which waits for its end.
func run(t testing.TB, j *journal.Journal, events *bus.Bus) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- j.Run(ctx, events) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func record(n int) hub.CallRecord {
	return hub.CallRecord{
		Time: time.Date(2026, 11, 21, 12, 0, n, 5e6, time.UTC), Subject: "local", Door: hub.DoorREST,
		Name: fmt.Sprintf("s%d__t", n%3), Server: fmt.Sprintf("s%d", n%3), Tool: "t",
		Outcome: hub.OutcomeOK, Duration: time.Duration(n) * 250 * time.Microsecond, Bytes: n,
	}
}

// What is published is there at once, newest first, also after a restart, and
// in the file in the shape of the API.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "calls.jsonl")
		var events bus.Bus
		j := open(t, path)
		stop := run(t, j, &events)
		synctest.Wait()
		failed := record(7)
		failed.Outcome, failed.Code, failed.Reason = hub.OutcomeFailed, "server_down", "It is \"away\".\n"
		var want []hub.CallRecord
		for n := range 7 {
			events.Publish(hub.CallEnded{Call: record(n)})
			want = append([]hub.CallRecord{record(n)}, want...)
		}
		events.Publish(hub.ToolsChanged{Snapshot: 1})
		events.Publish(hub.CallEnded{Call: failed})
		want = append([]hub.CallRecord{failed}, want...)
		synctest.Wait()
		check := func(j *journal.Journal) {
			t.Helper()
			if got := j.Recent(0, ""); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
			if got := j.Recent(2, ""); !reflect.DeepEqual(got, want[:2]) {
				t.Errorf("the last two are %+v", got)
			}
			if got := j.Recent(2, "s1"); len(got) != 2 || got[0].Server != "s1" || got[0].Bytes != 7 || got[1].Bytes != 4 {
				t.Errorf("the last two of s1 are %+v", got)
			}
		}
		check(j)
		if _, err := os.Stat(path); err == nil {
			t.Error("each record is written on its own")
		}
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		check(open(t, path)) // as after a kill
		stop()
		check(open(t, path))
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("the file is %v, %v", info.Mode(), err)
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		var last api.CallRecord
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != len(want) {
			t.Fatalf("%d lines, %v", len(lines), err)
		}
		if last.Code != "server_down" || last.Duration != 1.75 || last.Door != "rest" || last.Outcome != "failed" {
			t.Errorf("the last line is %+v", last)
		}
	})
}

// The end of Run writes what was published before.
func TestNothingIsLostAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "calls.jsonl")
		var events bus.Bus
		stop := run(t, open(t, path), &events)
		synctest.Wait()
		for n := range 300 {
			events.Publish(hub.CallEnded{Call: record(n)})
		}
		stop()
		if got := open(t, path).Recent(0, ""); len(got) != 300 || got[0].Bytes != 299 {
			t.Errorf("%d records", len(got))
		}
	})
}

// Neither the memory nor the files grow without end, and what is kept is what
// came last.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "calls.jsonl")
		var events bus.Bus
		j := open(t, path)
		stop := run(t, j, &events)
		synctest.Wait()
		const all = 5000
		for n := range all {
			r := record(n)
			r.Name = strings.Repeat("n", 600)
			events.Publish(hub.CallEnded{Call: r})
			if n%100 == 0 {
				time.Sleep(time.Second)
			}
		}
		stop()
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 2 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil || info.Size() > 1<<20 || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", f.Name(), info, err)
			}
		}
		for _, j := range []*journal.Journal{j, open(t, path)} {
			got := j.Recent(0, "")
			if len(got) != 500 {
				t.Fatalf("%d records", len(got))
			}
			for i, r := range got {
				if r.Bytes != all-1-i {
					t.Fatalf("record %d is of call %d", i, r.Bytes)
				}
			}
		}
	})
}

// A line that a killed process left unfinished costs that line alone.
func TestCutLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "calls.jsonl")
		for n := range 3 {
			var events bus.Bus
			stop := run(t, open(t, path), &events)
			synctest.Wait()
			events.Publish(hub.CallEnded{Call: record(n)})
			stop()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, text[:len(text)/2]...)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := open(t, path).Recent(0, "")
		var calls []int
		for _, r := range got {
			calls = append(calls, r.Bytes)
		}
		for n := range 3 {
			if bytes.Count([]byte(fmt.Sprint(calls)), []byte(fmt.Sprint(n))) == 0 {
				t.Errorf("call %d is lost: %v", n, calls)
			}
		}
	})
}

// A disk that takes nothing is told of once, and again when it is well; the
// calls are kept in memory meanwhile.
func TestUnwritable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "gone")
		path := filepath.Join(dir, "calls.jsonl")
		var log logbook
		j, err := journal.Open(path, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		var events bus.Bus
		stop := run(t, j, &events)
		synctest.Wait()
		for n := range 3 {
			events.Publish(hub.CallEnded{Call: record(n)})
			time.Sleep(time.Second)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			events.Publish(hub.CallEnded{Call: record(10 + n)})
			time.Sleep(time.Second)
		}
		stop()
		if a, b := log.count("could not be written"), log.count("written again"); a != 1 || b != 1 {
			t.Errorf("told %d and %d times:\n%s", a, b, log.text.String())
		}
		if n := len(j.Recent(0, "")); n != 6 {
			t.Errorf("%d in memory", n)
		}
		if got := open(t, path).Recent(0, ""); len(got) != 3 || got[2].Bytes != 10 {
			t.Errorf("in the file: %+v", got)
		}
	})
}

// logbook is a log that can be read while it is written.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *logbook) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *logbook) count(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(r.text.String(), text)
}

// What cannot be read at all is an error, not a journal that loses everything.
func TestUnreadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(path, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a directory is taken for a journal")
	}
}
