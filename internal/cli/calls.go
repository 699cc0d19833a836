package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type callsCommands struct {
	List callsList `cmd:"" help:"List calls of the record, newest first." default:"withargs"`
	Show callsShow `cmd:"" help:"Show one call of the record."`
	Top  callsTop  `cmd:"" help:"Show which tools are called most, which fail and why, and which are slow."`
}

// callFilter are the flags that say which calls of the record are meant.
type callFilter struct {
	Server  string   `help:"Only calls that were sent to this server." placeholder:"KEY" complete:"server"`
	Tool    string   `help:"Only calls of the tool that its server gave this name." placeholder:"TOOL"`
	Text    string   `help:"Only calls with this text in the name." placeholder:"TEXT"`
	Session string   `help:"Only calls of this session." placeholder:"SESSION"`
	Caller  string   `help:"Only calls of this caller." placeholder:"CALLER"`
	Door    string   `help:"Only calls that came by this way, such as mcp or rest." placeholder:"DOOR"`
	Method  string   `help:"Only calls of this method, such as tools/call." placeholder:"METHOD"`
	Outcome []string `help:"Only calls that ended so: ok, tool_error, failed, cancelled, unknown or under_way; several with commas." placeholder:"OUTCOME"`
	Code    string   `help:"Only calls that failed with this code." placeholder:"CODE"`
	Verdict string   `help:"Only calls to which the rules said this: allow, ask or deny." placeholder:"VERDICT"`
	Risk    string   `help:"Only calls of this risk: low, medium, high or critical." placeholder:"RISK"`
	Since   string   `help:"Only calls that ended at this time (RFC 3339) or after it, or not longer ago than this, such as 24h or 7d." placeholder:"TIME"`
	Until   string   `help:"Only calls before this time." placeholder:"TIME"`
}

func (f *callFilter) query() apiclient.CallQuery {
	return apiclient.CallQuery{
		Server: f.Server, Tool: f.Tool, Text: f.Text, Session: f.Session, Subject: f.Caller, Door: f.Door, Method: f.Method,
		Outcomes: f.Outcome, Code: f.Code, Verdict: f.Verdict, Risk: f.Risk, Since: f.Since, Until: f.Until,
	}
}

type callsList struct {
	Limit int `short:"n" help:"How many." default:"20" placeholder:"N"`
	callFilter
}

// Run lists calls of the record.
func (c *callsList) Run(ctx context.Context, s *session) error {
	if c.Limit < 1 {
		return misuse("calls", "--limit must be 1 or more")
	}
	return s.with(ctx, func(h *link) error {
		list, err := c.find(ctx, h)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		s.out.records(list.Calls)
		s.out.more(len(list.Calls), list.Next)
		return nil
	})
}

// records is the table of calls.
func (p *printer) records(list []api.CallRecord) {
	say := p.say
	if len(list) == 0 {
		p.line("%s", say("No calls. Tools to call are listed by: toolcrib tool list", "没有调用。可用工具：toolcrib tool list"))
		return
	}
	rows := make([]row, len(list))
	for i := range list {
		v := &list[i]
		took, answer := "", ""
		if v.Ended != nil {
			took, answer = milliseconds(v.Duration), size(v.Bytes)
		}
		rows[i] = row{cells: []string{
			v.Time.Local().Format(time.DateTime), p.outcome(v.Outcome), clean(v.Name), clean(v.Subject), clean(v.Door), took, answer, p.paint(dim, clean(v.ID)),
		}}
		if v.Reason != "" {
			rows[i].below = []string{p.paint(red, oneLine(v.Reason))}
		}
	}
	p.table([]string{
		say("TIME", "时间"), say("OUTCOME", "结果"), say("NAME", "名称"), say("CALLER", "调用方"), say("DOOR", "入口"), say("TOOK", "耗时"),
		say("ANSWER", "应答"), say("ID", "编号"),
	}, rows)
}

// find asks as often as the answers have fewer than are wanted.
func (c *callsList) find(ctx context.Context, h *link) (api.CallList, error) {
	q := c.query()
	calls, next, err := upTo(c.Limit, func(limit int, cursor string) ([]api.CallRecord, string, error) {
		q.Limit, q.Cursor = limit, cursor
		page, err := h.Calls(ctx, q)
		return page.Calls, page.Next, err
	})
	return api.CallList{Calls: calls, Next: next}, err
}

// mostListed is how many there are in one answer at most.
const mostListed = 500

// upTo asks for the pages of a list until there are as many as are wanted, or no
// more. It returns the cursor of those that follow.
func upTo[T any](wanted int, ask func(limit int, cursor string) ([]T, string, error)) (all []T, next string, err error) {
	all = []T{}
	for {
		page, after, err := ask(min(mostListed, wanted-len(all)), next)
		if err != nil {
			return all, next, err
		}
		all, next = append(all, page...), after
		if next == "" || len(all) >= wanted {
			return all, next, nil
		}
	}
}

// more tells that there may be more in a list than so many, the newest, if there is a
// cursor of those that follow.
func (p *printer) more(n int, next string) {
	if next != "" {
		p.line(p.say("These are the newest %d; --limit has more of them listed.", "以上是最新的 %d 条；可用 --limit 列出更多。"), n)
	}
}

func (p *printer) outcome(o string) string {
	switch o {
	case "ok":
		return p.paint(green, p.say("ok", "成功"))
	case "tool_error":
		return p.paint(yellow, p.say("tool error", "工具报错"))
	case "failed":
		return p.paint(red, p.say("failed", "失败"))
	case "cancelled":
		return p.paint(dim, p.say("cancelled", "已取消"))
	case "unknown":
		return p.paint(red, p.say("unknown", "结果未知"))
	case "":
		return p.paint(bold, p.say("under way", "进行中"))
	}
	return oneLine(o)
}

type callsShow struct {
	ID string `arg:"" help:"The call's id."`
}

// Run shows one call.
func (c *callsShow) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.CallRecord(ctx, c.ID)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(v)
		}
		s.record(&v)
		return nil
	})
}

// record prints one call.
func (s *session) record(v *api.CallRecord) {
	p, say := s.out, s.out.say
	when := func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }
	yes := func(is bool, en, zh string) string {
		if is {
			return say(en, zh)
		}
		return ""
	}
	ended, took, answer, queued, held := "", "", "", "", ""
	if v.Ended != nil {
		ended, took, answer = when(*v.Ended), milliseconds(v.Duration), size(v.Bytes)
	}
	if v.Queued > 0 {
		queued = milliseconds(v.Queued)
	}
	if v.Held > 0 {
		held = milliseconds(v.Held)
	}
	entries := fmt.Sprintf("%s %d", clean(v.Node), v.Seq)
	if v.Intent > 0 && v.Intent != v.Seq {
		entries = fmt.Sprintf("%s %d, %d", clean(v.Node), v.Intent, v.Seq)
	}
	verdict := clean(v.Verdict)
	if v.Mode == string(hub.PolicyObserve) {
		verdict += say(" (only observed)", "（仅观察）")
	}
	var tries []string
	for _, a := range v.Attempts {
		tries = append(tries, strings.TrimSpace(fmt.Sprintf("%s %s %s", clean(a.Server), milliseconds(a.Duration), clean(a.Code))))
	}
	p.fields(
		say("Call", "调用"), p.paint(bold, clean(v.Name)),
		say("Id", "编号"), clean(v.ID),
		say("Method", "方法"), clean(v.Method),
		say("Outcome", "结果"), p.outcome(v.Outcome),
		say("Reason", "原因"), oneLine(v.Reason),
		say("Code", "代码"), clean(v.Code),
		say("Began", "开始"), when(v.Time),
		say("Ended", "结束"), ended,
		say("Took", "耗时"), took,
		say("Waited", "排队"), queued,
		say("Held", "等待批准"), held,
		say("Caller", "调用方"), clean(v.Subject),
		say("Door", "入口"), clean(v.Door),
		say("Program", "客户端"), clean(v.Client),
		say("Session", "会话"), clean(v.Session),
		say("Group", "组"), clean(v.Group),
		say("Server", "服务器"), clean(v.Server),
		say("Tool", "工具"), clean(v.Tool),
		say("Arguments", "参数"), clean(string(v.Arguments)),
		say("Attempts", "尝试"), strings.Join(tries, "; "),
		say("Answer", "应答"), answer,
		say("From cache", "来自缓存"), yes(v.Cached, "yes", "是"),
		say("May change something", "可能产生变更"), yes(v.Changing, "yes", "是"),
		say("Verdict", "裁定"), verdict,
		say("Risk", "风险"), clean(v.Risk),
		say("Rule", "规则"), clean(v.Rule),
		say("Policy", "策略版本"), clean(v.Policy),
		say("Approval", "审批"), clean(v.Approval),
		say("Grant", "授权"), clean(v.Grant),
		say("Tenant", "租户"), clean(v.Tenant),
		say("Trace", "追踪"), clean(v.Trace),
		say("Entries", "记录条目"), entries,
	)
}
