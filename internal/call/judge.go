package call

import (
	"context"
	"errors"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// judge says whether the call may be made. There are no rules yet that say no to
// what the view shows and the server offers.
func (p *Pipeline) judge(_ context.Context, r *run) error {
	r.record.Verdict = hub.VerdictAllow
	return nil
}

// errUnjudged says that a verb has its stages in the wrong order.
var errUnjudged = errors.New("the call was not judged")

// approve lets pass what was judged to be allowed, and nothing else.
func (p *Pipeline) approve(_ context.Context, r *run) error {
	if r.record.Verdict != hub.VerdictAllow {
		return hub.E(message.Internal, errUnjudged)
	}
	return nil
}
