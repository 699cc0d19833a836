package audit

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// op is a record on its way to the chain.
type op struct {
	kind       kind // kindIntent, kindCall (which may become an outcome), kindLost; "" to write what waits
	call       string
	at         int64
	head, tail []byte
	done       chan error  // told once, of the first attempt; nil if nobody waits
	given      atomic.Bool // nobody waits any more
	where      *position   // told where the chain ends; of kind ""
}

// position is a place in a chain.
type position struct {
	seq  int64
	hash string
}

func (o *op) answer(err error) {
	if o.done != nil {
		o.done <- err // it has room for one
		o.done = nil
	}
}

// Intend records that a call is about to be sent that may change something. If
// it returns nil, the record outlives a loss of power, and the call may be sent;
// else it must not be. Calls that come at once are written at once.
//
// [Log.Finish] is to be called afterwards in either case.
func (l *Log) Intend(ctx context.Context, r *hub.CallRecord) error {
	o, done := newOp(kindIntent, r), make(chan error, 1)
	o.done = done // which is Run's from the queue on
	if l.over() {
		return hub.E(message.ShuttingDown, nil)
	}
	select {
	case l.queue <- o:
	case <-l.ended:
		return hub.E(message.ShuttingDown, nil)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return l.wait(ctx, o, done)
}

// Finish records how a call ended. That of a call that may change something has
// been written when it returns nil, and outlives the process; any other one is
// written within a quarter of a second. After an error it is kept, and written
// as soon as that is possible: there is nothing to be done but to tell of it.
func (l *Log) Finish(ctx context.Context, r *hub.CallRecord) error {
	o := newOp(kindCall, r)
	var done chan error
	if r.Changing {
		done = make(chan error, 1)
	}
	o.done = done // which is Run's from the queue on
	if l.over() {
		return hub.E(message.ShuttingDown, nil)
	}
	if done == nil {
		if !l.idle.add(o) {
			l.lose()
		}
		return nil
	}
	select {
	case l.queue <- o:
	default:
		l.lose()
		return nil
	}
	return l.wait(ctx, o, done)
}

// lose counts a record that finds no room. An entry tells of it, as soon as one
// can be written.
func (l *Log) lose() {
	l.lost.Add(1)
	l.total.Add(1)
}

// over reports whether Run has ended.
func (l *Log) over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

func newOp(k kind, r *hub.CallRecord) *op {
	o := &op{kind: k, call: clip(r.ID, longestCall), at: time.Now().UnixMicro()}
	for i := range len(o.call) {
		if c := o.call[i]; c <= ' ' || c > '~' {
			o.call = strconv.QuoteToASCII(o.call) // no id of ours
			break
		}
	}
	o.head, o.tail = encode(r)
	return o
}

func (l *Log) wait(ctx context.Context, o *op, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		o.given.Store(true)
		return context.Cause(ctx)
	case <-l.ended:
		select {
		case err := <-done:
			return err
		default:
			return hub.E(message.ShuttingDown, nil)
		}
	}
}

// flush writes what waits, and returns where this node's chain ends then; nil
// if nobody writes.
func (l *Log) flush(ctx context.Context) *position {
	if !l.running.Load() {
		return nil
	}
	o := &op{done: make(chan error, 1), where: new(position)}
	done := o.done
	select {
	case l.queue <- o:
	case <-l.ended:
		return nil
	case <-ctx.Done():
		return nil
	}
	select {
	case err := <-done:
		if err != nil {
			return nil // what was written before can be read all the same
		}
		return o.where
	case <-l.ended:
	case <-ctx.Done():
	}
	return nil
}
