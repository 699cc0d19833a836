//go:build linux

package record

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// callers is how many call at once.
const callers = 8

// TestKilledAtAnyMoment kills one hub after the other while callers have tools
// change something. Whatever the moment was, nothing was done that the record has
// no intent of, nothing twice, and who was told that it went well was told right.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	const (
		most  = 35               // kills of one lab
		least = 6                // if the machine is busy
		limit = 15 * time.Second // after which there are no more than these
	)
	for _, name := range []string{"one", "another"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killAgainAndAgain(t, store.Options{}, most, least, limit)
		})
	}
}

// killAgainAndAgain is the test on one database.
func killAgainAndAgain(t *testing.T, opt store.Options, most, least int, limit time.Duration) {
	t.Helper()
	l := newLab(t, opt, nil)
	r := chance(t)
	until := time.Now().Add(limit)
	var open []string
	under, lives := 0, 0
	for ; lives < most && (lives < least || time.Now().Before(until)) && !t.Failed(); lives++ {
		h := l.start()
		l.recovered(open)
		l.storm(h, r, lives)
		open = l.autopsy(lives%8 == 0)
		under += len(open)
	}
	l.settle(open)
	t.Logf("%d hubs were killed, with %d calls under way; %d calls were intended, %d done; the record: %v",
		lives, under, len(l.book.intents), len(l.done()), l.book.kinds)
	if under == 0 {
		t.Error("no hub was killed with a call under way: this test shows nothing")
	}
}

// storm has callers call until the hub is killed, which is after some calls or
// after some time.
func (l *lab) storm(h *rig.Hub, r *rand.Rand, life int) {
	var (
		all     sync.WaitGroup
		answers atomic.Int64
		enough  = int64(r.IntN(60))
		pause   = time.Duration(r.IntN(3000)) * time.Microsecond
		kill    = sync.OnceFunc(func() {
			time.Sleep(pause)
			h.Kill()
		})
	)
	if r.IntN(3) == 0 { // also in the midst of the start of servers
		enough, pause = 1<<62, time.Duration(r.IntN(400))*time.Millisecond
		all.Go(kill)
	}
	seed := r.Uint64()
	for c := range callers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(c))) //nolint:gosec // it has to be the same again
			for n := 0; ; n++ {
				tool := []string{"far__work", "far__work", "near__work", "far__echo"}[r.IntN(4)]
				text := fmt.Sprintf("%d-%d-%d", life, c, n)
				if tool == "far__echo" {
					answer, _ := l.ask(l.t.Context(), h.URL, c%2 == 0, tool, map[string]any{"text": text})
					if answer == toldCut {
						return
					}
				} else if l.call(h.URL, c%2 == 0, tool, work(text, r.IntN(4))) == toldCut {
					return
				}
				if answers.Add(1) > enough {
					kill()
				}
			}
		})
	}
	all.Wait()
}
