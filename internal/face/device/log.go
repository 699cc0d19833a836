package device

import (
	"slices"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// keptLines is how many lines are kept of a device's log.
const keptLines = 500

// book is the log of a device: its last lines. Its lock is held for moments only and
// no other is taken under it, so that whoever has something to note may.
type book struct {
	mu    sync.Mutex
	lines []hub.LogLine
	seq   uint64
	more  chan struct{} // closed with the next line; nil if nobody waits for it
}

func (b *book) add(level hub.LogLevel, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	if len(b.lines) == keptLines {
		b.lines = slices.Delete(b.lines, 0, 1)
	}
	b.lines = append(b.lines, hub.LogLine{Seq: b.seq, Time: time.Now(), Source: hub.LogHub, Level: level, Text: text})
	if b.more != nil {
		close(b.more)
		b.more = nil
	}
}

// after returns the lines after the one with the number, and a channel that is closed
// when there are more.
func (b *book) after(seq uint64) ([]hub.LogLine, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more == nil {
		b.more = make(chan struct{})
	}
	first := b.seq - uint64(len(b.lines))
	if seq > b.seq {
		seq = 0
	}
	return slices.Clone(b.lines[min(max(seq, first)-first, uint64(len(b.lines))):]), b.more
}
