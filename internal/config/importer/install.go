package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// backupMark stands between the name of a file and the time of its backup.
const backupMark = ".toolcrib-backup-"

// Change is what was done to a client's file.
type Change struct {
	Path    string
	Changed bool   // false: it was as it should be
	Backup  string // Install: the copy of the file before; Undo: the copy that was put back and is gone now
	Partly  bool   // Undo: the file has been changed since, so that only the entry was put back
}

// Install writes Toolcrib into the client's file at path; see [Connect]. Before
// it changes anything it makes a backup beside the file, for its owner alone.
// The file is replaced as a whole; see [config.File]. The errors are those of
// [Connect], of [config.OpenFile] and of [config.File.Write].
func Install(client Client, path string, c Connection) (Change, error) {
	done := Change{Path: path}
	file, err := config.OpenFile(path)
	if err != nil {
		return done, err
	}
	before := file.Text()
	after, err := Connect(client, before, c)
	if err != nil {
		return done, at(path, err)
	}
	if bytes.Equal(before, after) {
		return done, nil
	}
	backup, err := backUp(path, before)
	if err != nil {
		return done, err
	}
	if _, err := file.Write(after, file.ETag()); err != nil {
		return done, errors.Join(err, os.Remove(backup))
	}
	done.Changed, done.Backup = true, backup
	return done, nil
}

// Undo takes back what the last Install has done to the client's file, and
// removes its backup. A file that nobody has changed since is again what it
// was, byte for byte, or gone; in another, which the client or the user has
// gone on writing to, only Toolcrib's entry is again what it was. If the file
// is missing that was there before, nothing is changed. The error is
// a [message.BackupMissing], or one of those of [Install].
func Undo(client Client, path string) (Change, error) {
	done := Change{Path: path}
	if client.entry == nil {
		return done, notConnectable(client)
	}
	backup, err := newestBackup(path)
	if err != nil {
		return done, err
	}
	before, err := os.ReadFile(backup)
	if err != nil {
		return done, unreadable(backup, err)
	}
	file, err := config.OpenFile(path)
	if err != nil {
		return done, err
	}
	if !file.Exists() && len(before) > 0 {
		return done, nil // the backup is all that is left of it
	}
	now := file.Text()
	next, err := takeBack(client.entry.block, now, before)
	if err != nil {
		return done, at(path, err)
	}
	switch {
	case bytes.Equal(next, now):
	case len(next) == 0: // there was no file
		target, err := filepath.EvalSymlinks(path) // a link was there before
		if err == nil {
			err = os.Remove(target)
		}
		if err != nil {
			return done, unwritable(path, err)
		}
		done.Changed = true
	default:
		if _, err := file.Write(next, file.ETag()); err != nil {
			return done, err
		}
		done.Changed = true
	}
	if err := os.Remove(backup); err != nil {
		return done, unwritable(backup, err)
	}
	done.Backup, done.Partly = backup, !bytes.Equal(next, before)
	return done, nil
}

// takeBack is the text before if nothing but Toolcrib's entry makes the
// difference, else the text of now with the entry of before.
func takeBack(block string, now, before []byte) ([]byte, error) {
	entry, found, err := config.EntryIn(now, block, EntryName)
	if err != nil {
		return nil, err
	}
	if found {
		installed, err := config.SetServerIn(before, block, EntryName, entry)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(installed, now) {
			return before, nil
		}
	}
	entry, found, err = config.EntryIn(before, block, EntryName)
	if err != nil {
		return nil, err
	}
	if found {
		return config.SetServerIn(now, block, EntryName, entry)
	}
	rest, _, err := config.RemoveServerIn(now, block, EntryName)
	return rest, err
}

// backUp writes a copy of a text beside the file at path. That of a file that
// is missing is empty.
func backUp(path string, text []byte) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", unwritable(path, err)
	}
	stamp := path + backupMark + time.Now().UTC().Format("20060102T150405Z")
	name := stamp
	for n := 2; ; n++ { // several within a second
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			name = fmt.Sprintf("%s-%03d", stamp, n)
			continue
		}
		if err != nil {
			return "", unwritable(name, err)
		}
		_, err = f.Write(text)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			return "", errors.Join(unwritable(name, err), os.Remove(name))
		}
		return name, nil
	}
}

// newestBackup is the backup of the file at path that was made last. Names
// sort by time.
func newestBackup(path string) (string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", unreadable(filepath.Dir(path), err)
	}
	prefix := filepath.Base(path) + backupMark
	for _, e := range slices.Backward(entries) { // they are sorted by name
		if e.Type().IsRegular() && len(e.Name()) > len(prefix) && e.Name()[:len(prefix)] == prefix {
			return filepath.Join(filepath.Dir(path), e.Name()), nil
		}
	}
	return "", hub.E(message.BackupMissing, nil, "path", path)
}

// at names the file in the problems of its text.
func at(path string, err error) error {
	if problems, ok := errors.AsType[config.Problems](err); ok {
		for _, p := range problems {
			p.Args["path"] = path
		}
	}
	return err
}

func unreadable(path string, err error) error {
	return hub.E(message.ConfigUnreadable, err, "path", path).With("detail", reason(err))
}

func unwritable(path string, err error) error {
	return hub.E(message.ConfigUnwritable, err, "path", path).With("detail", reason(err))
}

// reason is err without the path, which the text around it names already.
func reason(err error) message.Phrase {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return message.Cause(p.Err)
	}
	return message.Cause(err)
}
