package fleet

import (
	"context"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Subscribe has the caller told of changes of a server's resource, by its own
// URI, through Options.Updated, until Unsubscribe or Leave. The server is asked
// once for all callers that share a connection, and again whenever it is
// connected anew; as long as there is a subscription it is not ended for want of
// use. Subscribing twice is subscribing once.
func (f *Fleet) Subscribe(ctx context.Context, key, uri string, caller *hub.Caller) error {
	return nil
}

// Unsubscribe undoes Subscribe. What is not subscribed to is left alone.
func (f *Fleet) Unsubscribe(ctx context.Context, key, uri string, caller *hub.Caller) error {
	return nil
}

// Leave forgets a caller by its id: its subscriptions, and its own connections,
// which are closed in the background.
func (f *Fleet) Leave(id string) {}

// Tell sends a notification of a caller's, which has the method, on all of its
// own connections. It does not wait.
func (f *Fleet) Tell(id, method string, raw []byte) {}
