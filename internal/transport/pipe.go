package transport

import (
	"errors"
	"io"
)

// Pipe makes an in-process stream. The far ends are for a server in this
// process, such as one of the official SDK on its IOTransport: farR is what it
// reads and farW what it writes.
//
// Closing near ends both of its directions. On the far side each end is closed
// by itself: closing farW ends Read of near, closing farR fails its Write.
// Nothing is buffered in between.
func Pipe(opt LinesOptions) (near *Lines, farR io.ReadCloser, farW io.WriteCloser) {
	toFar, fromNear := io.Pipe()
	toNear, fromFar := io.Pipe()
	return NewLines(toNear, nearEnd{fromNear, toNear}, opt), toFar, fromFar
}

// nearEnd writes to the far side; to close it is to hang up.
type nearEnd struct {
	*io.PipeWriter
	r *io.PipeReader
}

func (e nearEnd) Close() error { return errors.Join(e.PipeWriter.Close(), e.r.Close()) }
