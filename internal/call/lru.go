package call

import "container/list"

// lru keeps values up to a total size, and lets go of those that were looked at
// longest ago when there is more. Not safe for concurrent use. Forgotten, which
// may be nil, is told of every value that is not kept any more, but must not
// change the lru.
type lru[K comparable, V any] struct {
	most      int
	forgotten func(K, V)

	size  int
	order list.List // of *kept[K, V], the latest first
	byKey map[K]*list.Element
}

type kept[K comparable, V any] struct {
	key   K
	value V
	size  int
}

func newLRU[K comparable, V any](most int, forgotten func(K, V)) *lru[K, V] {
	return &lru[K, V]{most: most, forgotten: forgotten, byKey: make(map[K]*list.Element)}
}

// put keeps a value in the place of the one that has the key, if any. One that
// is larger than everything together may be is not kept.
func (l *lru[K, V]) put(key K, value V, size int) (ok bool) {
	l.drop(key)
	if size > l.most {
		return false
	}
	l.byKey[key] = l.order.PushFront(&kept[K, V]{key, value, size})
	l.size += size
	for l.size > l.most {
		l.dropElement(l.order.Back())
	}
	return true
}

// get returns the value that has the key.
func (l *lru[K, V]) get(key K) (value V, ok bool) {
	e, ok := l.byKey[key]
	if !ok {
		return value, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*kept[K, V]).value, true
}

// drop lets go of the value that has the key, if any.
func (l *lru[K, V]) drop(key K) {
	if e, ok := l.byKey[key]; ok {
		l.dropElement(e)
	}
}

func (l *lru[K, V]) dropElement(e *list.Element) {
	k := e.Value.(*kept[K, V])
	l.order.Remove(e)
	delete(l.byKey, k.key)
	l.size -= k.size
	if l.forgotten != nil {
		l.forgotten(k.key, k.value)
	}
}
