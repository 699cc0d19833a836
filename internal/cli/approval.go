package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/message"
)

type approvalCommands struct {
	List    approvalList    `cmd:"" help:"List the calls that wait for somebody to agree." default:"withargs"`
	Show    approvalShow    `cmd:"" help:"Show one, with exactly what would be sent."`
	Approve approvalApprove `cmd:"" help:"Agree to a call."`
	Reject  approvalReject  `cmd:"" help:"Refuse a call."`
	Edit    approvalEdit    `cmd:"" help:"Agree to a call with other arguments."`
}

type approvalList struct {
	All bool `help:"Also those that are decided or over."`
}

// Run lists requests, the newest first.
func (c *approvalList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		var q apiclient.ApprovalQuery
		if !c.All {
			q.Status = []string{"pending"}
		}
		list, err := h.Approvals(ctx, q)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		say := s.out.say
		if len(list.Approvals) == 0 {
			s.out.line("%s", say("Nothing waits for an approval.", "没有等待审批的调用。"))
			return nil
		}
		now := time.Now()
		rows := make([]row, len(list.Approvals))
		for i := range list.Approvals {
			v := &list.Approvals[i]
			rows[i] = row{cells: []string{
				s.out.paint(bold, clean(v.ID)), s.out.approvalStatus(v.Status), s.out.risk(v.Risk), clean(v.Name), clean(v.Subject), leftOf(v, now), oneLine(string(v.Shown)),
			}}
		}
		s.out.table([]string{
			"ID", say("STATUS", "状态"), say("RISK", "风险"), say("TOOL", "工具"), say("ASKED BY", "请求者"), say("LEFT", "剩余"), say("ARGUMENTS", "参数"),
		}, rows)
		return nil
	})
}

// leftOf is how long a request can still be decided, or the call be made.
func leftOf(v *api.Approval, now time.Time) string {
	switch v.Status {
	case "pending", "approved", "edited":
		if v.Taken == "" && v.Expires.After(now) {
			return v.Expires.Sub(now).Round(time.Second).String()
		}
	}
	return ""
}

// approvalStatus is how a request stands.
func (p *printer) approvalStatus(status string) string {
	switch status {
	case "pending":
		return p.paint(yellow, p.say(status, "待审批"))
	case "approved":
		return p.paint(green, p.say(status, "已同意"))
	case "edited":
		return p.paint(green, p.say(status, "改后同意"))
	case "rejected":
		return p.paint(red, p.say(status, "已拒绝"))
	case "expired":
		return p.paint(dim, p.say(status, "已过期"))
	case "cancelled":
		return p.paint(dim, p.say(status, "已撤回"))
	case "superseded":
		return p.paint(dim, p.say(status, "已失效"))
	}
	return oneLine(status)
}

// risk is how much harm a call may do.
func (p *printer) risk(risk string) string {
	switch risk {
	case "low":
		return p.paint(green, p.say(risk, "低"))
	case "medium":
		return p.say(risk, "中")
	case "high":
		return p.paint(yellow, p.say(risk, "高"))
	case "critical":
		return p.paint(red, p.say(risk, "极高"))
	}
	return oneLine(risk)
}

type approvalShow struct {
	ID string `arg:"" help:"Of the request, or its end." complete:"approval"`
}

// Run shows a request.
func (c *approvalShow) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.request(ctx, c.ID)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(v)
		}
		s.approval(s.out, &v)
		return nil
	})
}

// request finds a request by its id or, of those that are pending, by the end of
// it: ids that were made one after the other begin the same.
func (h *link) request(ctx context.Context, id string) (api.Approval, error) {
	v, err := h.Approval(ctx, id)
	if err == nil || !isCode(err, message.ApprovalUnknown) {
		return v, err
	}
	list, e := h.Approvals(ctx, apiclient.ApprovalQuery{Status: []string{"pending"}, Limit: 500})
	if e != nil {
		return v, err
	}
	ends := slices.DeleteFunc(list.Approvals, func(a api.Approval) bool { return !strings.HasSuffix(a.ID, id) })
	if len(ends) != 1 {
		return v, err
	}
	return h.Approval(ctx, ends[0].ID)
}

// approval prints a request as a person has to see it who decides.
func (s *session) approval(p *printer, v *api.Approval) {
	say := p.say
	who := clean(v.Subject)
	if v.Client != "" {
		who += " (" + clean(v.Client) + ")"
	}
	second := ""
	if v.Persons > 1 {
		second = fmt.Sprintf("%d / %d", v.Confirmations, v.Persons)
		if v.SecondPerson {
			second += say(", by two persons", "，须由两人")
		}
	}
	var decisions []string
	for _, one := range v.Decisions {
		text := one.At.Local().Format(time.DateTime) + "  " + clean(one.By) + "  " + clean(one.Kind)
		if one.Note != "" {
			text += ": " + oneLine(one.Note)
		}
		decisions = append(decisions, text)
	}
	edited := ""
	if len(v.Edited) > 0 {
		edited = indented(v.Edited)
	}
	arguments := indented(v.Arguments)
	switch {
	case v.Hidden:
		arguments = say("sealed for the hub that was asked; without what may be a secret: ", "由被请求的节点加密；隐去可能的机密后为：") + indented(v.Shown)
	case len(v.Arguments) == 0:
		arguments = "{}"
	}
	changed := ""
	if v.ToolChanged {
		changed = p.paint(red, say("yes: the call will not be made as it is", "是：调用不会照原样执行"))
	}
	rule := clean(v.Rule)
	if v.Because != "" {
		rule = strings.TrimSpace(rule + ": " + clean(v.Because))
	}
	p.fields(
		say("Request", "请求"), p.paint(bold, clean(v.ID)),
		say("Status", "状态"), p.approvalStatus(v.Status),
		say("Tool", "工具"), clean(v.Name),
		say("Server", "服务器"), clean(v.Server),
		say("Asked by", "请求者"), who,
		say("Tenant", "租户"), clean(v.Tenant),
		say("Risk", "风险"), p.risk(v.Risk),
		say("Warning", "警告"), clean(v.Warning),
		say("Rule", "规则"), rule,
		say("Agreements", "同意次数"), second,
		say("Tool changed", "工具已变更"), changed,
		say("Left", "剩余时间"), leftOf(v, time.Now()),
		say("Made by call", "已用于调用"), clean(v.Taken),
		say("Note", "备注"), clean(v.Note),
	)
	list := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		p.line("%s", p.paint(dim, title))
		for _, l := range lines {
			p.line("  %s", l)
		}
	}
	reasons := make([]string, len(v.Reasons))
	for i, r := range v.Reasons {
		reasons[i] = oneLine(r)
	}
	list(say("Why", "原因"), reasons)
	list(say("Arguments", "参数"), strings.Split(arguments, "\n"))
	if edited != "" {
		list(say("Instead of them", "改为"), strings.Split(edited, "\n"))
	}
	list(say("Decisions", "决定"), decisions)
}

// indented is JSON as a person reads it. A reader of what is to be decided has to
// see every character of it, so that those that would not be seen are escaped.
func indented(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(raw); err != nil {
		return clean(string(raw))
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, l := range lines {
		lines[i] = clean(l)
	}
	return strings.Join(lines, "\n")
}

type approvalApprove struct {
	ID       string `arg:"" help:"Of the request, or its end." complete:"approval"`
	Note     string `help:"For the record and the caller." placeholder:"TEXT"`
	Remember string `help:"Calls like this one ask nobody for so long." placeholder:"TIME"`
	Any      bool   `help:"With --remember: with any arguments, and not only these."`
	Anyone   bool   `help:"With --remember: whoever calls, and not only who has asked."`
	Confirm  bool   `help:"Agree a second time without being asked, if this is what the request needs."`
}

// Run agrees. A request that needs two agreements gets the second one from the same
// person only if it is asked for once more.
func (c *approvalApprove) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.request(ctx, c.ID)
		if err != nil {
			return err
		}
		with := api.Approve{Note: c.Note, Confirmation: v.Confirmations + 1, Saw: v.Hash}
		if v.Confirmations > 0 && !c.Confirm && s.env.Terminal && !s.JSON {
			s.approval(s.out, &v)
		}
		if c.Remember != "" {
			with.Remember = &api.Remember{For: c.Remember, Anyone: c.Anyone}
			if c.Any {
				with.Remember.Arguments = json.RawMessage(`"any"`)
			}
		}
		if v, err = h.Approve(ctx, v.ID, with); err != nil {
			return err
		}
		if v, err = s.again(ctx, h, v, with, c.Confirm); err != nil {
			return err
		}
		return s.decided(&v)
	})
}

// again has somebody agree once more to a request that needs it, if that may be the
// same person.
func (s *session) again(ctx context.Context, h *link, v api.Approval, with api.Approve, confirmed bool) (api.Approval, error) {
	if v.Status != "pending" || v.SecondPerson {
		return v, nil
	}
	if !confirmed {
		if !s.env.Terminal || s.JSON {
			return v, nil
		}
		s.approval(s.out, &v)
		yes, err := newPrompt(s.env.Stdin, s.env.Stderr).confirm(ctx, s.out.say(
			"This is critical, and needs a second agreement. Do you really agree?", "此调用风险极高，须再次确认。确定同意？"))
		if err != nil || !yes {
			return v, err
		}
	}
	with.Confirmation, with.Saw = v.Confirmations+1, v.Hash
	return h.Approve(ctx, v.ID, with)
}

// decided tells how a request stands after a decision.
func (s *session) decided(v *api.Approval) error {
	if s.JSON {
		return s.out.json(v)
	}
	say, p := s.out.say, s.out
	switch v.Status {
	case "pending":
		left := v.Persons - v.Confirmations
		if v.SecondPerson {
			p.line(say("Agreed. It needs %d more, by another person.", "已同意。还须另一人同意（%d 次）。"), left)
		} else {
			p.line(say("Agreed. It needs %d more: toolcrib approval approve --confirm %s", "已同意。还须 %d 次同意：toolcrib approval approve --confirm %s"), left, clean(v.ID))
		}
	case "approved":
		p.line(say("Approved. The call may be made until %s.", "已同意。调用须在 %s 前执行。"), v.Expires.Local().Format(time.TimeOnly))
	case "edited":
		p.line(say("Approved with other arguments. The call may be made until %s.", "已同意以修改后的参数调用。须在 %s 前执行。"), v.Expires.Local().Format(time.TimeOnly))
	default:
		p.line("%s", p.approvalStatus(v.Status))
	}
	return nil
}

type approvalReject struct {
	ID   string `arg:"" help:"Of the request, or its end." complete:"approval"`
	Note string `help:"Why; the caller is told." placeholder:"TEXT"`
}

// Run refuses.
func (c *approvalReject) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.request(ctx, c.ID)
		if err != nil {
			return err
		}
		if v, err = h.Reject(ctx, v.ID, api.Reject{Note: c.Note}); err != nil {
			return err
		}
		return s.decided(&v)
	})
}

type approvalEdit struct {
	ID        string   `arg:"" help:"Of the request, or its end." complete:"approval"`
	Arguments []string `arg:"" optional:"" help:"One JSON object; or NAME=VALUE ... in place of those of the call; or \"-\" for JSON on standard input. Without any, an editor is opened ($$VISUAL, $$EDITOR)."`
	Note      string   `help:"For the record and the caller." placeholder:"TEXT"`
	Confirm   bool     `help:"Agree a second time without being asked, if this is what the request needs."`
}

// Run agrees with other arguments.
func (c *approvalEdit) Run(ctx context.Context, s *session) error {
	whole, each, err := parseArguments(c.Arguments, s.env.Stdin)
	if err != nil {
		return err
	}
	return s.with(ctx, func(h *link) error {
		v, err := h.request(ctx, c.ID)
		if err != nil {
			return err
		}
		switch {
		case len(c.Arguments) == 0:
			whole, err = s.edit(ctx, &v)
		case len(each) > 0:
			var changes json.RawMessage
			if changes, err = object(each, v.Name, parameters(v.Definition)); err == nil {
				whole, err = overlay(current(&v), changes)
			}
		}
		if err != nil {
			return err
		}
		v, err = h.Edit(ctx, v.ID, api.Edit{Arguments: whole, Note: c.Note, Confirmation: v.Confirmations + 1, Saw: v.Hash})
		if err != nil {
			return err
		}
		if v, err = s.again(ctx, h, v, api.Approve{Note: c.Note}, c.Confirm); err != nil {
			return err
		}
		return s.decided(&v)
	})
}

// current are the arguments that would be sent now.
func current(v *api.Approval) json.RawMessage {
	if len(v.Edited) > 0 {
		return v.Edited
	}
	return v.Arguments
}

// overlay puts members in the place of those of an object.
func overlay(raw, changes json.RawMessage) (json.RawMessage, error) {
	all := make(map[string]json.RawMessage)
	for _, one := range [...]json.RawMessage{raw, changes} {
		if len(one) == 0 {
			continue
		}
		if err := json.Unmarshal(one, &all); err != nil {
			return nil, unfit("they are no JSON object")
		}
	}
	return json.Marshal(all)
}

// edit has a person edit the arguments in the editor.
func (s *session) edit(ctx context.Context, v *api.Approval) (json.RawMessage, error) {
	if !s.env.Terminal {
		return nil, misuse("approval edit", "the arguments are missing")
	}
	editor := strings.Fields(os.Getenv("VISUAL"))
	if len(editor) == 0 {
		editor = strings.Fields(os.Getenv("EDITOR"))
	}
	if len(editor) == 0 {
		return nil, misuse("approval edit", "the arguments are missing, and neither VISUAL nor EDITOR names an editor")
	}
	f, err := os.CreateTemp("", "toolcrib-*.json") // for its owner only
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(indented(current(v)) + "\n")
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, editor[0], append(editor[1:], f.Name())...) //nolint:gosec // it is the person's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.env.Stdin, s.stdout.w, s.env.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run the editor %s: %w", editor[0], err)
	}
	return os.ReadFile(f.Name())
}

// isCode reports whether the hub has refused with the code.
func isCode(err error, code message.Code) bool {
	refused, ok := errors.AsType[*apiclient.Error](err)
	return ok && refused.Problem.Code == string(code)
}
