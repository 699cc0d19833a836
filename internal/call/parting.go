package call

import (
	"context"
	"sync"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// parting is an exchange until its caller has been answered, and leads to nobody from
// then on.
type parting struct {
	hub.Exchange
	mu   sync.Mutex
	gone bool
}

// part ends it, once what is being told is told.
func (x *parting) part() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gone = true
}

// Notify implements [hub.Exchange].
func (x *parting) Notify(raw []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.gone {
		x.Exchange.Notify(raw)
	}
}

// Ask implements [hub.Exchange].
func (x *parting) Ask(ctx context.Context, q hub.Question) {
	x.mu.Lock()
	gone := x.gone
	x.mu.Unlock()
	if gone {
		q.Answer(nil, hub.E(message.NotAskable, nil))
		return
	}
	x.Exchange.Ask(ctx, q)
}
