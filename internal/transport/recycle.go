package transport

import (
	"math/bits"
	"sync"
)

// Large messages are read into buffers that are used again: making and
// clearing a fresh MiB for each costs more than checking and relaying it. The
// collector empties the pools, so that nothing is kept once the rush is over.
//
// Each size, a power of two, has a pool of its own, so that a message is never
// kept in a buffer of more than twice its size.
const (
	recycleMin = 16 // as a power of two: 64 KiB
	recycleMax = 24 // 16 MiB
)

var recycled [recycleMax + 1]sync.Pool

// buffer returns n bytes, of any content.
func buffer(n int) []byte {
	size := bits.Len(uint(max(n-1, 0)))
	if size < recycleMin || size > recycleMax {
		return make([]byte, n)
	}
	if b, ok := recycled[size].Get().(*[]byte); ok {
		return (*b)[:n]
	}
	return make([]byte, n, 1<<size)
}

// grow returns b with room for n more bytes. Large ones grow from one recycled
// buffer into the next.
func grow(b []byte, n int) []byte {
	if len(b)+n <= cap(b) || 2*cap(b) < 1<<recycleMin {
		return b // append grows small ones well
	}
	next := buffer(max(2*cap(b), len(b)+n))[:len(b)]
	copy(next, b)
	Recycle(b)
	return next
}

// Recycle gives back the bytes of a message that nobody refers to any more. It
// is never needed; who is not sure leaves the message to the collector.
func Recycle(raw []byte) {
	if size := bits.Len(uint(cap(raw))) - 1; size >= recycleMin && size <= recycleMax && cap(raw) == 1<<size {
		raw = raw[:0]
		recycled[size].Put(&raw)
	}
}
