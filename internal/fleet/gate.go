package fleet

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// gate bounds how many servers are started in the background at once, so that
// a configuration of hundreds does not start hundreds of processes in one
// moment. What a call or a person waits for does not pass it.
type gate struct{ places *semaphore.Weighted } // nil for as many as there are

// newGate returns a gate that lets n starts in at once; without a bound if n is
// not positive.
func newGate(n int) *gate {
	if n <= 0 {
		return &gate{}
	}
	return &gate{semaphore.NewWeighted(int64(n))}
}

// enter waits for its turn: those who wait enter in the order in which they
// came. leave makes room for the next one, and may be called more than once.
// The error is that of ctx, and then there is nothing to leave.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	if g.places == nil {
		return func() {}, ctx.Err()
	}
	if err := g.places.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { g.places.Release(1) }), nil
}
