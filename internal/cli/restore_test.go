package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// home is a data directory and a configuration with a database that has a row.
func home(t *testing.T) (data, config string) {
	t.Helper()
	dir := t.TempDir()
	data, config = filepath.Join(dir, "data"), filepath.Join(dir, "my.json")
	write(t, config, "{} // mine")
	write(t, filepath.Join(data, "admin.token"), "what is in it")
	addRow(t, store.Options{Path: datadir.Layout(data).Store()})
	return data, config
}

// addRow puts a row into a table that every database has, whatever its columns
// are.
func addRow(t *testing.T, opt store.Options) {
	t.Helper()
	db, err := store.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	var values string
	err = db.QueryRow("SELECT group_concat(CASE type WHEN 'TEXT' THEN '''here''' ELSE '7' END) FROM pragma_table_info('event_mark')").Scan(&values)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Tx(t.Context(), store.Disk, func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO event_mark VALUES (" + values + ")")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func rowsOf(t *testing.T, opt store.Options) (n int) {
	t.Helper()
	db, err := store.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT COUNT(*) FROM event_mark WHERE node = 'here'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRestore(t *testing.T) {
	data, config := home(t)
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	code, out, errs := run(t, message.English, "backup", file, "--data-dir", data, "--config", config)
	if code != exitOK || !strings.Contains(out, "rows of the database: 1") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	if got := unpack(t, file); got["data/toolcrib.db"] != "" || !strings.Contains(got[rowsFile], `["here",7`) {
		t.Errorf("got %q", got)
	}

	elsewhere := t.TempDir()
	to := []string{"restore", file, "--data-dir", filepath.Join(elsewhere, "a", "data"), "--config", filepath.Join(elsewhere, "b", "other.json")}
	if code, out, errs := run(t, message.English, to...); code != exitOK || !strings.Contains(out, "files: 2, rows of the database: 1") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	for name, want := range map[string]string{"a/data/admin.token": "what is in it", "b/other.json": "{} // mine"} {
		if text, err := os.ReadFile(filepath.Join(elsewhere, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	database := store.Options{Path: filepath.Join(elsewhere, "a", "data", "toolcrib.db")}
	if n := rowsOf(t, database); n != 1 {
		t.Errorf("%d rows", n)
	}

	// What is there is replaced only if that is asked for.
	if code, _, errs := run(t, message.English, to...); code != exitFailure || !strings.Contains(errs, "already exists") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := run(t, message.English, append(to, "--database")...); code != exitFailure || !strings.Contains(errs, "is not empty") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	write(t, database.Path, "damaged")
	if code, _, errs := run(t, message.English, append(to, "--force")...); code != exitOK || rowsOf(t, database) != 1 {
		t.Errorf("exit code %d: %s", code, errs)
	}

	// Not while a hub has it.
	dir, err := datadir.Open(filepath.Join(elsewhere, "a", "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if code, _, errs := run(t, message.English, append(to, "--force")...); code != exitFailure || !strings.Contains(errs, "use") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestMoveDatabase: a backup, another "store" in the configuration, a restore.
func TestMoveDatabase(t *testing.T) {
	data, config := home(t)
	server := storetest.PostgreSQL(t)
	file, back := filepath.Join(t.TempDir(), "b.tar.gz"), filepath.Join(t.TempDir(), "c.tar.gz")
	where := []string{"--data-dir", data, "--config", config}
	ok := func(args ...string) {
		t.Helper()
		if code, out, errs := run(t, message.English, append(args, where...)...); code != exitOK || !strings.Contains(out, "rows of the database: 1)") {
			t.Fatalf("exit code %d: %s%s", code, out, errs)
		}
	}
	ok("backup", file)
	t.Setenv("MOVE_TO", server.URL)
	write(t, config, `{"store": {"url": "${env:MOVE_TO}"}}`)
	ok("restore", file, "--database")
	if n := rowsOf(t, server); n != 1 {
		t.Errorf("%d rows", n)
	}
	// And back.
	ok("backup", back)
	if err := os.Remove(datadir.Layout(data).Store()); err != nil {
		t.Fatal(err)
	}
	write(t, config, "{}")
	ok("restore", back, "--database")
	if n := rowsOf(t, store.Options{Path: datadir.Layout(data).Store()}); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// pack makes an archive of names and contents.
func pack(t *testing.T, entries ...[2]string) string {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	tape := tar.NewWriter(zip)
	for _, e := range entries {
		header := &tar.Header{Name: e[0], Mode: 0o600, Size: int64(len(e[1])), Typeflag: tar.TypeReg}
		if e[1] == "link" {
			header.Typeflag, header.Linkname, header.Size, e[1] = tar.TypeSymlink, "/etc/passwd", 0, ""
		}
		if err := tape.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := tape.Write([]byte(e[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRestoreRefuses: an archive that is not whole, or not one of ours, changes
// nothing and leads nowhere.
func TestRestoreRefuses(t *testing.T) {
	good := pack(t, [2]string{"config/my.json", "{}"}, [2]string{"data/pins.json", strings.Repeat("pins ", 100)})
	spoilt := map[string]string{
		"empty": "", "no archive": "{}", "newer": pack(t, [2]string{"data/version", "99\n"}),
		"cut": good[:len(good)-20], "cut at the checksum": good[:len(good)-4], "wrong checksum": good[:len(good)-5] + "x" + good[len(good)-4:],
		"above": pack(t, [2]string{"data/../../x", "x"}), "absolute": pack(t, [2]string{"/data/x", "x"}), "backslash": pack(t, [2]string{`data/..\x`, "x"}),
		"link": pack(t, [2]string{"data/link", "link"}), "lock": pack(t, [2]string{"data/lock", "x"}), "others": pack(t, [2]string{"x", "x"}),
		"rows": pack(t, [2]string{rowsFile, "no rows\n"}),
	}
	for name, content := range spoilt {
		dir := t.TempDir()
		file, data, config := filepath.Join(dir, "b.tar.gz"), filepath.Join(dir, "data"), filepath.Join(dir, "c.json")
		write(t, file, content)
		code, _, errs := run(t, message.English, "restore", file, "--data-dir", data, "--config", config, "--force")
		if code != exitFailure || !strings.Contains(errs, "The backup cannot be used") {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
		for _, path := range []string{config, filepath.Join(data, "pins.json"), filepath.Join(dir, "x"), filepath.Join(data, "toolcrib.db")} {
			if exists(path) {
				t.Errorf("%s: %s is there", name, path)
			}
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "b.tar.gz")
	write(t, file, good)
	if code, _, errs := run(t, message.Chinese, "restore", file, "--data-dir", filepath.Join(dir, "data"), "--config", filepath.Join(dir, "c.json"), "--database"); code != exitFailure || !strings.Contains(errs, "没有数据库副本") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := run(t, message.English, "restore", filepath.Join(dir, "none"), "--data-dir", dir); code != exitFailure || !strings.Contains(errs, "none") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
