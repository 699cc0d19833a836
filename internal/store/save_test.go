package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// The steps of the tests' own schema.
const (
	first  = "CREATE TABLE owner (id TEXT PRIMARY KEY);\nCREATE TABLE thing (owner TEXT NOT NULL REFERENCES owner (id), n BIGINT NOT NULL, weight DOUBLE PRECISION, body TEXT, PRIMARY KEY (owner, n));"
	second = "ALTER TABLE thing ADD COLUMN color TEXT NOT NULL DEFAULT 'grey';\nUPDATE thing SET color = 'red' WHERE n = 2;"
)

func kinds() map[string]func(testing.TB) store.Options {
	return map[string]func(testing.TB) store.Options{"sqlite": storetest.SQLite, "postgres": emptyServer}
}

// emptyServer is a PostgreSQL database without our tables, but with another's.
func emptyServer(t testing.TB) store.Options {
	opt := storetest.PostgreSQL(t)
	db := storetest.Open(t, opt)
	var statements []string
	rows, err := db.Query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		statements = append(statements, "DROP TABLE "+name)
	}
	write(t, db, store.Disk, append(statements, "CREATE TABLE others (id TEXT)", "INSERT INTO others VALUES ('stays')")...)
	return opt
}

// content is all rows of the things, as texts.
func content(t *testing.T, db *store.DB, columns string) (all []string) {
	t.Helper()
	rows, err := db.Query("SELECT " + columns + " FROM thing ORDER BY owner, n")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var owner string
		var n int64
		var weight sql.NullFloat64
		var body sql.NullString
		more := ""
		to := []any{&owner, &n, &weight, &body, &more}
		if err := rows.Scan(to[:strings.Count(columns, ",")+1]...); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%q %d %v %q %v %s", owner, n, weight, body.String, body.Valid, more))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMove: what is saved of a database of either kind is the same in one of
// either kind, and has the schema of the program that loads it.
func TestMove(t *testing.T) {
	older, newer := store.Schema(t, first), store.Schema(t, first, second)
	for from, fresh := range kinds() {
		for to, target := range kinds() {
			t.Run(from+" to "+to, func(t *testing.T) {
				opt := fresh(t)
				db := older.Open(t, opt)
				write(t, db, store.Disk, "INSERT INTO owner VALUES ('ö <b>'), ('z')")
				for n, v := range []struct {
					weight any
					body   any
				}{{1.0, "a\nb\u2028"}, {1e300, `"quoted" \ {"json":1}`}, {nil, nil}, {-0.5, ""}, {3.25, "中文"}} {
					err := db.Tx(t.Context(), store.Disk, func(tx *sql.Tx) error {
						_, err := tx.Exec("INSERT INTO thing VALUES ($1, $2, $3, $4)", "ö <b>", int64(n)+1<<60*int64(n%2), v.weight, v.body)
						return err
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				write(t, db, store.Disk, "INSERT INTO thing VALUES ('z', 2, 2, 'z')")
				want := content(t, db, "owner, n, weight, body")

				var copied bytes.Buffer
				if n, err := newer.Save(t.Context(), opt, &copied); err != nil || n != 8 {
					t.Fatalf("%d rows, %v", n, err)
				}
				into := target(t)
				if n, err := newer.Load(t.Context(), into, bytes.NewReader(copied.Bytes()), false); err != nil || n != 8 {
					t.Fatalf("%d rows, %v", n, err)
				}
				got := newer.Open(t, into)
				if diff := cmp.Diff(want, content(t, got, "owner, n, weight, body")); diff != "" {
					t.Error(diff)
				}
				for i := range want {
					color := "grey"
					if strings.Contains(want[i], `" 2 {`) {
						color = "red"
					}
					want[i] += color
				}
				if diff := cmp.Diff(want, content(t, got, "owner, n, weight, body, color")); diff != "" {
					t.Errorf("after the migration:\n%s", diff)
				}
				if got.Postgres() && count(t, got, "others") != 1 {
					t.Error("another's table was touched")
				}
				if err := got.Close(); err != nil {
					t.Error(err)
				}

				// It is not empty any more.
				_, err := newer.Load(t.Context(), into, bytes.NewReader(copied.Bytes()), false)
				wantCode(t, err, message.StoreNotEmpty)
				if n, err := newer.Load(t.Context(), into, bytes.NewReader(copied.Bytes()), true); err != nil || n != 8 {
					t.Errorf("replaced by %d rows, %v", n, err)
				}
				if n := count(t, newer.Open(t, into), "thing"); n != 6 {
					t.Errorf("%d things", n)
				}
				_, err = older.Load(t.Context(), into, bytes.NewReader(copied.Bytes()), false)
				wantCode(t, err, message.StoreNewer)
				_, err = older.Load(t.Context(), into, bytes.NewReader(copied.Bytes()), true)
				if got.Postgres() {
					wantCode(t, err, message.StoreNewer) // whose tables this program does not know
				} else if err != nil {
					t.Errorf("back to an older program: %v", err)
				}
			})
		}
	}
}

// TestSaveWhileWritten: a copy is of one moment.
func TestSaveWhileWritten(t *testing.T) {
	s := store.Schema(t, first)
	for name, fresh := range kinds() {
		t.Run(name, func(t *testing.T) {
			opt := fresh(t)
			db := s.Open(t, opt)
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					owner := fmt.Sprintf("%06d", i)
					err := db.Tx(context.Background(), store.Process, func(tx *sql.Tx) error {
						if _, err := tx.Exec("INSERT INTO owner VALUES ($1)", owner); err != nil {
							return err
						}
						_, err := tx.Exec("INSERT INTO thing VALUES ($1, 1, 1, '')", owner)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			}()
			for range 10 {
				var copied bytes.Buffer
				n, err := s.Save(t.Context(), opt, &copied)
				if err != nil || n%2 != 0 {
					t.Errorf("%d rows: an owner without a thing, or %v", n, err)
				}
				if err := s.Check(t.Context(), &copied); err != nil {
					t.Error(err)
				}
			}
			close(stop)
			<-done
		})
	}
}

// TestSpoiltCopies: a copy that is not whole changes nothing.
func TestSpoiltCopies(t *testing.T) {
	s := store.Schema(t, first)
	opt := storetest.SQLite(t)
	db := s.Open(t, opt)
	write(t, db, store.Disk, "INSERT INTO owner VALUES ('a'), ('b')", "INSERT INTO thing VALUES ('a', 1, 1.5, 'x')")
	var copied bytes.Buffer
	if _, err := s.Save(t.Context(), opt, &copied); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	whole := copied.String()
	before, err := os.ReadFile(opt.Path)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := []string{
		"", "{}\n", "no\n", strings.Replace(whole, "toolcrib", "other", 1), strings.Replace(whole, `["b"]`+"\n", "", 1),
		strings.Replace(whole, `"owner"`, `"foreign"`, 1), strings.Replace(whole, `["a"]`, `["a",1]`, 1), strings.Replace(whole, `["b"]`, "\n", 1),
	}
	for i := range len(whole) {
		spoilt = append(spoilt, whole[:i])
	}
	for _, text := range spoilt {
		_, err := s.Load(t.Context(), opt, strings.NewReader(text), true)
		if !hub.IsCode(err, message.BackupInvalid) {
			t.Errorf("%q: got %v", text, err)
		}
	}
	_, err = s.Load(t.Context(), opt, strings.NewReader(strings.Replace(whole, `"format":1`, `"format":2`, 1)), true)
	wantCode(t, err, message.StoreNewer)
	// What only the database finds.
	_, err = s.Load(t.Context(), opt, strings.NewReader(strings.Replace(whole, `["b"]`, `["a"]`, 1)), true)
	if err == nil {
		t.Error("two rows of one key")
	}
	after, err := os.ReadFile(opt.Path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed, or %v", err)
	}
	if names, _ := os.ReadDir(strings.TrimSuffix(opt.Path, "toolcrib.db")); len(names) != 1 {
		t.Errorf("left over: %v", names)
	}
}

// TestReplaceDamaged: a backup is the way out where the file is beyond repair.
func TestReplaceDamaged(t *testing.T) {
	s := store.Schema(t, first)
	opt := storetest.SQLite(t)
	db := s.Open(t, opt)
	write(t, db, store.Disk, "INSERT INTO owner VALUES ('a')")
	var copied bytes.Buffer
	if _, err := s.Save(t.Context(), opt, &copied); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		if err := os.WriteFile(opt.Path+suffix, []byte(strings.Repeat("broken", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Load(t.Context(), opt, bytes.NewReader(copied.Bytes()), false)
	wantCode(t, err, message.StoreCorrupt)
	if _, err := s.Load(t.Context(), opt, bytes.NewReader(copied.Bytes()), true); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s.Open(t, opt), "owner"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// FuzzRows: what is read of a copy is an error of its own kind, or rows that are
// the same when they are saved and read again.
func FuzzRows(f *testing.F) {
	const head = `{"table":"thing","columns":["id","v"]}` + "\n"
	for _, row := range []string{`["a",1]`, `["",-9223372036854775808]`, `[null,1.5]`, `["\u0000",1e300]`, `[{"base64":"AAE="},{"text":"/w=="}]`, `[{},{"base64":""}]`, `[1`, `[[],true]`} {
		f.Add(head + row + "\n" + `{"rows":1}` + "\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := store.ReadRows(strings.NewReader(text), "thing", "id", "v")
		if err != nil {
			wantCode(t, err, message.BackupInvalid)
			return
		}
		again := head
		for _, row := range rows {
			line, err := store.Saved(row)
			if err != nil {
				t.Fatal(err)
			}
			again += line + "\n"
		}
		same, err := store.ReadRows(strings.NewReader(again+fmt.Sprintf("{\"rows\":%d}\n", len(rows))), "thing", "id", "v")
		if diff := cmp.Diff(rows, same); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
