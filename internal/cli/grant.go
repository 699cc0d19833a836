package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
)

type grantCommands struct {
	List    grantList    `cmd:"" help:"List the grants in force." default:"withargs"`
	Add     grantAdd     `cmd:"" help:"Have calls of a tool ask nobody for a while."`
	Preview grantPreview `cmd:"" help:"Show which past calls a grant would have covered."`
	Revoke  grantRevoke  `cmd:"" help:"End a grant."`
}

type grantList struct {
	Limit int  `short:"n" help:"How many." default:"100" placeholder:"N"`
	All   bool `help:"Also those that have expired or were revoked."`
}

// Run lists grants, the newest first.
func (c *grantList) Run(ctx context.Context, s *session) error {
	if c.Limit < 1 {
		return misuse("grant list", "--limit must be 1 or more")
	}
	return s.with(ctx, func(h *link) error {
		list, err := c.find(ctx, h)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		say := s.out.say
		if len(list.Grants) == 0 {
			s.out.line("%s", say("No grants.", "没有授权。"))
			return nil
		}
		rows := make([]row, len(list.Grants))
		for i := range list.Grants {
			g := &list.Grants[i]
			rows[i] = row{cells: []string{
				s.out.paint(bold, clean(g.ID)), clean(g.Server + "/" + g.Tool), s.granted(g), s.out.risk(g.MaxRisk), clean(g.By), s.until(g), fmt.Sprint(g.Uses), oneLine(s.limits(g)),
			}}
		}
		s.out.table([]string{
			"ID", say("TOOL", "工具"), say("FOR", "对象"), say("UP TO", "风险上限"), say("BY", "授权者"), say("UNTIL", "有效期至"), say("USES", "次数"), say("ARGUMENTS", "参数"),
		}, rows)
		s.out.more(len(rows), list.Next)
		return nil
	})
}

// find asks as often as the answers have fewer than are wanted.
func (c *grantList) find(ctx context.Context, h *link) (api.GrantList, error) {
	q := apiclient.GrantQuery{All: c.All}
	grants, next, err := upTo(c.Limit, func(limit int, cursor string) ([]api.Grant, string, error) {
		q.Limit, q.Cursor = limit, cursor
		page, err := h.Grants(ctx, q)
		return page.Grants, page.Next, err
	})
	return api.GrantList{Grants: grants, Next: next}, err
}

// granted is whose calls a grant covers.
func (s *session) granted(g *api.Grant) string {
	if g.Subject == "" {
		return s.out.say("everybody", "所有人")
	}
	return clean(g.Subject)
}

// until is when a grant ends, or has ended.
func (s *session) until(g *api.Grant) string {
	if g.Revoked != nil {
		return s.out.paint(red, s.out.say("revoked", "已撤销"))
	}
	text := g.Expires.Local().Format(time.DateTime)
	if g.Expires.Before(time.Now()) {
		return s.out.paint(dim, text)
	}
	return text
}

// limits is with which arguments a grant covers a call.
func (s *session) limits(g *api.Grant) string {
	switch {
	case g.ArgumentsHash != "":
		return s.out.say("exactly ", "仅限 ") + g.ArgumentsHash[:min(12, len(g.ArgumentsHash))]
	case len(g.Members) == 0:
		return s.out.say("any", "任意")
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(g.Members)) {
		parts = append(parts, name+"="+string(g.Members[name]))
	}
	return strings.Join(parts, " ")
}

// wanted is the grant that is asked for.
type wanted struct {
	Tool      string   `arg:"" help:"The tool, by the name under which it is called." complete:"tool"`
	Arguments []string `arg:"" optional:"" help:"Only calls with these arguments: NAME=VALUE ..., whatever else there is; or one JSON object, for exactly that. Any if none are given."`

	For     string `name:"for" help:"For how long; 30d at most." default:"1h" placeholder:"TIME"`
	Subject string `help:"Only calls of this caller." placeholder:"NAME"`
	Tenant  string `help:"Of which tenant." placeholder:"NAME"`
	MaxRisk string `help:"Only calls of no more risk than this: low, medium or high." enum:"low,medium,high" default:"high" placeholder:"RISK"`
	Note    string `help:"What it is for." placeholder:"TEXT"`
}

// request is the grant as the API has it.
func (w *wanted) request(ctx context.Context, s *session, h *link) (api.GrantAdd, error) {
	g := api.GrantAdd{Tool: w.Tool, Subject: w.Subject, Tenant: w.Tenant, MaxRisk: w.MaxRisk, For: w.For, Note: w.Note}
	whole, each, err := parseArguments(w.Arguments, s.env.Stdin)
	switch {
	case err != nil || len(w.Arguments) == 0:
		return g, err
	case len(each) == 0:
		g.Arguments = whole
		return g, nil
	}
	raw, err := h.objectFor(ctx, each, w.Tool, w.Tenant != "")
	if err != nil {
		return g, err
	}
	return g, json.Unmarshal(raw, &g.Members)
}

type grantAdd struct{ wanted }

// Run gives a grant.
func (c *grantAdd) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		want, err := c.request(ctx, s, h)
		if err != nil {
			return h.guess(ctx, err, tools, c.Tool)
		}
		g, err := h.AddGrant(ctx, want)
		if err != nil {
			return h.guess(ctx, err, tools, c.Tool)
		}
		if s.JSON {
			return s.out.json(g)
		}
		s.out.line(s.out.say("Until %s, such calls of %s ask nobody. End it: toolcrib grant revoke %s",
			"在 %s 之前，%s 的此类调用无须审批。撤销：toolcrib grant revoke %s"), g.Expires.Local().Format(time.DateTime), clean(g.Server+"/"+g.Tool), clean(g.ID))
		return nil
	})
}

type grantPreview struct{ wanted }

// Run shows which past calls a grant would have covered.
func (c *grantPreview) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		want, err := c.request(ctx, s, h)
		if err != nil {
			return h.guess(ctx, err, tools, c.Tool)
		}
		v, err := h.PreviewGrant(ctx, want)
		if err != nil {
			return h.guess(ctx, err, tools, c.Tool)
		}
		if s.JSON {
			return s.out.json(v)
		}
		say := s.out.say
		s.out.line(say("Of %d calls of the last seven days it would have covered %d.", "最近七天的 %d 次调用中，它会涵盖 %d 次。"), v.Calls, v.Covered)
		s.doubts(v.CannotTell)
		for i := range v.Examples {
			one := &v.Examples[i]
			s.out.line("  %s  %s  %s", one.Time.Local().Format(time.DateTime), clean(one.Subject), oneLine(string(one.Arguments)))
		}
		return nil
	})
}

// doubts tells of how many calls something cannot be told, and why.
func (s *session) doubts(counts map[string]int) {
	say := s.out.say
	why := map[string]string{
		"gone": say("the tool is not there any more", "工具已不存在"), "absent": say("the arguments were not kept", "未保存参数"),
		"hidden": say("part of the arguments was hidden", "部分参数已隐去"), "role": say("the caller's role is not on record", "未记录调用方的角色"),
		"risk": say("their risk was never judged", "当时未判断风险"),
	}
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		text := why[reason]
		if text == "" {
			text = clean(reason)
		}
		s.out.line(say("Of %d it cannot be told: %s.", "有 %d 次无法判断：%s。"), counts[reason], text)
	}
}

type grantRevoke struct {
	ID string `arg:"" help:"Of the grant." complete:"grant"`
}

// Run ends a grant.
func (c *grantRevoke) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		if err := h.RevokeGrant(ctx, c.ID); err != nil {
			return err
		}
		if !s.JSON {
			s.out.line(s.out.say("Revoked %s.", "已撤销 %s。"), clean(c.ID))
		}
		return nil
	})
}
