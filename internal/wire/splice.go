package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// Edit replaces the bytes from Start up to End by Text. If Start equals End,
// it inserts Text there; if Text is empty, it removes.
type Edit struct {
	Start, End int
	Text       []byte
}

// Replace returns the edit that puts text in the place of the value v.
func Replace(v Span, text []byte) Edit { return Edit{v.Start, v.End, text} }

// Insert returns the edit that puts members, such as `"a":1,"b":2`, before
// all members of the object that obj covers. It adds the comma that is needed
// then. Members must hold at least one.
//
// Do not splice it together with a [Remove] from the same object, whose last
// member might be the one removed: use [EditObject].
func Insert(raw []byte, obj Span, members []byte) Edit {
	at := obj.Start + 1
	if firstKey(raw, obj) == 0 {
		return Edit{at, at, members}
	}
	return Edit{at, at, append(slices.Clip(members), ',')}
}

// Remove returns the edit that takes the member with a decoded key, and just
// one comma, out of the object that obj covers. It reports false if there is no
// such member. Where keys were not checked to be unique, it takes the last one,
// which is the one that [Lookup] finds.
//
// Two removals from one object may claim the same comma, and then overlap: use
// [EditObject] for several.
func Remove(raw []byte, obj Span, key string) (Edit, bool) {
	var (
		edit  Edit
		found bool
		last  int // end of the member before
	)
	for next := firstKey(raw, obj); next > 0; {
		var m Member
		m, next = memberAt(raw, next)
		if KeyIs(raw, m.Key, key) {
			found = true
			switch {
			case last > 0:
				edit = Edit{Start: last, End: m.Value.End}
			case next > 0:
				edit = Edit{Start: m.Key.Start, End: next}
			default:
				edit = Edit{Start: m.Key.Start, End: m.Value.End}
			}
		}
		last = m.Value.End
	}
	return edit, found
}

// EditObject appends to edits those that take all members for which drop is
// true out of the object that obj covers, and put members, such as
// `"a":1,"b":2`, before the remaining ones; members may be empty. The commas
// come out right whatever is dropped. What remains is not touched, so that the
// edits go together with others inside the values that remain, but not with
// [Insert], [Remove] or another EditObject of the same object.
func EditObject(edits []Edit, raw []byte, obj Span, drop func(key Span) bool, members []byte) []Edit {
	var (
		kept int  // end of the last member that remains
		gone Edit // the dropped members since, with the comma before them
	)
	for m := range Object(raw, obj) {
		if drop(m.Key) {
			if gone.End == 0 {
				gone.Start = m.Key.Start
				if kept > 0 {
					gone.Start = kept
				}
			}
			gone.End = m.Value.End
			continue
		}
		if gone.End > 0 {
			if kept == 0 {
				// None remains before them: the comma behind goes instead.
				gone.End = m.Key.Start
			}
			edits = append(edits, gone)
			gone = Edit{}
		}
		kept = m.Value.End
	}
	if gone.End > 0 {
		edits = append(edits, gone)
	}
	if len(members) > 0 {
		if kept > 0 {
			members = append(slices.Clip(members), ',')
		}
		edits = append(edits, Edit{obj.Start + 1, obj.Start + 1, members})
	}
	return edits
}

// Splice returns raw with the edits made, in a new slice of just the size. The
// edits may be in any order; those that insert at one place do so in the order
// given. Edits that overlap, or lie outside raw, are a fault of the program:
// Splice panics. Neither raw nor the edits are changed.
func Splice(raw []byte, edits ...Edit) []byte {
	return AppendSplice(make([]byte, 0, SplicedLen(raw, edits...)), raw, edits...)
}

// AppendSplice is [Splice], appending to dst, which must not overlap raw or the
// text of an edit.
func AppendSplice(dst, raw []byte, edits ...Edit) []byte {
	var few [inlineEdits]Edit
	at := 0
	for _, e := range sorted(few[:0], raw, edits) {
		dst = append(dst, raw[at:e.Start]...)
		dst = append(dst, e.Text...)
		at = e.End
	}
	return append(dst, raw[at:]...)
}

// WriteSplice writes to w, in several writes, what [Splice] would return, and
// returns how many bytes it wrote. It copies nothing, so w must not keep what it
// is given. It stops at the first error of w and returns it as it is.
func WriteSplice(w io.Writer, raw []byte, edits ...Edit) (int, error) {
	var few [inlineEdits]Edit
	at, written := 0, 0
	write := func(piece []byte) error {
		if len(piece) == 0 {
			return nil
		}
		n, err := w.Write(piece)
		written += n
		return err
	}
	for _, e := range sorted(few[:0], raw, edits) {
		if err := write(raw[at:e.Start]); err != nil {
			return written, err
		}
		if err := write(e.Text); err != nil {
			return written, err
		}
		at = e.End
	}
	err := write(raw[at:])
	return written, err
}

// SplicedLen is the length of what [Splice] would return.
func SplicedLen(raw []byte, edits ...Edit) int {
	n := len(raw)
	for _, e := range edits {
		n += len(e.Text) - (e.End - e.Start)
	}
	return n
}

// inlineEdits is how many edits are put in order without allocating.
const inlineEdits = 8

// sorted appends the edits to dst in the order of their places, and panics if
// they cannot all be made.
func sorted(dst []Edit, raw []byte, edits []Edit) []Edit {
	dst = append(dst, edits...)
	slices.SortStableFunc(dst, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	at := 0
	for _, e := range dst {
		if e.Start < at || e.End < e.Start || e.End > len(raw) {
			panic(fmt.Sprintf("wire: edit of bytes %d to %d overlaps another or lies outside the %d bytes", e.Start, e.End, len(raw)))
		}
		at = e.End
	}
	return dst
}

// OneLine returns raw itself if it has no line break, else a copy with each
// carriage return and line feed replaced by a space. In valid JSON they can only
// be white space, so the meaning stays; the result fits a line of stdio or a
// data field of a server-sent event.
func OneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	line := bytes.Clone(raw)
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return line
}
