package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/toolcrib/toolcrib/internal/api"
)

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
	arguments, extra := indented(v.Arguments), v.Extra
	if len(extra) == 0 {
		extra = v.ExtraShown
	}
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
		say("Server", "服务器"), clean(cmp.Or(strings.Join(v.Servers, ", "), v.Server)),
		say("Asked by", "请求者"), who,
		say("Made again by", "重试者"), clean(v.Retrier),
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
	if len(extra) > 0 {
		list(say("Sent with them", "同时发送"), strings.Split(indented(extra), "\n"))
	}
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
		lines[i] = visible(l)
	}
	return strings.Join(lines, "\n")
}

// visible escapes, as JSON does, each character of a line that would not be seen or
// would change how others are.
func visible(line string) string {
	var b strings.Builder
	for _, c := range line {
		if c == ' ' || unicode.IsGraphic(c) && !unicode.In(c, unicode.Zs, unicode.Mn) {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
