package call

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// send sends the call once. A server that has less time than the whole call has
// its own, which no other gets.
func (p *Pipeline) send(ctx context.Context, r *run, c *candidate) (err error) {
	r.plan.reached = false
	var ex hub.Exchange = &r.clock
	if c.limit < r.clock.limit {
		limited, end := context.WithCancelCause(ctx)
		defer end(nil)
		own := &clock{Exchange: ex, server: c.server.Key, limit: c.limit, end: end}
		own.start(time.Now())
		defer own.stop()
		ctx, ex = limited, own
	}
	use, err := p.fleet.Acquire(ctx, r.server.Key, r.as())
	if err != nil {
		return err
	}
	defer func() { use.Done(err) }() // also if the exchange panics: the server is not to blame
	if err = p.offered(r); err == nil {
		err = p.sure(ctx, r, c)
	}
	if err != nil {
		return err
	}
	r.plan.reached = true
	before := r.plan.left
	r.plan.left = true // also if the exchange panics
	if r.reply, err = p.tracing.ask(ctx, r, use.Conn(), ex); err != nil && neverLeft(err, true) {
		r.plan.left = before
	}
	if r.stands != nil {
		r.stands.conn = use.Conn().Done()
	}
	return err
}

// offered is an error if the tool has been hidden from the caller since it was
// looked up, as it may be while the call waits for the server.
func (p *Pipeline) offered(r *run) error {
	if r.entry == nil {
		return nil
	}
	view, err := p.catalog.View(r.Viewer)
	if err != nil || view == r.view {
		return err
	}
	now := view.Snapshot()
	server, tool := r.server.Key, r.entry.Tool.Name
	if !now.Listed(server) || view.Offers(server, tool) {
		return nil
	}
	if slices.Contains(now.Changed(server), tool) {
		return drifted(r.entry)
	}
	return toolUnknown(r)
}

// within bounds a call by the time limit of a server, from its beginning; how long
// it has waited for a person does not count.
func (r *run) within(ctx context.Context, server *hub.Server) (context.Context, context.CancelFunc) {
	allowed := server.Timeout
	if r.Timeout > 0 {
		allowed = min(allowed, r.Timeout)
	}
	limit := overdue(server.Key, allowed, allowed == r.Timeout)
	return context.WithDeadlineCause(ctx, r.record.Time.Add(allowed+r.held), limit)
}

// label is what the log says of what was asked for.
func (r *run) label() string { return message.Quote(openly(r.own)) }

// openly is a name without what may be a secret if it is a URI: its user, and what
// follows a "?" or "#" in it.
func openly(name string) string {
	if at := strings.IndexAny(name, "?#"); at >= 0 {
		name = name[:at]
	}
	if scheme, rest, ok := strings.Cut(name, "://"); ok {
		authority, path, _ := strings.Cut(rest, "/")
		if at := strings.LastIndex(authority, "@"); at >= 0 {
			name = scheme + "://" + authority[at+1:] + "/" + path
		}
	}
	return name
}
