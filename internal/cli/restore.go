package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/internal/atomicfile"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

type restore struct {
	File     string `arg:"" help:"The backup." type:"path"`
	Database bool   `help:"Restore the database only, into the one that the configuration names now."`
	Force    bool   `help:"Replace files that are there, and what is in the database."`
}

// Run puts what is in a backup where a hub looks for it. The archive is read to
// its end first, and nothing is replaced unless that is asked for. The database
// is the one that the restored configuration names, of whichever kind: so it is
// moved from one to the other.
func (c *restore) Run(ctx context.Context, s *session) (err error) {
	path, err := s.dataDir()
	if err != nil {
		return err
	}
	opt, err := s.hubOptions(path, nil)
	if err != nil {
		return err
	}
	r := restoring{file: c.File, config: opt.Config, rowsOnly: c.Database, force: c.Force}
	if err := r.check(ctx); err != nil {
		return err
	}
	dir, err := takeDataDir(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	r.dir = dir.Layout
	if err := r.wantFree(); err != nil {
		return err
	}
	rows, err := r.put(ctx)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.out.json(map[string]any{"path": c.File, "files": len(r.names), "rows": rows})
	}
	s.out.line(s.out.say("Restored from %s (files: %d, rows of the database: %d).", "已从 %s 恢复（%d 个文件，数据库 %d 行）。"), c.File, len(r.names), rows)
	return nil
}

// takeDataDir opens the data directory as a hub does, so that none runs in it.
func takeDataDir(path string) (*datadir.Dir, error) {
	dir, err := datadir.Open(path)
	if taken, ok := errors.AsType[*datadir.LockedError](err); ok {
		return nil, hub.E(message.DataDirTaken, err, "path", path, "pid", strconv.Itoa(taken.PID))
	}
	if err != nil {
		return nil, hub.E(message.DataDirUnusable, err, "path", path).With("detail", message.Cause(err))
	}
	return dir, nil
}

// restoring is one backup that is put back.
type restoring struct {
	file     string
	dir      datadir.Layout
	config   string // where the configuration file goes
	rowsOnly bool
	force    bool
	names    []string // of the files that go to the data directory or are the configuration, in the archive
	hasRows  bool
}

// check reads the archive to its end.
func (r *restoring) check(ctx context.Context) error {
	err := r.each(func(name string, content io.Reader) error {
		switch {
		case name == rowsFile:
			r.hasRows = true
			return store.Check(ctx, content)
		case !r.rowsOnly:
			r.names = append(r.names, name)
		}
		if name != "data/version" {
			return nil
		}
		text, err := io.ReadAll(io.LimitReader(content, 64))
		if err != nil {
			return err
		}
		if n, err := strconv.Atoi(string(bytes.TrimSpace(text))); err == nil && n > datadir.Version {
			return invalidBackup(message.Say("it was made by a newer Toolcrib"))
		}
		return nil
	})
	if err == nil && r.rowsOnly && !r.hasRows {
		return invalidBackup(message.Say("it has no copy of a database"))
	}
	return err
}

// wantFree refuses to replace anything that matters.
func (r *restoring) wantFree() error {
	if r.force {
		return nil
	}
	for _, name := range r.names {
		if target := r.target(name); name != "data/version" && exists(target) { // which is in every data directory
			return unwritable(target, os.ErrExist)
		}
	}
	return nil
}

// put writes the files and then the database, which they name.
func (r *restoring) put(ctx context.Context) (rows int64, err error) {
	copied, err := os.CreateTemp(r.dir.Path(), ".restore-*"+partSuffix)
	if err != nil {
		return 0, unwritable(r.dir.Path(), err)
	}
	defer func() { err = errors.Join(err, copied.Close(), os.Remove(copied.Name())) }()
	if !r.rowsOnly {
		// What the record of the former life has not taken over is of that life.
		if err := os.RemoveAll(r.dir.AuditJournal()); err != nil {
			return 0, unwritable(r.dir.AuditJournal(), err)
		}
	}
	err = r.each(func(name string, content io.Reader) error {
		switch {
		case name == rowsFile:
			_, err := io.Copy(copied, content)
			return err
		case r.rowsOnly:
			return nil
		}
		target := r.target(name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return unwritable(target, err)
		}
		err := atomicfile.Write(target, 0o600, func(w io.Writer) error {
			_, err := io.Copy(w, content)
			return err
		})
		if err != nil {
			return unwritable(target, err)
		}
		return ctx.Err()
	})
	if err != nil || !r.hasRows {
		return 0, err
	}
	database, err := app.StoreOf(r.dir, r.config, nil)
	if err != nil {
		return 0, err
	}
	return store.Load(ctx, database, copied, r.force)
}

// target is where a file of the archive goes.
func (r *restoring) target(name string) string {
	if rest, ok := strings.CutPrefix(name, "data/"); ok {
		return filepath.Join(r.dir.Path(), filepath.FromSlash(rest))
	}
	return r.config
}

// each calls f for each file of the archive, and has it read to its end.
func (r *restoring) each(f func(name string, content io.Reader) error) error {
	file, err := os.Open(r.file)
	if err != nil {
		return unreadable(r.file, err)
	}
	defer func() { _ = file.Close() }()
	zip, err := gzip.NewReader(file)
	if err != nil {
		return invalidBackup(message.Say("it is no archive of Toolcrib's"))
	}
	tape := tar.NewReader(zip)
	for {
		header, err := tape.Next()
		switch {
		case errors.Is(err, io.EOF):
			return wholeArchive(zip)
		case err != nil:
			return invalidBackup(message.Say("it is cut short or damaged"))
		case header.Typeflag == tar.TypeDir:
			continue
		case header.Typeflag != tar.TypeReg || !ours(header.Name):
			return invalidBackup(message.Say("it is no archive of Toolcrib's"))
		}
		content := &damage{tape: tape}
		err = f(header.Name, content)
		if err == nil {
			_, err = io.Copy(io.Discard, content)
		}
		if content.err != nil {
			return invalidBackup(message.Say("it is cut short or damaged"))
		}
		if err != nil {
			return err
		}
	}
}

// wholeArchive reads what follows the last file: the checksum of all.
func wholeArchive(zip io.Reader) error {
	if _, err := io.Copy(io.Discard, zip); err != nil {
		return invalidBackup(message.Say("it is cut short or damaged"))
	}
	return nil
}

// damage reads a file of an archive, and remembers that it could not.
type damage struct {
	tape io.Reader
	err  error
}

// Read implements [io.Reader].
func (d *damage) Read(b []byte) (int, error) {
	n, err := d.tape.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		d.err = fmt.Errorf("reading the backup: %w", err)
	}
	return n, err
}

// ours reports whether a backup has a file of this name. One that has another
// was not made by [backup], and leads elsewhere.
func ours(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
		return false
	}
	top, rest, _ := strings.Cut(name, "/")
	switch top {
	case "data":
		return rest != "" && rest != "lock"
	case "config":
		return rest != "" && !strings.Contains(rest, "/")
	}
	return name == rowsFile
}

func invalidBackup(reason message.Phrase) error {
	return hub.E(message.BackupInvalid, nil).With("reason", reason)
}
