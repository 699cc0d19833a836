package audit

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
)

const (
	// backlogSize is how many records are kept while the database cannot be written,
	// besides those of calls that have an intent.
	backlogSize = 16384
	// delay is how long a record waits for others.
	delay = 250 * time.Millisecond
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
	intents map[string]*op     // in the batch, by call
	waiting []chan<- *position // for it to be written
	failing bool               // the last attempt failed
}

func newWriter(l *Log) *writer { return &writer{Log: l, intents: make(map[string]*op)} }

// Run takes the record over into the chain until ctx ends, and then what is left of
// it with a last checkpoint. It signs the chain from time to time, and drops what
// is too old. It returns an error if what was left could not be taken over; what
// the journal has of it is by the next [Open]. It must not run twice.
func (l *Log) Run(ctx context.Context) error {
	l.running.Store(true)
	defer l.end.Do(func() { close(l.ended) })
	w := newWriter(l)
	// What is under way is written as a whole, also when ctx ends.
	whole := context.WithoutCancel(ctx)
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	due := time.NewTimer(time.Hour)
	due.Stop()
	for {
		select {
		case asked := <-l.asked:
			w.waiting = append(w.waiting, asked)
			w.write(whole)
		case <-l.inbox.bell:
			switch {
			case w.failing: // it is due already
			case l.inbox.len() >= batchSize:
				w.write(whole)
			default:
				due.Reset(delay)
			}
			continue
		case <-due.C:
			w.write(whole)
		case <-tick.C:
			w.write(whole)
			w.tidy(whole)
		case <-ctx.Done():
			return w.last(whole)
		}
		if w.failing {
			due.Reset(retryAfter)
		}
	}
}

// take puts a record to those that are to be written. An intent whose outcome came
// before it was written needs no entry: that of the outcome has all of it.
func (w *writer) take(o *op) {
	switch intent := w.intents[o.call]; {
	case o.kind.begins():
		w.intents[o.call] = o
	case intent != nil:
		intent.moot.Store(true)
		delete(w.intents, o.call)
	case len(w.batch) >= backlogSize && w.chain.open[o.call] == 0:
		w.lose()
		return
	}
	w.batch = append(w.batch, o)
}

// write writes all that waits, and signs it if it is time. What cannot be written
// is kept. Whoever waits is told.
func (w *writer) write(ctx context.Context) {
	err := w.attempt(ctx, false)
	switch {
	case err != nil && !w.failing:
		w.log.WarnContext(ctx, "the record of calls cannot be written", "error", err)
	case err == nil && w.failing:
		w.log.InfoContext(ctx, "the record of calls can be written again")
	}
	w.failing = err != nil
}

func (w *writer) attempt(ctx context.Context, final bool) error {
	w.inbox.drain(w.take)
	done, err := w.chain.settle(ctx)
	if done != nil {
		w.drop(done.ops)
	}
	if err == nil {
		err = w.extend(ctx, final)
	}
	var p *position
	if err == nil {
		clear(w.batch)
		w.batch = w.batch[:0]
		clear(w.intents)
		w.inbox.taken()
		w.failed.Store(nil)
		p = &position{w.chain.seq, w.chain.hash}
	} else {
		w.failed.Store(hub.AsError(err))
	}
	for _, asked := range w.waiting {
		asked <- p // it has room for one
	}
	w.waiting = nil
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
		if o.kind.begins() && o.moot.Load() {
			continue
		}
		if o.journaled {
			durability = store.Disk // the journal forgets it then
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

// tidy drops what is too old.
func (w *writer) tidy(ctx context.Context) {
	if err := w.prune(ctx, time.Now()); err != nil {
		w.log.WarnContext(ctx, "old entries of the record of calls could not be dropped", "error", err)
	}
	if err := w.inbox.trim(); err != nil {
		w.log.WarnContext(ctx, "the journal of the record of calls could not be emptied", "error", err)
	}
}

// last writes what is left.
func (w *writer) last(ctx context.Context) error {
	var err error
	for range 3 {
		if err = w.attempt(ctx, true); err == nil {
			err = w.inbox.trim()
			break
		}
		time.Sleep(retryAfter)
	}
	w.end.Do(func() { close(w.ended) })
	return errors.Join(err, w.inbox.close())
}
