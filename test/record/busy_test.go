//go:build linux

package record

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// refused makes a call that changes something, which has to be refused, because it
// cannot be recorded, for a reason of the database's. The hub finds that out when
// it takes over what its journal has; what it accepts until then is kept.
func (l *lab) refused(h *rig.Hub, text string, reason message.Code) {
	l.t.Helper()
	n := 0
	rig.Await(l.t, "the hub knows that the database cannot be written", func() bool {
		n++
		answer := l.call(h.URL, n%2 == 0, "far__work", work(fmt.Sprint(text, "-try-", n), 0))
		if answer != told && answer != string(message.AuditUnwritable) {
			l.t.Errorf("the caller was told %s", answer)
		}
		return answer != told
	})
	why, _, _ := strings.Cut(hub.E(reason, nil, "store", "\x00").Text(message.English).What, "\x00")
	var all sync.WaitGroup
	for _, overMCP := range []bool{false, true} {
		all.Go(func() {
			answer, body := l.ask(l.t.Context(), h.URL, overMCP, "far__work", work(text, 0))
			if answer != string(message.AuditUnwritable) || !strings.Contains(body, why) {
				l.t.Errorf("the caller was told %s; want %s: %s...", body, message.AuditUnwritable, why)
			}
		})
	}
	all.Wait()
	if n := l.done()[text]; n != 0 {
		l.t.Errorf("it was refused, and done %d times", n)
	}
}

// reads makes calls that change nothing, which have to succeed.
func (l *lab) reads(h *rig.Hub, n int) {
	l.t.Helper()
	for i := range n {
		if answer, body := l.ask(l.t.Context(), h.URL, i%2 == 0, "far__echo", map[string]any{"text": fmt.Sprint(i)}); answer != told {
			l.t.Errorf("a call that reads was told %s: %s", answer, body)
		}
	}
}

// TestLockedDatabase: another program holds the database for longer than the hub
// waits. What may change something is refused and not sent, reads go on, and so
// does everything else as soon as it is free; nothing is missing in the record.
func TestLockedDatabase(t *testing.T) {
	t.Parallel()
	l := newLab(t, store.Options{}, nil)
	h := l.start()
	if got := l.call(h.URL, false, "far__work", work("before", 0)); got != told {
		t.Fatalf("the caller was told %s", got)
	}
	release := l.hold("BEGIN EXCLUSIVE")
	defer release()
	l.refused(h, "held", message.StoreBusy)
	const reads = 40
	l.reads(h, reads)
	if up := l.metric(h, "toolcrib_record_up"); up != 0 {
		t.Errorf("the record is said to be up: %v", up)
	}
	release()
	rig.Await(t, "calls are taken again", func() bool { return l.call(h.URL, false, "far__work", work("after", 0)) == told })
	rig.Await(t, "the record is said to be up", func() bool { return l.metric(h, "toolcrib_record_up") == 1 })
	rig.Await(t, "what waited is recorded", func() bool {
		l.readAll(h)
		return l.book.reads >= reads && len(l.book.open()) == 0
	})
	if l.book.reads != reads || l.book.lost != 0 || l.metric(h, "toolcrib_record_lost_total") != 0 {
		t.Errorf("the record has %v, and %d records were lost", l.book.kinds, l.book.lost)
	}
	l.agree()
	h.Stop()
	l.verify()
}
