package apiclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
)

// ApprovalQuery says which requests for approval are asked for. The zero value
// stands for all; what is set has to hold together.
type ApprovalQuery struct {
	Status                        []string // any of these
	Server, Tool, Subject, Cursor string
	Limit                         int // 0 for the usual
}

// Approvals lists requests for approval, newest first.
func (c *Client) Approvals(ctx context.Context, q ApprovalQuery) (api.ApprovalList, error) {
	v := given(map[string]string{
		"status": strings.Join(q.Status, ","), "server": q.Server, "tool": q.Tool, "subject": q.Subject, "cursor": q.Cursor,
	})
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return get[api.ApprovalList](ctx, c, "/approvals", v)
}

// Approval is one request for approval, with exactly what would be sent.
func (c *Client) Approval(ctx context.Context, id string) (api.Approval, error) {
	return get[api.Approval](ctx, c, approvalPath(id, ""), nil)
}

// Approve agrees to a call.
func (c *Client) Approve(ctx context.Context, id string, with api.Approve) (api.Approval, error) {
	return change[api.Approval](ctx, c, request{method: http.MethodPost, path: approvalPath(id, "/approve"), body: with})
}

// Reject refuses a call.
func (c *Client) Reject(ctx context.Context, id string, with api.Reject) (api.Approval, error) {
	return change[api.Approval](ctx, c, request{method: http.MethodPost, path: approvalPath(id, "/reject"), body: with})
}

// Edit agrees to a call with other arguments.
func (c *Client) Edit(ctx context.Context, id string, with api.Edit) (api.Approval, error) {
	return change[api.Approval](ctx, c, request{method: http.MethodPost, path: approvalPath(id, "/edit"), body: with})
}

// CancelApproval withdraws a request.
func (c *Client) CancelApproval(ctx context.Context, id string) (api.Approval, error) {
	return change[api.Approval](ctx, c, request{method: http.MethodPost, path: approvalPath(id, "/cancel")})
}

func approvalPath(id, what string) string { return "/approvals/" + url.PathEscape(id) + what }

// GrantQuery says which grants are asked for. The zero value stands for those in
// force.
type GrantQuery struct {
	All    bool // also those that are over
	Cursor string
	Limit  int // 0 for the usual
}

// Grants lists grants, newest first.
func (c *Client) Grants(ctx context.Context, q GrantQuery) (api.GrantList, error) {
	v := given(map[string]string{"cursor": q.Cursor})
	if q.All {
		v.Set("all", "true")
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return get[api.GrantList](ctx, c, "/grants", v)
}

// AddGrant has calls ask nobody for a while.
func (c *Client) AddGrant(ctx context.Context, g api.GrantAdd) (api.Grant, error) {
	return change[api.Grant](ctx, c, request{method: http.MethodPost, path: "/grants", body: g})
}

// PreviewGrant says which past calls a grant would have covered.
func (c *Client) PreviewGrant(ctx context.Context, g api.GrantAdd) (api.GrantPreview, error) {
	return change[api.GrantPreview](ctx, c, request{method: http.MethodPost, path: "/grants/preview", body: g, again: true})
}

// RevokeGrant ends a grant.
func (c *Client) RevokeGrant(ctx context.Context, id string) error {
	return c.into(ctx, request{method: http.MethodDelete, path: "/grants/" + url.PathEscape(id)}, nil)
}

// Policy is what the rules are that calls are judged by.
func (c *Client) Policy(ctx context.Context) (api.Policy, error) {
	return get[api.Policy](ctx, c, "/policy", nil)
}

// JudgeCall is what the rules would say to a call.
func (c *Client) JudgeCall(ctx context.Context, q api.PolicyQuestion) (api.PolicyAnswer, error) {
	return change[api.PolicyAnswer](ctx, c, request{method: http.MethodPost, path: "/policy/judge", body: q, again: true})
}

// TestPolicy is what would have become of past calls.
func (c *Client) TestPolicy(ctx context.Context, t api.PolicyTest) (api.PolicyTestResult, error) {
	return change[api.PolicyTestResult](ctx, c, request{method: http.MethodPost, path: "/policy/test", body: t, again: true})
}
