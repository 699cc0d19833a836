package control

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Times of watching the file.
const (
	settled = 200 * time.Millisecond // for which it has to stay the same before it is read
	doubted = 500 * time.Millisecond // after which a text that cannot be used is read once more: it may be half written
	glance  = 5 * time.Second        // between two looks at it, for file systems that tell nothing
)

// Watch puts what others write to the configuration file in force until ctx
// ends, which is no error.
//
//   - A file that cannot be used changes nothing. Why is logged once for each
//     text, and is the Fault of [Control.Source].
//   - A file that is removed changes nothing either, and is a Fault: a mishap
//     with a file must not end every server. It counts as a configuration
//     without servers for [Control.Reload], and for a hub that starts.
//   - What the hub has written itself, and a text that is the same as before,
//     are left alone.
//
// A folder that is not there yet, or that cannot be read, is no error.
func (c *Control) Watch(ctx context.Context) error {
	path := c.Source().Path
	if path == "" {
		<-ctx.Done()
		return nil
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		c.opt.Log.Warn("changes of the configuration file are seen within seconds only", "error", err)
		c.watch(ctx, path, nil)
		return nil
	}
	defer func() { _ = notify.Close() }() // which never fails
	c.watch(ctx, path, notify)
	return nil
}

// watch is Watch with what tells of changes, or nil.
func (c *Control) watch(ctx context.Context, path string, notify *fsnotify.Watcher) {
	w := &watcher{control: c, log: c.opt.Log, path: path, notify: notify, folders: make(map[string]fs.FileInfo)}
	if src := c.Source(); src.Fault != nil {
		w.told, w.doubt = faultOf(src), src.etag // logged at the start
	}
	w.run(ctx)
}

// watcher belongs to the goroutine of Watch.
type watcher struct {
	control *Control
	log     *slog.Logger
	path    string

	notify  *fsnotify.Watcher      // nil if there is none
	folders map[string]fs.FileInfo // that it watches

	read  fs.FileInfo // the file when it was last read; nil if there was none
	doubt string      // ETag of a text that could not be used when it was first read
	told  string      // the fault that was logged last; "" for none
}

func (w *watcher) run(ctx context.Context) {
	var events <-chan fsnotify.Event
	var faults <-chan error
	if w.notify != nil {
		events, faults = w.notify.Events, w.notify.Errors
	}
	w.follow()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	// What was written between the start and this moment is seen now.
	wait := time.NewTimer(settled)
	defer wait.Stop()
	waiting, changed, before := true, true, w.look()
	again := func(d time.Duration) {
		waiting, before = true, w.look()
		wait.Reset(d)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			changed = changed || e.Name == w.path
			if !waiting {
				again(settled)
			}
		case err := <-faults: // events were lost
			w.log.Debug("the configuration file is looked at, since a change may have been missed", "error", err)
			changed = true
			if !waiting {
				again(settled)
			}
		case <-tick.C:
			w.follow()
			if !waiting && !sameFile(w.look(), w.read) {
				again(settled)
			}
		case <-wait.C:
			waiting = false
			now := w.look()
			switch {
			case !sameFile(now, before):
				again(settled)
				continue
			case w.follow():
				again(settled) // something may have come before its folder was watched
			}
			if !changed && sameFile(now, w.read) {
				continue
			}
			changed, w.read = false, now
			if w.settle() {
				changed = true
				again(doubted)
			}
		}
	}
}

// look is the file as it is now; nil if there is none that can be seen.
func (w *watcher) look() fs.FileInfo {
	info, err := os.Stat(w.path)
	if err != nil {
		return nil
	}
	return info
}

// sameFile reports whether nothing has happened to a file, as far as can be
// seen without reading it.
func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// follow watches the folder that the file is in, and that of the file which a
// link leads to; in place of one that is not there, the nearest above it. It
// reports whether it watches another one than before.
func (w *watcher) follow() bool {
	if w.notify == nil {
		return false
	}
	wanted := map[string]bool{nearestFolder(w.path): true}
	if target, err := filepath.EvalSymlinks(w.path); err == nil {
		wanted[filepath.Dir(target)] = true
	}
	for folder := range w.folders {
		if !wanted[folder] {
			_ = w.notify.Remove(folder) // it may be gone
			delete(w.folders, folder)
		}
	}
	more := false
	for folder := range wanted {
		info, err := os.Stat(folder)
		if err != nil {
			continue
		}
		if was, watched := w.folders[folder]; watched {
			if os.SameFile(was, info) {
				continue
			}
			_ = w.notify.Remove(folder)
		}
		if w.notify.Add(folder) == nil { // one that cannot be read is glanced at
			w.folders[folder], more = info, true
		}
	}
	return more
}

// nearestFolder is the folder of a file, or the nearest above it that is there.
func nearestFolder(path string) string {
	for {
		folder := filepath.Dir(path)
		if info, err := os.Stat(folder); err == nil && info.IsDir() || folder == path {
			return folder
		}
		path = folder
	}
}

// settle puts the file as it is now in force. It reports whether the text has
// to be read once more before anything is said of it.
func (w *watcher) settle() (again bool) {
	c := w.control
	c.change.Lock()
	defer c.change.Unlock()
	before := c.Source()
	next, _ := before.read(c.opt.Builtins)
	if next.Fault == nil && before.Exists && !next.Exists {
		next = before
		next.Fault = removed(w.path)
	}
	if next.Fault == nil {
		w.doubt, w.told = "", ""
		if before.Fault != nil || next.Exists != before.Exists || next.etag != before.etag {
			w.take(next)
		}
		return false
	}
	if _, text := errors.AsType[config.Problems](next.Fault); text && next.etag != w.doubt {
		w.doubt = next.etag
		return true
	}
	c.setSource(next)
	if fault := faultOf(next); fault != w.told {
		w.told = fault
		w.log.Error("the configuration file is not in force", "path", w.path, "error", next.Fault)
	}
	return false
}

// take puts a text in force and tells of it.
func (w *watcher) take(next Source) {
	d := w.control.checked(next).Diff
	w.control.apply(next)
	if written := w.control.opt.Written; written != nil {
		written()
	}
	w.log.Info("the configuration file was changed and is in force", "path", w.path,
		"added", len(d.Added), "changed", len(d.Changed), "removed", len(d.Removed))
	if len(d.NextStart) > 0 {
		w.log.Warn("a part of the configuration takes effect at the next start", "members", strings.Join(d.NextStart, ", "))
	}
	for _, warning := range next.Warnings {
		w.log.Warn("configuration", "warning", warning.String())
	}
}

// faultOf names a text and what is wrong with it.
func faultOf(s Source) string { return s.etag + " " + s.Fault.Error() }

// removed is the error about a file in force that is not there any more.
func removed(path string) error {
	return hub.E(message.ConfigUnreadable, fs.ErrNotExist, "path", path).With("detail", message.Say(
		`it was removed; what it said last is in force until it is back, or "toolcrib config reload" goes on without it`))
}
