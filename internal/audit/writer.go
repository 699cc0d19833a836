package audit

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

const (
	// queueSize is how many records of a kind may wait to be taken, and backlogSize how
	// many are kept while the database cannot be written.
	queueSize   = 8192
	backlogSize = 16384
	// delay is how long a record that nobody waits for waits for others.
	delay = 250 * time.Millisecond
	// siblings is how long a record waits for those of others who waited the
	// last time as well: much less than the disk takes, and one commit for all of
	// them costs little more than for one.
	siblings = 200 * time.Microsecond
	// batchSize is the number of records at which they do not wait.
	batchSize = 2048
	// retryAfter is the time after which writing is tried again.
	retryAfter = time.Second
	// longestCall is how long a call's id may be.
	longestCall = 64
)

// writer is what Run has to do.
type writer struct {
	*Log
	batch   []*op
	urgent  int  // how many wait
	before  int  // how many waited the last time
	failing bool // the last attempt failed
}

// Run writes the record until ctx ends, and then what is left of it with a last
// checkpoint. It signs the chain from time to time, and drops what is too old.
// It returns an error if what was left could not be written. It must not run
// twice.
func (l *Log) Run(ctx context.Context) error {
	l.running.Store(true)
	defer l.end.Do(func() { close(l.ended) })
	w := &writer{Log: l}
	// What is under way is written as a whole, also when ctx ends.
	whole := context.WithoutCancel(ctx)
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	due := time.NewTimer(time.Hour)
	due.Stop()
	for {
		select {
		case o := <-l.queue:
			w.take(o)
			w.gather()
			w.write(whole)
		case <-l.idle.bell:
			switch {
			case l.idle.len() >= batchSize && !w.failing:
				w.drain()
				w.write(whole)
			case len(w.batch) == 0:
				due.Reset(delay)
			}
		case <-due.C:
			w.drain()
			w.write(whole)
		case <-tick.C:
			w.drain()
			w.write(whole)
			if err := w.prune(whole, time.Now()); err != nil {
				w.log.WarnContext(ctx, "old entries of the record of calls could not be dropped", "error", err)
			}
		case <-ctx.Done():
			return w.last(whole)
		}
		switch { // what is left
		case len(w.batch) == 0:
		case w.failing:
			due.Reset(retryAfter)
		default: // it came while old entries were dropped
			due.Reset(delay)
		}
	}
}

// take puts a record to those that are to be written.
func (w *writer) take(o *op) {
	if o.done != nil {
		w.urgent++
	}
	if len(w.batch) >= backlogSize && o.done == nil {
		w.lose()
		return
	}
	w.batch = append(w.batch, o)
}

// gather takes what has come meanwhile, and gives those a moment who are about
// to come.
func (w *writer) gather() {
	w.drain()
	if w.urgent < w.before {
		time.Sleep(siblings)
		w.drain()
	}
}

// drain takes what has come meanwhile.
func (w *writer) drain() {
	w.idle.each(w.take)
	for range queueSize {
		select {
		case o := <-w.queue:
			w.take(o)
		default:
			return
		}
	}
}

// write writes all that waits, and signs it if it is time. Whoever waits is
// told; what nobody could be refused is kept if it fails.
func (w *writer) write(ctx context.Context) {
	err := w.attempt(ctx, false)
	switch {
	case err != nil && !w.failing:
		w.log.WarnContext(ctx, "the record of calls cannot be written", "error", err)
	case err == nil && w.failing:
		w.log.InfoContext(ctx, "the record of calls can be written again")
	}
	w.failing = err != nil
	w.measures.down.Store(w.failing)
}

func (w *writer) attempt(ctx context.Context, final bool) error {
	w.before, w.urgent = w.urgent, 0
	done, err := w.chain.settle(ctx)
	if done != nil {
		w.drop(done.ops)
	}
	if err == nil {
		err = w.extend(ctx, final)
	}
	kept := w.batch[:0]
	for _, o := range w.batch {
		if o.where != nil && err == nil {
			*o.where = position{w.chain.seq, w.chain.hash}
		}
		if o.kind == kindIntent && err != nil {
			o.answer(hub.E(message.AuditUnwritable, hub.AsError(err)))
		} else {
			o.answer(err)
		}
		switch {
		case err == nil || o.kind != kindCall: // an intent was refused, and its call is not sent
		case len(kept) < backlogSize:
			kept = append(kept, o)
		default:
			w.lose()
		}
	}
	clear(w.batch[len(kept):])
	w.batch = kept
	return err
}

// extend adds what waits to the chain.
func (w *writer) extend(ctx context.Context, final bool) error {
	c, now := w.chain, time.Now()
	x := c.begin()
	durability := store.Process
	lost := w.lost.Swap(0)
	if lost > 0 {
		x.op(c.node, &op{kind: kindLost, at: now.UnixMicro(), head: strconv.AppendInt([]byte(`{"lost":`), lost, 10)})
	}
	for _, o := range w.batch {
		if o.kind == "" || o.kind == kindIntent && o.given.Load() {
			continue
		}
		if o.kind == kindIntent {
			durability = store.Disk
		}
		x.op(c.node, o)
	}
	var err error
	if n := x.seq - x.signed; n >= checkpointEvery || n > 0 && (final || now.Sub(x.at) >= checkpointAfter) {
		err = x.sign(c.keys, now)
	}
	if began := time.Now(); err == nil && len(x.entries) > 0 {
		if err = c.commit(ctx, x, durability, nil); err == nil {
			w.measures.commit(len(x.entries), time.Since(began))
		}
	}
	if err != nil {
		w.lost.Add(lost) // if it was written all the same it is told twice, which is better than never
	}
	return err
}

// drop takes out of what waits what has been written already.
func (w *writer) drop(written []*op) {
	is := make(map[*op]bool, len(written))
	for _, o := range written {
		is[o] = true
	}
	w.batch = slices.DeleteFunc(w.batch, func(o *op) bool { return is[o] })
}

// last writes what is left.
func (w *writer) last(ctx context.Context) error {
	var err error
	for range 3 {
		w.drain()
		if err = w.attempt(ctx, true); err == nil {
			break
		}
		time.Sleep(retryAfter)
	}
	w.end.Do(func() { close(w.ended) })
	// What came after the last look was not refused yet.
	for {
		select {
		case o := <-w.queue:
			o.answer(hub.E(message.ShuttingDown, nil))
		default:
			return err
		}
	}
}
