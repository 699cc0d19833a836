package cli

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

// spoilStore changes the database of a data directory as somebody would who can
// write it.
func spoilStore(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: datadir.Layout(dir).Store()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Tx(t.Context(), store.Disk, func(tx *sql.Tx) error {
		_, err := tx.Exec(statement)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Without a hub the record is verified in the database, which stays as it is;
// what is wrong is told in words, and by the exit code.
func TestVerifyWithoutAHub(t *testing.T) {
	dir := emptyHome(t)
	command := func(want int, lang message.Lang, args ...string) string {
		t.Helper()
		code, out, errs := run(t, lang, args...)
		if code != want {
			t.Errorf("%q: exit code %d, %s%s", args, code, out, errs)
		}
		return out + errs
	}
	if said := command(exitFailure, message.English, "audit", "verify"); !strings.Contains(said, "toolcrib.db cannot be read") {
		t.Errorf("without a database: %s", said)
	}
	command(exitOK, message.English, "call", "calculator__calculator", "expression=6*7")
	head, export, cut := filepath.Join(dir, "head.json"), filepath.Join(dir, "export.jsonl"), filepath.Join(dir, "cut.jsonl")
	command(exitOK, message.English, "audit", "head", "--out", head)
	if said := command(exitFailure, message.English, "audit", "head", "--out", head); !strings.Contains(said, "head.json cannot be written") {
		t.Errorf("a file that is there: %s", said)
	}
	command(exitOK, message.English, "audit", "head", "--out", head, "--force")
	command(exitOK, message.English, "audit", "export", "--out", export)
	count := func() (n int) {
		t.Helper()
		db, err := store.Open(t.Context(), store.Options{Path: datadir.Layout(dir).Store()})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM audit_entry").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	command(exitOK, message.English, "audit", "verify", "--head", head)
	if now := count(); now != before {
		t.Errorf("verifying has made %d entries of %d", now, before)
	}

	// An export is verified wherever it is.
	if said := command(exitOK, message.English, "audit", "verify", "--file", export, "--head", head, "--data-dir", "/nowhere"); !strings.Contains(said, "what was written") {
		t.Errorf("the export: %s", said)
	}
	text, err := os.ReadFile(export)
	if err != nil {
		t.Fatal(err)
	}
	write(t, cut, string(bytes.Replace(text, []byte("6*7"), []byte("6*8"), 1)))
	if said := command(exitFailure, message.Chinese, "audit", "verify", "--file", cut); !strings.Contains(said, "第 2 条记录被改动") || !strings.Contains(said, "不一致") {
		t.Errorf("a changed export: %s", said)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	write(t, cut, string(bytes.Join(lines[:len(lines)-2], nil)))
	if said := command(exitFailure, message.English, "audit", "verify", "--file", cut); !strings.Contains(said, "last line is missing") {
		t.Errorf("an export that was cut off: %s", said)
	}
	if said := command(exitFailure, message.English, "audit", "verify", "--head", export); !strings.Contains(said, "no head") {
		t.Errorf("an export for a head: %s", said)
	}

	// The end is missed with the head, and only with it.
	spoilStore(t, dir, "DELETE FROM audit_entry WHERE seq > 2")
	command(exitOK, message.English, "audit", "verify")
	if said := command(exitFailure, message.English, "audit", "verify", "--head", head); !strings.Contains(said, "the end was cut off") {
		t.Errorf("truncated: %s", said)
	}
	spoilStore(t, dir, "UPDATE audit_entry SET body = REPLACE(body, '6*7', '6*9')")
	var report api.AuditReport
	code, out, errs := run(t, message.English, "audit", "verify", "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFailure || report.OK || report.Problems[0].Code != string(message.AuditEntryChanged) {
		t.Errorf("as JSON: exit code %d, %s%s", code, out, errs)
	}
}

// The columns of the figures stand below each other in Chinese as well, and those
// that are worth least give way.
func TestFiguresTable(t *testing.T) {
	figures := api.CallFigures{Calls: 1200, Outcomes: map[string]int64{"ok": 900}, P50: 12, P95: 340, Max: 1500, Mean: 40}
	v := &api.Analysis{
		Since: time.Now(), Until: time.Now(), Total: figures,
		Tools:    []api.ToolFigures{{Server: "天气", Tool: "get_weather", Share: 0.75, CallFigures: figures}, {Server: "files", Method: "resources/read", CallFigures: figures}},
		Failures: []api.CallFailure{{Outcome: "unknown", Code: "outcome_unknown", Server: "files", Tool: "write", Calls: 7}},
		Servers:  []api.ServerFigures{{Server: "天气", CallFigures: figures}, {CallFigures: figures}},
	}
	s, out, _ := newTest(t, message.Chinese, "")
	s.out.analysis(v)
	for _, want := range []string{"1200 次调用，成功 75.0%", "天气/get_weather", "files resources/read", "结果未知", "outcome_unknown", "（无服务器）", "1.5s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	lines := strings.Split(out.String(), "\n")
	for _, line := range lines[5:7] {
		if width(line) != width(lines[4]) {
			t.Errorf("the columns are not aligned:\n%s", out)
		}
	}
	out.Reset()
	s.out.width = 60
	s.out.analysis(v)
	if strings.Contains(out.String(), "占比") || !strings.Contains(out.String(), "P95") {
		t.Errorf("in a narrow terminal:\n%s", out)
	}
}
