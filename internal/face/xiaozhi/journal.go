package xiaozhi

import (
	"slices"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// keptLines is how many lines of an endpoint's log are kept.
const keptLines = 300

// journal is the log of one endpoint: its last lines. It outlives the endpoint's
// connections and definitions. Safe for concurrent use.
type journal struct {
	mu    sync.Mutex
	lines []hub.LogLine
	seq   uint64
	more  chan struct{} // closed with the next line; nil if nobody waits for it
}

func (j *journal) add(level hub.LogLevel, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	if len(j.lines) == keptLines {
		j.lines = slices.Delete(j.lines, 0, 1)
	}
	j.lines = append(j.lines, hub.LogLine{Seq: j.seq, Time: time.Now(), Source: hub.LogHub, Level: level, Text: text})
	if j.more != nil {
		close(j.more)
		j.more = nil
	}
}

// after returns the lines after the one with the number, oldest first, and a channel
// that is closed when there are more.
func (j *journal) after(seq uint64) ([]hub.LogLine, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.more == nil {
		j.more = make(chan struct{})
	}
	fresh := j.lines
	if seq <= j.seq {
		fresh = fresh[len(fresh)-int(min(j.seq-seq, uint64(len(fresh)))):]
	}
	return slices.Clone(fresh), j.more
}
