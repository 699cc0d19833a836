package rest

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type (
	meOutput        struct{ Body api.Me }
	tokenListOutput struct{ Body api.TokenList }
	tokenInput      struct{ Body api.TokenRequest }
	tokenOutput     struct{ Body api.TokenGrant }
	tokenIDInput    struct {
		ID string `path:"id" maxLength:"64" doc:"Id of the token, which is not the token itself"`
	}
	tenantListOutput struct{ Body api.TenantList }
	tenantInput      struct{ Body api.TenantRequest }
	tenantOutput     struct{ Body api.Tenant }
	tenantNameInput  struct {
		Name string `path:"name" maxLength:"64" doc:"Of the tenant"`
	}
)

// identity registers what is about who may come in.
func (d *Door) identity() {
	add(d, operation{
		id: "getMe", method: http.MethodGet, path: "/me", group: aboutIdentity, summary: "Who asks, and what he may do",
	}, d.me)
	add(d, operation{
		id: "listTokens", method: http.MethodGet, path: "/tokens", group: aboutIdentity, needs: hub.MayManage,
		summary: "The API tokens, also those that are good no more",
		about:   "A tenant's administrator sees those of the tenant, and who shows a token with a scope those within it. The tokens themselves are known to nobody.",
	}, d.listTokens)
	add(d, operation{
		id: "createToken", method: http.MethodPost, path: "/tokens", group: aboutIdentity, needs: hub.MayManage,
		summary: "Make an API token", about: "It is told this once. It allows no more than who asks may: neither in role, nor in tenant, nor in scope; and by a token it is good no longer than that one.",
		status: http.StatusCreated, limit: 1, errors: []int{http.StatusNotFound},
		example: map[string]any{"subject": "build-server", "role": "caller", "scopes": []string{"server:git"}, "expires": "30d"},
	}, d.createToken)
	add(d, operation{
		id: "revokeToken", method: http.MethodDelete, path: "/tokens/{id}", group: aboutIdentity, needs: hub.MayManage,
		summary: "Have an API token let nobody in any more, nor those that were made by it",
		about:   "Streams that they have opened end. Other hubs on the same database know of it within seconds. Each token that was revoked with it is an act of its own in the record.",
		errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, func(ctx context.Context, in *tokenIDInput) (*struct{}, error) {
		also, err := d.opt.Identity.Book().Revoke(ctx, principal(ctx), in.ID)
		for _, id := range also {
			actAlso(ctx, "id="+message.Quote(id)+" with="+message.Quote(in.ID))
		}
		return nil, failed(err)
	})
	add(d, operation{
		id: "listTenants", method: http.MethodGet, path: "/tenants", group: aboutIdentity, needs: hub.MayManage, hubwide: true,
		summary: "The tenants",
	}, d.listTenants)
	add(d, operation{
		id: "createTenant", method: http.MethodPost, path: "/tenants", group: aboutIdentity, needs: hub.MayManage, hubwide: true,
		summary: "Make a tenant", status: http.StatusCreated, limit: 1, errors: []int{http.StatusConflict},
		example: map[string]any{"name": "sales", "note": "Who sells"},
	}, func(ctx context.Context, in *tenantInput) (*tenantOutput, error) {
		t, err := d.opt.Identity.Book().AddTenant(ctx, principal(ctx), in.Body.Name, in.Body.Note)
		if err != nil {
			return nil, failed(err)
		}
		actMade(ctx, "name", t.Name)
		return &tenantOutput{tenantOf(t)}, nil
	})
	add(d, operation{
		id: "removeTenant", method: http.MethodDelete, path: "/tenants/{name}", group: aboutIdentity, needs: hub.MayManage, hubwide: true,
		summary: "Remove a tenant that has no tokens any more",
		about:   "Its people are signed out. What is on record of it stays, and is told to a tenant of the same name.",
		errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
	}, func(ctx context.Context, in *tenantNameInput) (*struct{}, error) {
		return nil, failed(d.opt.Identity.Book().RemoveTenant(ctx, principal(ctx), in.Name))
	})
}

func (d *Door) me(ctx context.Context, _ *struct{}) (*meOutput, error) {
	s := auth.Of(ctx)
	p := s.Principal
	me := api.Me{
		Subject: p.Subject, Name: s.Name, Role: string(p.Role), Rights: []string{}, Tenant: p.Tenant,
		Scopes: some(hub.Scope(p.Scope).Words()), How: string(s.How), Token: p.Token, Expires: instant(s.Expires),
		Login: d.opt.Identity != nil && d.opt.Identity.Login() != nil,
	}
	for right := hub.MayLook; right <= hub.MayManage; right++ {
		if p.Role.May(right) {
			me.Rights = append(me.Rights, rightName(right))
		}
	}
	return &meOutput{me}, nil
}

func (d *Door) listTokens(ctx context.Context, _ *struct{}) (*tokenListOutput, error) {
	all, err := d.opt.Identity.Book().List(ctx, principal(ctx))
	if err != nil {
		return nil, failed(err)
	}
	out := &tokenListOutput{api.TokenList{Tokens: []api.Token{}}}
	for _, t := range all {
		out.Body.Tokens = append(out.Body.Tokens, tokenOf(t))
	}
	return out, nil
}

func (d *Door) createToken(ctx context.Context, in *tokenInput) (*tokenOutput, error) {
	want := auth.Wanted{
		Subject: in.Body.Subject, Tenant: in.Body.Tenant, Role: hub.Role(cmp.Or(in.Body.Role, string(hub.RoleCaller))),
		Scopes: in.Body.Scopes, Note: in.Body.Note, Never: in.Body.Expires == "never",
	}
	if in.Body.Expires != "" && !want.Never {
		var ok bool
		if want.Expiry, ok = lifetime(in.Body.Expires); !ok {
			return nil, failed(unfit(message.Say(`expires: it must be a duration such as "90d" or "12h", or "never"`)))
		}
	}
	secret, t, err := d.opt.Identity.Book().Issue(ctx, principal(ctx), want)
	if err != nil {
		return nil, failed(err)
	}
	actMade(ctx, "id", t.ID)
	return &tokenOutput{api.TokenGrant{Secret: secret, Token: tokenOf(t)}}, nil
}

func (d *Door) listTenants(ctx context.Context, _ *struct{}) (*tenantListOutput, error) {
	all, err := d.opt.Identity.Book().Tenants(ctx, principal(ctx))
	if err != nil {
		return nil, failed(err)
	}
	out := &tenantListOutput{api.TenantList{Tenants: []api.Tenant{}}}
	for _, t := range all {
		out.Body.Tenants = append(out.Body.Tenants, tenantOf(t))
	}
	return out, nil
}

// lifetime reads how long something is good: a duration, or a number of days.
func lifetime(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 100_000 {
			return 0, false
		}
		return time.Duration(n) * 24 * time.Hour, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}

func tokenOf(t auth.Token) api.Token {
	return api.Token{
		ID: t.ID, Subject: t.Subject, Tenant: t.Tenant, Role: string(t.Role), Scopes: some(t.Scope.Words()), Note: t.Note,
		Created: t.Created, By: t.By, Parent: t.Parent, Expires: instant(t.Expires), Used: instant(t.Used), Revoked: instant(t.Revoked),
		Good: t.Good(time.Now()),
	}
}

func tenantOf(t auth.Tenant) api.Tenant {
	return api.Tenant{Name: t.Name, Note: t.Note, Created: t.Created, By: t.By, Tokens: t.Tokens}
}

// instant is a time that may be none.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
