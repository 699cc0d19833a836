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
	kind       kind // kindIntent, kindCall (which may become an outcome) or kindLost
	call       string
	at         int64
	head, tail []byte
	changing   bool        // it may change something
	moot       atomic.Bool // of an intent: the call was not sent, or how it ended is known and says it all
}

// position is a place in a chain.
type position struct {
	seq  int64
	hash string
}

// Intend records that a call is about to be sent that may change something. If
// it returns nil, the record outlives a loss of power, and the call may be sent;
// else it must not be. Its errors are those of the context and
// [message.AuditUnwritable]. Calls that come at once are written at once.
//
// [Log.Finish] is to be called afterwards in either case.
func (l *Log) Intend(ctx context.Context, r *hub.CallRecord) error {
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
	o := newOp(kindIntent, r)
	err := l.inbox.sync(ctx, o)
	if err != nil && !o.moot.Load() {
		return hub.E(message.AuditUnwritable, hub.AsError(err))
	}
	return err
}

// Finish records how a call ended. That of a call that may change something
// outlives the process when it returns; any other one does within a quarter of a
// second. After an error it is kept in memory: there is nothing to be done but to
// tell of it.
func (l *Log) Finish(_ context.Context, r *hub.CallRecord) error {
	if l.over() {
		return hub.E(message.ShuttingDown, nil)
	}
	o := newOp(kindCall, r)
	if o.changing {
		return l.inbox.write(o)
	}
	if !l.inbox.add(o) {
		l.lose()
	}
	return nil
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
	o := &op{kind: k, call: clip(r.ID, longestCall), at: time.Now().UnixMicro(), changing: r.Changing}
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
