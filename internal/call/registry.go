package call

import (
	"context"
	"strconv"
	"sync"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Key names a call as its caller knows it: the conversation, and the raw id of
// the request in it. Two calls with the same id in one conversation are an
// error of the caller, unless the conversation is "".
type Key struct {
	Session string
	ID      string
}

// Registry is the calls under way. Safe for concurrent use.
type Registry struct {
	mu     sync.Mutex
	byKey  map[Key]context.CancelCauseFunc
	next   uint64 // names the calls that belong to no conversation
	closed bool
	all    sync.WaitGroup

	closing context.Context //nolint:containedctx // ends when new calls are refused
	close   context.CancelFunc
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	r := &Registry{byKey: make(map[Key]context.CancelCauseFunc)}
	r.closing, r.close = context.WithCancel(context.Background())
	return r
}

// begin enters a call. The context ends when the call is cancelled, with a
// [*hub.Error] as its cause, and so it does by end; done takes the call out again.
func (r *Registry) begin(ctx context.Context, key Key) (_ context.Context, end context.CancelCauseFunc, done func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		cancel(nil)
		return nil, nil, nil, hub.E(message.ShuttingDown, nil)
	}
	if key.Session == "" {
		r.next++
		key.ID = strconv.FormatUint(r.next, 10)
	}
	if _, taken := r.byKey[key]; taken {
		cancel(nil)
		return nil, nil, nil, invalid("a request with this id is still under way")
	}
	r.byKey[key] = cancel
	r.all.Add(1)
	return ctx, cancel, func() {
		cancel(nil)
		r.mu.Lock()
		delete(r.byKey, key)
		r.mu.Unlock()
		r.all.Done()
	}, nil
}

// Cancel ends the one call that the key names, and reports whether there was
// such a call. The cause is a [*hub.Cancellation] if the caller has said why, or
// nil.
func (r *Registry) Cancel(key Key, cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	cancel, ok := r.byKey[key]
	if ok {
		cancel(hub.E(message.Cancelled, cause))
	}
	return ok
}

// CancelAll ends all calls, for the cause given.
func (r *Registry) CancelAll(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cancel := range r.byKey {
		cancel(cause)
	}
}

// CancelSession ends all calls of a conversation.
func (r *Registry) CancelSession(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, cancel := range r.byKey {
		if key.Session == session {
			cancel(hub.E(message.Cancelled, nil))
		}
	}
}

// Drain refuses new calls, has those that wait for a person wait no longer, and waits
// for all that are under way, until ctx ends.
func (r *Registry) Drain(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.close()
	gone := make(chan struct{})
	go func() {
		r.all.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
