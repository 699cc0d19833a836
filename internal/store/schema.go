package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
)

// table is one of our tables.
type table struct {
	name    string
	columns []string
	key     []string // the columns of the primary key
}

// all selects every row, in the order of the key.
func (t table) all() string {
	return "SELECT " + strings.Join(t.columns, ", ") + " FROM " + t.name + " ORDER BY " + strings.Join(t.key, ", ")
}

// insert puts one row in.
func (t table) insert() string {
	values := make([]string, len(t.columns))
	for i := range values {
		values[i] = fmt.Sprintf("$%d", i+1)
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// tables returns our tables as they are at a version of the schema, in the order
// in which they were made. It looks at a database in memory that is made for it:
// the real one may have others' tables as well.
func (s schema) tables(ctx context.Context, version int64) (_ []table, err error) {
	if version == 0 {
		return nil, nil
	}
	inner, err := sqlite.NewConnector(":memory:?_dqs=0")
	if err != nil {
		return nil, fmt.Errorf("making a database in memory: %w", err)
	}
	memory := sql.OpenDB(inner)
	memory.SetMaxOpenConns(1) // another one would be another database
	defer func() { err = errors.Join(err, memory.Close()) }()
	provider, err := (&DB{DB: memory, writer: memory}).provider(s)
	if err != nil {
		return nil, err
	}
	if _, err := provider.UpTo(ctx, version); err != nil {
		return nil, fmt.Errorf("making the schema: %w", err)
	}
	names, err := list(ctx, memory, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'goose_db_version' ORDER BY rowid")
	if err != nil {
		return nil, err
	}
	all := make([]table, len(names))
	for i, name := range names {
		t := table{name: name}
		if t.columns, err = list(ctx, memory, "SELECT name FROM pragma_table_info($1) ORDER BY cid", name); err != nil {
			return nil, err
		}
		if t.key, err = list(ctx, memory, "SELECT name FROM pragma_table_info($1) WHERE pk > 0 ORDER BY pk", name); err != nil {
			return nil, err
		}
		all[i] = t
	}
	return all, nil
}

// list is a column of text.
func list(ctx context.Context, db *sql.DB, query string, args ...any) ([]string, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, fmt.Errorf("reading the schema: %w", err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	return all, nil
}
