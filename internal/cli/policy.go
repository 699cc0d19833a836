package cli

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type policyCommands struct {
	Show  policyShow  `cmd:"" help:"Show the rules in force." default:"withargs"`
	Judge policyJudge `cmd:"" help:"Show what the rules would say to a call. Nothing is called."`
	Test  policyTest  `cmd:"" help:"Show what would have become of past calls under a draft."`
}

type policyShow struct{}

// Run shows the rules.
func (policyShow) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.Policy(ctx)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(v)
		}
		say := s.out.say
		s.out.fields(say("Version", "版本"), clean(v.Version))
		if !v.Given {
			s.out.line("%s", say(`The configuration has no "policy": MCP callers are only observed.`, `配置中没有 "policy"：对 MCP 调用方仅作观察。`))
		}
		risks := make([]string, 0, len(hub.Risks))
		for _, r := range hub.Risks {
			risks = append(risks, r.String())
		}
		var rows []row
		for _, door := range slices.Sorted(maps.Keys(v.Modes)) {
			cells := []string{s.out.paint(bold, clean(door)), s.out.mode(v.Modes[door])}
			for _, r := range risks {
				cells = append(cells, s.out.verdict(v.Defaults[door][r]))
			}
			rows = append(rows, row{cells: cells})
		}
		head := []string{say("DOOR", "入口"), say("MODE", "模式")}
		for _, r := range hub.Risks {
			head = append(head, strings.ToUpper(r.String()))
		}
		s.out.table(head, rows)
		if len(v.Rules) == 0 {
			return nil
		}
		s.out.line("")
		rows = nil
		for i := range v.Rules {
			r := &v.Rules[i]
			rows = append(rows, row{cells: []string{s.out.paint(bold, clean(r.ID)), s.out.verdict(r.Effect), oneLine(matches(r)), oneLine(r.Because)}})
		}
		s.out.table([]string{say("RULE", "规则"), say("EFFECT", "效果"), say("MATCHES", "条件"), say("BECAUSE", "理由")}, rows)
		return nil
	})
}

// matches is what a rule is met by.
func matches(r *api.PolicyRule) string {
	var parts []string
	for _, m := range [...]struct {
		name string
		any  []string
	}{
		{"tenant", r.Tenants},
		{"caller", r.Callers},
		{"role", r.Roles},
		{"door", r.Doors},
		{"group", r.Groups},
		{"client", r.Clients},
		{"method", r.Methods},
		{"server", r.Servers},
		{"tool", r.Tools},
		{"tags", r.Tags},
		{"risk", r.Risks},
	} {
		if len(m.any) > 0 {
			parts = append(parts, m.name+"="+strings.Join(m.any, ","))
		}
	}
	if r.When != "" {
		parts = append(parts, r.When)
	}
	return strings.Join(parts, "; ")
}

// mode is what becomes of verdicts.
func (p *printer) mode(mode string) string {
	switch mode {
	case "enforce":
		return p.paint(green, p.say(mode, "执行"))
	case "observe":
		return p.paint(dim, p.say(mode, "观察"))
	}
	return oneLine(mode)
}

// verdict is what the rules say to a call.
func (p *printer) verdict(verdict string) string {
	switch verdict {
	case hub.VerdictAllow:
		return p.paint(green, p.say(verdict, "允许"))
	case hub.VerdictAsk:
		return p.paint(yellow, p.say(verdict, "须审批"))
	case hub.VerdictDeny:
		return p.paint(red, p.say(verdict, "禁止"))
	}
	return oneLine(verdict)
}

type policyJudge struct {
	Name      string   `arg:"" help:"Name of the tool." complete:"tool"`
	Arguments []string `arg:"" optional:"" help:"As of \"call\"."`

	Caller string `help:"As if this one called." placeholder:"NAME"`
	Tenant string `help:"Of this tenant." placeholder:"NAME"`
	Role   string `help:"With this role." enum:"viewer,caller,approver,operator,admin," default:"" placeholder:"ROLE"`
	Door   string `help:"By this way: mcp, stdio, rest and others." placeholder:"DOOR"`
	Group  string `help:"At the address of this group." placeholder:"NAME" complete:"group"`
	Client string `help:"By a program that calls itself so." placeholder:"NAME"`
}

// Run shows what the rules say.
func (c *policyJudge) Run(ctx context.Context, s *session) error {
	whole, each, err := parseArguments(c.Arguments, s.env.Stdin)
	if err != nil {
		return err
	}
	return s.with(ctx, func(h *link) error {
		if len(each) > 0 {
			if whole, err = h.objectFor(ctx, each, c.Name, c.Tenant != "" || c.Group != ""); err != nil {
				return h.guess(ctx, err, tools, c.Name)
			}
		}
		v, err := h.JudgeCall(ctx, api.PolicyQuestion{
			Tool: c.Name, Arguments: whole, Caller: c.Caller, Tenant: c.Tenant, Role: c.Role, Door: c.Door, Group: c.Group, Client: c.Client,
		})
		if err != nil {
			return h.guess(ctx, h.guess(ctx, err, tools, c.Name), groups, c.Group)
		}
		if s.JSON {
			return s.out.json(v)
		}
		say := s.out.say
		rule := clean(v.Rule)
		if v.Because != "" {
			rule = strings.TrimSpace(rule + ": " + clean(v.Because))
		}
		s.out.fields(
			say("Verdict", "结论"), s.out.verdict(v.Verdict)+" ("+s.out.mode(v.Mode)+")",
			say("Risk", "风险"), s.out.risk(v.Risk),
			say("Warning", "警告"), clean(v.Warning),
			say("Rule", "规则"), rule,
			say("Tags", "标签"), clean(strings.Join(v.Tags, ", ")),
		)
		for _, reason := range v.Reasons {
			s.out.line("  %s", oneLine(reason))
		}
		return nil
	})
}

type policyTest struct {
	File  string `arg:"" optional:"" help:"A configuration, or the member \"policy\" of one; the rules in force if none is given." type:"path"`
	Since string `help:"Of calls that are not older than this, or since this time." default:"7d" placeholder:"TIME"`
	Limit int    `help:"Of so many calls at most, the newest." default:"10000" placeholder:"N"`
}

// Run replays the record against a draft.
func (c *policyTest) Run(ctx context.Context, s *session) error {
	if c.Limit < 1 {
		return misuse("policy test", "--limit must be 1 or more")
	}
	t := api.PolicyTest{Since: c.Since, Limit: c.Limit}
	if c.File != "" {
		var err error
		if t.Policy, err = draft(c.File); err != nil {
			return err
		}
	}
	return s.with(ctx, func(h *link) error {
		v, err := h.TestPolicy(ctx, t)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(v)
		}
		s.tested(&v)
		return nil
	})
}

// draft reads the policy in a file: of a configuration its member, and else the
// whole.
func draft(path string) (json.RawMessage, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // a person names it
	if err != nil {
		return nil, unreadable(path, err)
	}
	plain, err := hujson.Standardize(raw)
	if err != nil {
		return nil, unreadable(path, err)
	}
	var whole struct {
		Policy  json.RawMessage `json:"policy"`
		Servers json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(plain, &whole); err == nil && (len(whole.Policy) > 0 || len(whole.Servers) > 0) {
		if len(whole.Policy) == 0 {
			return json.RawMessage("{}"), nil
		}
		return whole.Policy, nil
	}
	return plain, nil
}

// tested prints what would have become of past calls.
func (s *session) tested(v *api.PolicyTestResult) {
	p, say := s.out, s.out.say
	for _, w := range v.Warnings {
		p.line("%s", p.paint(yellow, clean(w.Detail)))
	}
	p.line(say("%d calls since %s: %d judged as before, %d more strictly, %d less strictly, %d not judged before.",
		"自 %[2]s 以来 %[1]d 次调用：%[3]d 次结论不变，%[4]d 次更严，%[5]d 次更宽，%[6]d 次此前未作判断。"),
		v.Calls, v.Since.Local().Format(time.DateTime), v.Same, v.Stricter, v.Laxer, v.Unjudged)
	s.doubts(v.CannotTell)
	for _, verdict := range [...]string{hub.VerdictAllow, hub.VerdictAsk, hub.VerdictDeny} {
		if n := v.Now[verdict]; n > 0 {
			p.line("  %s: %d", p.verdict(verdict), n)
		}
	}
	if v.Cut {
		p.line("%s", say("There are more calls than were looked at; --limit has more of them looked at.", "还有未查看的调用；可用 --limit 查看更多。"))
	}
	if len(v.Changes) == 0 {
		return
	}
	p.line("")
	rows := make([]row, len(v.Changes))
	for i, c := range v.Changes {
		rows[i] = row{cells: []string{
			c.Time.Local().Format(time.DateTime), clean(c.Subject), clean(c.Door), clean(c.Name), p.verdict(c.Before), p.verdict(c.Now), clean(c.Rule),
		}}
	}
	p.table([]string{
		say("TIME", "时间"), say("CALLER", "调用方"), say("DOOR", "入口"), say("TOOL", "工具"), say("BEFORE", "此前"), say("NOW", "现在"), say("RULE", "规则"),
	}, rows)
}
