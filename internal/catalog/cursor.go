package catalog

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
)

// nonce marks the cursors of one book in one process, so that those of another
// list, view or run, whose listings count from 1 too, are not taken for its own.
type nonce [8]byte

// cursorLen is the length of a cursor before it is encoded: the nonce, the
// listing and the place of the page's first entry in it.
const cursorLen = len(nonce{}) + 8 + 4

// Strict, so that a cursor has one spelling only.
var cursorEncoding = base64.RawURLEncoding.Strict()

// newNonce returns a random nonce.
func newNonce() nonce {
	var n nonce
	rand.Read(n[:]) // never fails
	return n
}

// cursor returns the cursor of the page that begins with the entry at start.
func (n nonce) cursor(listing uint64, start int) string {
	b := make([]byte, 0, cursorLen)
	b = append(b, n[:]...)
	b = binary.BigEndian.AppendUint64(b, listing)
	b = binary.BigEndian.AppendUint32(b, uint32(start))
	return cursorEncoding.EncodeToString(b)
}

// parse reads a cursor, and reports false if it is none of this nonce. What
// it says is for the caller to check: a cursor is opaque, not signed.
func (n nonce) parse(cursor string) (listing uint64, start int, ok bool) {
	// The decoder skips line breaks, so the length is checked on both sides.
	if len(cursor) != cursorEncoding.EncodedLen(cursorLen) {
		return 0, 0, false
	}
	b, err := cursorEncoding.DecodeString(cursor)
	if err != nil || len(b) != cursorLen || nonce(b) != n {
		return 0, 0, false
	}
	b = b[len(n):]
	return binary.BigEndian.Uint64(b), int(binary.BigEndian.Uint32(b[8:])), true
}
