package fleet

// Left is how many callers a server remembers, and how many resources are
// subscribed to on its shared connections.
func (f *Fleet) Left(key string) (guests, topics int) {
	s := f.now.Load().byKey[key]
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.guests), len(s.common.topics)
}
