package rest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

type (
	policyOutput      struct{ Body api.Policy }
	policyJudgeInput  struct{ Body api.PolicyQuestion }
	policyJudgeOutput struct{ Body api.PolicyAnswer }
	policyTestInput   struct{ Body *api.PolicyTest }
	policyTestOutput  struct{ Body api.PolicyTestResult }
)

// policy registers the rules that calls are judged by.
func (d *Door) policy() {
	add(d, operation{
		id: "getPolicy", method: http.MethodGet, path: "/policy", group: aboutApproval, summary: "The rules that calls are judged by",
		needs: hub.MayDecide, hubwide: true,
	}, func(context.Context, *struct{}) (*policyOutput, error) {
		given := d.opt.Control.Source().Config.Policy
		return &policyOutput{policyView(&given, d.opt.Policy())}, nil
	})
	add(d, operation{
		id: "judgeCall", method: http.MethodPost, path: "/policy/judge", group: aboutApproval, summary: "What the rules would say to a call",
		about: "Nothing is sent, nobody is asked.",
		needs: hub.MayDecide, reads: true, limit: 2, example: map[string]any{"tool": "files__delete_file", "arguments": map[string]any{"path": "/etc/passwd"}, "door": "mcp"},
		errors: []int{http.StatusNotFound},
	}, d.judgeCall)
	add(d, operation{
		id: "testPolicy", method: http.MethodPost, path: "/policy/test", group: aboutApproval, summary: "What would have become of past calls",
		about: "Replays the record against a draft. Calls of which the record does not have what the draft depends on are counted apart.",
		needs: hub.MayOperate, hubwide: true, reads: true, limit: 8,
		example: map[string]any{"since": "7d", "policy": map[string]any{"rules": []any{map[string]any{"id": "no-delete", "effect": "deny", "tool": "*delete*"}}}},
		errors:  []int{http.StatusServiceUnavailable},
	}, d.testPolicy)
}

// modesOf says by door what becomes of verdicts.
func modesOf(p *policy.Policy) map[string]string {
	modes := make(map[string]string)
	for _, door := range policy.Doors() {
		modes[string(door)] = string(p.Mode(door))
	}
	return modes
}

func policyView(given *hub.Policy, p *policy.Policy) api.Policy {
	v := api.Policy{
		Version: p.Version(), Given: given.Given, Modes: modesOf(p), Defaults: map[string]map[string]string{},
		SecondPerson: given.SecondPerson, Rules: []api.PolicyRule{},
	}
	for _, door := range policy.Doors() {
		usual := make(map[string]string, len(hub.Risks))
		for _, risk := range hub.Risks {
			usual[risk.String()] = p.Usual(door, risk)
		}
		v.Defaults[string(door)] = usual
	}
	for i := range given.Rules {
		r := &given.Rules[i]
		one := api.PolicyRule{
			ID: r.ID, Effect: r.Effect, Tenants: r.Tenants, Callers: r.Callers, Roles: texts(r.Roles), Doors: texts(r.Doors),
			Groups: r.Groups, Clients: r.Clients, Methods: r.Methods, Servers: r.Servers, Tools: r.Tools, Tags: r.Tags,
			When: r.When, Because: r.Because,
		}
		for _, risk := range r.Risks {
			one.Risks = append(one.Risks, risk.String())
		}
		v.Rules = append(v.Rules, one)
	}
	return v
}

// texts is a list of names as plain texts.
func texts[T ~string](names []T) []string {
	all := make([]string, 0, len(names))
	for _, name := range names {
		all = append(all, string(name))
	}
	return all
}

func (d *Door) judgeCall(ctx context.Context, in *policyJudgeInput) (*policyJudgeOutput, error) {
	p, b := principal(ctx), &in.Body
	if e := auth.Admit(p, b.Group); b.Group != "" && e != nil {
		return nil, failed(e)
	}
	if b.Role != "" && !slices.Contains(hub.Roles[:], hub.Role(b.Role)) {
		return nil, failed(wrongWord("role", strings.Join(texts(hub.Roles[:]), ", ")))
	}
	if b.Door != "" && !slices.Contains(policy.Doors(), hub.Door(b.Door)) {
		return nil, failed(wrongWord("door", strings.Join(texts(policy.Doors()), ", ")))
	}
	if len(b.Arguments) > 0 {
		if _, err := d.opt.Call.Digest(b.Arguments); err != nil {
			return nil, failed(err)
		}
	}
	tenant, err := d.tenantFor(&p, b.Tenant)
	if err != nil {
		return nil, failed(err)
	}
	e, err := d.toolOf(hub.Viewer{Group: b.Group, Client: b.Client, Tenant: tenant, Scope: p.Scope}, b.Tool)
	if err != nil {
		return nil, failed(err)
	}
	who := hub.Principal{
		Subject: cmp.Or(b.Caller, p.Subject), Role: hub.Role(cmp.Or(b.Role, string(hub.RoleCaller))),
		Door: hub.Door(cmp.Or(b.Door, string(hub.DoorREST))), Tenant: tenant,
	}
	j := d.opt.Call.Judge(who, hub.Viewer{Group: b.Group, Client: b.Client}, e, b.Arguments)
	l := lang(ctx)
	out := &policyJudgeOutput{api.PolicyAnswer{
		Verdict: j.Verdict, Mode: string(j.Mode), Risk: j.Risk.String(), Reasons: []string{}, Warning: j.Warning.In(l), Tags: j.Tags,
		Unclear: j.Unclear, Rule: j.Rule, Because: j.Because, SecondPerson: j.Second, Version: j.Version,
	}}
	if j.Verdict == hub.VerdictAsk {
		out.Body.Persons = j.Persons
	}
	for _, reason := range j.Reasons {
		out.Body.Reasons = append(out.Body.Reasons, reason.In(l))
	}
	return out, nil
}

// Bounds of a test.
const (
	usualTested = 10_000
	maxTested   = 100_000
	maxChanges  = 100
)

func (d *Door) testPolicy(ctx context.Context, in *policyTestInput) (*policyTestOutput, error) {
	var b api.PolicyTest
	if in.Body != nil {
		b = *in.Body
	}
	if b.Limit < 0 || b.Limit > maxTested {
		return nil, failed(wrongWord("limit", fmt.Sprintf("1 - %d", maxTested)))
	}
	p, warned, err := d.draft(b.Policy)
	if err != nil {
		return nil, failed(err)
	}
	since, err := moment("since", cmp.Or(b.Since, "7d"), time.Now())
	if err != nil {
		return nil, failed(err)
	}
	out := &policyTestOutput{api.PolicyTestResult{
		Version: p.Version(), Since: since, CannotTell: map[string]int{}, Now: map[string]int{}, Changes: []api.PolicyChange{},
		Warnings: warnings(lang(ctx), warned),
	}}
	tally, snapshot := policy.Tally{}, d.opt.Catalog.Snapshot()
	out.Body.Cut, err = d.eachCall(ctx, audit.Filter{Since: since}, cmp.Or(b.Limit, usualTested), func(c *audit.Call) {
		past := pastOf(snapshot, &c.CallRecord)
		r := p.Replay(&past)
		tally.Add(r)
		if r.Before != "" && r.Now != "" && r.Before != r.Now && len(out.Body.Changes) < maxChanges {
			out.Body.Changes = append(out.Body.Changes, api.PolicyChange{
				Call: c.ID, Time: c.Time, Subject: c.Subject, Door: string(c.Door), Name: c.Name,
				Before: r.Before, Now: r.Now, Mode: string(r.Mode), Rule: r.Rule,
			})
		}
	})
	if err != nil {
		return nil, failed(err)
	}
	out.Body.Calls, out.Body.Unjudged, out.Body.Same, out.Body.Stricter, out.Body.Laxer = tally.Calls, tally.Unjudged, tally.Same, tally.Stricter, tally.Laxer
	for doubt, n := range tally.CannotTell {
		out.Body.CannotTell[string(doubt)] = n
	}
	maps.Copy(out.Body.Now, tally.Now)
	return out, nil
}

// draft is a policy that is tried out, or the one in force.
func (d *Door) draft(raw []byte) (*policy.Policy, []config.Warning, error) {
	if len(raw) == 0 {
		return d.opt.Policy(), nil, nil
	}
	text := append(append([]byte(`{"policy":`), raw...), '}')
	c, warned, err := config.Parse("policy", text, nil)
	if err != nil {
		return nil, nil, err
	}
	p, faults := policy.Compile(c.Policy)
	if len(faults) > 0 { // what is read has none
		return nil, nil, unfit(message.Say("policy: %s", faults[0].Detail))
	}
	return p, warned, nil
}

// pastOf is a call of the record, with what it was about as it is known now.
func pastOf(snapshot *catalog.Snapshot, c *hub.CallRecord) policy.Past {
	past := policy.Past{Call: c}
	share, ok := snapshot.Share(c.Server)
	if !ok {
		return past
	}
	if c.Method != protocol.MethodToolsCall {
		past.Server = &hub.Server{Key: c.Server}
	}
	for _, e := range share.Tools {
		past.Server = &e.Server
		if e.Tool.Name == c.Tool && c.Method == protocol.MethodToolsCall {
			past.Tool, past.Name = &e.Tool, e.Exposed
			break
		}
	}
	return past
}
