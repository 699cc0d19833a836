package audit

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// queueSize is how many records may wait to be taken.
const queueSize = 8192

// inbox are the records that wait to be taken over into the chain. They wake Run
// once for many: to be woken costs more than to write one. Those of calls that may
// change something are in the journal as well. Safe for concurrent use.
type inbox struct {
	bell chan struct{} // with room for one; rung when there is a first record, and when they are a batch
	turn chan struct{} // with room for one; full while somebody syncs

	mu      sync.Mutex
	ops     []*op
	journal *journal
	groups  []*syncGroup // whose records are not on the disk yet, at most one for each file
	busy    bool         // the last sync was that of several
}

// syncGroup are intents that are synced together.
type syncGroup struct {
	file *os.File
	size int
	err  error         // that they could not be written
	done chan struct{} // closed when err says how it went
}

// siblings is how long a sync waits for others, where there were several the last
// time as well. A sync costs the processor as much as a call does.
const siblings = 500 * time.Microsecond

func newInbox(j *journal) *inbox {
	return &inbox{bell: make(chan struct{}, 1), turn: make(chan struct{}, 1), journal: j}
}

// add takes a record that may be lost with the process, and reports whether there
// was room.
func (i *inbox) add(o *op) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.ops) >= queueSize {
		return false
	}
	i.put(o)
	return true
}

// write takes a record that outlives the process. With an error it is taken all
// the same, and only that is not sure.
func (i *inbox) write(o *op) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.put(o)
	i.journal.append(o)
	if err := i.journal.write(); err != nil {
		return journalError(err, i.journal.file())
	}
	return nil
}

// sync takes a record that outlives a loss of power when it returns nil. Those
// that come at once are synced at once.
func (i *inbox) sync(ctx context.Context, o *op) error {
	g, err := i.join(o)
	if err != nil {
		return err
	}
	for {
		select {
		case <-g.done:
			return g.err
		case i.turn <- struct{}{}:
			i.syncAll(g)
			<-i.turn
		case <-ctx.Done():
			o.moot.Store(true)
			return context.Cause(ctx)
		}
	}
}

// join puts a record into a group.
func (i *inbox) join(o *op) (*syncGroup, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.journal.broken != nil:
		return nil, journalError(i.journal.broken, i.journal.file())
	case len(i.ops) >= queueSize:
		return nil, hub.E(message.StoreBusy, nil, "store", i.journal.file().Name())
	}
	var g *syncGroup
	if n := len(i.groups); n > 0 {
		g = i.groups[n-1]
	}
	if g == nil || g.file != i.journal.file() {
		g = &syncGroup{file: i.journal.file(), done: make(chan struct{})}
		i.groups = append(i.groups, g)
	}
	g.size++
	i.put(o)
	i.journal.append(o)
	return g, nil
}

// syncAll syncs all groups, unless that of the caller has been meanwhile.
func (i *inbox) syncAll(of *syncGroup) {
	select {
	case <-of.done:
		return
	default:
	}
	if i.busy {
		time.Sleep(siblings)
	}
	i.mu.Lock()
	groups := i.groups
	i.groups = nil
	i.flush(groups)
	i.mu.Unlock()
	i.busy = false
	for _, g := range groups {
		i.busy = i.busy || g.size > 1
		if g.err == nil {
			if g.err = dataSync(g.file); g.err != nil {
				i.fail(g)
			}
		}
		if g.err != nil {
			g.err = journalError(g.err, g.file)
		}
		close(g.done)
	}
}

// fail has nothing more written to a file that could not be synced: what of it is
// on the disk is not known.
func (i *inbox) fail(g *syncGroup) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.journal.file() == g.file {
		i.journal.broken = g.err
	}
}

// flush writes what the journal has to write, and has the groups know if that
// fails. The caller holds the lock.
func (i *inbox) flush(groups []*syncGroup) {
	err := i.journal.write()
	if err == nil {
		return
	}
	for _, g := range groups {
		if g.file == i.journal.file() {
			g.err = err
		}
	}
}

// put puts a record to the others. The caller holds the lock.
func (i *inbox) put(o *op) {
	i.ops = append(i.ops, o)
	if n := len(i.ops); n == 1 || n == batchSize {
		select {
		case i.bell <- struct{}{}:
		default: // it has been rung already
		}
	}
}

// len is how many there are.
func (i *inbox) len() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.ops)
}

// each takes all out, in their order. Those that come from now on are in the other
// file of the journal, if that is free.
func (i *inbox) each(take func(*op)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.journal.used && i.journal.free {
		i.flush(i.groups)
		i.journal.rotate()
	}
	for _, o := range i.ops {
		take(o)
	}
	clear(i.ops)
	i.ops = i.ops[:0]
}

// taken has the file that is not written used again: all that each gave so far is
// in the database, and outlives a loss of power.
func (i *inbox) taken() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.journal.free = true
}

// trim makes the files of the journal empty as far as they are taken over.
func (i *inbox) trim() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.journal.trim()
}

// close closes the journal. What comes afterwards is not written.
func (i *inbox) close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.journal.close()
}
