package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// copyJournal copies the files of a journal as they are now, which is what a
// killed hub leaves.
func copyJournal(t *testing.T, from string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"journal.0", "journal.1"} {
		raw, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What was told to be recorded outlives a hub that never took it over; what was
// not ended is unknown.
func TestReplay(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		keys, dir := testKeys(t), t.TempDir()
		l := openIn(t, db, keys, dir)                               // and Run never runs
		done, cut, refused := changing(1), changing(2), changing(3) // the last one is not sent, and may be lost
		call(t, l, done)
		if err := l.Intend(t.Context(), cut); err != nil {
			t.Fatal(err)
		}
		refused.Outcome, refused.Code = hub.OutcomeFailed, "queue_full"
		if err := l.Finish(t.Context(), refused); err != nil {
			t.Fatal(err)
		}
		left := copyJournal(t, dir)
		for range 2 { // the second time, all of it is there already
			l = openIn(t, db, keys, copyJournal(t, left))
			for r, want := range map[*hub.CallRecord]hub.Outcome{done: hub.OutcomeOK, cut: hub.OutcomeUnknown} {
				got := query(t, l, Filter{Call: r.ID})
				if len(got) != 1 || got[0].Outcome != want || got[0].Arguments != r.Arguments || got[0].Time.UnixMicro() != r.Time.UnixMicro() {
					t.Errorf("%+v, want the outcome %s", got, want)
				}
			}
			wantSound(t, l)
			if l.chain.seq != 3 { // done, cut, and that cut is unknown
				t.Errorf("the chain has %d entries", l.chain.seq)
			}
		}
	})
}

// Of what the database has already, only the rest is taken over.
func TestReplayOfTheRest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		keys, dir := testKeys(t), t.TempDir()
		l := openIn(t, db, keys, dir)
		w := newWriter(l)
		a, b := changing(1), changing(2)
		for _, r := range []*hub.CallRecord{a, b} {
			if err := l.Intend(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		before := copyJournal(t, dir)
		w.write(t.Context())
		if err := l.Finish(t.Context(), a); err != nil { // it goes to the other file
			t.Fatal(err)
		}
		after := copyJournal(t, dir)
		for _, left := range []string{after, before, after} {
			l = openIn(t, db, keys, left)
		}
		for r, want := range map[*hub.CallRecord]hub.Outcome{a: hub.OutcomeOK, b: hub.OutcomeUnknown} {
			if got := query(t, l, Filter{Call: r.ID}); len(got) != 1 || got[0].Outcome != want {
				t.Errorf("%+v, want %s", got, want)
			}
		}
		wantSound(t, l)
	})
}

// A file is not written over before the database has what is in it.
func TestJournalWaitsForTheDatabase(t *testing.T) {
	db, keys := storetest.Open(t, storetest.SQLite(t)), testKeys(t)
	intend := func(l *Log, r *hub.CallRecord) {
		t.Helper()
		if err := l.Intend(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	unknown := func(l *Log, list ...*hub.CallRecord) {
		t.Helper()
		for _, r := range list {
			if got := query(t, l, Filter{Call: r.ID}); len(got) != 1 || got[0].Outcome != hub.OutcomeUnknown {
				t.Errorf("%+v", got)
			}
		}
		wantSound(t, l)
	}

	// It cannot be written, twice.
	dir := t.TempDir()
	l := openIn(t, db, keys, dir)
	w := newWriter(l)
	a, b, cut := changing(1), changing(2), changing(3)
	for _, r := range []*hub.CallRecord{a, b, cut} {
		intend(l, r)
	}
	exec(t, db, "ALTER TABLE audit_entry RENAME TO audit_gone")
	for _, r := range []*hub.CallRecord{a, b} {
		w.write(t.Context())
		if err := l.Finish(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, db, "ALTER TABLE audit_gone RENAME TO audit_entry")
	unknown(openIn(t, db, keys, copyJournal(t, dir)), cut)

	// The journal breaks after the one was drained and the other was accepted.
	dir = t.TempDir()
	l = openIn(t, db, keys, dir)
	w = newWriter(l)
	drained, accepted := changing(4), changing(5)
	intend(l, drained)
	l.inbox.drain(w.take)
	intend(l, accepted)
	l.inbox.fail(syscall.EIO)
	if err := w.extend(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	l.inbox.taken()
	intend(l, changing(6))
	l.inbox.drain(w.take)
	intend(l, changing(7))
	unknown(openIn(t, db, keys, copyJournal(t, dir)), drained, accepted)
}

// Wherever the writing of a journal broke off, what is whole before that is read,
// and nothing else.
func TestJournalIsCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	j, left, err := openJournal(dir)
	if err != nil || len(left) != 0 {
		t.Fatal(left, err)
	}
	defer func() {
		if err := j.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := j.reset(); err != nil {
		t.Fatal(err)
	}
	var all []*op
	ends := []int64{0}
	write := func(n int) {
		for i := range n {
			k := kindIntent
			if i%2 > 0 {
				k = kindCall
			}
			o := newOp(k, changing(i))
			all = append(all, o)
			j.append(o)
			if err := j.write(); err != nil {
				t.Fatal(err)
			}
			ends = append(ends, j.segment().size)
		}
	}
	write(12)
	j.begin(1)
	write(3)
	j.begin(0) // and the first is written over, with less than there was
	all, ends = nil, []int64{0}
	write(5)
	raw, err := os.ReadFile(j.segment().file.Name())
	if err != nil {
		t.Fatal(err)
	}
	equal := func(a, b *op) bool {
		return a.kind == b.kind && a.at == b.at && a.call == b.call && bytes.Equal(a.head, b.head) && bytes.Equal(a.tail, b.tail)
	}
	for n := range int64(len(raw)) {
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= n {
			whole++
		}
		if _, got := readSegment(raw[:n]); !slices.EqualFunc(all[:whole], got, equal) {
			t.Fatalf("cut at %d: %d records, want %d", n, len(got), whole)
		}
	}
	// Nor is anything read that was changed.
	for n := range ends[len(ends)-1] {
		changed := bytes.Clone(raw)
		changed[n] ^= 1
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= n {
			whole++
		}
		if n < int64(segmentHead) {
			whole = 0
		}
		if _, got := readSegment(changed); !slices.EqualFunc(all[:whole], got, equal) {
			t.Fatalf("changed at %d: %d records, want %d", n, len(got), whole)
		}
	}
}

// When an intent is accepted it is on the disk, whoever else comes at once and
// however often the files change places.
func TestAcceptedIsWritten(t *testing.T) {
	dir := t.TempDir()
	l := openIn(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t), dir)
	run(t, l)
	var all sync.WaitGroup
	for c := range 8 {
		all.Go(func() {
			for i := range 25 {
				r := changing(i)
				r.Subject = fmt.Sprint("caller ", c)
				if err := l.Intend(t.Context(), r); err != nil {
					t.Error(err)
					return
				}
				found := func() bool {
					for _, name := range []string{"journal.0", "journal.1"} {
						raw, err := os.ReadFile(filepath.Join(dir, name))
						if err != nil {
							t.Error(err)
						}
						if bytes.Contains(raw, []byte(r.ID)) {
							return true
						}
					}
					return false
				}
				if !found() { // or it was taken over meanwhile
					list, err := entries(t.Context(), l.db, "call = $1", r.ID)
					if err != nil || len(list) == 0 {
						t.Errorf("%s is neither in the journal nor in the database: %v", r.ID, err)
					}
				}
				if i%5 == c%5 {
					l.flush(t.Context())
				}
				if err := l.Finish(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := query(t, l, Filter{}); len(got) != 200 {
		t.Errorf("%d calls", len(got))
	}
	wantSound(t, l)
}

// A journal that cannot be written refuses what may change something, and is used
// again as soon as the database has what there is.
func TestJournalBreaks(t *testing.T) {
	l := open(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t))
	stop := run(t, l)
	call(t, l, changing(1))
	l.inbox.mu.Lock()
	if err := l.inbox.journal.segment().file.Close(); err != nil {
		t.Fatal(err)
	}
	l.inbox.mu.Unlock()
	broken := changing(2)
	err := l.Intend(t.Context(), broken)
	cause, _ := errors.AsType[*hub.Error](errors.Unwrap(err))
	if !hub.IsCode(err, message.AuditUnwritable) || cause == nil || cause.Code != message.AuditJournalUnusable || !strings.Contains(cause.Args["path"], "journal") {
		t.Errorf("%v", err)
	}
	if l.Measured().Up || !hub.IsCode(l.Fault(), message.AuditJournalUnusable) {
		t.Errorf("nobody is told: %v", l.Fault())
	}
	broken.Outcome = hub.OutcomeFailed
	if err := l.Intend(t.Context(), changing(3)); !hub.IsCode(err, message.AuditUnwritable) {
		t.Errorf("%v", err)
	}
	if err := l.Finish(t.Context(), broken); err != nil { // it was not sent, and is not for the journal
		t.Errorf("%v", err)
	}
	l.flush(t.Context())
	call(t, l, changing(4)) // in the other file
	if !l.Measured().Up || l.Fault() != nil {
		t.Errorf("it is said to be down: %v", l.Fault())
	}
	if got := query(t, l, Filter{}); len(got) != 3 || got[1].ID != broken.ID || got[1].Outcome != hub.OutcomeFailed {
		t.Errorf("%+v", got)
	}
	wantSound(t, l)
	l.inbox.mu.Lock()
	for i := range l.inbox.journal.segments { // so that it can be closed
		if s := &l.inbox.journal.segments[i]; s.file.Sync() != nil {
			if s.file, err = os.OpenFile(s.file.Name(), os.O_RDWR, 0); err != nil {
				t.Error(err)
			}
		}
	}
	l.inbox.mu.Unlock()
	stop()
}

// What waits while nothing can be taken over is bounded on the disk, too.
func TestJournalIsBounded(t *testing.T) {
	j := &journal{}
	j.segments[0].size = longestSegment
	j.append(newOp(kindCall, changing(1)))
	j.append(newOp(kindCall, changing(2)))
	if err := j.write(); !errors.Is(err, errBehind) {
		t.Errorf("%v", err)
	}
}

// What is over leaves nothing in the files: it may be too old to be kept.
func TestJournalIsEmptied(t *testing.T) {
	dir := t.TempDir()
	l := openIn(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t), dir)
	stop := run(t, l)
	empty := func(most int64) {
		t.Helper()
		for _, name := range []string{"journal.0", "journal.1"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() > most || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%v, %v", info, err)
			}
		}
	}
	for i := range 5 {
		call(t, l, changing(i))
		l.flush(t.Context())
	}
	l.inbox.mu.Lock()
	if err := l.inbox.write(); err != nil { // a head alone, as by a sync that comes after the drain
		t.Error(err)
	}
	l.inbox.mu.Unlock()
	if err := l.inbox.trim(); err != nil {
		t.Error(err)
	}
	empty(0)
	call(t, l, changing(6))
	stop()
	empty(0)
}

// An intent that is accepted is on the disk, and no call is forgotten, whatever
// fails: a disk is made that keeps what was synced, and of which syncs fail, each
// told once, as Linux tells them.
func TestJournalOnABadDisk(t *testing.T) {
	dir := t.TempDir()
	db := storetest.Open(t, storetest.SQLite(t))
	l := openIn(t, db, testKeys(t), dir)
	d := &badDisk{kept: make(map[string][]byte), bad: make(map[string]uint64), chance: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // a test
	l.inbox.journal.sync = d.sync
	stop := run(t, l)
	var all sync.WaitGroup
	var accepted, refused atomic.Int64
	for c := range 8 {
		all.Go(func() {
			for i := range 150 {
				r := changing(i)
				err := l.Intend(t.Context(), r)
				switch {
				case err == nil:
					accepted.Add(1)
					d.wantKept(t, l, r.ID)
				case hub.IsCode(err, message.AuditUnwritable):
					refused.Add(1)
					r.Outcome = hub.OutcomeFailed
				default:
					t.Error(err)
				}
				if i%7 == c%7 {
					l.flush(t.Context())
				}
				if err := l.Finish(t.Context(), r); err != nil && !hub.IsCode(err, message.AuditJournalUnusable) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	stop()
	if accepted.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d accepted, %d refused: this shows nothing", accepted.Load(), refused.Load())
	}
	page := make(map[hub.Outcome]int64)
	err := eachEntry(t.Context(), db, func(e *entry) error {
		var r hub.CallRecord
		if decode(e.body, &r); e.kind == kindCall || e.kind == kindOutcome {
			page[r.Outcome]++
		}
		return nil
	}, "call <> ''")
	if err != nil || page[hub.OutcomeOK] != accepted.Load() || page[hub.OutcomeFailed] != refused.Load() {
		t.Errorf("recorded are %v, %v; %d were accepted and %d refused", page, err, accepted.Load(), refused.Load())
	}
	wantSound(t, l)
}

// badDisk keeps what was synced.
type badDisk struct {
	mu     sync.Mutex
	kept   map[string][]byte
	bad    map[string]uint64 // the generation of which a sync has failed: the rest of it is never kept
	chance *rand.Rand
}

func (d *badDisk) sync(f *os.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	raw, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	generation, _ := readSegment(raw)
	if d.chance.IntN(12) == 0 {
		d.bad[f.Name()] = generation
		return syscall.EIO
	}
	if d.bad[f.Name()] != generation {
		d.kept[f.Name()] = raw
	}
	return nil
}

// wantKept checks that a call is on the disk, or in the database.
func (d *badDisk) wantKept(t *testing.T, l *Log, call string) {
	t.Helper()
	d.mu.Lock()
	for _, raw := range d.kept {
		_, ops := readSegment(raw)
		if slices.ContainsFunc(ops, func(o *op) bool { return o.call == call }) {
			d.mu.Unlock()
			return
		}
	}
	d.mu.Unlock()
	list, err := entries(t.Context(), l.db, "call <> '' AND call = $1", call)
	if err != nil || len(list) == 0 {
		t.Errorf("%s was accepted, and is neither on the disk nor in the database: %v", call, err)
	}
}

// What the journal has is looked up by an index, however long the record is.
func TestReplayIsQuick(t *testing.T) {
	l := open(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t))
	var plan string
	err := eachRow(t.Context(), l.db, "the plan", func(scan func(...any) error) error {
		var id, parent, none int
		var detail string
		err := scan(&id, &parent, &none, &detail)
		plan += detail + "\n"
		return err
	}, "EXPLAIN QUERY PLAN SELECT call, kind FROM audit_entry WHERE call <> '' AND call IN ($1, $2) ORDER BY node, seq", "a", "b")
	if err != nil || !strings.Contains(plan, "audit_entry_call") {
		t.Errorf("%v: %s", err, plan)
	}
}

// What was refused is not kept without bounds while nothing is taken over, and
// leaves the journal to those that were sent.
func TestRefusedCallsAreBounded(t *testing.T) {
	l := open(t, storetest.Open(t, storetest.SQLite(t)), testKeys(t))
	sent := changing(0)
	if err := l.Intend(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	size := l.inbox.journal.segment().size
	for i := range queueSize + 5 {
		if err := l.Finish(t.Context(), changing(i)); err != nil {
			t.Fatal(err)
		}
	}
	if l.Waiting() != queueSize || l.Lost() != 6 || l.inbox.journal.segment().size != size {
		t.Errorf("%d wait, %d are lost, the journal has grown from %d to %d", l.Waiting(), l.Lost(), size, l.inbox.journal.segment().size)
	}
	if err := l.Intend(t.Context(), changing(1)); !hub.IsCode(err, message.AuditUnwritable) {
		t.Errorf("%v", err)
	}
	if err := l.Finish(t.Context(), sent); err != nil || l.Waiting() != queueSize+1 {
		t.Errorf("%d wait, %v", l.Waiting(), err)
	}
	run(t, l)
	if got := query(t, l, Filter{Call: sent.ID}); len(got) != 1 || got[0].Outcome != hub.OutcomeOK {
		t.Errorf("%+v", got)
	}
}

// A hub that is being closed takes nothing more; what came in between is in the
// journal.
func TestJournalOfLastMoments(t *testing.T) {
	dir, keys := t.TempDir(), testKeys(t)
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t, store.Options{Path: filepath.Join(dir, "toolcrib.db")})
		l := openIn(t, db, keys, dir)
		exec(t, db, "ALTER TABLE audit_entry RENAME TO audit_gone")
		r := changing(1)
		if err := l.Intend(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Run(ctx); err == nil {
			t.Error("it was written to a table that is not there")
		}
		exec(t, db, "ALTER TABLE audit_gone RENAME TO audit_entry")
		l = openIn(t, db, keys, dir)
		if got := query(t, l, Filter{Call: r.ID}); len(got) != 1 || got[0].Outcome != hub.OutcomeUnknown {
			t.Errorf("%+v", got)
		}
		wantSound(t, l)
	})
}

func FuzzJournal(f *testing.F) {
	whole := appendHead(nil, 7)
	whole = appendRecord(whole, 7, newOp(kindIntent, changing(1)))
	whole = appendRecord(whole, 7, newOp(kindCall, changing(2)))
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(appendRecord(bytes.Clone(whole), 6, newOp(kindCall, changing(3))))
	f.Add([]byte(segmentMagic))
	f.Fuzz(func(t *testing.T, raw []byte) {
		generation, ops := readSegment(raw)
		if generation == 0 {
			if len(ops) > 0 {
				t.Fatal("records of no generation")
			}
			return
		}
		// What was read is what was written.
		again := appendHead(nil, generation)
		for _, o := range ops {
			if o.kind != kindIntent && o.kind != kindCall {
				t.Fatalf("a record of kind %s", o.kind)
			}
			again = appendRecord(again, generation, o)
		}
		if _, same := readSegment(again); len(same) != len(ops) {
			t.Fatalf("%d records became %d", len(ops), len(same))
		}
	})
}
