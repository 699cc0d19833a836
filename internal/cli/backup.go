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

	"github.com/toolcrib/toolcrib/internal/datadir"
)

type backup struct {
	File  string `arg:"" optional:"" help:"Where to; by default a name with the time, in this directory." type:"path"`
	Force bool   `help:"Replace a file that is there."`
}

// Run writes the configuration file and the data directory into one
// compressed archive for its owner only: it holds the sealed values and the
// key to them. What a hub makes anew is left out. Every file in it is whole,
// since the hub replaces them as a whole or only appends.
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
	var count int
	err = writeNew(c.File, c.Force, func(f io.Writer) error {
		count, err = archive(ctx, f, dir, opt.Config)
		return err
	})
	if err != nil {
		return err
	}
	if s.JSON {
		return s.out.json(map[string]any{"path": c.File, "files": count})
	}
	p, say := s.out, s.out.say
	p.line(say("Saved in %s (files: %d). Keep it as safe as a password.", "已保存到 %s（%d 个文件）。请像密码一样妥善保管。"), c.File, count)
	p.line(say("To restore: stop Toolcrib, unpack it with \"tar -xzf %s\", then put", "恢复方法：停止 Toolcrib，用 tar -xzf %s 解包，然后将"), c.File)
	p.line(say("  what is in data/ into    %s", "  data/ 中的内容放到    %s"), dir)
	p.line(say("  what is in config/ at    %s", "  config/ 中的文件放到  %s"), opt.Config)
	return nil
}

// archive writes the archive and returns how many files it has.
func archive(ctx context.Context, w io.Writer, dir, config string) (count int, err error) {
	zip := gzip.NewWriter(w)
	tape := tar.NewWriter(zip)
	defer func() { err = errors.Join(err, tape.Close(), zip.Close()) }()
	if exists(config) {
		if err := tape.WriteHeader(directory("config")); err != nil {
			return count, err
		}
		if err := add(tape, config, path.Join("config", filepath.Base(config))); err != nil {
			return count, err
		}
		count++
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target // the walk does not follow a link
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
		if name == datadir.Layout(dir).Trees() {
			return fs.SkipDir // it is about processes, which nobody can restore
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
	return count, err
}

// directory is a directory in the archive, which is for its owner only when it
// is unpacked: a hub takes no other.
func directory(name string) *tar.Header {
	return &tar.Header{Name: name + "/", Mode: 0o700, Typeflag: tar.TypeDir, ModTime: time.Now()}
}

// madeAnew reports whether a hub makes the file of the data directory itself
// when it starts.
func madeAnew(dir, name string) bool {
	l := datadir.Layout(dir)
	again := []string{l.HubFile(), l.Index(), filepath.Join(dir, "lock"), hubLog(dir), hubLog(dir) + ".1"}
	return slices.Contains(again, name) || strings.HasSuffix(name, ".part")
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
