package audit

import (
	"cmp"
	"context"
	"os"
	"sync"
)

// queueSize is how many records may wait to be taken.
const queueSize = 8192

// inbox are the records that wait to be taken over into the chain. They wake Run
// once for many: to be woken costs more than to write one. Those of calls that may
// change something are in the journal as well. Safe for concurrent use.
type inbox struct {
	bell chan struct{} // with room for one; rung when there is a first record, and when they are a batch
	turn sync.Mutex    // of who syncs

	mu      sync.Mutex
	ops     []*op
	begun   map[string]struct{} // calls with an intent and no outcome
	journal *journal
	groups  []*syncGroup // whose records are not on the disk yet
	closed  bool
}

// syncGroup are intents that are synced together. They are in one file, of one
// generation.
type syncGroup struct {
	file       *os.File
	generation uint64
	err        error         // that they could not be written
	done       chan struct{} // closed when err says how it went
}

func newInbox(j *journal) *inbox {
	return &inbox{bell: make(chan struct{}, 1), begun: make(map[string]struct{}), journal: j}
}

// end takes the record of a call's end. It outlives the process if the call has an
// intent; with an error it is taken all the same, and only that is not sure. Of
// others it is lost if there is no room.
func (i *inbox) end(o *op) (lost bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, begun := i.begun[o.call]; !begun {
		if len(i.ops) >= queueSize {
			return true, nil
		}
		i.put(o)
		return false, nil
	}
	delete(i.begun, o.call)
	o.journaled = true
	i.put(o)
	i.journal.append(o)
	if err := i.write(); err != nil {
		return false, journalError(err, i.journal.segment().file.Name())
	}
	return false, nil
}

// intend takes the record of an intent. It outlives a loss of power when it returns
// nil. Those that come at once are synced at once, by the first of them.
func (i *inbox) intend(ctx context.Context, o *op) error {
	g, first, err := i.join(o)
	if err != nil {
		return err
	}
	if first {
		i.turn.Lock()
		i.sync(g)
		i.turn.Unlock()
	}
	select {
	case <-g.done:
		if g.err != nil {
			i.refused(o)
		}
		return g.err
	case <-ctx.Done():
		o.moot.Store(true)
		return context.Cause(ctx)
	}
}

// join puts a record into a group; first says that it is the first of it, which has
// to sync it.
func (i *inbox) join(o *op) (g *syncGroup, first bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.journal.segment()
	err = i.journal.broken
	if err == nil && len(i.ops) >= queueSize {
		err = errBehind
	}
	if err != nil {
		return nil, false, journalError(err, s.file.Name())
	}
	if n := len(i.groups); n > 0 {
		g = i.groups[n-1]
	}
	if first = g == nil || g.generation != s.generation; first {
		g = &syncGroup{file: s.file, generation: s.generation, done: make(chan struct{})}
		i.groups = append(i.groups, g)
	}
	o.journaled = true
	i.begun[o.call] = struct{}{}
	i.put(o)
	if i.journal.append(o); i.journal.broken != nil {
		_ = i.write() // the group knows
	}
	return g, first, nil
}

// refused has it that the call of an intent is not sent.
func (i *inbox) refused(o *op) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.begun, o.call)
}

// sync syncs all groups, unless that of the caller has been meanwhile. If a write
// or a sync fails, all of them are told so: a sync that fails is told once, and what
// of the file is on the disk is not known from then on.
func (i *inbox) sync(own *syncGroup) {
	select {
	case <-own.done:
		return
	default:
	}
	i.mu.Lock()
	_ = i.write() // the groups know
	groups := i.groups
	i.groups = nil
	i.mu.Unlock()
	var err error
	for _, g := range groups {
		err = cmp.Or(err, g.err)
	}
	for n, g := range groups {
		if err == nil && (n == 0 || g.file != groups[n-1].file) {
			err = i.journal.sync(g.file)
		}
	}
	if err != nil {
		i.fail(err)
		err = journalError(err, own.file.Name())
	}
	for _, g := range groups {
		g.err = err
		close(g.done)
	}
}

// write writes what the journal has to write, and has the groups know if that
// fails. The caller holds the lock.
func (i *inbox) write() error {
	err := i.journal.write()
	if err != nil {
		for _, g := range i.groups {
			g.err = err
		}
	}
	return err
}

// fail has nothing more written until the database has all there is, and those told
// who wait for a sync.
func (i *inbox) fail(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.journal.broken == nil {
		i.journal.broken = err
	}
	_ = i.write() // which tells them
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

// drain takes all out, in their order. Those that come from now on are in the other
// file of the journal, if that is free.
func (i *inbox) drain(take func(*op)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if j := i.journal; j.used && j.free {
		if i.write() == nil {
			j.begin(1 - j.written)
		}
	}
	for _, o := range i.ops {
		take(o)
	}
	clear(i.ops)
	i.ops = i.ops[:0]
}

// taken has the file that is not written used again: all that was drained is in the
// database, and outlives a loss of power. A journal that was broken begins anew.
func (i *inbox) taken() {
	i.mu.Lock()
	defer i.mu.Unlock()
	j := i.journal
	if j.broken == nil {
		j.free = true
		return
	}
	j.broken = nil
	j.begin(1 - j.written) // the one before may have what came since the drain
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
	if i.closed {
		return nil
	}
	i.closed = true
	return i.journal.close()
}
