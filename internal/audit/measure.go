package audit

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Measured is how writing goes since Open.
type Measured struct {
	Up      bool  // the last attempt went well, or there was none
	Written int64 // entries, with those of the record's own such as checkpoints

	Commits uint64 // groups of entries that were written
	Took    time.Duration
	Within  map[float64]uint64 // by an upper bound in seconds: commits that took no longer
}

// commitSteps is the number of bounds of commitBounds.
const commitSteps = 11

// commitBounds are the upper bounds of how long commits take, in seconds.
func commitBounds() [commitSteps]float64 {
	return [...]float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .5, 2}
}

// measures counts for Measured. Its zero value is ready; one goroutine writes,
// any may read.
type measures struct {
	written atomic.Int64
	took    atomic.Int64
	commits [commitSteps + 1]atomic.Uint64 // by the first bound that is not below; the last is beyond all
}

// commit counts a group of entries that was written.
func (m *measures) commit(entries int, took time.Duration) {
	at := 0
	for bounds := commitBounds(); at < commitSteps && took.Seconds() > bounds[at]; {
		at++
	}
	m.commits[at].Add(1)
	m.took.Add(int64(took))
	m.written.Add(int64(entries))
}

// Fault says why the record, or its journal, could not be written the last time
// that there was something to write; nil if it could.
func (l *Log) Fault() *hub.Error { return cmp.Or(l.failed.Load(), l.broken.Load()) }

// Measured tells how writing goes.
func (l *Log) Measured() Measured {
	m := &l.measures
	now := Measured{
		Up: l.Fault() == nil, Written: m.written.Load(), Took: time.Duration(m.took.Load()),
		Within: make(map[float64]uint64, commitSteps),
	}
	for i, bound := range commitBounds() {
		now.Commits += m.commits[i].Load()
		now.Within[bound] = now.Commits
	}
	now.Commits += m.commits[commitSteps].Load()
	return now
}
