package events

import "time"

// Listeners are woken in groups, one after the other: were all woken at once,
// every step of a call would wait behind them. The more there are, the less often
// it is each one's turn, so that what they take of the processor is the same
// however much happens.
const (
	pace      = 5 * time.Millisecond  // between two rounds
	paceFor   = 50 * time.Microsecond // more for each listener
	groupSize = 16
)

// rounds has those who listen be woken, all once in a round. Whoever has it holds
// the log's mu.
type rounds struct {
	groups []chan struct{} // closed when there is more to read; the first has listened longest
	last   int             // how many are in the last one
	left   int             // groups that are woken in this round
}

// join has one more listen, who has read everything, and returns what is closed
// when there may be more.
func (r *rounds) join() <-chan struct{} {
	if r.last == 0 || r.last == groupSize {
		r.groups, r.last = append(r.groups, make(chan struct{})), 0
	}
	r.last++
	return r.groups[len(r.groups)-1]
}

// begin begins a round, of those who listen now.
func (r *rounds) begin() { r.left, r.last = len(r.groups), 0 }

// next wakes the next group, and returns for how long no other is to be woken.
func (r *rounds) next() time.Duration {
	if r.left == 0 {
		return pace
	}
	close(r.groups[0])
	r.groups[0] = nil
	r.groups = r.groups[1:]
	if r.left--; r.left == 0 {
		return pace + groupSize*paceFor
	}
	return groupSize * paceFor
}
