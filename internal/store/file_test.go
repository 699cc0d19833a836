package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// envWrite makes the test binary write rows to the database that it names, and
// tell each that is committed, until it is killed.
const envWrite = "STORE_TEST_WRITE"

func TestMain(m *testing.M) {
	if path := os.Getenv(envWrite); path != "" {
		os.Exit(writeOn(path))
	}
	goleak.VerifyTestMain(m)
}

func writeOn(path string) int {
	db, err := store.Open(context.Background(), store.Options{Path: path})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for i := 0; ; i++ {
		d := store.Durability(i % 2)
		err := db.Tx(context.Background(), d, func(tx *sql.Tx) error {
			_, err := tx.Exec("INSERT INTO thing VALUES ($1)", fmt.Sprintf("%08d", i))
			return err
		})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Printf("%08d\n", i)
	}
}

// TestKilled: what was committed, however durably, outlives a process that is
// killed while it writes.
func TestKilled(t *testing.T) {
	opt := storetest.SQLite(t)
	db, err := store.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envWrite+"="+opt.Path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told := 0
	for lines := bufio.NewScanner(out); lines.Scan(); told++ {
		if want := fmt.Sprintf("%08d", told); lines.Text() != want {
			t.Fatalf("the process says %q, want %q", lines.Text(), want)
		}
		if told == 500 {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // killed
	if told < 500 {
		t.Fatalf("it ended by itself after %d rows", told)
	}
	db = storetest.Open(t, opt)
	// One more may be there, which it had no time to tell.
	if n := count(t, db, "thing"); n != told && n != told+1 {
		t.Errorf("%d rows were committed, %d are there", told, n)
	}
	var whole string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&whole); err != nil || whole != "ok" {
		t.Errorf("%s, %v", whole, err)
	}
}

// TestPrivate: only the owner can read what is written, whatever was allowed
// before.
func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	opt := store.Options{Path: filepath.Join(t.TempDir(), "with ? and % and #.db")}
	db, err := store.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
	check := func() {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(filepath.Dir(opt.Path), "*"))
		if err != nil || len(names) != 3 { // the file, its log, the memory that is shared
			t.Errorf("got %v, %v", names, err)
		}
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
	}
	check()
	// As if it had been unpacked carelessly, after a hub was killed.
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Chmod(opt.Path+suffix, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	again := storetest.Open(t, opt)
	write(t, again, store.Disk, "INSERT INTO thing VALUES ('a')")
	check()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestDeleted: what was deleted is not in the file any more.
func TestDeleted(t *testing.T) {
	opt := storetest.SQLite(t)
	db, err := store.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "a text that is to go"
	write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)", "INSERT INTO thing VALUES ('"+mark+"')", "DELETE FROM thing")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(opt.Path)
	if err != nil || strings.Contains(string(text), mark) {
		t.Errorf("it is there, or %v", err)
	}
}

// TestReadersCannotWrite shows that nothing passes by Tx.
func TestReadersCannotWrite(t *testing.T) {
	db := storetest.Open(t, storetest.SQLite(t))
	write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
	if _, err := db.Exec("INSERT INTO thing VALUES ('a')"); err == nil || count(t, db, "thing") != 0 {
		t.Errorf("a reader wrote: %v", err)
	}
}

// TestStatementsAreKept: a statement that was carried out before sees what the
// schema is now, and its values do not stay.
func TestStatementsAreKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY, n BIGINT)")
		insert := func(id string, n any) error {
			return db.Tx(t.Context(), store.Process, func(tx *sql.Tx) error {
				_, err := tx.Exec("INSERT INTO thing (id, n) VALUES ($1, $2)", id, n)
				return err
			})
		}
		for i, err := range []error{insert("a", 1), insert("b", nil)} {
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		if err := insert("a", 3); err == nil {
			t.Error("two rows of one key")
		}
		write(t, db, store.Disk, "ALTER TABLE thing ADD COLUMN more TEXT DEFAULT 'x'", "CREATE INDEX by_n ON thing (n)")
		if err := insert("c", 4); err != nil {
			t.Error(err)
		}
		for i := range 200 { // more than are kept
			err := db.Tx(t.Context(), store.Process, func(tx *sql.Tx) error {
				_, err := tx.Exec(fmt.Sprintf("UPDATE thing SET n = $1 WHERE n = -%d", i+1), i)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		var got string
		rows, err := db.Query("SELECT id || COALESCE(n, -1) || more FROM thing ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			got += s + " "
		}
		if rows.Err() != nil || got != "a1x b-1x c4x " {
			t.Errorf("got %q, %v", got, rows.Err())
		}
	})
}

// TestManyAtOnce: writers take turns, and readers see all or nothing of each.
func TestManyAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
		const writers, each = 8, 20
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					err := db.Tx(t.Context(), store.Durability(i%2), func(tx *sql.Tx) error {
						for _, half := range []string{"l", "r"} {
							if _, err := tx.Exec("INSERT INTO thing VALUES ($1)", fmt.Sprint(w, i, half)); err != nil {
								return err
							}
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
			all.Go(func() {
				for range each {
					err := db.View(t.Context(), func(tx *sql.Tx) error {
						var first, second int
						if err := tx.QueryRow("SELECT COUNT(*) FROM thing").Scan(&first); err != nil {
							return err
						}
						if err := tx.QueryRow("SELECT COUNT(*) FROM thing").Scan(&second); err != nil {
							return err
						}
						if first != second || first%2 != 0 {
							t.Errorf("%d rows, then %d in one view", first, second)
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if n := count(t, db, "thing"); n != 2*writers*each {
			t.Errorf("%d rows", n)
		}
	})
}
