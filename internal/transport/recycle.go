package transport

import "sync"

// Large messages are read into buffers that are used again: making and
// clearing a fresh MiB for each costs more than checking and relaying it. The
// collector empties the pool, so that nothing is kept once the rush is over.
const (
	recycleMin = 64 << 10
	recycleMax = 16 << 20
)

var recycled sync.Pool

// buffer returns n bytes, of any content.
func buffer(n int) []byte {
	if n >= recycleMin && n <= recycleMax {
		// One that is much too large would be kept by a small message.
		if b, ok := recycled.Get().(*[]byte); ok && n <= cap(*b) && cap(*b) <= 2*n {
			return (*b)[:n]
		}
	}
	return make([]byte, n)
}

// grow returns b with room for n more bytes. Large ones grow from one recycled
// buffer into the next.
func grow(b []byte, n int) []byte {
	if len(b)+n <= cap(b) || 2*cap(b) < recycleMin {
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
	if n := cap(raw); n >= recycleMin && n <= recycleMax {
		raw = raw[:0]
		recycled.Put(&raw)
	}
}
