package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

type (
	grantListInput struct {
		All    bool   `query:"all" doc:"Also those that have expired or were revoked"`
		Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many at most"`
		Cursor string `query:"cursor" maxLength:"100" doc:"Go on here: what next was in the answer before, to the same question"`
	}
	grantListOutput struct{ Body api.GrantList }
	grantAddInput   struct{ Body api.GrantAdd }
	grantInput      struct {
		ID string `path:"id" doc:"Of the grant"`
	}
	grantOutput        struct{ Body api.Grant }
	grantPreviewOutput struct{ Body api.GrantPreview }
)

// grants registers agreements that stand.
func (d *Door) grants() {
	add(d, operation{
		id: "listGrants", method: http.MethodGet, path: "/grants", group: aboutApproval, summary: "The grants in force, newest first",
		needs: hub.MayDecide, errors: []int{http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, d.listGrants)
	example := map[string]any{"tool": "files__write_file", "members": map[string]any{"path": "/tmp/report.md"}, "for": "8h"}
	refused := []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}
	add(d, operation{
		id: "addGrant", method: http.MethodPost, path: "/grants", group: aboutApproval, summary: "Have calls ask nobody for a while",
		about: "It covers no calls of who gives it and no critical ones, and none once the tool is described otherwise.",
		needs: hub.MayDecide, limit: 2, status: http.StatusCreated, example: example, errors: refused,
	}, func(ctx context.Context, in *grantAddInput) (*grantOutput, error) {
		g, _, err := d.granting(ctx, &in.Body)
		if err != nil {
			return nil, failed(err)
		}
		if g, err = d.opt.Approvals.Grant(ctx, principal(ctx), g); err != nil {
			return nil, failed(err)
		}
		return &grantOutput{grantView(&g)}, nil
	})
	add(d, operation{
		id: "previewGrant", method: http.MethodPost, path: "/grants/preview", group: aboutApproval, summary: "Which past calls a grant would have covered",
		about: "Of the last seven days, 10,000 calls of the tool at most. Nothing is given.",
		needs: hub.MayDecide, reads: true, limit: 2, example: example, errors: refused,
	}, d.previewGrant)
	add(d, operation{
		id: "revokeGrant", method: http.MethodDelete, path: "/grants/{id}", group: aboutApproval, summary: "End a grant",
		needs: hub.MayDecide, errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, func(ctx context.Context, in *grantInput) (*struct{}, error) {
		_, err := d.opt.Approvals.Revoke(ctx, principal(ctx), in.ID)
		return nil, failed(err)
	})
}

func (d *Door) listGrants(ctx context.Context, in *grantListInput) (*grantListOutput, error) {
	p := principal(ctx)
	all, err := d.opt.Approvals.Grants(ctx, approval.GrantQuery{Viewer: &p, All: in.All, After: in.Cursor, Limit: in.Limit + 1})
	if err != nil {
		return nil, failed(err)
	}
	out := &grantListOutput{api.GrantList{Grants: []api.Grant{}}}
	for i := range first(all, in.Limit) {
		out.Body.Grants = append(out.Body.Grants, grantView(&all[i]))
	}
	if len(all) > in.Limit {
		out.Body.Next = all[in.Limit-1].ID
	}
	return out, nil
}

// granting is the grant that a request is for, and the tool.
func (d *Door) granting(ctx context.Context, in *api.GrantAdd) (approval.Grant, *catalog.Entry, error) {
	var none approval.Grant
	p := principal(ctx)
	tenant, err := d.tenantFor(&p, in.Tenant)
	if err != nil {
		return none, nil, err
	}
	e, err := d.toolOf(hub.Viewer{Tenant: tenant, Scope: p.Scope}, in.Tool)
	if err != nil {
		return none, nil, err
	}
	lasts, err := lasting(in.For)
	if err != nil {
		return none, nil, err
	}
	risk, err := mostRisk(in.MaxRisk, hub.RiskHigh)
	if err != nil {
		return none, nil, err
	}
	g := approval.Grant{
		Tenant: tenant, Subject: in.Subject, Server: e.Server.Key, Tool: e.Tool.Name, ToolHash: d.opt.Call.ToolHash(e),
		Members: in.Members, MaxRisk: risk, Note: in.Note, Expires: time.Now().Add(lasts),
	}
	switch {
	case len(in.Arguments) > 0 && in.Members != nil:
		return none, nil, unfit(message.Say("there are both arguments and members"))
	case in.Members != nil && len(in.Members) == 0:
		return none, nil, unfit(message.Say("members: there are none; leave them out if any arguments will do"))
	case len(in.Arguments) > 0:
		if g.ArgumentsHash, err = d.opt.Call.Digest(in.Arguments); err != nil {
			return none, nil, err
		}
	}
	return g, e, nil
}

// toolOf finds a tool by the name under which it is called.
func (d *Door) toolOf(viewer hub.Viewer, name string) (*catalog.Entry, error) {
	view, err := d.opt.Catalog.View(viewer)
	if err != nil {
		return nil, err
	}
	if e, ok := view.Tool(name); ok {
		return e, nil
	}
	return nil, hub.E(message.ToolUnknown, nil, "tool", message.Quote(name))
}

// lasting reads for how long a grant is to hold. Whether it is too long is the
// desk's to say.
func lasting(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && 0 < n && n <= longestAgo {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	if lasts, err := time.ParseDuration(text); err == nil && lasts > 0 {
		return lasts, nil
	}
	return 0, unfit(message.Say(`for: it must be a duration such as "1h" or "7d"`))
}

// mostRisk reads of how much risk the calls are that a grant covers. That critical
// ones are none of them is the desk's to say.
func mostRisk(text string, usual hub.Risk) (hub.Risk, error) {
	if text == "" {
		return usual, nil
	}
	risk, ok := hub.ParseRisk(text)
	if !ok {
		return 0, wrongWord("maxRisk", "low, medium, high")
	}
	return risk, nil
}

// rememberedOf is the grant that is to be given with an agreement.
func rememberedOf(q *approval.Request, r *api.Remember) (approval.Grant, error) {
	lasts, err := lasting(r.For)
	if err != nil {
		return approval.Grant{}, err
	}
	g := approval.Grant{
		Tenant: q.Tenant, Subject: q.Subject, Server: q.Server, Tool: q.Tool, ToolHash: q.ToolHash,
		MaxRisk: q.Risk, Request: q.ID, Expires: time.Now().Add(lasts),
	}
	if r.Anyone {
		g.Subject = ""
	}
	if g.MaxRisk, err = mostRisk(r.MaxRisk, q.Risk); err != nil {
		return approval.Grant{}, err
	}
	var how string
	switch {
	case len(r.Arguments) == 0:
		g.ArgumentsHash = call.GrantHash(q)
	case r.Arguments[0] == '{':
		if err := json.Unmarshal(r.Arguments, &g.Members); err != nil {
			return approval.Grant{}, unfit(message.Say("remember.arguments: it cannot be read"))
		}
		if len(g.Members) == 0 { // which would be any
			return approval.Grant{}, unfit(message.Say(`remember.arguments: it must be "exact", "any" or an object that has members`))
		}
	case json.Unmarshal(r.Arguments, &how) == nil && how == "exact":
		g.ArgumentsHash = call.GrantHash(q)
	case how == "any":
	default:
		return approval.Grant{}, unfit(message.Say(`remember.arguments: it must be "exact", "any" or an object that has members`))
	}
	return g, nil
}

// Why it cannot be told what a grant would have done.
const (
	doubtAbsent = string(policy.DoubtAbsent)
	doubtHidden = string(policy.DoubtHidden)
	doubtRisk   = "risk"
)

// Bounds of a preview.
const (
	previewDays  = 7
	maxPreviewed = 10_000
	maxExamples  = 10
	recordPage   = 500
)

func (d *Door) previewGrant(ctx context.Context, in *grantAddInput) (*grantPreviewOutput, error) {
	g, e, err := d.granting(ctx, &in.Body)
	if err == nil {
		err = d.opt.Approvals.CheckGrant(principal(ctx), g)
	}
	if err != nil {
		return nil, failed(err)
	}
	by, since := principal(ctx), time.Now().AddDate(0, 0, -previewDays)
	out := &grantPreviewOutput{api.GrantPreview{Since: since, CannotTell: map[string]int{}, Examples: []api.CallRecord{}}}
	f := audit.Filter{Tenant: &g.Tenant, Server: e.Server.Key, Tool: e.Tool.Name, Method: protocol.MethodToolsCall, Subject: g.Subject, Since: since}
	out.Body.Cut, err = d.eachCall(ctx, f, maxPreviewed, func(c *audit.Call) {
		out.Body.Calls++
		switch covered, doubt := d.covers(&g, in.Body.Arguments, c); {
		case c.Subject == by.Subject && c.Tenant == by.Tenant: // no grant covers calls of who gives it
		case doubt != "":
			out.Body.CannotTell[doubt]++
		case covered:
			out.Body.Covered++
			if len(out.Body.Examples) < maxExamples {
				out.Body.Examples = append(out.Body.Examples, recordView(ctx, c))
			}
		}
	})
	if err != nil {
		return nil, failed(err)
	}
	return out, nil
}

// covers reports whether a grant would have covered a call of the record, or why
// that cannot be told. exact are the arguments that it is for, nil if it is for
// others as well.
func (d *Door) covers(g *approval.Grant, exact []byte, c *audit.Call) (covered bool, doubt string) {
	risk, judged := hub.ParseRisk(c.Risk)
	if judged && risk > g.MaxRisk {
		return false, ""
	}
	if covered, doubt = d.fits(g, exact, c); covered && !judged {
		return false, doubtRisk
	}
	return covered, doubt
}

// fits is covers for the arguments alone. A member that is another one settles it,
// whatever is not known of the rest.
func (d *Door) fits(g *approval.Grant, exact []byte, c *audit.Call) (fits bool, doubt string) {
	if exact != nil {
		_, same := d.opt.Audit.Arguments(exact)
		return c.Digest == same, ""
	}
	switch {
	case len(g.Members) == 0:
		return true, ""
	case c.Arguments == "" && c.Digest != "":
		return false, doubtAbsent
	case c.Arguments == "":
		return false, "" // there were none
	}
	raw := []byte(c.Arguments)
	omitted := wire.Lookup(raw, wire.Value(raw), "omitted").Exists() // as the record has it in place of what is too large
	for name, want := range g.Members {
		at := wire.Lookup(raw, wire.Value(raw), name)
		switch {
		case at.Exists() && bytes.Contains(at.Of(raw), []byte("***")): // as the record hides what may be a secret
			doubt = doubtHidden
		case !at.Exists() && omitted:
			doubt = doubtAbsent
		case !at.Exists() || !d.opt.Call.Same(at.Of(raw), want):
			return false, ""
		}
	}
	return doubt == "", doubt
}

// eachCall hands out the calls that a filter finds, newest first, and reports
// whether there are more than it may hand out.
func (d *Door) eachCall(ctx context.Context, f audit.Filter, most int, do func(*audit.Call)) (cut bool, err error) {
	for cursor, n := "", 0; ; {
		page, err := d.opt.Audit.Query(ctx, f, cursor, recordPage)
		if err != nil {
			return false, err
		}
		for i := range page.Calls {
			if n++; n > most {
				return true, nil
			}
			do(&page.Calls[i])
		}
		if cursor = page.Next; cursor == "" {
			return false, nil
		}
	}
}

func grantView(g *approval.Grant) api.Grant {
	v := api.Grant{
		ID: g.ID, Tenant: g.Tenant, Subject: g.Subject, Server: g.Server, Tool: g.Tool, ToolHash: g.ToolHash, ArgumentsHash: g.ArgumentsHash,
		Members: g.Members, MaxRisk: g.MaxRisk.String(), Request: g.Request, Note: g.Note, By: g.By, Created: g.Created, Expires: g.Expires,
		Revoker: g.Revoker, Uses: g.Uses,
	}
	if !g.Revoked.IsZero() {
		v.Revoked = &g.Revoked
	}
	if !g.Used.IsZero() {
		v.Used = &g.Used
	}
	return v
}
