package proc

// entry is a process as the system showed it at one moment.
type entry struct {
	pid, parent, group int
	start              uint64 // ticks since boot on Linux, microseconds since 1970 on macOS
	zombie             bool
	marks              []string // of the trees in which it was started
}

// identity is what no other process of this boot has.
func (e entry) identity() identity { return identity{PID: e.pid, Start: e.start} }
