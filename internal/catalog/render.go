package catalog

import (
	"bytes"
	"slices"
	"sync"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// A page ends before the entry that would pass one of these. They are as wide as
// they can be, because many clients never follow a cursor and would know the
// first page only; they are there at all because clients also bound what they
// read at once. A single entry larger than that has a page of its own.
const (
	pageEntries = 1000
	pageBytes   = 4 << 20
)

// The two forms of a result. The modern one must have a type and say how long it
// may be kept (2026-07-28, "Caching"): not at all, and for nobody else, because
// it can change at any time and by caller.
const (
	pageCursor = `,"nextCursor":`
	modernEnd  = `,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
	legacyEnd  = `}`
)

// keptListings is how many listings of a book, the newest included, cursors may
// point to. A client in the middle of a list of several pages so sees all of one.
const keptListings = 8

// member is the member of a result that has the list.
func member(which hub.ListSet) string {
	switch which {
	case hub.ListResources:
		return "resources"
	case hub.ListTemplates:
		return "resourceTemplates"
	case hub.ListPrompts:
		return "prompts"
	}
	return "tools"
}

// book is one of the lists as callers are shown it: now, and earlier as long as
// cursors may point there. It is never changed; [turned] makes the next one. A
// cursor of one book is unknown in any other that does not come from it.
type book struct {
	member string // of results; see [member]
	nonce  nonce
	now    *listing
	past   []*listing // those of one page are not among them
}

// newBook makes a book in which nothing is listed. Its first listing is number 1.
func newBook(which hub.ListSet) *book {
	b := &book{member: member(which), nonce: newNonce()}
	b.now = newListing(b, 1, texts{})
	return b
}

// turned returns the book in which the entries are listed, whose descriptions raw
// tells: the same book if it reads the same, to the byte. The entries are kept.
func turned[E any](b *book, entries []E, raw func(E) []byte) *book {
	texts := texts{len(entries), func(i int) []byte { return raw(entries[i]) }}
	if b.now.texts.equal(texts) {
		return b
	}
	next := &book{member: b.member, nonce: b.nonce}
	next.now = newListing(next, b.now.id+1, texts)
	for _, l := range append(slices.Clip(b.past), b.now) {
		if l.id+keptListings > next.now.id && len(l.starts) > 1 {
			next.past = append(next.past, l)
		}
	}
	return next
}

// list returns a page: a whole result, as callers of the era expect it. The
// bytes are shared. See [View.List].
func (b *book) list(era protocol.Era, cursor string) ([]byte, error) {
	if cursor == "" {
		return b.now.page(era, 0), nil
	}
	if id, start, ok := b.nonce.parse(cursor); ok {
		if l := b.listing(id); l != nil {
			// The first page has no cursor.
			if number, ok := l.pageAt(start); ok && number > 0 {
				return l.page(era, number), nil
			}
		}
	}
	return nil, hub.E(message.CursorUnknown, nil)
}

// listing returns the listing with the id; nil if it is not kept.
func (b *book) listing(id uint64) *listing {
	if b.now.id == id {
		return b.now
	}
	for _, l := range b.past {
		if l.id == id {
			return l
		}
	}
	return nil
}

// texts are the descriptions of entries, wherever they are: a list of their own
// would be much to make at each change.
type texts struct {
	n  int
	at func(i int) []byte
}

// equal reports whether both read the same, to the byte.
func (t texts) equal(other texts) bool {
	for i := range min(t.n, other.n) {
		if !bytes.Equal(t.at(i), other.at(i)) {
			return false
		}
	}
	return t.n == other.n
}

// listing is what a book shows at one time.
type listing struct {
	id     uint64
	member string
	nonce  nonce
	texts  texts
	starts []int // the first entry of each page; never empty

	legacy, modern rendering
}

// rendering is a listing in one era, made when it is first asked for: of the
// many listings of a busy start most are never read.
type rendering struct {
	once  sync.Once
	pages [][]byte
}

func newListing(b *book, id uint64, t texts) *listing {
	l := &listing{id: id, member: b.member, nonce: b.nonce, texts: t, starts: []int{0}}
	count, size := 0, 0
	for i := range t.n {
		length := len(t.at(i))
		if count > 0 && (count == pageEntries || size+length > pageBytes) {
			l.starts = append(l.starts, i)
			count, size = 0, 0
		}
		count++
		size += length + len(",")
	}
	return l
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
	begin := `{"` + l.member + `":[`
	for i, start := range l.starts {
		after := l.texts.n
		var cursor []byte
		if i+1 < len(l.starts) {
			after = l.starts[i+1]
			cursor = wire.AppendString([]byte(pageCursor), l.nonce.cursor(l.id, after))
		}
		size := len(begin) + len("]") + len(cursor) + len(end)
		for j := start; j < after; j++ {
			size += len(l.texts.at(j)) + len(",")
		}
		page := append(make([]byte, 0, size), begin...)
		for j := start; j < after; j++ {
			if j > start {
				page = append(page, ',')
			}
			page = append(page, l.texts.at(j)...)
		}
		page = append(page, ']')
		page = append(page, cursor...)
		page = append(page, end...)
		pages = append(pages, page)
	}
	return pages
}
