//go:build linux

package record

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func TestMain(m *testing.M) {
	if os.Getenv(envConfig) != "" {
		if err := serveUntilCrash(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	rig.Main(m)
}

// chance is what the choices of a test follow from. RECORD_SEED repeats a run.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("RECORD_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("RECORD_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("the seed is %d", seed)
	return rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it has to be the same again
}

// must ends the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
