package call

import (
	"context"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Witness puts a call of a tool on record that somebody makes of a server without the
// pipeline, by a way that the hub only carries: it is neither judged nor held up nor
// limited. It is to be told what is known of the call and its caller when it has been
// sent, and the function that it returns, once, how it ended: with an error if there is no answer, and
// else with the size of the answer. Neither waits for a disk, and the arguments are not kept.
// Server and Tool are to be those of a tool that is there, or empty: whoever calls could
// have any number of names counted otherwise.
func (p *Pipeline) Witness(c hub.CallRecord, arguments []byte) (end func(outcome hub.Outcome, e *hub.Error, size int)) {
	c.ID, c.Time, c.Changing = p.ids.next(), time.Now(), true
	c.Name, c.Tool = short(c.Name), short(c.Tool)
	if p.audit != nil {
		c.Arguments, c.Digest = p.audit.Arguments(arguments)
	}
	var once sync.Once
	return func(outcome hub.Outcome, e *hub.Error, size int) {
		once.Do(func() {
			c.Duration, c.Outcome, c.Bytes = max(0, time.Since(c.Time)), outcome, size
			if e != nil {
				c.Code, c.Reason = string(e.Code), e.In(message.English)
			}
			if p.audit != nil {
				if err := p.audit.Finish(context.Background(), &c); err != nil {
					p.log.Error("the end of a call was not recorded", "call", c.ID, "error", err)
				}
			}
			if p.observe != nil {
				p.observe(c)
			}
			if p.bus != nil {
				p.bus.Publish(hub.CallEnded{Call: &c})
			}
		})
	}
}
