package proc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// asideSuffix is added to the name of a file that is no record.
	asideSuffix = ".damaged"

	// maxRecord is more than a record can have.
	maxRecord = 64 << 10
)

// Swept is what [Ledger.Sweep] found in one file.
type Swept struct {
	File      string // its name
	Key       string // of the server, as in the [Spec]; "" if the file could not be read
	Command   string // without its arguments
	PID       int    // of the leader; 0 if the file does not tell
	Processes int    // that were left of the tree, all of which have ended if Err is nil
	Err       error  // why the file was put aside, or [ErrSurvived]; nil if all went well
}

// Sweep ends what earlier hubs have left behind, and removes their files: it
// asks by SIGTERM, and kills two seconds later, or when ctx ends. It returns
// after that, with one Swept for each file that it found. Trees of this hub are
// left alone, also those that start meanwhile.
//
// A process is signalled only if it is provably part of a recorded tree: it is
// in the tree's own cgroup, bears the tree's mark, or stands in the group of
// one that does or of the very leader, which is known by its id, its start, the
// PID namespace and the boot of the machine. macOS shows no marks, so that a
// group is known there only while its leader lives. On Windows nothing outlives
// a hub, and the files are just removed.
//
// A file that is no record is put aside under the same name with ".damaged"
// added, and does not keep the others from being swept. The error says that
// the directory or the processes could not be read.
func (l *Ledger) Sweep(ctx context.Context) ([]Swept, error) {
	files, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, fmt.Errorf("sweep processes: %w", err)
	}
	var swept []Swept
	var left []*leftover
	for _, file := range files {
		name := file.Name()
		if strings.HasSuffix(name, asideSuffix) || l.spares(name) {
			continue
		}
		r, err := l.read(file)
		switch {
		case err == nil:
			left = append(left, &leftover{record: r, file: name, cgroup: cgroupAt(r.Cgroup), seen: make(map[identity]bool)})
		case !errors.Is(err, fs.ErrNotExist):
			err = errors.Join(err, os.Rename(filepath.Join(l.dir, name), filepath.Join(l.dir, name+asideSuffix)))
			swept = append(swept, Swept{File: name, Err: fmt.Errorf("put aside a file that records no process: %w", err)})
		}
	}
	if len(left) == 0 {
		return swept, nil
	}
	if err := l.endLeft(ctx, left); err != nil {
		return swept, fmt.Errorf("sweep processes: %w", err)
	}
	for _, tree := range left {
		swept = append(swept, l.close(tree))
	}
	return swept, nil
}

// spares reports whether a file is of a tree of this hub, or of one in which
// this hub was started itself, as from a server that offers a shell.
func (l *Ledger) spares(name string) bool {
	mark := strings.TrimSuffix(name, recordSuffix)
	outer := strings.Split(os.Getenv(MarkVariable), ":")
	return runOf(mark) == l.run || slices.Contains(outer, mark)
}

// read reads the record in a file.
func (l *Ledger) read(file fs.DirEntry) (record, error) {
	mark, ok := strings.CutSuffix(file.Name(), recordSuffix)
	if !ok || !file.Type().IsRegular() {
		return record{}, errors.New("it has not the name and kind of a record")
	}
	if info, err := file.Info(); err != nil || info.Size() > maxRecord {
		return record{}, errors.Join(err, errors.New("it is too large"))
	}
	data, err := os.ReadFile(filepath.Join(l.dir, file.Name()))
	if err != nil {
		return record{}, err
	}
	if len(data) == 0 && runOf(mark) != "" {
		// The hub was killed between making the file and writing to it, before
		// there was a child.
		return record{Mark: mark}, nil
	}
	return parseRecord(mark, data)
}

// leftover is a tree of an earlier hub.
type leftover struct {
	record

	file   string
	cgroup *cgroup
	seen   map[identity]bool // its processes
	left   int               // of them, when it was last looked
}

// close removes the file of a tree of which nothing is left.
func (l *Ledger) close(t *leftover) Swept {
	s := Swept{File: t.file, Key: t.Key, Command: t.Command, PID: t.PID, Processes: len(t.seen)}
	if t.left > 0 {
		s.Err = fmt.Errorf("end process %d of an earlier run: %w", t.PID, ErrSurvived)
		return s
	}
	t.cgroup.remove()
	if err := os.Remove(filepath.Join(l.dir, t.file)); !errors.Is(err, fs.ErrNotExist) {
		s.Err = err
	}
	return s
}
