package transport

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"sync"
	"time"
)

// Event is one server-sent event (HTML standard, section 9.2).
type Event struct {
	Name  string        // "" stands for "message"
	ID    string        // the last id seen on the stream, also if this event has none of its own
	Data  []byte        // owned by the receiver; empty for an event without data
	Retry time.Duration // if the event set one
}

// EventReader reads server-sent events from a stream. It is for one goroutine.
type EventReader struct {
	br    *bufio.Reader
	limit int
	id    string
	bol   bool // nothing was read yet: a byte order mark may come
	cr    bool // the last line ended in CR: a LF may belong to it
	over  bool // the last event was too large, and its end is not read yet
	mid   bool // then: nor is the end of its last line
}

var eventReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 16<<10) }}

// NewEventReader returns a reader of the stream r. The data of one event may
// have up to limit bytes. Release gives its buffer back.
func NewEventReader(r io.Reader, limit int) *EventReader {
	br := eventReaders.Get().(*bufio.Reader)
	br.Reset(r)
	return &EventReader{br: br, limit: limit, bol: true}
}

// Release ends the use of the reader.
func (r *EventReader) Release() {
	if r.br != nil {
		r.br.Reset(nil)
		eventReaders.Put(r.br)
		r.br = nil
	}
}

// Next returns the next event that carries data, an id or a retry time.
// Comments are skipped. The error is io.EOF at the end of the stream (an
// unfinished event is dropped, as the standard says), that of the stream, or a
// [*TooLargeError], after which Next goes on behind that event.
func (r *EventReader) Next() (Event, error) {
	if err := r.skip(); err != nil {
		return Event{}, err
	}
	var e Event
	var seen, more bool
	for {
		field, value, blank, err := r.line(&e, more)
		if err != nil {
			return Event{}, err
		}
		if blank {
			if !seen {
				continue
			}
			e.ID = r.id
			return e, nil
		}
		switch field {
		case "data":
			more, seen = true, true
		case "event":
			e.Name = value
		case "id":
			if !bytes.ContainsRune([]byte(value), 0) {
				r.id, seen = value, true
			}
		case "retry":
			if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
				e.Retry, seen = time.Duration(ms)*time.Millisecond, true
			}
		}
	}
}

// line reads one line. The value of a data line goes straight to e.Data, behind
// a line feed if it is not the first of its event.
func (r *EventReader) line(e *Event, more bool) (field, value string, blank bool, err error) {
	field, end, err := r.field()
	if err != nil || field == "" && end {
		return "", "", true, err
	}
	var text []byte
	to := &text
	if field == "data" {
		if to = &e.Data; more {
			if len(e.Data) >= r.limit {
				return "", "", false, r.tooLarge(!end)
			}
			e.Data = append(e.Data, '\n')
		}
	}
	for first := true; !end; first = false {
		var piece []byte
		if piece, end, err = r.chunk(); err != nil {
			return "", "", false, err
		}
		if first {
			piece = bytes.TrimPrefix(piece, []byte(" "))
		}
		if len(*to)+len(piece) > r.limit {
			return "", "", false, r.tooLarge(!end)
		}
		if *to == nil && end {
			*to = make([]byte, 0, len(piece))
		}
		*to = grow(*to, len(piece))
		*to = append(*to, piece...)
	}
	return field, string(text), false, nil
}

// field reads a line up to its first colon, or to its end if it has none.
func (r *EventReader) field() (name string, end bool, err error) {
	if r.bol {
		r.bol = false
		if mark, _ := r.br.Peek(3); string(mark) == "\xef\xbb\xbf" {
			_, _ = r.br.Discard(3)
		}
	}
	var text []byte
	for {
		c, err := r.br.ReadByte()
		if err != nil {
			return "", false, err
		}
		afterCR := r.cr
		r.cr = c == '\r'
		switch {
		case c == '\n' && afterCR && len(text) == 0:
			continue // the second half of a line end
		case c == '\n' || c == '\r':
			return string(text), true, nil
		case c == ':':
			return string(text), false, nil
		}
		if text = append(text, c); len(text) > r.limit {
			return "", false, r.tooLarge(true)
		}
	}
}

// tooLarge gives an event up, in the middle of a line or at its end.
func (r *EventReader) tooLarge(mid bool) error {
	r.over, r.mid = true, mid
	return &TooLargeError{Limit: r.limit}
}

// skip reads the rest of an event that was too large.
func (r *EventReader) skip() error {
	for r.over {
		if next, err := r.br.Peek(1); err != nil {
			return err
		} else if !r.mid && r.cr && next[0] == '\n' {
			_, _ = r.br.Discard(1)
			r.cr = false
			continue
		}
		r.cr = false
		piece, end, err := r.chunk()
		if err != nil {
			return err
		}
		r.over = r.mid || !end || len(piece) > 0
		r.mid = !end
	}
	return nil
}

// chunk returns the next piece of a value, valid until the next read, and
// whether the line ends with it. Lines end in LF, CR LF or CR; a LF behind a
// CR is left to the next read, since it may not have come yet.
func (r *EventReader) chunk() (piece []byte, end bool, err error) {
	if _, err := r.br.Peek(1); err != nil {
		return nil, false, err
	}
	buf, _ := r.br.Peek(r.br.Buffered())
	i := bytes.IndexByte(buf, '\n')
	if i < 0 {
		i = len(buf)
	}
	if j := bytes.IndexByte(buf[:i], '\r'); j >= 0 {
		i = j
	}
	piece = buf[:i]
	if i == len(buf) {
		_, _ = r.br.Discard(i)
		return piece, false, nil
	}
	r.cr = buf[i] == '\r'
	_, _ = r.br.Discard(i + 1)
	return piece, true, nil
}
