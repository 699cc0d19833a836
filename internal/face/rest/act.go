package rest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// What somebody does to the hub is on record: who, when, what, to what, and how it
// ended. What can be done only by whoever may decide, operate or manage is such an
// act, and that somebody was not let do it is on record as well.

type actKey struct{}

// deed is an act under way.
type deed struct {
	audit.Act
	also []string // targets of what was done by the same request
}

// guarded reports whether it is on record that somebody was refused an operation.
func (o *operation) guarded() bool {
	return o.needs >= hub.MayDecide && o.method != http.MethodGet
}

// isAct reports whether the use of an operation is on record. What those who decide
// only ask comes with each of their calls, and says nothing of the hub.
func (o *operation) isAct() bool { return o.guarded() && !(o.reads && o.needs == hub.MayDecide) }

// act goes on with a request that is let in. An act is recorded before, and not
// done if it cannot be.
func (d *Door) act(ctx huma.Context, o *operation, p hub.Principal, next func(huma.Context)) {
	if !o.isAct() {
		next(ctx)
		return
	}
	a := newDeed(ctx, o, p)
	if !o.reads && ctx.Query("dryRun") != "true" {
		if err := d.opt.Audit.Begin(ctx.Context(), &a.Act); err != nil {
			refuse(ctx, Status(hub.AsError(err).Code), err)
			return
		}
	}
	done := false
	defer func() {
		if !done { // it panicked
			a.Code = string(message.Internal)
			d.actEnded(ctx.Context(), a, http.StatusInternalServerError)
		}
	}()
	next(huma.WithValue(ctx, actKey{}, a))
	done = true
	d.actEnded(ctx.Context(), a, ctx.Status())
}

// How often it is recorded that one was not let do something: whoever tries on and on
// does not fill the disk.
const (
	mostRefusals   = 10
	refusalsWithin = time.Minute
)

// actRefused records that somebody was not let do something. The last time that it
// is recorded within a minute says so.
func (d *Door) actRefused(ctx huma.Context, o *operation, p hub.Principal, status int, e *hub.Error) {
	if !o.guarded() {
		return
	}
	ok, last := d.refusals.Allow(p.Tenant+"\x00"+p.Subject+"\x00"+p.Token, time.Now())
	if !ok {
		return
	}
	a := newDeed(ctx, o, p)
	a.Code = string(e.Code)
	if last {
		a.Target = strings.TrimSpace(a.Target + " more=unrecorded")
	}
	d.actEnded(ctx.Context(), a, status)
}

func newDeed(ctx huma.Context, o *operation, p hub.Principal) *deed {
	a := &deed{Act: audit.Act{
		Time: time.Now(), Operation: o.id, Tenant: p.Tenant, Subject: p.Subject, Role: p.Role, Door: p.Door, Token: p.Token,
		Request: hub.RequestOf(ctx.Context()),
	}}
	var target []string
	for rest := o.path; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			break
		}
		name, after, _ := strings.Cut(after, "}")
		value := ctx.Param(name)
		target = append(target, name+"="+message.Quote(value))
		if name == "key" {
			a.Server = message.Quote(value)
		}
		rest = after
	}
	if o.limit > 0 && ctx.Query("dryRun") == "true" {
		target = append(target, "dryRun=true")
	}
	a.Target = strings.Join(target, " ")
	return a
}

// actEnded records how an act ended. That it cannot be is told by the log and by
// [audit.Log.Fault]; it was done all the same.
func (d *Door) actEnded(ctx context.Context, a *deed, status int) {
	a.Status, a.Outcome, a.Duration = status, hub.OutcomeOK, time.Since(a.Time)
	if status >= http.StatusBadRequest {
		a.Outcome = hub.OutcomeFailed
	} else {
		a.Code = ""
	}
	ctx = context.WithoutCancel(ctx)
	_ = d.opt.Audit.Act(ctx, &a.Act)
	for _, target := range a.also {
		one := a.Act
		one.ID, one.Target = "", target
		_ = d.opt.Audit.Act(ctx, &one)
	}
}

// actAlso notes what else a request has done, which is an act of its own.
func actAlso(ctx context.Context, target string) {
	if a, ok := ctx.Value(actKey{}).(*deed); ok {
		a.also = append(a.also, target)
	}
}

// actMade notes what an act has made that its path does not name.
func actMade(ctx context.Context, name, value string) {
	if a, ok := ctx.Value(actKey{}).(*deed); ok {
		a.Target = strings.TrimSpace(a.Target + " " + name + "=" + message.Quote(value))
		if name == "key" {
			a.Server = message.Quote(value)
		}
	}
}

// failedBy notes with which code a request fails, if it is an act.
func failedBy(ctx context.Context, code message.Code) {
	if a, ok := ctx.Value(actKey{}).(*deed); ok {
		a.Code = string(code)
	}
}
