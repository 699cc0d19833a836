// Package journal keeps the calls that ended last: in memory for whoever looks,
// and in a file of JSON lines for after a restart. It holds what the call
// pipeline publishes of a call, which is neither its arguments nor its result.
//
// It is no audit: an event may be lost when calls end faster than they are
// written down, and the last quarter of a second when the hub is killed.
package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
)

const (
	// kept is how many records are kept in memory.
	kept = 500
	// maxFile is the size above which the file becomes the one before, whose
	// name ends in .1, so that both take at most twice as much.
	maxFile = 1 << 20
	// delay is how long a record waits for others before it is written with
	// all of them, and maxBatch the size at which it does not wait.
	delay    = 250 * time.Millisecond
	maxBatch = 64 << 10
	// queue is how many events may wait to be taken.
	queue = 1024
)

// Journal is the calls that ended last. Safe for concurrent use.
type Journal struct {
	path string
	log  *slog.Logger

	mu   sync.Mutex
	ring []hub.CallRecord // at most kept, oldest first

	// What follows is Run's alone.
	batch   []byte
	file    *os.File
	size    int64 // of the file
	torn    bool  // the file may end within a line
	failing bool  // the last write failed
}

// Open returns the journal with the records that the file at path and the one
// before it hold. They may hold anything: what is no record, such as a line
// that a killed process left unfinished, is passed over. An error means that
// there is a file which cannot be read.
func Open(path string, log *slog.Logger) (*Journal, error) {
	j := &Journal{path: path, log: log}
	for _, name := range [...]string{path + ".1", path} {
		text, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("read the recent calls: %w", err)
		}
		j.ring = append(j.ring, decode(text)...)
		j.torn = len(text) > 0 && text[len(text)-1] != '\n'
	}
	j.trim()
	return j, nil
}

// read returns the end of a file, at most maxFile of it; nothing if there is no
// such file.
func read(name string) ([]byte, error) {
	// A pipe, say, would be waited for.
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(max(0, info.Size()-maxFile), io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// Recent returns the last n records, newest first, or fewer if there are not
// that many; all if n is not above zero. Unless it is empty, only those of the
// server with the key count.
func (j *Journal) Recent(n int, server string) []hub.CallRecord {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []hub.CallRecord
	for i := len(j.ring) - 1; i >= 0 && (n <= 0 || len(found) < n); i-- {
		if server == "" || j.ring[i].Server == server {
			found = append(found, j.ring[i])
		}
	}
	return found
}

// Run writes down the calls that end, until ctx ends, and then what has been
// published before. It returns nil. It must not run twice.
//
// An error of the file is logged once until writing succeeds again; the records
// concerned are kept in memory only.
func (j *Journal) Run(ctx context.Context, events *bus.Bus) error {
	sub := events.Subscribe(queue)
	defer sub.Close()
	defer j.close()
	var due <-chan time.Time // nil as long as there is nothing to write
	for {
		select {
		case e := <-sub.C():
			j.take(e)
		case <-due:
			j.flush(sub)
			due = nil
			continue
		case <-ctx.Done():
			for len(sub.C()) > 0 {
				j.take(<-sub.C())
			}
			j.flush(sub)
			return nil
		}
		switch {
		case len(j.batch) >= maxBatch:
			j.flush(sub)
			due = nil
		case len(j.batch) > 0 && due == nil:
			due = time.After(delay)
		}
	}
}

// take keeps the record of a call that ended.
func (j *Journal) take(e hub.Event) {
	ended, ok := e.(hub.CallEnded)
	if !ok {
		return
	}
	j.mu.Lock()
	j.ring = append(j.ring, *ended.Call)
	j.trim()
	j.mu.Unlock()
	j.batch = encode(j.batch, ended.Call)
}

// trim drops the oldest records beyond those that are kept. The caller holds mu.
func (j *Journal) trim() {
	if n := len(j.ring) - kept; n > 0 {
		clear(j.ring[:n])
		j.ring = j.ring[n:]
	}
}

// flush writes what is waiting.
func (j *Journal) flush(sub *bus.Subscription) {
	if lost := sub.Dropped(); lost > 0 {
		j.log.Warn("calls ended faster than they could be written down", "lost", lost)
	}
	if len(j.batch) == 0 {
		return
	}
	err := j.write(j.batch)
	j.batch = j.batch[:0]
	switch {
	case err != nil && !j.failing:
		j.log.Warn("the recent calls could not be written", "path", j.path, "error", err)
	case err == nil && j.failing:
		j.log.Info("the recent calls could be written again", "path", j.path)
	}
	j.failing = err != nil
}

// write appends lines to the file, or to a new one if they would make it too
// large.
func (j *Journal) write(lines []byte) error {
	if err := j.open(); err != nil {
		return err
	}
	if j.size > 0 && j.size+int64(len(lines)) > maxFile {
		j.close()
		if err := os.Rename(j.path, j.path+".1"); err != nil {
			return err
		}
		if err := j.open(); err != nil {
			return err
		}
	}
	if j.torn {
		lines = append([]byte{'\n'}, lines...)
	}
	n, err := j.file.Write(lines)
	j.size += int64(n)
	if err != nil {
		j.torn = j.torn || n > 0
		j.close() // the next write begins with the file as it is then
		return err
	}
	j.torn = false
	return nil
}

// open opens the file unless it is open. Only its owner may read it.
func (j *Journal) open() error {
	if j.file != nil {
		return nil
	}
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm() != 0o600 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	j.file, j.size = f, info.Size()
	if j.size == 0 {
		j.torn = false
	}
	return nil
}

func (j *Journal) close() {
	if j.file != nil {
		_ = j.file.Close() // what could not be written was told by Write
		j.file = nil
	}
}
