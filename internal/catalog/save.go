package catalog

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// wake has what changed saved.
func (c *Catalog) wake() {
	select {
	case c.changed <- struct{}{}:
	default: // a save is to come already
	}
}

// Run saves the index and the pins after changes, until ctx ends, and then once
// more what is not saved yet. It returns nil. It must not run twice at once.
//
// If saving the index fails, nothing is lost but the copy on disk. If saving
// the pins fails, what was accepted holds until the end of this program only.
// Each is logged once until saving succeeds again; the next change is the next
// attempt.
func (c *Catalog) Run(ctx context.Context) error {
	index := saver{path: c.opt.IndexPath, save: c.saveIndex}
	pins := saver{path: c.opt.PinsPath, save: c.savePins}
	save := func() {
		// What is trusted first: of the two it is the one that cannot be had again.
		c.report(&pins)
		c.report(&index)
	}
	for {
		select {
		case <-ctx.Done():
			save()
			return nil
		case <-c.changed:
		}
		delay := time.NewTimer(c.opt.SaveDelay)
		select {
		case <-ctx.Done():
			delay.Stop()
		case <-delay.C:
			save()
		}
	}
}

// saver is one file, and whether writing it failed the last time.
type saver struct {
	path    string // "" for none
	save    func() error
	failing bool
}

// report saves a file and logs when whether that succeeds has changed.
func (c *Catalog) report(s *saver) {
	if s.path == "" {
		return
	}
	err := s.save()
	switch {
	case err != nil && !s.failing:
		c.opt.Log.Warn("a file could not be saved; what is not in it holds until the hub ends", "path", s.path, "error", err)
	case err == nil && s.failing:
		c.opt.Log.Info("a file could be saved again", "path", s.path)
	}
	s.failing = err != nil
}

// absent are the lists that wait for their servers, as parts. The caller holds
// the lock.
func (c *Catalog) absent() []*part {
	var all []*part
	for _, key := range slices.Sorted(maps.Keys(c.waiting)) {
		if c.find(key) < 0 {
			all = append(all, &part{server: hub.Server{Key: key}, identity: c.waiting[key].identity, offering: c.waiting[key].offering})
		}
	}
	return all
}

// saveIndex writes the index if it differs from the parts.
func (c *Catalog) saveIndex() error {
	c.mu.Lock()
	parts, version := slices.Concat(c.parts, c.absent()), c.version
	saved := c.stored == version
	c.mu.Unlock()
	if saved {
		return nil
	}
	if err := writeFile(c.opt.IndexPath, encodeIndex(parts)); err != nil {
		return err
	}
	c.mu.Lock()
	c.stored = version
	c.mu.Unlock()
	return nil
}
