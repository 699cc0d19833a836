package store

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Load puts a copy that [Save] wrote in the place of what is in a database, of
// whichever kind, and returns how many rows it has. It is
// read from its beginning. No hub may use the database. Unless
// replace is set it must be empty, or not there yet.
//
// The copy is read to its end first: one that is broken, cut short or of a newer
// schema changes nothing. A file is replaced as a whole, also a damaged one or
// one of a newer schema; a PostgreSQL database is emptied of our tables first, so
// that after a failure Load has to be done again.
func Load(ctx context.Context, opt Options, from io.ReadSeeker, replace bool) (int64, error) {
	s, err := ours()
	if err != nil {
		return 0, err
	}
	return s.load(ctx, opt, from, replace)
}

func (s schema) load(ctx context.Context, opt Options, from io.ReadSeeker, replace bool) (int64, error) {
	if err := rewind(from); err != nil {
		return 0, err
	}
	c, err := s.check(ctx, from)
	if err != nil {
		return 0, err
	}
	if err := rewind(from); err != nil {
		return 0, err
	}
	c.log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	if opt.URL != "" {
		return c.rows, c.toServer(ctx, opt, from, replace)
	}
	return c.rows, c.toFile(ctx, opt, from, replace)
}

func rewind(from io.Seeker) error {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the copy: %w", err)
	}
	return nil
}

// Check reads a copy to its end, as [Load] does first.
func Check(ctx context.Context, from io.Reader) error {
	s, err := ours()
	if err != nil {
		return err
	}
	_, err = s.check(ctx, from)
	return err
}

// toFile makes a new file beside the one that is there, and puts it in its
// place.
func (c *copied) toFile(ctx context.Context, opt Options, from io.Reader, replace bool) (err error) {
	if _, err := os.Stat(opt.Path); err == nil && !replace {
		if err := c.wantEmpty(ctx, opt); err != nil {
			return err
		}
	}
	part := Options{Path: opt.Path + ".part"}
	if err := remove(opt.Path, part.Path, part.Path+"-wal", part.Path+"-shm"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove(opt.Path, part.Path, part.Path+"-wal", part.Path+"-shm"))
		}
	}()
	db, err := connectTo(ctx, part)
	if err != nil {
		return err
	}
	db.name = opt.Path
	if err := errors.Join(c.fill(ctx, db, from), db.Close()); err != nil {
		return err
	}
	// The log of the old file is not one of the new. The file itself is there at
	// every moment: a hub that found none would make an empty one.
	if err := remove(opt.Path, opt.Path+"-wal", opt.Path+"-shm"); err != nil {
		return err
	}
	if err := os.Rename(part.Path, opt.Path); err != nil {
		return hub.E(message.StoreUnavailable, err, "store", opt.Path)
	}
	return nil
}

// remove removes files, as far as they are there, for a database.
func remove(store string, names ...string) error {
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return hub.E(message.StoreUnavailable, err, "store", store)
		}
	}
	return nil
}

// wantEmpty refuses a database in which something is.
func (c *copied) wantEmpty(ctx context.Context, opt Options) (err error) {
	db, err := connectTo(ctx, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return c.refuse(ctx, db)
}

func (c *copied) refuse(ctx context.Context, db *DB) error {
	there, err := c.schema.there(ctx, db)
	if err != nil {
		return err
	}
	for _, t := range there {
		var some int
		err := db.QueryRowContext(ctx, "SELECT 1 FROM "+t.name+" LIMIT 1").Scan(&some)
		switch {
		case err == nil:
			return hub.E(message.StoreNotEmpty, nil, "store", db.name)
		case !errors.Is(err, sql.ErrNoRows):
			return db.Err(fmt.Errorf("reading %s: %w", t.name, err))
		}
	}
	return nil
}

// there are our tables that a database has.
func (s schema) there(ctx context.Context, db *DB) ([]table, error) {
	version, err := db.version(ctx)
	if err != nil {
		return nil, err
	}
	if version > s.newest {
		return nil, db.newer(version, s.newest)
	}
	return s.tables(ctx, version)
}

// toServer empties the database of our tables, and makes them anew.
func (c *copied) toServer(ctx context.Context, opt Options, from io.Reader, replace bool) (err error) {
	db, err := connectTo(ctx, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if !replace {
		if err := c.refuse(ctx, db); err != nil {
			return err
		}
	}
	there, err := c.schema.there(ctx, db)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		err := db.Tx(ctx, Disk, func(tx *sql.Tx) error {
			for _, name := range append(names(there), "goose_db_version") {
				if _, err := tx.ExecContext(ctx, "DROP TABLE "+name); err != nil {
					return fmt.Errorf("emptying the database: %w", err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return c.fill(ctx, db, from)
}

// names are the names of tables; of those that refer to others first.
func names(all []table) []string {
	n := make([]string, 0, len(all))
	for _, t := range slices.Backward(all) {
		n = append(n, t.name)
	}
	return n
}

// fill makes the tables as they were when the copy was made, puts the rows in,
// and brings both to the schema of this program.
func (c *copied) fill(ctx context.Context, db *DB, from io.Reader) error {
	if err := db.migrate(ctx, c.log, c.schema, c.version); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(from, 64<<10)
	if _, err := next(lines); err != nil {
		return err
	}
	// Not by Tx: it may take longer than a transaction of a hub.
	tx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return db.Err(fmt.Errorf("beginning a transaction: %w", err))
	}
	var into *table
	var insert string
	err = finish(tx, func(tx *sql.Tx) error {
		_, err := c.read(lines, func(t *table, values []any) error {
			if t != into {
				into, insert = t, t.insert()
			}
			if _, err := tx.ExecContext(ctx, insert, values...); err != nil {
				return fmt.Errorf("writing a row of %s: %w", t.name, err)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return db.Err(err)
	}
	return db.migrate(ctx, c.log, c.schema, c.schema.newest)
}
