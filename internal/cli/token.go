package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
)

type tokenCommands struct {
	Show   tokenShow   `cmd:"" help:"Print where the administrator's token is, or the callers'." default:"withargs"`
	List   tokenList   `cmd:"" help:"List the API tokens."`
	Create tokenCreate `cmd:"" help:"Make an API token, and print it: this once."`
	Revoke tokenRevoke `cmd:"" help:"Have an API token let nobody in any more."`
}

type tokenList struct {
	All bool `help:"Also those that have expired or were revoked."`
}

// Run lists tokens; no command shows one of them again.
func (c *tokenList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		list, err := h.Tokens(ctx)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		say := s.out.say
		var rows []row
		for _, t := range list.Tokens {
			if t.Good || c.All {
				rows = append(rows, s.tokenRow(t))
			}
		}
		if len(rows) == 0 {
			s.out.line("%s", say("No API tokens. Make one: toolcrib token create NAME", "没有 API 令牌。创建：toolcrib token create NAME"))
			return nil
		}
		s.out.table([]string{
			"ID", say("NAME", "名称"), say("TENANT", "租户"), say("ROLE", "角色"), say("EXPIRES", "到期"), say("USED", "最近使用"), say("SCOPE", "范围"), say("NOTE", "备注"),
		}, rows)
		return nil
	})
}

func (s *session) tokenRow(t api.Token) row {
	say := s.out.say
	expires := say("never", "永不")
	switch {
	case t.Revoked != nil:
		expires = s.out.paint(red, say("revoked", "已吊销"))
	case t.Expires != nil && !t.Good:
		expires = s.out.paint(red, say("expired", "已过期"))
	case t.Expires != nil:
		expires = t.Expires.Local().Format(time.DateOnly)
	}
	used := say("never", "从未")
	if t.Used != nil {
		used = t.Used.Local().Format(time.DateTime)
	}
	return row{cells: []string{
		s.out.paint(bold, clean(t.ID)), clean(t.Subject), clean(t.Tenant), clean(t.Role), expires, used, clean(strings.Join(t.Scopes, " ")), oneLine(t.Note),
	}}
}

type tokenCreate struct {
	Name    string   `arg:"" help:"How whoever shows the token is called."`
	Role    string   `help:"What it allows: viewer, caller, approver, operator or admin." default:"caller" enum:"viewer,caller,approver,operator,admin" placeholder:"ROLE"`
	Tenant  string   `help:"Of which tenant it is." placeholder:"NAME"`
	Scope   []string `help:"What alone it is good for: server:KEY, group:NAME or door:NAME. Repeatable." placeholder:"SCOPE"`
	Expires string   `help:"After which time it is good no more, such as 12h or 90d; \"never\" if it always is." default:"90d" placeholder:"TIME"`
	Note    string   `help:"What it is for." placeholder:"TEXT"`
}

// Run makes a token. Only the token goes to standard output, so that it can be
// piped to where it is kept.
func (c *tokenCreate) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		grant, err := h.CreateToken(ctx, api.TokenRequest{
			Subject: c.Name, Role: c.Role, Tenant: c.Tenant, Scopes: c.Scope, Expires: c.Expires, Note: c.Note,
		})
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(grant)
		}
		fmt.Fprintf(s.env.Stderr, s.out.say("The token %s, which is shown this once:", "令牌 %s，仅显示这一次：")+"\n", clean(grant.Token.ID))
		s.out.line("%s", grant.Secret)
		return nil
	})
}

type tokenRevoke struct {
	ID string `arg:"" help:"Id of the token, as it is listed."`
}

// Run revokes a token.
func (c *tokenRevoke) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		if err := h.RevokeToken(ctx, c.ID); err != nil {
			return err
		}
		if !s.JSON {
			s.out.line(s.out.say("Revoked %s.", "已吊销 %s。"), clean(c.ID))
		}
		return nil
	})
}

type tenantCommands struct {
	List   tenantList   `cmd:"" help:"List the tenants." default:"withargs"`
	Add    tenantAdd    `cmd:"" help:"Make a tenant."`
	Remove tenantRemove `cmd:"" help:"Remove a tenant that has no tokens any more."`
}

type tenantList struct{}

// Run lists the tenants.
func (tenantList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		list, err := h.Tenants(ctx)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		say := s.out.say
		if len(list.Tenants) == 0 {
			s.out.line("%s", say("No tenants. Make one: toolcrib tenant add NAME", "没有租户。创建：toolcrib tenant add NAME"))
			return nil
		}
		rows := make([]row, len(list.Tenants))
		for i, t := range list.Tenants {
			rows[i] = row{cells: []string{s.out.paint(bold, clean(t.Name)), strconv.Itoa(t.Tokens), t.Created.Local().Format(time.DateOnly), oneLine(t.Note)}}
		}
		s.out.table([]string{say("TENANT", "租户"), say("TOKENS", "令牌"), say("SINCE", "创建于"), say("NOTE", "备注")}, rows)
		return nil
	})
}

type tenantAdd struct {
	Name string `arg:"" help:"Lower-case letters, digits and hyphens."`
	Note string `help:"Who that is." placeholder:"TEXT"`
}

// Run makes a tenant.
func (c *tenantAdd) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		t, err := h.CreateTenant(ctx, api.TenantRequest{Name: c.Name, Note: c.Note})
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(t)
		}
		s.out.line(s.out.say("Added %s. Give it a token: toolcrib token create NAME --tenant %s", "已添加 %s。为其创建令牌：toolcrib token create NAME --tenant %s"), clean(t.Name), clean(t.Name))
		return nil
	})
}

type tenantRemove struct {
	Name string `arg:"" help:"Of the tenant."`
}

// Run removes a tenant.
func (c *tenantRemove) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		if err := h.RemoveTenant(ctx, c.Name); err != nil {
			return err
		}
		if !s.JSON {
			s.out.line(s.out.say("Removed %s.", "已移除 %s。"), clean(c.Name))
		}
		return nil
	})
}
