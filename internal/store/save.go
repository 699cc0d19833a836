package store

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A copy of a database is lines of JSON, the same for both kinds: what it is of,
// then for each table its name and columns and below them its rows, then how
// many rows there are in all. A copy without the last line is not whole.
//
//	{"store":"toolcrib","format":1,"schema":2}
//	{"table":"thing","columns":["id","n","body"]}
//	["a",1,{"base64":"AAE="}]
//	{"rows":1}
type line struct {
	Store  string `json:"store,omitempty"`
	Format int    `json:"format,omitempty"`
	Schema int64  `json:"schema,omitempty"`

	Table   string   `json:"table,omitempty"`
	Columns []string `json:"columns,omitempty"`

	Rows *int64 `json:"rows,omitempty"`
}

// What the first line of a copy says.
const (
	copyStore  = "toolcrib"
	copyFormat = 1
)

// Save writes a copy of a database: all of its rows, as they are at one moment.
// A hub may use it meanwhile. It is neither made nor migrated: a file has to be
// there, and a schema that is newer than this program's is refused. It returns
// how many rows there are.
func Save(ctx context.Context, opt Options, w io.Writer) (rows int64, err error) {
	s, err := ours()
	if err != nil {
		return 0, err
	}
	return s.save(ctx, opt, w)
}

func (s schema) save(ctx context.Context, opt Options, w io.Writer) (rows int64, err error) {
	db, err := connectTo(ctx, opt)
	if err != nil {
		return 0, err
	}
	defer func() {
		if e := db.Close(); err == nil {
			err = e
		}
	}()
	version, err := db.version(ctx)
	if err != nil {
		return 0, err
	}
	if version > s.newest {
		return 0, db.newer(version, s.newest)
	}
	all, err := s.tables(ctx, version)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	to := json.NewEncoder(out)
	to.SetEscapeHTML(false)
	err = db.View(ctx, func(tx *sql.Tx) error {
		if err := to.Encode(line{Store: copyStore, Format: copyFormat, Schema: version}); err != nil {
			return err
		}
		for _, t := range all {
			n, err := saveTable(ctx, tx, t, to)
			if err != nil {
				return fmt.Errorf("copying the table %s: %w", t.name, err)
			}
			rows += n
		}
		return to.Encode(line{Rows: &rows})
	})
	if err != nil {
		return rows, err
	}
	return rows, out.Flush()
}

func saveTable(ctx context.Context, tx *sql.Tx, t table, to *json.Encoder) (n int64, err error) {
	if err := to.Encode(line{Table: t.name, Columns: t.columns}); err != nil {
		return 0, err
	}
	rows, err := tx.QueryContext(ctx, t.all())
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	values, targets := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for ; rows.Next(); n++ {
		if err := rows.Scan(targets...); err != nil {
			return n, err
		}
		for i, v := range values {
			if values[i], err = saved(v); err != nil {
				return n, fmt.Errorf("column %s: %w", t.columns[i], err)
			}
		}
		if err := to.Encode(values); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}

// awkward is a value that JSON cannot say as it is: bytes, or a text that is no
// UTF-8.
type awkward struct {
	Bytes []byte  `json:"base64,omitempty"`
	Text  *[]byte `json:"text,omitempty"`
}

// saved is a value of a row as the copy has it.
func saved(v any) (any, error) {
	switch v := v.(type) {
	case nil, int64:
		return v, nil
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0" // or it would come back as an integer
		}
		return json.Number(s), nil
	case []byte:
		return awkward{Bytes: append([]byte{}, v...)}, nil
	case string:
		if !utf8.ValidString(v) {
			text := []byte(v)
			return awkward{Text: &text}, nil
		}
		return v, nil
	}
	return nil, fmt.Errorf("a value of type %T", v)
}

// loaded is a value of the copy as a row has it.
func loaded(raw json.RawMessage) (any, error) {
	switch {
	case string(raw) == "null":
		return nil, nil
	case raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case raw[0] == '{':
		var a awkward
		if err := strictly(raw, &a); err != nil {
			return nil, err
		}
		if a.Text != nil {
			return string(*a.Text), nil
		}
		return append([]byte{}, a.Bytes...), nil
	case bytes.ContainsAny(raw, ".eE"):
		return strconv.ParseFloat(string(raw), 64)
	}
	return strconv.ParseInt(string(raw), 10, 64)
}

func strictly(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows")
	}
	return nil
}
