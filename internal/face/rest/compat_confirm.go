package rest

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type (
	confirmationsInput struct {
		ID string `path:"id" doc:"The session, by its name in a confirmation or by that which whoever asks has given it; - for any"`
	}
	confirmationsOutput struct{ Body api.CompatConfirmations }
	confirmInput        struct {
		ID   string `path:"id" doc:"The session, by its name in a confirmation or by that which whoever asks has given it; - for any"`
		RID  string `path:"rid" doc:"Id of the confirmation"`
		Body api.CompatConfirm
	}
	confirmOutput struct{ Body api.CompatConfirmed }
)

const (
	anySession       = "-"
	maxConfirmations = 50 // that are told at once
)

// compatConfirmations registers what people decide about calls.
func (d *Door) compatConfirmations() {
	const place = "/host/sessions/{id}/confirmations"
	add(d, operation{
		id: "compatConfirmations", method: http.MethodGet, path: place, group: aboutCompat,
		summary: "The calls of a session to which somebody is to agree, newest first",
		about:   "At most 50. Who may decide sees those of all callers, others their own.",
		errors:  []int{http.StatusServiceUnavailable},
	}, d.listConfirmations)
	add(d, operation{
		id: "compatConfirm", method: http.MethodPost, path: place + "/{rid}", group: aboutCompat, summary: "Agree to a call, or refuse it",
		about: "`modified_arguments` are held against the tool's schema and judged by the rules before anything is decided. The first decision holds. " +
			"A critical call needs two agreements: the second one has `confirmation: 2` and, as `saw`, the `hash` that was seen. Nobody decides about calls of their own.",
		needs: hub.MayDecide, limit: 2, example: map[string]any{"approved": true, "modified_arguments": map[string]any{"path": "/tmp/x"}},
		errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, d.confirm)
}

// sessionOf names the conversation in which a call was made.
func sessionOf(q *approval.Request) string {
	return callstate.Session(hub.Principal{Subject: q.Subject, Door: q.Door, Tenant: q.Tenant}, q.Session)
}

// isIn reports whether a request is of a session that was named so.
func isIn(q *approval.Request, session string, who hub.Principal) bool {
	return session == anySession || sessionOf(q) == session || q.Session != "" && q.Session == callstate.Named(who, session)
}

func (d *Door) listConfirmations(ctx context.Context, in *confirmationsInput) (*confirmationsOutput, error) {
	out := &confirmationsOutput{api.CompatConfirmations{Success: true, Confirmations: []api.CompatConfirmation{}}}
	p := principal(ctx)
	for q, err := range d.pending(ctx, p) {
		if err != nil {
			return nil, failed(err)
		}
		if len(out.Body.Confirmations) == maxConfirmations {
			break
		}
		if !isIn(q, in.ID, p) {
			continue
		}
		whole, err := d.opt.Approvals.Look(ctx, q.ID, p) // which has the arguments
		switch {
		case hub.IsCode(err, message.ApprovalUnknown):
			continue // it is gone since
		case err != nil:
			return nil, failed(err)
		}
		out.Body.Confirmations = append(out.Body.Confirmations, confirmationView(lang(ctx), &whole))
	}
	return out, nil
}

// pending yields the requests that wait and that somebody may see, newest first.
func (d *Door) pending(ctx context.Context, p hub.Principal) iter.Seq2[*approval.Request, error] {
	return func(yield func(*approval.Request, error) bool) {
		q := approval.Query{Viewer: &p, Status: []approval.Status{approval.Pending}, Limit: recordPage}
		for {
			page, err := d.opt.Approvals.List(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page {
				if !yield(&page[i], nil) {
					return
				}
			}
			if len(page) < q.Limit {
				return
			}
			q.After = page[len(page)-1].ID
		}
	}
}

// confirm decides, by the same way as the other paths do.
func (d *Door) confirm(ctx context.Context, in *confirmInput) (*confirmOutput, error) {
	b, p := &in.Body, principal(ctx)
	approved := b.Approved
	if approved == nil {
		approved = b.Confirmed
	}
	if approved == nil || b.Confirmed != nil && *b.Confirmed != *approved {
		return nil, failed(unfit(message.Say(`body: "approved" or "confirmed" is needed, and they must not contradict`)))
	}
	// Clients send the member with a refusal as well, where it means nothing.
	edits := *approved && len(b.ModifiedArguments) > 0 && string(b.ModifiedArguments) != "null"
	q, err := d.opt.Approvals.Look(ctx, in.RID, p)
	if err == nil && !isIn(&q, in.ID, p) {
		err = hub.E(message.ApprovalUnknown, nil, "approval", message.Quote(in.RID))
	}
	if err != nil {
		return nil, failed(err)
	}
	note := b.Reason
	if note == "" {
		note = b.Comment
	}
	switch {
	case edits:
		_, err = d.editApproval(ctx, &editInput{ID: q.ID, Body: api.Edit{Arguments: b.ModifiedArguments, Note: note, Confirmation: b.Confirmation, Saw: b.Saw}})
	case *approved:
		_, err = d.approve(ctx, &approveInput{ID: q.ID, Body: &api.Approve{Note: note, Confirmation: b.Confirmation, Saw: b.Saw}})
	default:
		_, err = d.opt.Approvals.Decide(ctx, q.ID, approval.Deciding{By: p, Kind: approval.Reject, Note: note})
		err = failed(err)
	}
	if err != nil {
		return nil, err
	}
	if q, err = d.opt.Approvals.Look(ctx, q.ID, p); err != nil {
		return nil, failed(err)
	}
	return &confirmOutput{api.CompatConfirmed{Success: true, Confirmation: confirmationView(lang(ctx), &q)}}, nil
}

// confirmationView is a request in the words of these paths.
func confirmationView(l message.Lang, q *approval.Request) api.CompatConfirmation {
	v := api.CompatConfirmation{
		ID: q.ID, SessionID: sessionOf(q), RiskLevel: q.Risk.String(), Status: string(q.Status), State: string(q.Status),
		WarningMessage: q.Warning.In(l), ExpiresAt: q.Expires, CreatedAt: q.Created, Hash: q.Hash, Needed: q.Persons,
		ModifiedArguments: orNull(q.Edited),
		ToolCall: api.CompatPendingCall{
			Name: q.Name, ServerKey: q.Server, ToolName: q.Tool, Arguments: orNone(q.Arguments), Extra: json.RawMessage(q.Extra), RiskLevel: q.Risk.String(), Confirming: true,
		},
	}
	switch q.Status {
	case approval.Edited:
		v.Status = string(approval.Approved)
	case approval.Cancelled, approval.Superseded:
		v.Status = string(approval.Expired)
	}
	reasons := make([]string, len(q.Reasons))
	for i, r := range q.Reasons {
		reasons[i] = r.In(l)
	}
	separator := "; "
	if l == message.Chinese {
		separator = "；"
	}
	v.RiskDescription = strings.Join(reasons, separator)
	v.Confirmations = len(q.Agreements())
	return v
}

// orNone is an object of arguments that may not be there.
func orNone(raw []byte) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return json.RawMessage(raw)
}

// orNull is other arguments that may not be there. None of them is not the same as
// no others: a client that sends back what it was told must not empty the call.
func orNull(raw []byte) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return json.RawMessage(raw)
}
