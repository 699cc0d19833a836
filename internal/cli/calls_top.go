package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
)

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
	if v.Cut {
		p.line("%s", say("Calls before that are left out: the record is too long to count them for one caller.", "更早的调用未计入：记录过长，无法为单个调用者逐条统计。"))
	}
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
