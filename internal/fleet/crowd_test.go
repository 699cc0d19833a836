package fleet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// Callers come, call, crash their own processes and that of all, and leave, many
// at once: each call ends for a reason, and nothing is left of any of them.
func TestCrowd(t *testing.T) {
	const callers, atOnce = 200, 8
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	budget := quick()
	budget.Ends = 1 << 20
	s := process(t)
	s.Connection, s.MaxCallers = hub.ConnectionPerCaller, atOnce-2
	f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: upstream.Dial, Budget: budget})
	await(t, f, hub.StateReady)
	var (
		all      sync.WaitGroup
		places   = make(chan struct{}, atOnce)
		answered atomic.Int32
	)
	for n := range callers {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			caller := asker(fmt.Sprint("caller", n))
			ctx, leave := context.WithCancel(t.Context())
			defer f.Leave(caller.ID)
			defer leave()
			var calls sync.WaitGroup
			for range 1 + random.IntN(3) {
				tool, who := "echo", caller
				switch random.IntN(12) {
				case 0, 1:
					tool = "crash"
				case 2:
					tool, who = "crash", nil // the process of all
				}
				calls.Go(func() {
					err := callBy(ctx, f, who, tool)
					switch {
					case err == nil:
						answered.Add(1)
					case ctx.Err() == nil && !honest(err) && !hub.IsCode(err, message.CallersTooMany):
						t.Errorf("caller %d got %v", n, err)
					}
				})
			}
			if random.IntN(4) > 0 { // else it leaves with the calls under way
				calls.Wait()
			}
			leave()
			calls.Wait()
		})
	}
	all.Wait()
	t.Logf("%d calls answered", answered.Load())
	if answered.Load() == 0 {
		t.Error("no call was answered")
	}
	rig.Await(t, "nothing is left of the callers", func() bool {
		guests, _ := f.Left("s")
		st := f.Status()[0]
		return guests == 0 && st.Callers == 0 && st.Calls == 0 && st.State == hub.StateReady
	})
	rig.Await(t, "one process is left", func() bool { return len(rig.Tree(t, os.Getpid())) == 1 })
	if err := f.Stop(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	if left := rig.Tree(t, os.Getpid()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// callBy makes one call of a tool for a caller.
func callBy(ctx context.Context, f *fleet.Fleet, caller *hub.Caller, tool string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	use, err := f.Acquire(ctx, "s", caller)
	if err != nil {
		return err
	}
	defer func() { use.Done(err) }()
	m, err := wire.Scan(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"text":"x"}}}`, tool), wire.Limits{})
	if err != nil {
		return err
	}
	_, err = use.Conn().Do(ctx, &upstream.Request{Message: &m, Name: tool}, nil)
	return err
}
