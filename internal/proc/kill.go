package proc

import (
	"context"
	"os"
)

// Kill ends every recorded tree of this hub without a grace, for a program that
// is to end at once. It returns when none is left, or when that
// takes too long. A tree that starts meanwhile may be missed; the next
// [Ledger.Sweep] finds it. On Windows there is nothing to do: the jobs end with
// this process.
func (l *Ledger) Kill() {
	files, err := os.ReadDir(l.dir)
	if err != nil {
		return // nothing was recorded
	}
	var running []*leftover
	for _, file := range files {
		r, err := l.read(file)
		if err == nil && runOf(r.Mark) == l.run {
			running = append(running, &leftover{record: r, file: file.Name(), cgroup: cgroupAt(r.Cgroup), seen: make(map[identity]bool)})
		}
	}
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.endLeft(now, running) // nobody is there to be told
}
