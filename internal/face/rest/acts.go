package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type (
	actListInput struct {
		Limit     int      `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many at most"`
		Cursor    string   `query:"cursor" maxLength:"4000" doc:"Go on here: what next was in the answer before, to the same question"`
		ID        string   `query:"id" maxLength:"64" doc:"Only the one with this id"`
		Operation string   `query:"operation" maxLength:"100" doc:"Only acts of this operation, such as stopServer"`
		Server    string   `query:"server" doc:"Only what was done to this server"`
		Subject   string   `query:"subject" doc:"Only what this one did"`
		Tenant    string   `query:"tenant" doc:"Only what was done by this tenant"`
		Door      string   `query:"door" doc:"Only what came by this way, such as rest or file"`
		Outcome   []string `query:"outcome" enum:"ok,failed,unknown,under_way" doc:"Only what ended in one of these ways, separated by commas"`
		Code      string   `query:"code" doc:"Only what failed with this code, such as role_refused"`
		Since     string   `query:"since" doc:"Only what ended at this time (RFC 3339) or after it, or not longer ago than this, such as 24h or 7d"`
		Until     string   `query:"until" doc:"Only what was done before this time, which is given in the same way"`
	}
	actListOutput struct{ Body api.ActList }
)

// acts registers what the record tells of acts.
func (d *Door) acts() {
	add(d, operation{
		id: "listActs", method: http.MethodGet, path: "/audit/acts", group: aboutRecord, needs: hub.MayOperate,
		summary: "What was done to the hub, and by whom, newest first",
		about: "Every use of an operation that needs more than calling, and is no `GET`, is on record, also if it was refused; so are the withdrawal of somebody else's request for approval, logins, and what the configuration file changes. " +
			"An operator of a tenant sees what was done by the tenant, and by a token with a scope what was done to the servers within it.",
		errors: []int{http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, d.listActs)
}

func (d *Door) listActs(ctx context.Context, in *actListInput) (*actListOutput, error) {
	now := time.Now()
	f := audit.ActFilter{
		ID: in.ID, Operation: in.Operation, Server: in.Server, Subject: in.Subject, Door: hub.Door(in.Door), Code: in.Code, Tenant: records(ctx), Servers: inScope(ctx),
	}
	out := &actListOutput{api.ActList{Acts: []api.Act{}}}
	switch {
	case in.Tenant == "":
	case f.Tenant == nil:
		f.Tenant = &in.Tenant
	case *f.Tenant != in.Tenant:
		return out, nil // another tenant's are as if they were not there
	}
	for _, o := range in.Outcome {
		if o == "under_way" {
			o = string(audit.UnderWay)
		}
		f.Outcomes = append(f.Outcomes, hub.Outcome(o))
	}
	var err error
	if f.Since, err = moment("since", in.Since, now); err == nil {
		f.Until, err = moment("until", in.Until, now)
	}
	if err != nil {
		return nil, failed(err)
	}
	page, err := d.opt.Audit.Acts(ctx, f, in.Cursor, in.Limit)
	if err != nil {
		return nil, failed(err)
	}
	out.Body.Next = page.Next
	for i := range page.Acts {
		out.Body.Acts = append(out.Body.Acts, actView(&page.Acts[i]))
	}
	return out, nil
}

func actView(a *audit.Act) api.Act {
	v := api.Act{
		ID: a.ID, Time: a.Time, Operation: a.Operation, Target: a.Target, Server: a.Server, Tenant: a.Tenant, Subject: a.Subject, Role: string(a.Role),
		Door: string(a.Door), Token: a.Token, Request: a.Request, Outcome: string(a.Outcome), Code: a.Code, Status: a.Status,
		Duration: milliseconds(a.Duration), Node: a.Node, Seq: a.Seq,
	}
	if !a.Ended.IsZero() {
		v.Ended = &a.Ended
	}
	return v
}
