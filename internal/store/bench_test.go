package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// wide is a table of the width of the record's, and how a row gets in.
const (
	wide   = 24
	create = "CREATE TABLE wide (seq BIGINT PRIMARY KEY"
)

func wideTable() (table, insert string) {
	table, insert = create, "INSERT INTO wide VALUES ($1"
	for i := range wide {
		table += ", c" + strconv.Itoa(i) + " TEXT NOT NULL"
		insert += ", $" + strconv.Itoa(i+2)
	}
	return table + ")", insert + ")"
}

// BenchmarkTx measures transactions of one row and of many, of both
// durabilities. PostgreSQL's syncs its disk here, unlike in tests.
func BenchmarkTx(b *testing.B) {
	for _, kind := range []struct {
		name string
		open func(testing.TB) store.Options
	}{{"sqlite", storetest.SQLite}, {"postgres", storetest.PostgreSQL}} {
		for _, d := range []struct {
			name string
			d    store.Durability
		}{{"process", store.Process}, {"disk", store.Disk}} {
			for _, rows := range []int{1, 64} {
				b.Run(fmt.Sprintf("%s/%s/rows=%d", kind.name, d.name, rows), func(b *testing.B) {
					db := storetest.Open(b, kind.open(b))
					if db.Postgres() {
						syncing(b, db)
					}
					benchTx(b, db, d.d, rows)
				})
			}
		}
	}
}

func benchTx(b *testing.B, db *store.DB, d store.Durability, rows int) {
	table, insert := wideTable()
	write(b, db, store.Disk, table)
	args := make([]any, wide+1)
	for i := range args {
		args[i] = strings.Repeat("x", 12)
	}
	ctx, seq := context.Background(), 0
	b.ResetTimer()
	for range b.N {
		err := db.Tx(ctx, d, func(tx *sql.Tx) error {
			for range rows {
				seq++
				args[0] = seq
				if _, err := tx.ExecContext(ctx, insert, args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*rows), "us/row")
}

// syncing has the server wait for its disk.
func syncing(b *testing.B, db *store.DB) {
	for _, s := range []string{"ALTER SYSTEM SET fsync = on", "SELECT pg_reload_conf()"} {
		if _, err := db.Exec(s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen measures what a database that is there costs a start.
func BenchmarkOpen(b *testing.B) {
	for name, fresh := range map[string]func(testing.TB) store.Options{"sqlite": storetest.SQLite, "postgres": storetest.PostgreSQL} {
		b.Run(name, func(b *testing.B) {
			opt := fresh(b)
			storetest.Open(b, opt)
			for b.Loop() {
				db, err := store.Open(context.Background(), opt)
				if err != nil {
					b.Fatal(err)
				}
				if err := db.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
		if name == "sqlite" {
			b.Run(name+"/new", func(b *testing.B) {
				for b.Loop() {
					storetest.Open(b, fresh(b))
				}
			})
		}
	}
}
