package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
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
	Since   string   `help:"Only calls that ended at this time (RFC 3339) or after it, or not longer ago than this, such as 24h or 7d." placeholder:"TIME"`
	Until   string   `help:"Only calls before this time." placeholder:"TIME"`
}

func (f *callFilter) query() apiclient.CallQuery {
	return apiclient.CallQuery{
		Server: f.Server, Tool: f.Tool, Text: f.Text, Session: f.Session, Subject: f.Caller, Door: f.Door, Method: f.Method,
		Outcomes: f.Outcome, Code: f.Code, Since: f.Since, Until: f.Until,
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
		p, say := s.out, s.out.say
		if len(list.Calls) == 0 {
			p.line("%s", say("No calls. Tools to call are listed by: toolcrib tool list", "没有调用。可用工具：toolcrib tool list"))
			return nil
		}
		rows := make([]row, len(list.Calls))
		for i := range list.Calls {
			v := &list.Calls[i]
			took, answer := "", ""
			if v.Ended != nil {
				took, answer = milliseconds(v.Duration), size(v.Bytes)
			}
			rows[i] = row{cells: []string{
				v.Time.Local().Format(time.DateTime), p.outcome(v.Outcome), clean(v.Name), clean(v.Subject), v.Door, took, answer, p.paint(dim, v.ID),
			}}
			if v.Reason != "" {
				rows[i].below = []string{p.paint(red, oneLine(v.Reason))}
			}
		}
		p.table([]string{
			say("TIME", "时间"), say("OUTCOME", "结果"), say("NAME", "名称"), say("CALLER", "调用方"), say("DOOR", "入口"), say("TOOK", "耗时"),
			say("ANSWER", "应答"), say("ID", "编号"),
		}, rows)
		return nil
	})
}

// find asks as often as the answers have fewer than are wanted.
func (c *callsList) find(ctx context.Context, h *link) (api.CallList, error) {
	const most = 500 // in one answer
	q := c.query()
	all := api.CallList{Calls: []api.CallRecord{}}
	for {
		q.Limit = min(most, c.Limit-len(all.Calls))
		page, err := h.Calls(ctx, q)
		if err != nil {
			return all, err
		}
		all.Calls = append(all.Calls, page.Calls...)
		all.Next, q.Cursor = page.Next, page.Next
		if page.Next == "" || len(all.Calls) >= c.Limit {
			return all, nil
		}
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
	ended, took, answer, queued := "", "", "", ""
	if v.Ended != nil {
		ended, took, answer = when(*v.Ended), milliseconds(v.Duration), size(v.Bytes)
	}
	if v.Queued > 0 {
		queued = milliseconds(v.Queued)
	}
	entries := fmt.Sprintf("%s %d", clean(v.Node), v.Seq)
	if v.Intent > 0 && v.Intent != v.Seq {
		entries = fmt.Sprintf("%s %d, %d", clean(v.Node), v.Intent, v.Seq)
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
		say("Verdict", "裁定"), clean(v.Verdict),
		say("Trace", "追踪"), clean(v.Trace),
		say("Entries", "记录条目"), entries,
	)
}

type callsTop struct {
	Since string `help:"Of calls that ended at this time (RFC 3339) or after it, or not longer ago than this, such as 1h or 7d." default:"24h" placeholder:"TIME"`
	Until string `help:"And before this time." placeholder:"TIME"`
	Limit int    `short:"n" help:"How many of each." default:"10" placeholder:"N"`
	Hours bool   `help:"Also show each hour."`
}

// Run shows the figures of the record.
func (c *callsTop) Run(ctx context.Context, s *session) error {
	if c.Limit < 1 {
		return misuse("calls top", "--limit must be 1 or more")
	}
	return s.with(ctx, func(h *link) error {
		v, err := h.Analysis(ctx, apiclient.AnalysisQuery{Since: c.Since, Until: c.Until, Hourly: c.Hours, Limit: c.Limit})
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(v)
		}
		s.out.analysis(&v)
		return nil
	})
}

// analysis prints the figures of the record.
func (p *printer) analysis(v *api.Analysis) {
	say, t := p.say, &v.Total
	p.line("%s %s – %s", p.paint(bold, say("Calls", "调用")), v.Since.Local().Format(time.DateTime), v.Until.Local().Format(time.DateTime))
	if t.Calls == 0 {
		p.line("%s", say("None has ended in this time.", "这段时间内没有结束的调用。"))
		return
	}
	p.line(say("%d calls, %s went well, %d from cache; median %s, p95 %s, longest %s", "%d 次调用，成功 %s，来自缓存 %d 次；中位数 %s，p95 %s，最长 %s"),
		t.Calls, part(t.Outcomes["ok"], t.Calls), t.Cached, milliseconds(t.P50), milliseconds(t.P95), milliseconds(t.Max))
	p.titled(say("Most called", "调用最多"), p.tools(v.Tools))
	p.titled(say("Slowest", "最慢"), p.tools(v.Slow))
	p.titled(say("Failures", "失败"), p.failures(v.Failures))
	servers := p.figures(len(v.Servers), func(i int) *api.CallFigures { return &v.Servers[i].CallFigures })
	server := column{head: say("SERVER", "服务器"), left: true}
	for _, f := range v.Servers {
		server.cells = append(server.cells, p.orNone(f.Server))
	}
	p.titled(say("By server", "按服务器"), append([]column{server}, servers...))
	hour := column{head: say("HOUR", "小时"), left: true}
	for _, f := range v.Hours {
		hour.cells = append(hour.cells, f.Hour.Local().Format("2006-01-02 15:04"))
	}
	p.titled(say("By hour", "按小时"), append([]column{hour}, p.figures(len(v.Hours), func(i int) *api.CallFigures { return &v.Hours[i].CallFigures })...))
}

// titled prints a table, if there is anything in it.
func (p *printer) titled(title string, table []column) {
	if len(table[0].cells) == 0 {
		return
	}
	p.line("\n%s", p.paint(bold, title))
	p.grid(table)
}

// tools is a table of tools.
func (p *printer) tools(list []api.ToolFigures) []column {
	name := column{head: p.say("TOOL", "工具"), left: true}
	share := column{head: p.say("SHARE", "占比"), gives: 4}
	for i := range list {
		t := &list[i]
		name.cells = append(name.cells, cut(p.called(t.Server, t.Tool, t.Method), 40))
		share.cells = append(share.cells, strconv.FormatFloat(100*t.Share, 'f', 1, 64)+"%")
	}
	return append([]column{name, share}, p.figures(len(list), func(i int) *api.CallFigures { return &list[i].CallFigures })...)
}

// figures are the columns of figures.
func (p *printer) figures(n int, at func(int) *api.CallFigures) []column {
	all := []column{
		{head: p.say("CALLS", "调用")},
		{head: p.say("WENT WELL", "成功")},
		{head: p.say("CACHED", "缓存"), gives: 5, rare: true},
		{head: p.say("MEAN", "平均"), gives: 3},
		{head: "P50", gives: 2},
		{head: "P95"},
		{head: p.say("LONGEST", "最长"), gives: 1},
	}
	cached := false
	for i := range n {
		f := at(i)
		cached = cached || f.Cached > 0
		for c, cell := range []string{
			strconv.FormatInt(f.Calls, 10), part(f.Outcomes["ok"], f.Calls), number(int(f.Cached)),
			milliseconds(f.Mean), milliseconds(f.P50), milliseconds(f.P95), milliseconds(f.Max),
		} {
			all[c].cells = append(all[c].cells, cell)
		}
	}
	if !cached {
		all = append(all[:2], all[3:]...)
	}
	return all
}

// failures is the table of why calls failed.
func (p *printer) failures(list []api.CallFailure) []column {
	all := []column{
		{head: p.say("TOOL", "工具"), left: true},
		{head: p.say("OUTCOME", "结果"), left: true},
		{head: p.say("CODE", "代码"), left: true},
		{head: p.say("CALLS", "调用")},
	}
	for i := range list {
		f := &list[i]
		for c, cell := range []string{cut(p.called(f.Server, f.Tool, f.Method), 40), p.outcome(f.Outcome), clean(f.Code), strconv.FormatInt(f.Calls, 10)} {
			all[c].cells = append(all[c].cells, cell)
		}
	}
	return all
}

// called is how to name what was called.
func (p *printer) called(server, tool, method string) string {
	switch {
	case server == "":
		return p.orNone("")
	case tool == "":
		return oneLine(server) + " " + oneLine(method)
	}
	return oneLine(server) + "/" + oneLine(tool)
}

// orNone is the key of a server, or that there was none.
func (p *printer) orNone(key string) string {
	if key == "" {
		return p.paint(dim, p.say("(no server)", "（无服务器）"))
	}
	return oneLine(key)
}

// part is how many of a hundred.
func part(n, of int64) string {
	return strconv.FormatFloat(100*float64(n)/float64(max(1, of)), 'f', 1, 64) + "%"
}
