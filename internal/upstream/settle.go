package upstream

import (
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/protocol"
)

const (
	// digestion is what a server is left to make use of the answers: there is no
	// message by which it says that it has.
	digestion = 100 * time.Millisecond
	// hearing bounds the wait for the answer to a ping, and for the stream of what
	// belongs to no call: a server may have the one only once it is at leisure,
	// and the other once it has something to say.
	hearing = time.Second
)

// Settle returns when a legacy server can say what belongs to no call, has had
// the opportunity to ask what it wants to know before the first one, and to make
// use of the answers; or when ctx ends. Many servers ask for the roots as soon as
// the conversation is open, and refuse everything until they have them; and what
// they say before the stream for it is open is lost. A client of theirs leaves
// them seconds for that; who connects for a call leaves them none.
func (c *Conn) Settle(ctx context.Context) {
	if c.Era() != protocol.Legacy {
		return
	}
	if c.opened != nil {
		c.pause(ctx, c.opened, hearing)
	}
	for seen := int64(0); ; {
		// What was sent before the answer to a ping has come with it.
		limited, cancel := context.WithTimeout(ctx, hearing)
		_, err := c.own(limited, protocol.MethodPing, []byte("{}"))
		cancel()
		if err != nil && !isAnswer(err) {
			return
		}
		asked := c.asked.Load()
		if asked == seen {
			return
		}
		seen = asked
		for c.answered.Load() < seen {
			select {
			case <-c.relieved:
			case <-ctx.Done():
				return
			case <-c.ctx.Done():
				return
			}
		}
		c.pause(ctx, nil, digestion)
	}
}

// pause waits until the channel is closed, the time is over, or ctx or the
// connection ends.
func (c *Conn) pause(ctx context.Context, until <-chan struct{}, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-until:
	case <-t.C:
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
}

// relieve is called when a question of the server's has been answered, or wants
// no answer any more.
func (c *Conn) relieve() {
	c.answered.Add(1)
	select {
	case c.relieved <- struct{}{}:
	default:
	}
}
