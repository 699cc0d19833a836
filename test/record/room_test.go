//go:build linux

package record

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// disk is a small disk.
type disk struct {
	t       *testing.T
	dir     string
	ballast string
}

// newDisk mounts one.
func newDisk(t *testing.T, size string) *disk {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolcrib-record-")
	must(t, err)
	t.Cleanup(func() { _ = os.Remove(dir) })
	err = syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size)
	if errors.Is(err, syscall.EPERM) && os.Getenv("CI") == "" {
		t.Skip("NOT TESTED ON A FULL DISK: only an administrator may mount one")
	}
	must(t, err)
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return &disk{t, dir, filepath.Join(dir, "ballast")}
}

// fill leaves no room.
func (d *disk) fill() {
	d.t.Helper()
	f, err := os.OpenFile(d.ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(d.t, err)
	defer f.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		switch n, err := f.Write(block); {
		case errors.Is(err, syscall.ENOSPC):
			block = block[:len(block)/2]
		case err != nil || n != len(block):
			d.t.Fatal(n, err)
		}
	}
}

// clear makes room.
func (d *disk) clear() { must(d.t, os.Remove(d.ballast)) }

// TestFullDisk: there is no room left. What may change something is refused and
// not sent, reads go on, and so does everything else as soon as there is room.
// What was accepted before is in the record as it ended.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "6m")
	l := newLab(t, store.Options{}, nil)
	l.data = datadir.Layout(filepath.Join(d.dir, "data"))
	l.store.Path = l.data.Store()
	h := l.start()
	if got := l.call(h.URL, false, "far__work", work("before", 0)); got != told {
		t.Fatalf("the caller was told %s", got)
	}
	d.fill()
	// What SQLite has of room in its log is used up first.
	full := false
	for n := 0; n < 2000 && !full; n++ {
		switch got := l.call(h.URL, n%2 == 0, "far__work", work(fmt.Sprint("last-", n), 0)); got {
		case told:
		case string(message.AuditUnwritable):
			full = true
		default:
			t.Fatalf("the caller was told %s", got)
		}
	}
	if !full {
		t.Fatal("the disk is not full")
	}
	l.refused(h, "full", message.StoreFull)
	l.reads(h, 40)
	if code := h.Health().HTTPStatus; code != 200 {
		t.Errorf("the hub's health is %d", code)
	}
	d.clear()
	rig.Await(t, "calls are taken again", func() bool { return l.call(h.URL, false, "far__work", work("after", 0)) == told })
	rig.Await(t, "what waited is recorded", func() bool {
		l.readAll(h)
		return l.book.reads >= 40 && len(l.book.open()) == 0
	})
	l.agree()
	if l.book.lost != 0 {
		t.Errorf("%d records were lost", l.book.lost)
	}
	h.Stop()
	l.verify()
}

// TestFullDiskForLong: the record keeps what it cannot write, within bounds. What
// it had to drop is counted, and told in the record itself as soon as there is room.
func TestFullDiskForLong(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "24m")
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(d.dir, "toolcrib.db")})
	must(t, err)
	keys, err := audit.LoadKeys(filepath.Join(d.dir, "audit.key"))
	must(t, err)
	log, err := audit.Open(t.Context(), audit.Options{DB: db, Dir: filepath.Join(d.dir, "audit"), Keys: keys, Log: slog.New(slog.DiscardHandler), Settings: audit.Settings{KeepArguments: true}})
	must(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- log.Run(ctx) }()
	end := func() {
		cancel()
		if done != nil {
			if err := <-done; err != nil {
				t.Error(err)
			}
			done = nil
		}
	}
	defer end()
	sent := 0
	call := func(changing bool) error {
		sent++
		r := &hub.CallRecord{
			ID: fmt.Sprint("call-", sent), Time: time.Now(), Method: "tools/call", Subject: "local", Door: hub.DoorMCP,
			Name: "files__read", Server: "files", Tool: "read", Changing: changing, Outcome: hub.OutcomeOK,
		}
		if changing {
			if err := log.Intend(ctx, r); err != nil {
				sent--
				return err
			}
		}
		err := log.Finish(ctx, r)
		if changing && hub.IsCode(err, message.StoreFull) {
			err = nil // it is kept in memory
		}
		return err
	}
	must(t, call(true))
	d.fill()
	for err == nil { // until the room in SQLite's log is used up
		err = call(true)
	}
	if !hub.IsCode(err, message.AuditUnwritable) {
		t.Fatal(err)
	}
	for log.Lost() == 0 {
		for range 1000 {
			must(t, call(false))
		}
	}
	for range 100 {
		must(t, call(false))
	}
	d.clear()
	rig.Await(t, "the record can be written", func() bool { return call(true) == nil })
	end()
	b := newBook()
	b.read(t, db.DB)
	lost := log.Lost()
	if b.lost != lost || lost == 0 {
		t.Errorf("%d were lost, and the record says %d", lost, b.lost)
	}
	// Each of those that were sent is there, once, or counted.
	if got := b.kinds["call"] + b.kinds["intent"]; int64(got)+lost != int64(sent) && int64(got)+lost != int64(sent)+1 {
		t.Errorf("%d calls were made, %d are recorded and %d lost: %v", sent, got, lost, b.kinds)
	}
	verifyIn(t, db, filepath.Join(d.dir, "audit.key"))
	must(t, db.Close())
}
