package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// copied is what is known of a copy.
type copied struct {
	schema  schema
	version int64 // of the schema that it has
	tables  []table
	rows    int64
	log     *slog.Logger
}

// check reads a copy to its end.
func (s schema) check(ctx context.Context, from io.Reader) (*copied, error) {
	c := &copied{schema: s}
	lines := bufio.NewReaderSize(from, 64<<10)
	first, err := next(lines)
	if err != nil {
		return nil, err
	}
	var head line
	if err := strictly(first, &head); err != nil || head.Store != copyStore || head.Format < 1 {
		return nil, unusable(message.Say("it is no copy of a database of Toolcrib's"))
	}
	if head.Format > copyFormat || head.Schema > s.newest {
		return nil, (&DB{name: "backup"}).newer(head.Schema, s.newest)
	}
	c.version = head.Schema
	if c.tables, err = s.tables(ctx, c.version); err != nil {
		return nil, err
	}
	c.rows, err = c.read(lines, func(*table, []any) error { return ctx.Err() })
	return c, err
}

// read calls put for each row below the first line, and returns how many there
// are.
func (c *copied) read(lines *bufio.Reader, put func(*table, []any) error) (n int64, err error) {
	var now *table
	for number := 2; ; number++ {
		text, err := next(lines)
		if err != nil {
			return n, err
		}
		broken := unusable(message.Say("line %d of its database cannot be read", number))
		if text[0] == '[' && now != nil {
			values, err := row(text, len(now.columns))
			if err != nil {
				return n, broken
			}
			if err := put(now, values); err != nil {
				return n, err
			}
			n++
			continue
		}
		var l line
		if err := strictly(text, &l); err != nil {
			return n, broken
		}
		if l.Rows != nil {
			if *l.Rows != n {
				return n, unusable(message.Say("rows of its database are missing"))
			}
			return n, nil
		}
		i := slices.IndexFunc(c.tables, func(t table) bool { return t.name == l.Table })
		if i < 0 || !slices.Equal(slices.Sorted(slices.Values(l.Columns)), slices.Sorted(slices.Values(c.tables[i].columns))) {
			return n, broken
		}
		now = &table{name: l.Table, columns: l.Columns, key: c.tables[i].key}
	}
}

func row(text []byte, columns int) ([]any, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	if len(raw) != columns {
		return nil, errors.New("another number of columns")
	}
	values := make([]any, columns)
	for i := range raw {
		var err error
		if values[i], err = loaded(raw[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// next is the next line, which must be whole.
func next(lines *bufio.Reader) ([]byte, error) {
	text, err := lines.ReadBytes('\n')
	switch {
	case errors.Is(err, io.EOF):
		return nil, unusable(message.Say("its database is cut short"))
	case err != nil:
		return nil, fmt.Errorf("reading the copy: %w", err)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil, unusable(message.Say("its database has an empty line"))
	}
	return text, nil
}

func unusable(reason message.Phrase) error {
	return hub.E(message.BackupInvalid, nil).With("reason", reason)
}
