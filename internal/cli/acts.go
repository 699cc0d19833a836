package cli

import (
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
)

type auditActs struct {
	Limit     int      `short:"n" help:"How many." default:"20" placeholder:"N"`
	Operation string   `help:"Only acts of this operation, such as stopServer." placeholder:"OPERATION"`
	Server    string   `help:"Only what was done to this server." placeholder:"KEY" complete:"server"`
	Caller    string   `help:"Only what this one did." placeholder:"CALLER"`
	Tenant    string   `help:"Only what was done by this tenant." placeholder:"TENANT"`
	Door      string   `help:"Only what came by this way, such as rest or file." placeholder:"DOOR"`
	Outcome   []string `help:"Only what ended so: ok, failed, unknown or under_way; several with commas." placeholder:"OUTCOME"`
	Code      string   `help:"Only what failed with this code, such as role_refused." placeholder:"CODE"`
	Since     string   `help:"Only what ended at this time (RFC 3339) or after it, or not longer ago than this, such as 24h or 7d." placeholder:"TIME"`
	Until     string   `help:"Only what was done before this time." placeholder:"TIME"`
}

// Run lists what was done to the hub.
func (c *auditActs) Run(ctx context.Context, s *session) error {
	if c.Limit < 1 {
		return misuse("audit acts", "--limit must be 1 or more")
	}
	return s.with(ctx, func(h *link) error {
		list, err := c.find(ctx, h)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		s.out.acts(list.Acts)
		s.out.more(len(list.Acts), list.Next)
		return nil
	})
}

// find asks as often as the answers have fewer than are wanted.
func (c *auditActs) find(ctx context.Context, h *link) (api.ActList, error) {
	q := apiclient.ActQuery{
		Operation: c.Operation, Server: c.Server, Subject: c.Caller, Tenant: c.Tenant, Door: c.Door, Code: c.Code,
		Outcomes: c.Outcome, Since: c.Since, Until: c.Until,
	}
	acts, next, err := upTo(c.Limit, func(limit int, cursor string) ([]api.Act, string, error) {
		q.Limit, q.Cursor = limit, cursor
		page, err := h.Acts(ctx, q)
		return page.Acts, page.Next, err
	})
	return api.ActList{Acts: acts, Next: next}, err
}

// acts is the table of what was done.
func (p *printer) acts(list []api.Act) {
	say := p.say
	if len(list) == 0 {
		p.line("%s", say("Nothing was done.", "没有管理操作。"))
		return
	}
	rows := make([]row, len(list))
	for i := range list {
		v := &list[i]
		who := v.Subject
		if v.Tenant != "" {
			who += " (" + v.Tenant + ")"
		}
		rows[i] = row{cells: []string{
			v.Time.Local().Format(time.DateTime), p.outcome(v.Outcome), clean(v.Operation), clean(v.Target), clean(who), clean(v.Role), clean(v.Door), clean(v.Code),
		}}
	}
	p.table([]string{
		say("TIME", "时间"), say("OUTCOME", "结果"), say("OPERATION", "操作"), say("OF", "对象"), say("BY", "操作者"), say("ROLE", "角色"), say("DOOR", "入口"), say("CODE", "代码"),
	}, rows)
}
