package call

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxAskers is of how many questions it is remembered who has asked them.
const maxAskers = 10_000

// askers is which server has asked a question instead of answering a call
// (2026-07-28, "Multi Round-Trip Requests"): what the caller says to it is for no
// other, whoever else has a tool of the name. Safe for concurrent use.
type askers struct {
	mu      sync.Mutex
	byState *lru[[sha256.Size]byte, string] // the server, by what names the question
}

func newAskers() *askers {
	return &askers{byState: newLRU[[sha256.Size]byte, string](maxAskers, nil)}
}

// question names a question by the state that a result or a request has of it;
// false if it has none.
func (r *run) question(m *wire.Message) (name [sha256.Size]byte, ok bool) {
	state, ok := wire.String(m.Raw, m.Member("requestState"))
	return sha256.Sum256([]byte(whose(&r.Principal) + "\x00" + state)), ok
}

// asked remembers who asks, if that is not the answer yet, and not the hub itself.
func (a *askers) asked(_ context.Context, r *run) error {
	m := &r.reply.Message
	if r.asks || m.Kind != wire.Response || protocol.KindOf(m, r.reply.Era) == protocol.ResultComplete {
		return nil
	}
	if name, ok := r.question(m); ok {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.byState.put(name, r.server.Key, 1)
	}
	return nil
}

// heed leaves of the candidates only the one that has asked what the call answers.
// If that is not known it is one of those that are equal to the first.
func (a *askers) heed(r *run) {
	d := &r.plan
	if !r.Message.Member("requestState").Exists() && !r.Message.Member("inputResponses").Exists() {
		return
	}
	name, _ := r.question(r.Message)
	a.mu.Lock()
	asker, known := a.byState.get(name)
	a.mu.Unlock()
	first := d.candidates[0]
	d.candidates = slices.DeleteFunc(d.candidates, func(c candidate) bool {
		if known {
			return c.server.Key != asker
		}
		return c.server != first.server && !c.equals(&first)
	})
}
