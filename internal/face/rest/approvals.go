package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type (
	approvalListInput struct {
		Status  []string `query:"status" enum:"pending,approved,edited,rejected,expired,cancelled,superseded" doc:"Only requests that stand so, separated by commas"`
		Server  string   `query:"server" doc:"Only for calls of this server"`
		Tool    string   `query:"tool" doc:"Only for calls of a tool that its server gave this name"`
		Subject string   `query:"subject" doc:"Only of this caller"`
		Limit   int      `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many at most"`
		Cursor  string   `query:"cursor" maxLength:"100" doc:"Go on here: what next was in the answer before, to the same question"`
	}
	approvalListOutput struct{ Body api.ApprovalList }
	approvalInput      struct {
		ID string `path:"id" doc:"Of the request"`
	}
	approvalOutput struct{ Body api.Approval }
	approveInput   struct {
		ID   string `path:"id" doc:"Of the request"`
		Body *api.Approve
	}
	rejectInput struct {
		ID   string `path:"id" doc:"Of the request"`
		Body *api.Reject
	}
	editInput struct {
		ID   string `path:"id" doc:"Of the request"`
		Body api.Edit
	}
)

// approvals registers what people decide about calls.
func (d *Door) approvals() {
	const place = "/approvals/{id}"
	add(d, operation{
		id: "listApprovals", method: http.MethodGet, path: "/approvals", group: aboutApproval, summary: "The requests that somebody agree to a call, newest first",
		about:  "Who may decide sees those of the tenant, others their own. What changes comes as events named `approval`.",
		errors: []int{http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, d.listApprovals)
	add(d, operation{
		id: "getApproval", method: http.MethodGet, path: place, group: aboutApproval, summary: "One request, with exactly what would be sent",
		errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, func(ctx context.Context, in *approvalInput) (*approvalOutput, error) {
		return d.approval(ctx)(d.opt.Approvals.Look(ctx, in.ID, principal(ctx)))
	})
	decided := []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}
	add(d, operation{
		id: "approve", method: http.MethodPost, path: place + "/approve", group: aboutApproval, summary: "Agree to a call",
		about: "The first decision holds. A critical call needs two agreements: the second one says `confirmation: 2`, and with `saw` which arguments were seen. " +
			"Nobody decides about calls of their own.",
		needs: hub.MayDecide, limit: 1, example: map[string]any{"note": "as discussed", "remember": map[string]any{"for": "1h"}}, errors: decided,
	}, d.approve)
	add(d, operation{
		id: "reject", method: http.MethodPost, path: place + "/reject", group: aboutApproval, summary: "Refuse a call",
		needs: hub.MayDecide, limit: 1, example: map[string]any{"note": "not on a Friday"}, errors: decided,
	}, func(ctx context.Context, in *rejectInput) (*approvalOutput, error) {
		with := approval.Deciding{By: principal(ctx), Kind: approval.Reject}
		if in.Body != nil {
			with.Note = in.Body.Note
		}
		return d.approval(ctx)(d.opt.Approvals.Decide(ctx, in.ID, with))
	})
	add(d, operation{
		id: "edit", method: http.MethodPost, path: place + "/edit", group: aboutApproval, summary: "Agree to a call with other arguments",
		about: "They are held against the tool's schema and judged by the rules first. Nothing is decided if the tool would not take them, or a rule denies them.",
		needs: hub.MayDecide, limit: 2, example: map[string]any{"arguments": map[string]any{"path": "/tmp/x"}}, errors: decided,
	}, d.editApproval)
	add(d, operation{
		id: "cancelApproval", method: http.MethodPost, path: place + "/cancel", group: aboutApproval, summary: "Withdraw a request",
		about:  "By who has asked, or by an operator, of whom that is on record.",
		others: true, errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, func(ctx context.Context, in *approvalInput) (*approvalOutput, error) {
		p := principal(ctx)
		q, err := d.opt.Approvals.Look(ctx, in.ID, p)
		if err == nil && !asks(&q, p) {
			err = d.actOnOthers(ctx)
		}
		if err != nil {
			return nil, failed(err)
		}
		return d.approval(ctx)(d.opt.Approvals.Cancel(ctx, in.ID, approval.WithdrawnBy(p.Subject)))
	})
}

// asks reports whether the request is somebody's own.
func asks(q *approval.Request, p hub.Principal) bool {
	return q.Subject == p.Subject && q.Tenant == p.Tenant
}

func (d *Door) listApprovals(ctx context.Context, in *approvalListInput) (*approvalListOutput, error) {
	p := principal(ctx)
	q := approval.Query{Viewer: &p, Subject: in.Subject, Server: in.Server, Tool: in.Tool, After: in.Cursor, Limit: in.Limit + 1}
	for _, s := range in.Status {
		q.Status = append(q.Status, approval.Status(s))
	}
	all, err := d.opt.Approvals.List(ctx, q)
	if err != nil {
		return nil, failed(err)
	}
	out := &approvalListOutput{api.ApprovalList{Approvals: []api.Approval{}}}
	for i := range first(all, in.Limit) {
		out.Body.Approvals = append(out.Body.Approvals, d.approvalView(ctx, &all[i]))
	}
	if len(all) > in.Limit {
		out.Body.Next = all[in.Limit-1].ID
	}
	return out, nil
}

// approve agrees to a request and, if that is asked for, gives a grant with it.
// What is to be remembered is looked at first: an agreement that was made in part
// only would be a surprise.
func (d *Door) approve(ctx context.Context, in *approveInput) (*approvalOutput, error) {
	with := approval.Deciding{By: principal(ctx), Kind: approval.Approve}
	var remember *api.Remember
	if b := in.Body; b != nil {
		with.Note, with.Confirmation, with.Saw, remember = b.Note, b.Confirmation, b.Saw, b.Remember
	}
	if remember != nil {
		q, err := d.opt.Approvals.Look(ctx, in.ID, with.By)
		if err != nil {
			return nil, failed(err)
		}
		g, err := rememberedOf(&q, remember)
		switch {
		case err != nil:
		case with.Saw == "" && with.Confirmation <= 1: // the second agreement says itself what was seen
			with.Saw = q.Hash
		case with.Saw != q.Hash: // the grant would be for other arguments
			err = hub.E(message.ApprovalChanged, nil, "id", q.ID)
		}
		if err != nil {
			return nil, failed(err)
		}
		g.Note = with.Note
		with.Grant = &g
	}
	return d.approval(ctx)(d.opt.Approvals.Decide(ctx, in.ID, with))
}

func (d *Door) editApproval(ctx context.Context, in *editInput) (*approvalOutput, error) {
	p := principal(ctx)
	q, err := d.opt.Approvals.Look(ctx, in.ID, p)
	if err != nil {
		return nil, failed(err)
	}
	j, err := d.opt.Call.Check(ctx, q, in.Body.Arguments)
	if err != nil {
		return nil, failed(err)
	}
	judged := approval.JudgedOf(&j)
	with := approval.Deciding{
		By: p, Kind: approval.Edit, Note: in.Body.Note, Confirmation: in.Body.Confirmation, Saw: in.Body.Saw,
		Arguments: in.Body.Arguments, Judged: &judged,
	}
	if with.ArgumentsHash, err = d.opt.Call.EditedHash(&q, in.Body.Arguments); err != nil {
		return nil, failed(err)
	}
	with.Shown, _ = d.opt.Audit.Arguments(in.Body.Arguments)
	return d.approval(ctx)(d.opt.Approvals.Decide(ctx, in.ID, with))
}

// approval makes the answer of what the desk says.
func (d *Door) approval(ctx context.Context) func(approval.Request, error) (*approvalOutput, error) {
	return func(q approval.Request, err error) (*approvalOutput, error) {
		if err != nil {
			return nil, failed(err)
		}
		v := d.approvalView(ctx, &q)
		v.Arguments, v.Edited, v.Extra, v.Hidden = json.RawMessage(q.Arguments), json.RawMessage(q.Edited), json.RawMessage(q.Extra), q.Hidden
		if q.Tool != "" {
			definition, same := d.opt.Call.Described(&q)
			v.Definition, v.ToolChanged = definition, !same
		}
		return &approvalOutput{v}, nil
	}
}

// approvalView is a request as lists tell it.
func (d *Door) approvalView(ctx context.Context, q *approval.Request) api.Approval {
	l := lang(ctx)
	v := api.Approval{
		ID: q.ID, Status: string(q.Status), Created: q.Created, Expires: q.Expires,
		Tenant: q.Tenant, Subject: q.Subject, Door: string(q.Door), Session: q.Session, Client: q.Client, Group: q.Group, Call: q.Call,
		Method: q.Method, Name: q.Name, Server: q.Server, Tool: q.Tool, ToolHash: q.ToolHash, Hash: q.Hash,
		Risk: q.Risk.String(), Reasons: []string{}, Warning: q.Warning.In(l), Tags: q.Tags, Unclear: q.Unclear,
		Policy: q.Policy, Rule: q.Rule, Because: q.Because, Persons: q.Persons, SecondPerson: q.Second,
		Confirmations: len(q.Agreements()), Decisions: []api.Decision{}, Taken: q.Taken, Note: approval.Remark(q.Note).In(l),
	}
	if json.Valid([]byte(q.Shown)) {
		v.Shown = json.RawMessage(q.Shown)
	}
	if json.Valid([]byte(q.ExtraShown)) {
		v.ExtraShown = json.RawMessage(q.ExtraShown)
	}
	if q.Retrier != nil && (q.Retrier.Subject != q.Subject || q.Retrier.Tenant != q.Tenant) {
		v.Retrier = q.Retrier.Subject
	}
	if len(q.Servers) > 1 {
		v.Servers = q.Servers
	}
	for _, reason := range q.Reasons {
		v.Reasons = append(v.Reasons, reason.In(l))
	}
	for _, one := range q.Decisions {
		v.Decisions = append(v.Decisions, api.Decision{
			By: one.By, At: one.At, Kind: string(one.Kind), Door: string(one.Door), Note: one.Note, Hash: one.Hash,
		})
	}
	return v
}
