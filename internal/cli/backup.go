package cli

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/store"
)

type backup struct {
	File  string `arg:"" optional:"" help:"Where to; by default a name with the time, in this directory." type:"path"`
	Force bool   `help:"Replace a file that is there."`
}

// rowsFile is the name of the copy of the database in the archive.
const rowsFile = "database/rows.jsonl"

// Run writes the configuration file, the data directory and a copy of the
// database into one compressed archive for its owner only: it holds the sealed
// values and the key to them. What a hub makes anew is left out. Every file in
// it is whole, since the hub replaces them as a whole or only appends.
func (c *backup) Run(ctx context.Context, s *session) error {
	dir, err := s.dataDir()
	if err != nil {
		return err
	}
	opt, err := s.hubOptions(dir, nil)
	if err != nil {
		return err
	}
	if c.File == "" {
		c.File = "toolcrib-backup-" + time.Now().Format("20060102-150405") + ".tar.gz"
	}
	database, err := app.StoreOf(datadir.Layout(dir), opt.Config, nil)
	if err != nil {
		return err
	}
	var count int
	var rows int64
	err = writeNew(c.File, c.Force, func(f io.Writer) error {
		count, rows, err = archive(ctx, f, dir, opt.Config, database)
		return err
	})
	if err != nil {
		return err
	}
	if s.JSON {
		return s.out.json(map[string]any{"path": c.File, "files": count, "rows": rows})
	}
	p, say := s.out, s.out.say
	p.line(say("Saved in %s (files: %d, rows of the database: %d). Keep it as safe as a password.", "已保存到 %s（%d 个文件，数据库 %d 行）。请像密码一样妥善保管。"), c.File, count, rows)
	p.line(say("To restore: stop Toolcrib, then run \"toolcrib restore %s\".", "恢复方法：停止 Toolcrib，然后运行 toolcrib restore %s。"), c.File)
	return nil
}

// archive writes the archive and returns how many files it has, and how many
// rows of the database.
func archive(ctx context.Context, w io.Writer, dir, config string, database store.Options) (count int, rows int64, err error) {
	zip := gzip.NewWriter(w)
	tape := tar.NewWriter(zip)
	defer func() { err = errors.Join(err, tape.Close(), zip.Close()) }()
	if exists(config) {
		if err := tape.WriteHeader(directory("config")); err != nil {
			return count, 0, err
		}
		if err := add(tape, config, path.Join("config", filepath.Base(config))); err != nil {
			return count, 0, err
		}
		count++
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target // the walk does not follow a link
	}
	// What the database takes over from the journal while it is copied is in one of
	// the two copies, or in both.
	n, err := addJournal(tape, datadir.Layout(dir))
	if count += n; err != nil {
		return count, 0, err
	}
	if database.URL != "" || exists(database.Path) {
		if rows, err = addDatabase(ctx, tape, database); err != nil {
			return count, 0, err
		}
	}
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // no data directory yet, or a file that has gone meanwhile
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		switch name {
		case datadir.Layout(dir).Trees():
			return fs.SkipDir // it is about processes, which nobody can restore
		case datadir.Layout(dir).AuditJournal():
			return fs.SkipDir // it is there already
		}
		if entry.IsDir() {
			return tape.WriteHeader(directory(path.Join("data", filepath.ToSlash(rel))))
		}
		if !entry.Type().IsRegular() || madeAnew(dir, name) {
			return nil
		}
		switch err := add(tape, name, path.Join("data", filepath.ToSlash(rel))); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		count++
		return nil
	})
	return count, rows, err
}

// addJournal puts the journal of the record on the tape, which a hub writes over
// and empties while it is read.
func addJournal(tape *tar.Writer, dir datadir.Layout) (count int, err error) {
	files, err := os.ReadDir(dir.AuditJournal())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	name := path.Join("data", filepath.Base(dir.AuditJournal()))
	if err := tape.WriteHeader(directory(name)); err != nil {
		return 0, err
	}
	for _, file := range files {
		if !file.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir.AuditJournal(), file.Name()))
		if err != nil {
			return count, err
		}
		header := &tar.Header{Name: path.Join(name, file.Name()), Mode: 0o600, Size: int64(len(text)), ModTime: time.Now(), Typeflag: tar.TypeReg}
		if err := tape.WriteHeader(header); err != nil {
			return count, err
		}
		if _, err := tape.Write(text); err != nil {
			return count, err
		}
		count++
	}
	return count, nil
}

// addDatabase puts a copy of the database on the tape. It stands in a file of its
// own first: how long it is has to be known before.
func addDatabase(ctx context.Context, tape *tar.Writer, database store.Options) (rows int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(database.Path), ".backup-*"+partSuffix)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	rows, err = store.Save(ctx, database, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return rows, err
	}
	if err := tape.WriteHeader(directory(path.Dir(rowsFile))); err != nil {
		return rows, err
	}
	return rows, add(tape, f.Name(), rowsFile)
}

// directory is a directory in the archive, which is for its owner only when it
// is unpacked: a hub takes no other.
func directory(name string) *tar.Header {
	return &tar.Header{Name: name + "/", Mode: 0o700, Typeflag: tar.TypeDir, ModTime: time.Now()}
}

// partSuffix marks a file that is about to be written.
const partSuffix = ".part"

// madeAnew reports whether a hub makes the file of the data directory itself
// when it starts, or has it elsewhere in the archive.
func madeAnew(dir, name string) bool {
	l := datadir.Layout(dir)
	again := []string{l.HubFile(), l.Index(), filepath.Join(dir, "lock"), hubLog(dir), hubLog(dir) + ".1"}
	return slices.Contains(again, name) || strings.HasSuffix(name, partSuffix) || isDatabase(dir, name)
}

// isDatabase reports whether a file is one of the database's own, which change
// while they are read.
func isDatabase(dir, name string) bool {
	path := datadir.Layout(dir).Store()
	return slices.Contains([]string{path, path + "-wal", path + "-shm"}, name)
}

// add puts a file on the tape, as long as it is now.
func add(tape *tar.Writer, file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime(), Typeflag: tar.TypeReg}
	if err := tape.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.CopyN(tape, f, info.Size())
	return err
}
