package catalog

import (
	"bytes"
	"slices"
	"sync"

	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// A page ends before the tool that would pass one of these. They are as wide as
// they can be, because many clients never follow a cursor and would know the
// first page only; they are there at all because clients also bound what they
// read at once. A single tool larger than that has a page of its own.
const (
	pageTools = 1000
	pageBytes = 4 << 20
)

// The two forms of a result of tools/list. The modern one must have a type and
// say how long it may be kept (2026-07-28, "Caching"): not at all, and for
// nobody else, because it can change at any time and by caller.
const (
	pageStart  = `{"tools":[`
	pageCursor = `,"nextCursor":`
	modernEnd  = `,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
	legacyEnd  = `}`
)

// listing is the text of a snapshot: what callers are shown of it. Snapshots
// that read the same share one.
type listing struct {
	id      uint64
	nonce   nonce
	entries []*Entry
	starts  []int // the first entry of each page; never empty

	legacy, modern rendering
}

// rendering is a listing in one era, made when it is first asked for: of the
// many snapshots of a busy start most are never read.
type rendering struct {
	once  sync.Once
	pages [][]byte
}

func newListing(id uint64, n nonce, entries []*Entry) *listing {
	l := &listing{id: id, nonce: n, entries: entries, starts: []int{0}}
	tools, size := 0, 0
	for i, e := range entries {
		if tools > 0 && (tools == pageTools || size+len(e.Raw) > pageBytes) {
			l.starts = append(l.starts, i)
			tools, size = 0, 0
		}
		tools++
		size += len(e.Raw) + len(",")
	}
	return l
}

// reads reports whether the listing shows just the entries, to the byte.
func (l *listing) reads(entries []*Entry) bool {
	return slices.EqualFunc(l.entries, entries, func(a, b *Entry) bool {
		return a == b || bytes.Equal(a.Raw, b.Raw)
	})
}

// pageAt returns the number of the page that begins with the entry at start.
func (l *listing) pageAt(start int) (int, bool) { return slices.BinarySearch(l.starts, start) }

// page returns a page by its number. The bytes are shared.
func (l *listing) page(era protocol.Era, number int) []byte {
	r, end := &l.legacy, legacyEnd
	if era == protocol.Modern {
		r, end = &l.modern, modernEnd
	}
	r.once.Do(func() { r.pages = l.render(end) })
	return r.pages[number]
}

// render makes all pages in the form that ends with end.
func (l *listing) render(end string) [][]byte {
	pages := make([][]byte, 0, len(l.starts))
	for i, start := range l.starts {
		entries := l.entries[start:]
		var cursor []byte
		if i+1 < len(l.starts) {
			next := l.starts[i+1]
			entries = l.entries[start:next]
			cursor = wire.AppendString([]byte(pageCursor), l.nonce.cursor(l.id, next))
		}
		size := len(pageStart) + len("]") + len(cursor) + len(end)
		for _, e := range entries {
			size += len(e.Raw) + len(",")
		}
		page := append(make([]byte, 0, size), pageStart...)
		for j, e := range entries {
			if j > 0 {
				page = append(page, ',')
			}
			page = append(page, e.Raw...)
		}
		page = append(page, ']')
		page = append(page, cursor...)
		page = append(page, end...)
		pages = append(pages, page)
	}
	return pages
}
