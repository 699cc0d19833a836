//go:build linux

package record

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// book is what was read of the record.
type book struct {
	last     int64 // seq
	intents  map[string]string
	outcomes map[string]ending // by call
	kinds    map[string]int
	reads    int // calls that change nothing
	lost     int64
}

// ending is how a call ended.
type ending struct{ outcome, code string }

func newBook() book {
	return book{intents: make(map[string]string), outcomes: make(map[string]ending), kinds: make(map[string]int)}
}

// open are the calls that have begun and not ended.
func (b *book) open() []string {
	var all []string
	for call := range b.intents {
		if _, ended := b.outcomes[call]; !ended {
			all = append(all, call)
		}
	}
	return all
}

// clone is the book as it is now.
func (b *book) clone() book {
	c := *b
	c.intents, c.outcomes, c.kinds = maps.Clone(b.intents), maps.Clone(b.outcomes), maps.Clone(b.kinds)
	return c
}

// read reads on. It says what no record may say.
func (b *book) read(t *testing.T, db *sql.DB) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT seq, kind, call, body FROM audit_entry WHERE seq > $1 ORDER BY seq", b.last)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var (
			seq              int64
			kind, call, body string
		)
		must(t, rows.Scan(&seq, &kind, &call, &body))
		if seq != b.last+1 {
			t.Errorf("entry %d follows entry %d", seq, b.last)
		}
		b.last = seq
		b.kinds[kind]++
		b.note(t, kind, call, body)
	}
	must(t, rows.Err())
}

// note notes what an entry says.
func (b *book) note(t *testing.T, kind, call, body string) {
	t.Helper()
	var says struct {
		Outcome, Code string
		Changing      bool
		Lost          int64
		Arguments     struct{ Text string }
	}
	must(t, json.Unmarshal([]byte(body), &says))
	_, begun := b.intents[call]
	_, ended := b.outcomes[call]
	switch kind {
	case "intent":
		if begun {
			t.Errorf("call %s is about to be sent twice", call)
		}
		b.intents[call] = says.Arguments.Text
	case "outcome":
		if ended || !begun {
			t.Errorf("call %s ends in entry %d, begun: %t, ended before: %t", call, b.last, begun, ended)
		}
		b.outcomes[call] = ending{says.Outcome, says.Code}
	case "call":
		if begun || ended {
			t.Errorf("call %s has two entries that say all of it; the other one is before %d", call, b.last)
		}
		if !says.Changing {
			b.reads++
			return
		}
		b.outcomes[call] = ending{says.Outcome, says.Code}
		if says.Code != string(message.AuditUnwritable) { // or it was not sent
			b.intents[call] = says.Arguments.Text
		}
	case "lost":
		b.lost += says.Lost
	}
}

// readJournal reads what the hub had not taken over into the database.
func (b *book) readJournal(t *testing.T, dir string) {
	t.Helper()
	var files [2]struct {
		generation uint64
		records    []byte
	}
	for i := range files {
		raw, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("journal.%d", i)))
		if errors.Is(err, fs.ErrNotExist) || len(raw) < 20 {
			continue
		}
		must(t, err)
		files[i].generation, files[i].records = binary.LittleEndian.Uint64(raw[8:]), raw[20:]
	}
	if files[0].generation > files[1].generation {
		files[0], files[1] = files[1], files[0]
	}
	for _, f := range files {
		for raw := f.records; len(raw) >= 8; {
			length, sum := binary.LittleEndian.Uint32(raw), binary.LittleEndian.Uint32(raw[4:])
			if raw = raw[8:]; uint64(length) > uint64(len(raw)) {
				break
			}
			record := raw[:length]
			whole := append(binary.LittleEndian.AppendUint64(nil, f.generation), record...)
			if crc32.Checksum(whole, crc32.MakeTable(crc32.Castagnoli)) != sum {
				break
			}
			raw = raw[length:]
			b.noteRecord(t, record)
		}
	}
}

// noteRecord notes a record of the journal, unless the database has it as well.
func (b *book) noteRecord(t *testing.T, record []byte) {
	t.Helper()
	kind := map[byte]string{'i': "intent", 'c': "call"}[record[0]]
	_, n := binary.Varint(record[1:])
	rest := record[1+n:]
	text := func() string {
		length, n := binary.Uvarint(rest)
		text := string(rest[n : n+int(length)]) //nolint:gosec // of a record that is whole
		rest = rest[n+int(length):]             //nolint:gosec // as above
		return text
	}
	call, head := text(), text()
	_, begun := b.intents[call]
	_, ended := b.outcomes[call]
	switch {
	case ended, kind == "intent" && begun:
		return
	case begun:
		kind = "outcome"
	}
	b.note(t, kind, call, head+string(rest)+"}")
}

// look opens the database, while a hub writes it, to read.
func (l *lab) look() *sql.DB {
	l.t.Helper()
	driver, source := "sqlite", "file:"+l.store.Path+"?mode=ro&_pragma=busy_timeout(20000)"
	if l.store.URL != "" {
		driver, source = "pgx", l.store.URL
	}
	db, err := sql.Open(driver, source)
	must(l.t, err)
	return db
}

// readOn reads on while a hub runs.
func (l *lab) readOn() {
	l.t.Helper()
	db := l.look()
	defer db.Close()
	l.book.read(l.t, db)
}

// readAll reads on when the hub has taken all into its database, as it does for
// whoever asks for the record.
func (l *lab) readAll(h *rig.Hub) {
	l.t.Helper()
	resp, err := l.client.Get(h.URL + "/api/v1/calls?limit=1")
	must(l.t, err)
	must(l.t, resp.Body.Close())
	if resp.StatusCode != http.StatusOK {
		l.t.Errorf("the record is not told: %s", resp.Status)
	}
	l.readOn()
}

// agree compares the record with what was done and what was told.
func (l *lab) agree() {
	l.t.Helper()
	byText := make(map[string]string, len(l.book.intents))
	for call, text := range l.book.intents {
		byText[text] = call
	}
	for text, times := range l.done() {
		if times > 1 {
			l.t.Errorf("%s was done %d times", text, times)
		}
		if byText[text] == "" {
			l.t.Errorf("%s was done, and the record has no intent of it", text)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	done := l.done()
	for text, answer := range l.told {
		call := byText[text]
		switch end := l.book.outcomes[call]; answer {
		case told:
			if end.outcome != string(hub.OutcomeOK) || done[text] != 1 {
				l.t.Errorf("the caller of %s was told that it went well; the record says %+v, and it was done %d times", text, end, done[text])
			}
		case string(message.AuditUnwritable):
			if done[text] != 0 {
				l.t.Errorf("%s was refused, and done", text)
			}
		}
	}
}

// recovered is what the record says of the calls that were open when the hub
// before was killed: that nobody knows.
func (l *lab) recovered(open []string) {
	l.t.Helper()
	l.readOn()
	for _, call := range open {
		if end := l.book.outcomes[call]; end != (ending{string(hub.OutcomeUnknown), string(message.OutcomeUnknown)}) {
			l.t.Errorf("call %s was under way when the hub was killed; the record says %+v", call, end)
		}
	}
	if still := l.book.open(); len(still) > 0 {
		l.t.Errorf("%d calls of a former life have no end: %v", len(still), still)
	}
	l.agree()
}

// autopsy looks at what a killed hub has left, at a copy of it: which calls were
// under way. verify says that the copy is opened as a hub does it, and verified.
func (l *lab) autopsy(verify bool) (open []string) {
	l.t.Helper()
	if l.store.URL != "" {
		db := l.look()
		defer db.Close()
		b := l.book.clone()
		b.read(l.t, db)
		b.readJournal(l.t, l.data.AuditJournal())
		return b.open()
	}
	dir := l.t.TempDir()
	path := filepath.Join(dir, "toolcrib.db")
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(l.store.Path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		must(l.t, err)
		must(l.t, os.WriteFile(path+suffix, raw, 0o600))
	}
	db, err := store.Open(l.t.Context(), store.Options{Path: path})
	must(l.t, err)
	b := l.book.clone()
	b.read(l.t, db.DB)
	b.readJournal(l.t, l.data.AuditJournal())
	if verify {
		verifyIn(l.t, db, l.data.AuditKey())
	}
	must(l.t, db.Close())
	must(l.t, os.RemoveAll(dir))
	return b.open()
}

// command verifies the record as a person does, of the hub that runs or in the
// database if none does.
func (l *lab) command() {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), rig.HubBinary(l.t), "audit", "verify", "--data-dir", l.data.Path(), "--config", l.config)
	cmd.Env = append(os.Environ(), rig.AtOnce)
	if out, err := cmd.CombinedOutput(); err != nil {
		l.t.Errorf("toolcrib audit verify: %v: %s", err, out)
	}
}

// verify verifies the record. No hub may run.
func (l *lab) verify() *audit.Report {
	l.t.Helper()
	db, err := store.Open(l.t.Context(), l.store)
	must(l.t, err)
	report := verifyIn(l.t, db, l.data.AuditKey())
	must(l.t, db.Close())
	return report
}

func verifyIn(t *testing.T, db *store.DB, key string) *audit.Report {
	t.Helper()
	keys, err := audit.LoadKeys(key)
	must(t, err)
	log, err := audit.Open(t.Context(), audit.Options{DB: db, Dir: t.TempDir(), Keys: keys, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	report, err := log.Verify(context.WithoutCancel(t.Context()), nil)
	must(t, err)
	for _, p := range report.Problems {
		t.Errorf("the record does not verify: entry %d: %v", p.Seq, p.Err)
	}
	return report
}
