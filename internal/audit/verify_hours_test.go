package audit

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// Figures that a hub has dropped for their age, with some of their entries or
// before them, are no tampering: whatever the load, the retention, and a clock
// that is set back.
func TestFiguresOfAnyAge(t *testing.T) {
	db := storetest.Open(t, storetest.SQLite(t))
	seed := rand.Uint64()
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
