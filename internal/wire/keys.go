package wire

import (
	"bytes"
	"hash/maphash"
	"math/bits"
)

// pairwise is how many keys of an object are compared each with each. Up to
// there that is cheaper than hashing.
const pairwise = 16

// keySet finds a key that occurs twice in one object. The zero keySet is empty.
type keySet struct {
	few  [pairwise]Span // none has escapes, so that equal keys have equal bytes
	n    int
	many *keyTable // has all keys, from the first on that is one too many or has escapes
}

// add adds a key and reports whether it was there already. All keys are spans
// of the same raw.
func (s *keySet) add(raw []byte, key Span, escaped bool) bool {
	if s.many == nil {
		if s.n < pairwise && !escaped {
			return s.addToFew(raw, key)
		}
		s.many = newKeyTable(raw, s.few[:s.n])
	}
	return s.many.add(raw, key)
}

func (s *keySet) addToFew(raw []byte, key Span) bool {
	for _, other := range s.few[:s.n] {
		if bytes.Equal(raw[key.Start:key.End], raw[other.Start:other.End]) {
			return true
		}
	}
	s.few[s.n] = key
	s.n++
	return false
}

// keyTable is a hash set of keys. It takes at most eleven bytes per key, and as
// much again for a moment while it grows, so that no message costs many times
// its own length. Its hash is seeded, so that nobody can choose keys that collide.
type keyTable struct {
	seed  maphash.Seed
	slots []uint32 // offsets of keys; 0, where no key can be, is a free slot
	n     int
	a, b  []byte // for decoding keys with escapes
}

// newKeyTable returns a table of keys that are all different.
func newKeyTable(raw []byte, keys []Span) *keyTable {
	t := &keyTable{
		seed:  maphash.MakeSeed(),
		slots: make([]uint32, 4<<bits.Len(uint(len(keys)))), // a power of two
	}
	for _, key := range keys {
		t.add(raw, key)
	}
	return t
}

// add adds a key and reports whether it was there already.
func (t *keyTable) add(raw []byte, key Span) bool {
	if t.n >= len(t.slots)/4*3 {
		t.grow(raw)
	}
	var name []byte
	name, t.a = decoded(raw, key, t.a)
	slot, there := t.find(raw, name)
	if there {
		return true
	}
	t.slots[slot] = uint32(key.Start)
	t.n++
	return false
}

// find returns the slot of a decoded key, or the free one that it belongs to.
func (t *keyTable) find(raw, name []byte) (slot uint64, there bool) {
	mask := uint64(len(t.slots) - 1)
	for slot = maphash.Bytes(t.seed, name) & mask; t.slots[slot] != 0; slot = (slot + 1) & mask {
		var other []byte
		other, t.b = decoded(raw, keyAt(raw, t.slots[slot]), t.b)
		if bytes.Equal(name, other) {
			return slot, true
		}
	}
	return slot, false
}

// grow doubles the slots.
func (t *keyTable) grow(raw []byte) {
	old := t.slots
	t.slots = make([]uint32, 2*len(old))
	for _, start := range old {
		if start != 0 {
			var name []byte
			name, t.a = decoded(raw, keyAt(raw, start), t.a)
			slot, _ := t.find(raw, name)
			t.slots[slot] = start
		}
	}
}

// keyAt is the span of the key that starts at an offset.
func keyAt(raw []byte, start uint32) Span {
	return Span{int(start), skipString(raw, int(start))}
}
