// Package property has random programs carried out against a whole hub in this
// process, in time that is not real: callers of all doors and eras, servers that
// do what the callers' scripts say, and everything going wrong in between. What
// has to be true whatever happens is checked where the messages arrive.
package property_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// programs are how many are carried out; a seed carries out one alone.
type programs struct {
	runs *int
	seed *uint64
}

var chosen = programs{
	runs: flag.Int("runs", 0, "how many programs are carried out; 0 for the usual number"),
	seed: flag.Uint64("seed", 0, "the one program that is carried out; 0 for many"),
}

// usual is how many programs are carried out.
func usual() int {
	if testing.Short() {
		return 200
	}
	return 10_000
}

// TestPrograms: whatever callers and servers do, every call ends once, with the
// answer to its own arguments or an honest error; what is said in it reaches its
// caller alone, in the server's order and before its end; a question is answered
// once at most, by whom it was meant for; and nothing is left behind.
func TestPrograms(t *testing.T) {
	if *chosen.seed != 0 {
		carryOut(t, *chosen.seed)
		return
	}
	n := *chosen.runs
	if n == 0 {
		n = usual()
	}
	var next, failed atomic.Int64
	for i := range runtime.GOMAXPROCS(0) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for {
				seed := next.Add(1)
				if seed > int64(n) || failed.Load() >= 3 {
					return
				}
				if !carryOut(t, uint64(seed)) {
					failed.Add(1)
				}
			}
		})
	}
}

// carryOut carries out the program of a seed, and reports whether nothing was
// wrong.
func carryOut(t *testing.T, seed uint64) (ok bool) {
	p := newProgram(seed)
	var r *run
	defer func() {
		if e := recover(); e != nil {
			r.fail("%v", e)
			buf := make([]byte, 1<<20)
			t.Errorf("%s\n%s", r.report(), buf[:runtime.Stack(buf, true)])
			os.Exit(1) // what hangs would be found by goleak again
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		r = newRun(t, p)
		r.carryOut()
	})
	if len(r.faults) > 0 {
		t.Error(r.report())
	}
	return len(r.faults) == 0
}
