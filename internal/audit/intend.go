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
	kind       kind // kindIntent, kindCall (which may become an outcome), kindBegun, kindAct or kindLost
	call       string
	at         int64
	head, tail []byte
	journaled  bool        // it is in the journal as well
	moot       atomic.Bool // of an intent: the call was not sent, or how it ended is known and says it all
}

// position is a place in a chain.
type position struct {
	seq  int64
	hash string
}

// Intend records that a call is about to be sent that may change something. If
// it returns nil, the record outlives a loss of power, and the call may be sent;
// else it must not be. Its errors are those of the context, and
// [message.AuditUnwritable], or [message.ShuttingDown] once Run has ended. Calls
// that come at once are written at once.
//
// [Log.Finish] is to be called afterwards in any case.
func (l *Log) Intend(ctx context.Context, r *hub.CallRecord) error {
	return l.begin(ctx, newOp(kindIntent, r))
}

// begin records what is about to be done; see Intend.
func (l *Log) begin(ctx context.Context, o *op) error {
	if l.over() {
		return hub.E(message.ShuttingDown, nil)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// A record that cannot be taken over must not grow, and whoever looks after it
	// should hear of it.
	if e := l.failed.Load(); e != nil {
		return hub.E(message.AuditUnwritable, e)
	}
	err := l.inbox.intend(ctx, o)
	if o.moot.Load() {
		return err // the caller's time is over
	}
	l.journalled(err)
	if err != nil {
		return hub.E(message.AuditUnwritable, hub.AsError(err))
	}
	return nil
}

// Finish records how a call ended. That of a call for which Intend returned nil
// outlives the process when it returns; any other one does within a quarter of a
// second. After an error it is kept in memory, unless Run has ended: there is
// nothing to be done but to tell of it.
func (l *Log) Finish(_ context.Context, r *hub.CallRecord) error {
	return l.finish(newOp(kindCall, r))
}

// finish records what has ended; see Finish.
func (l *Log) finish(o *op) error {
	if l.over() {
		return hub.E(message.ShuttingDown, nil)
	}
	lost, err := l.inbox.end(o)
	if lost {
		l.lose()
	}
	if err != nil {
		l.journalled(err)
	}
	return err
}

// journalled tells when the journal cannot be written any more, and when it can
// again.
func (l *Log) journalled(err error) {
	switch {
	case err != nil:
		if l.broken.Swap(hub.AsError(err)) == nil {
			l.log.Warn("the journal of the record of calls cannot be written", "error", err)
		}
	case l.broken.Load() != nil && l.broken.Swap(nil) != nil:
		l.log.Info("the journal of the record of calls can be written again")
	}
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

// flush takes over what waits, and returns where this node's chain ends then; nil
// if nobody writes, or if that fails: what was written before can be read all the
// same.
func (l *Log) flush(ctx context.Context) *position {
	if !l.running.Load() {
		return nil
	}
	asked := make(chan *position, 1)
	select {
	case l.asked <- asked:
	case <-l.ended:
		return nil
	case <-ctx.Done():
		return nil
	}
	select {
	case p := <-asked:
		return p
	case <-l.ended:
	case <-ctx.Done():
	}
	return nil
}
