package xiaozhi

import (
	"slices"
	"sync"
)

// slots are how many calls are carried out at once. The limit is asked each time, as
// it may change. Safe for concurrent use.
type slots struct {
	limit func() int

	mu      sync.Mutex
	used    int
	waiting []chan struct{} // in their order
}

// enter asks for a slot. The turn is closed when there is one; whoever has asked
// leaves, with a slot or without one.
func (s *slots) enter() (turn chan struct{}) {
	turn = make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, turn)
	s.mu.Unlock()
	s.advance()
	return turn
}

// leave gives a slot back, or asks for none any more.
func (s *slots) leave(turn chan struct{}) {
	s.mu.Lock()
	if at := slices.Index(s.waiting, turn); at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	} else {
		s.used--
	}
	s.mu.Unlock()
	s.advance()
}

// advance gives slots to those who wait, as far as there are any.
func (s *slots) advance() {
	limit := s.limit()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.used < limit && len(s.waiting) > 0 {
		close(s.waiting[0])
		s.waiting = slices.Delete(s.waiting, 0, 1)
		s.used++
	}
}
