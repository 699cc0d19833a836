package fleet

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// What is kept of a server's log, and what a status has of its standard error.
const (
	keptLines = 500
	keptBytes = 64 << 10
	toldBytes = 4 << 10
)

// book is the log of one server: its last lines, the oldest of which give way
// to new ones. It lives as long as the server is in the configuration, however
// often that is started. Its lock is held for moments only and no other is
// taken under it, so that whoever has something to note may.
type book struct {
	mu    sync.Mutex
	lines []hub.LogLine
	size  int           // bytes of the texts
	first uint64        // the lines after it are of the last attempt to connect
	junk  int64         // of those, the ones of that source, also if they are not kept any more
	seq   uint64        // of the last line
	more  chan struct{} // closed with the next line; nil if nobody waits for it
}

// add writes a line of the hub's own.
func (b *book) add(text string) { b.note(hub.LogHub, "", text) }

// note writes a line. Without a level, as of whoever has none to give, the line
// has the one that its text speaks of.
func (b *book) note(source hub.LogSource, level hub.LogLevel, text string) {
	if level == "" {
		level = levelOf(source, text)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	if source == hub.LogJunk {
		b.junk++
	}
	b.lines = append(b.lines, hub.LogLine{Seq: b.seq, Time: time.Now(), Source: source, Level: level, Text: text})
	b.size += len(text)
	drop := max(0, len(b.lines)-keptLines)
	for _, l := range b.lines[:drop] {
		b.size -= len(l.Text)
	}
	for ; b.size > keptBytes && drop < len(b.lines)-1; drop++ {
		b.size -= len(b.lines[drop].Text)
	}
	clear(b.lines[:drop])
	b.lines = b.lines[drop:]
	if b.more != nil {
		close(b.more)
		b.more = nil
	}
}

// mark has the last attempt to connect begin here.
func (b *book) mark() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first, b.junk = b.seq, 0
}

// said is what the server's process has written since the last attempt began:
// the last lines on standard error, and how many lines of junk. It is asked for
// often, of hundreds of servers, so that it does not have all that is kept.
func (b *book) said() (stderr string, junk int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var last []string
	size := 0
	for _, l := range slices.Backward(b.lines) {
		if l.Seq <= b.first {
			break
		}
		if l.Source != hub.LogStderr {
			continue
		}
		if size += len(l.Text) + 1; size > toldBytes && len(last) > 0 {
			break
		}
		last = append(last, l.Text)
	}
	if len(last) == 0 {
		return "", b.junk
	}
	slices.Reverse(last)
	return strings.Join(last, "\n") + "\n", b.junk
}

// after returns the lines after the one with the number, oldest first, and a
// channel that is closed when there are more. A number that is still to come is
// from the log of another server that had the key, and so counts as none.
func (b *book) after(seq uint64) ([]hub.LogLine, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more == nil {
		b.more = make(chan struct{})
	}
	fresh := b.lines
	if seq <= b.seq {
		fresh = fresh[len(fresh)-int(min(b.seq-seq, uint64(len(fresh)))):]
	}
	return slices.Clone(fresh), b.more
}
