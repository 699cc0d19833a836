package audit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// Figures that a hub has dropped for their age, with some of their entries or
// before them, are no tampering: whatever the load, the retention, and a clock
// that is set back.
func TestFiguresOfAnyAge(t *testing.T) {
	for _, seed := range []uint64{
		2257004268091591307, // a checkpoint of a month later in the first part, which stays; hours of the parts after it were dropped, and written again
		rand.Uint64(),
	} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { figuresOfAnyAge(t, seed) })
	}
}

func figuresOfAnyAge(t *testing.T, seed uint64) {
	db := storetest.Open(t, storetest.SQLite(t))
	random := rand.New(rand.NewPCG(seed, 1))
	l := open(t, db, testKeys(t))
	now := time.Now().Add(-30 * 24 * time.Hour)
	for range 25 {
		fill(t, l, 1+random.IntN(700), now, func(i int, r *hub.CallRecord) { r.Changing = i%3 == 0 })
		if random.IntN(3) == 0 {
			sign(t, l)
		}
		now = now.Add(time.Duration(random.IntN(100)) * time.Hour / 2).Add(-time.Duration(random.IntN(50)) * time.Minute)
		l.Set(Settings{Retention: time.Duration(1+random.IntN(400)) * time.Hour})
		if err := (&writer{Log: l}).prune(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		r, err := l.Verify(t.Context(), nil)
		if err != nil || len(r.Problems) > 0 {
			t.Fatalf("seed %d: %+v, %v", seed, r, err)
		}
	}
}

// A clock that was ahead, and was set back: the first part stays for long, and so
// do the figures of the entries after it, however old they are.
func TestFiguresOfWhatIsLeft(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		now := time.Now().Truncate(time.Hour)
		old := now.Add(-100 * time.Hour)
		fill(t, l, partSize, now.Add(50*time.Hour), nil)
		fill(t, l, partSize, old, nil)
		l.Set(Settings{Retention: 10 * time.Hour})
		if err := (&writer{Log: l}).prune(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		fill(t, l, partSize, old.Add(30*time.Minute), nil)
		wantSound(t, l)
		a, err := l.Analyse(t.Context(), old, old.Add(time.Hour), Filter{})
		if err != nil || a.Total.Calls != 2*partSize {
			t.Errorf("%+v, %v", a, err)
		}
		// None of them can be taken away unseen.
		exec(t, db, "DELETE FROM audit_hour WHERE hour = $1", floorHour(old.UnixMicro()))
		if r, err := l.Verify(t.Context(), nil); err != nil || len(r.Problems) != 1 || r.Problems[0].Err.Code != message.AuditFiguresWrong {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// Between the rounds of a pruning, or where it ends early, no part is the first
// whose times all lie before some that were dropped.
func TestFiguresBetweenRounds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		now := time.Now().Truncate(time.Hour)
		fill(t, l, partSize, now.Add(-11*time.Hour), nil)
		fill(t, l, 2*pruneParts*partSize, now.Add(-100*time.Hour), nil) // the clock was set back
		fill(t, l, 3*partSize, now.Add(-10*time.Hour), nil)
		w := &writer{Log: l}
		if _, err := w.pruneSome(t.Context(), now.Add(-9*time.Hour).UnixMicro(), now); err != nil {
			t.Fatal(err)
		}
		if c := wantSound(t, l).Chains[0]; c.First == 1 {
			t.Errorf("%+v", c)
		}
	})
}
