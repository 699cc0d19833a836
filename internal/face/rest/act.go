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
// act, also where only the things of others need that, and that somebody was not let
// do it is on record as well.

type actKey struct{}

// deed is an act under way.
type deed struct {
	audit.Act
	is   bool     // it goes on record; of an operation that is not always an act see [Door.actOnOthers]
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
	if !o.isAct() && !o.others {
		next(ctx)
		return
	}
	a := newDeed(ctx, o, p)
	a.is = o.isAct()
	if a.is && !o.reads && ctx.Query("dryRun") != "true" {
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
	a := newDeed(ctx, o, p)
	a.is, a.Code = d.allowRefusal(&a.Act), string(e.Code)
	d.actEnded(ctx.Context(), a, status)
}

// allowRefusal reports whether it is still recorded that somebody was not let do
// this, and has the last one say so.
func (d *Door) allowRefusal(a *audit.Act) bool {
	ok, last := d.refusals.Allow(a.Tenant+"\x00"+a.Subject+"\x00"+a.Token, time.Now())
	if last {
		a.Target = strings.TrimSpace(a.Target + " more=unrecorded")
	}
	return ok
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

// actOnOthers makes an act of a request for an operation that is one only if it is
// done to what is somebody else's, which is for operators. As of any act, it is
// recorded before, and that somebody was not let do it is on record as well; after an
// error it must not be done.
func (d *Door) actOnOthers(ctx context.Context) error {
	p, a := principal(ctx), ctx.Value(actKey{}).(*deed)
	if p.Role.May(hub.MayOperate) {
		err := d.opt.Audit.Begin(ctx, &a.Act)
		a.is = err == nil
		return err
	}
	a.is = d.allowRefusal(&a.Act)
	return hub.E(message.RoleRefused, nil, "role", string(p.Role))
}

// actEnded records how an act ended. That it cannot be is told by the log and by
// [audit.Log.Fault]; it was done all the same.
func (d *Door) actEnded(ctx context.Context, a *deed, status int) {
	if !a.is {
		return
	}
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
