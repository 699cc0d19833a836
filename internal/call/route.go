package call

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// route has the call carried out: by the first of the candidates or, where that
// cannot repeat an effect (design D6), by the next ones. If none of them can, and
// it may be another matter later, all are tried again after a pause, as often as
// the settings say.
func (p *Pipeline) route(ctx context.Context, r *run) error {
	defer r.clock.stop() // what is done with the answer is not the server's time
	d := &r.plan
	var last error
	for {
		d.rounds++
		anew := false
		for i := range d.candidates {
			c := &d.candidates[i]
			if c.out || d.loose != nil && !c.repeatable() {
				continue
			}
			err := p.attempt(ctx, r, c)
			if err == nil {
				return nil
			}
			last = err
			then := r.weigh(ctx, c, err)
			if then == final {
				return p.failed(ctx, r, last)
			}
			c.out = then != again
			anew = anew || !c.out
		}
		if !anew || !p.retry(ctx, r, last) {
			return p.failed(ctx, r, last)
		}
	}
}

// attempt has one candidate carry out the call. What it did not get because the
// connection had just ended is sent again at once.
func (p *Pipeline) attempt(ctx context.Context, r *run, c *candidate) error {
	r.plan.reached = false
	if len(r.plan.candidates) > 1 || r.plan.rounds > 1 {
		if away := p.fleet.Load(c.server.Key).Away; away != nil {
			r.tried(c, away, 0)
			return away
		}
		r.use(c)
		r.clock.of(c.server.Key)
		if err := p.gates.admit(ctx, r); err != nil {
			r.tried(c, err, 0)
			return err
		}
	}
	p.turns.leave(r) // from here on the fleet counts it
	r.state.At(c.server.Key)
	for {
		began := time.Now()
		err := p.send(ctx, r, c)
		r.tried(c, err, time.Since(began))
		if err == nil || ctx.Err() != nil || !unsent(err) || shutOut(err) || c.resent == resends {
			return err
		}
		c.resent++
	}
}

// resends is how often a call that did not leave is sent to a server again at
// once.
const resends = 2

// tried puts an attempt down.
func (r *run) tried(c *candidate, err error, took time.Duration) {
	if err == nil && r.record.Attempts == nil {
		return // as almost always
	}
	a := hub.Attempt{Server: c.server.Key, Duration: took}
	if err != nil {
		a.Code = string(hub.AsError(err).Code)
	}
	r.record.Attempts = append(r.record.Attempts, a)
}

// retry waits until the candidates are to be tried again, and reports whether
// they are: not if that is out of the question, if they were tried often enough or
// if the time of the call would be up before.
func (p *Pipeline) retry(ctx context.Context, r *run, last error) bool {
	d := &r.plan
	if d.rounds > d.retry.Max || ctx.Err() != nil || !p.worthwhile(r) {
		return false
	}
	wait := pause(d.retry, d.rounds)
	if wait >= r.clock.remains() {
		return false
	}
	if deadline, ok := ctx.Deadline(); ok && wait >= time.Until(deadline) {
		return false
	}
	r.state.Retrying(d.rounds, p.veiled(r, last))
	p.log.InfoContext(ctx, "a call is tried again", "server", r.server.Key, "name", r.label(), "retry", d.rounds, "of", d.retry.Max, "after", wait, "error", last)
	r.tell(message.CallRetried, "n", strconv.Itoa(d.rounds), "max", strconv.Itoa(d.retry.Max), "delay", wait.Round(time.Millisecond).String())
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// worthwhile reports whether one of the candidates may be had after a pause.
func (p *Pipeline) worthwhile(r *run) bool {
	d := &r.plan
	for i := range d.candidates {
		c := &d.candidates[i]
		if !c.out && (d.loose == nil || c.repeatable()) && p.fleet.Load(c.server.Key).Away == nil {
			return true
		}
	}
	return false
}

// failed is the error of a call that nobody has carried out, or of which that is
// not known.
func (p *Pipeline) failed(ctx context.Context, r *run, last error) error {
	d := &r.plan
	p.log.InfoContext(ctx, "a call failed", "server", r.server.Key, "method", r.verb.method, "name", r.label(),
		"attempts", len(r.record.Attempts), "took", time.Since(r.record.Time), "error", last)
	switch e := hub.AsError(last); {
	case d.loose == nil && (e.Code == message.CallOvertaken || e.Code == message.PolicyDenied):
		return r.refuse(e) // before it was sent
	case d.loose != nil:
		d.unsure = true
		if e.Code != message.Cancelled { // that nobody waits any more says more than the last failure
			e = hub.AsError(d.loose)
		}
		return doubtful(e)
	case e.Code == message.Cancelled:
		return e
	case len(d.candidates) > 1 && len(r.record.Attempts) > 1:
		return hub.E(message.AllFailed, e, "tool", message.Quote(r.name), "attempts", listed(r.record.Attempts))
	default:
		return last
	}
}

// doubtful is an error that says that the call may have had an effect. Its class,
// its remedy and what people are told follow from that.
func doubtful(e *hub.Error) *hub.Error {
	if e.Code == message.OutcomeUnknown {
		return e
	}
	told := *e
	told.Args = make(message.Args, len(e.Args)+1)
	maps.Copy(told.Args, e.Args)
	told.Args[message.ValueOutcome] = string(hub.OutcomeUnknown)
	return &told
}

// listed are attempts as a text: each server with the code of its error. Equal
// ones in a row are one.
func listed(attempts []hub.Attempt) string {
	var b strings.Builder
	for i, a := range attempts {
		if i > 0 && a.Server == attempts[i-1].Server && a.Code == attempts[i-1].Code {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(message.Quote(a.Server) + ": " + a.Code)
	}
	return b.String()
}
