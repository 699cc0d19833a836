package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/events"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type (
	stateListOutput struct{ Body api.CallStateList }
	stateInput      struct {
		Session string `path:"session" doc:"The session, by its name in the state, or by the name that whoever asks has given it; percent-encoded"`
	}
	stateOutput struct{ Body api.CallState }
	retryOutput struct{ Body api.CallResult }
)

// callStates registers what sessions show of their calls.
func (d *Door) callStates() {
	const place = "/states/{session}"
	add(d, operation{
		id: "listStates", method: http.MethodGet, path: "/states", group: aboutTools, summary: "The sessions that show a call, the one that called last first",
		about: "Operators see those of all callers of their tenant, others their own; by a token with a scope, those of servers within it. What changes comes as events named `call.state`.",
	}, func(ctx context.Context, _ *struct{}) (*stateListOutput, error) {
		p, now := principal(ctx), time.Now()
		out := &stateListOutput{api.CallStateList{States: []api.CallState{}}}
		for _, s := range d.opt.States.States(func(s *hub.CallState) bool { return seesState(&p, s) }) {
			out.Body.States = append(out.Body.States, events.StateView(&s, now))
		}
		return out, nil
	})
	add(d, operation{
		id: "getState", method: http.MethodGet, path: place, group: aboutTools, summary: "What a session shows of its call",
		about: "A session that has called nothing lately is idle, and so is one that is somebody else's. " +
			"Callers without a session have one by their door and subject, such as `rest:local`.",
	}, func(ctx context.Context, in *stateInput) (*stateOutput, error) {
		_, s := d.state(ctx, in.Session)
		return &stateOutput{events.StateView(&s, time.Now())}, nil
	})
	add(d, operation{
		id: "retryState", method: http.MethodPost, path: place + "/retry", group: aboutTools, needs: hub.MayCall, summary: "Make the call of a session that failed once more",
		about: "With the same arguments and on behalf of the same caller, if `canRetry` says so; the rules hold for both, and neither decides about it. " +
			"It is a person's decision: the call is made also if it may have taken effect before.",
		errors: unanswered(),
	}, d.retry)
	add(d, operation{
		id: "clearState", method: http.MethodDelete, path: place, group: aboutTools, needs: hub.MayCall, summary: "Have a session be idle whose call has ended",
		errors: []int{http.StatusConflict},
	}, func(ctx context.Context, in *stateInput) (*struct{}, error) {
		name, _ := d.state(ctx, in.Session)
		return nil, failed(d.opt.States.Clear(name))
	})
}

// state finds what a session shows, and by which name it is kept. One that whoever
// asks may not see is as one that is not there, and has no name.
func (d *Door) state(ctx context.Context, session string) (name string, s hub.CallState) {
	p := principal(ctx)
	named := callstate.Named(p, session)
	for _, name := range [...]string{session, named} {
		if s, ok := d.opt.States.State(name); ok && seesState(&p, &s) {
			return name, s
		}
	}
	return "", hub.CallState{Session: session, Tenant: p.Tenant, Subject: p.Subject, Status: hub.CallIdle}
}

// seesState reports whether a principal may see what a session shows: its own, and
// whoever operates those of all callers of its tenant, or of all tenants; of servers
// within its scope.
func seesState(p *hub.Principal, s *hub.CallState) bool {
	switch {
	case !hub.Scope(p.Scope).Server(s.Server):
		return false
	case oversees(p):
		return true
	case s.Tenant != p.Tenant:
		return false
	}
	return s.Subject == p.Subject || p.Role.May(hub.MayOperate)
}

// retry makes the call of a session once more.
func (d *Door) retry(ctx context.Context, in *stateInput) (*retryOutput, error) {
	name, _ := d.state(ctx, in.Session)
	again, err := d.opt.States.Retry(name)
	if err != nil {
		return nil, failed(err)
	}
	result, err := d.again(ctx, name, again, principal(ctx))
	again.Call.End(hub.OutcomeFailed, err, nil) // if that has not been done
	if err != nil {
		return nil, failed(err)
	}
	return &retryOutput{*result}, nil
}

// again makes a call once more for who has made it. It is the call of who has that
// done as well, whose rights are those of now.
func (d *Door) again(ctx context.Context, name string, again *callstate.Retry, by hub.Principal) (*api.CallResult, error) {
	m, err := request(again.Raw)
	if err != nil {
		return nil, err
	}
	if name == callstate.Session(again.Principal, "") {
		name = "" // it has no session
	}
	return d.do(ctx, &call.Request{
		Principal: again.Principal, Retrier: &by, SessionRef: name, Viewer: again.Viewer, Message: m, Level: again.Level, Lang: again.Lang,
		Exchange: silent{}, Timeout: again.Timeout, MaxRetries: &again.MaxRetries, UserMessage: again.UserMessage, Again: again.Call,
	})
}
