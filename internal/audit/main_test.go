package audit

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/google/uuid"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newKeys makes a key of its own.
func testKeys(t testing.TB) Keys {
	t.Helper()
	k, err := LoadKeys(filepath.Join(t.TempDir(), "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// open opens a record that keeps arguments and drops nothing.
func open(t testing.TB, db *store.DB, keys Keys) *Log {
	t.Helper()
	return openIn(t, db, keys, t.TempDir())
}

// openIn is open with a journal that may have been used before.
func openIn(t testing.TB, db *store.DB, keys Keys, dir string) *Log {
	t.Helper()
	l, err := Open(context.Background(), Options{
		DB: db, Dir: dir, Keys: keys, Log: slog.New(slog.DiscardHandler), Settings: Settings{KeepArguments: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Log(err) // a test has closed a file
		}
	})
	return l
}

// run runs a record until the test ends, or until stop is called.
func run(t testing.TB, l *Log) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	asked := make(chan *position, 1)
	l.asked <- asked
	<-asked // it may fail
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// record is a call that reads, the n-th of a test.
func record(n int) *hub.CallRecord {
	id, _ := uuid.NewV7()
	return &hub.CallRecord{
		ID: id.String(), Time: time.Now(), Method: "tools/call", Subject: "local", Door: hub.DoorMCP, Session: hub.SessionRef(fmt.Sprint(n % 5)),
		Client: "test 1.0", Name: fmt.Sprintf("files__tool_%d", n%7), Server: "files", Tool: fmt.Sprintf("tool_%d", n%7),
		Arguments: fmt.Sprintf(`{"n":%d}`, n), Digest: "00112233445566778899aabbccddeeff",
		Verdict: hub.VerdictAllow, Outcome: hub.OutcomeOK, Duration: time.Duration(n%100) * time.Millisecond, Bytes: n,
	}
}

// changing is one that may change something.
func changing(n int) *hub.CallRecord {
	r := record(n)
	r.Changing = true
	return r
}

// call records a call, as the pipeline does.
func call(t testing.TB, l *Log, r *hub.CallRecord) {
	t.Helper()
	if r.Changing {
		begun := *r
		begun.Outcome, begun.Duration, begun.Bytes = "", 0, 0
		if err := l.Intend(t.Context(), &begun); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Finish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func query(t testing.TB, l *Log, f Filter) []Call {
	t.Helper()
	page, err := l.Query(t.Context(), f, "", MaxLimit)
	if err != nil {
		t.Fatal(err)
	}
	return page.Calls
}

// exec runs a statement as somebody would who can write the database.
func exec(t testing.TB, db *store.DB, statement string, args ...any) {
	t.Helper()
	err := db.Tx(context.Background(), store.Process, func(tx *sql.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
