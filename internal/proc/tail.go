package proc

import (
	"bytes"
	"strings"
	"sync"
)

const (
	// tailSize is how much a Tail keeps.
	tailSize = 64 << 10

	// maxLine is where a line of standard error is cut.
	maxLine = 8 << 10
)

// Tail keeps the last 64 KiB of what is written to it. The zero Tail is empty
// and ready. All its methods may be called at the same time.
type Tail struct {
	mu   sync.Mutex
	buf  []byte // grows to tailSize, from then on a ring
	next int    // where the ring is written next; its oldest byte
}

// Write keeps b, if need be in place of the oldest bytes. It never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	b = b[max(0, n-tailSize):]
	if room := tailSize - len(t.buf); room > 0 {
		grown := min(room, len(b))
		t.buf = append(t.buf, b[:grown]...)
		b = b[grown:]
	}
	for len(b) > 0 {
		copied := copy(t.buf[t.next:], b)
		b = b[copied:]
		t.next = (t.next + copied) % tailSize
	}
	return n, nil
}

// String returns what is kept. When older bytes were lost it begins with a
// whole line, if there is one.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var kept strings.Builder
	kept.Grow(len(t.buf))
	kept.Write(t.buf[t.next:])
	kept.Write(t.buf[:t.next])
	text := kept.String()
	if len(t.buf) == tailSize {
		if _, whole, found := strings.Cut(text, "\n"); found {
			return whole
		}
	}
	return text
}

// Lines returns what is kept as lines, without line ends.
func (t *Tail) Lines() []string {
	var lines []string
	for line := range strings.Lines(t.String()) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines
}

// lineCutter passes on what is written to it line by line. Of a line longer
// than maxLine only the beginning is kept.
type lineCutter struct {
	sink func(line string) // nil: nobody listens
	line []byte
}

func (c *lineCutter) write(b []byte) {
	if c.sink == nil {
		return
	}
	for {
		line, rest, ended := bytes.Cut(b, []byte{'\n'})
		c.line = append(c.line, line[:min(len(line), maxLine-len(c.line))]...)
		if !ended {
			return
		}
		c.emit()
		b = rest
	}
}

// flush passes on a last line that had no end.
func (c *lineCutter) flush() {
	if len(c.line) > 0 {
		c.emit()
	}
}

func (c *lineCutter) emit() {
	c.sink(string(bytes.TrimSuffix(c.line, []byte{'\r'})))
	c.line = c.line[:0]
}
