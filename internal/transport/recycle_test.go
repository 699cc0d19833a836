package transport

import "testing"

// A small message is not kept in a large buffer, and what is handed out has the
// length that was asked for.
func TestBuffer(t *testing.T) {
	for _, n := range []int{0, 1, 100, 64 << 10, 64<<10 + 1, 70 << 10, 1 << 20, 1<<20 + 1, 16 << 20, 16<<20 + 1} {
		Recycle(make([]byte, 16<<20))
		for range 3 {
			b := buffer(n)
			if len(b) != n || cap(b) > max(2*n, 64) {
				t.Errorf("buffer(%d) has %d of %d bytes", n, len(b), cap(b))
			}
			Recycle(b)
		}
	}
}

func TestGrow(t *testing.T) {
	var b []byte
	for i := range 300_000 {
		b = append(grow(b, 1), byte(i))
	}
	for i, c := range b {
		if c != byte(i) {
			t.Fatalf("byte %d is %d", i, c)
		}
	}
}
