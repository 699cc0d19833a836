package events

import "slices"

// ring is the events in memory, oldest first.
type ring struct {
	events []*event
	bytes  int
	most   int   // bytes
	floor  int64 // id of the last event that was taken out
	hole   int64 // id of the last one that was taken out though it waited to be written
}

// push adds an event.
func (r *ring) push(e *event) {
	r.events = append(r.events, e)
	r.bytes += e.size
}

// trim takes out what is too much, of what is up to the id, and returns the last
// one that it took out. What waits to be written, which comes after the id, is
// bounded elsewhere, and stays up to twice the size.
func (r *ring) trim(to int64) (last *event) {
	n := 0
	for _, e := range r.events {
		over := r.bytes > r.most || len(r.events)-n > maxRing
		if !over || e.id > to && r.bytes <= 2*max(r.most, maxPending) && len(r.events)-n <= 2*maxRing {
			break
		}
		r.bytes -= e.size
		if last = e; e.id > to {
			r.hole = e.id
		}
		n++
	}
	if n > 0 {
		clear(r.events[:n])
		r.events = r.events[n:] // append moves them once the room behind them is used up
		r.floor = last.id
	}
	return last
}

// after returns the events after the one with the id.
func (r *ring) after(id int64) []*event {
	i, found := slices.BinarySearchFunc(r.events, id, func(e *event, id int64) int {
		switch {
		case e.id < id:
			return -1
		case e.id > id:
			return 1
		}
		return 0
	})
	if found {
		i++
	}
	return r.events[i:]
}
