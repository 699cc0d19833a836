package app

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// Memory is given back once a hub that was busy is calm again, and when what it
// holds has become much less; not while it is busy, and not over and over.
func TestTidier(t *testing.T) {
	const mib = 1 << 20
	tidier := &tidier{}
	for i, step := range []struct {
		now  footprint
		want bool
	}{
		{footprint{5 * mib, 4 * mib}, false},   // it has just started
		{footprint{6 * mib, 4 * mib}, false},   // little has happened
		{footprint{90 * mib, 30 * mib}, false}, // it is busy
		{footprint{91 * mib, 30 * mib}, true},
		{footprint{92 * mib, 30 * mib}, false}, // done already
		{footprint{93 * mib, 20 * mib}, true},  // what it held has ended
		{footprint{94 * mib, 20 * mib}, false},
		{footprint{97 * mib, 20 * mib}, false},
		{footprint{100 * mib, 20 * mib}, false},
		{footprint{103 * mib, 20 * mib}, true}, // a little at a time, it has come to much
	} {
		if got := tidier.due(step.now); got != step.want {
			t.Errorf("step %d: due is %v, want %v", i, got, step.want)
		}
		if step.want {
			tidier.tidied = step.now
		}
	}
}

// What is measured is there in this version of Go, and means what is thought.
func TestFootprint(t *testing.T) {
	before := measureFootprint()
	held := make([]byte, 32<<20)
	debug.FreeOSMemory()
	after := measureFootprint()
	runtime.KeepAlive(held)
	if grown := after.live - before.live; after.live < before.live || grown < 16<<20 {
		t.Errorf("32 MiB are held, and the live heap went from %d to %d bytes", before.live, after.live)
	}
	debug.FreeOSMemory()
	last := measureFootprint()
	if last.live+loosened > after.live || last.allocated-before.allocated < 32<<20 {
		t.Errorf("32 MiB were let go: %+v, %+v, %+v", before, after, last)
	}
}
