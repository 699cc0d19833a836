package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// leastInterval is what the hub measures in at most once.
const leastInterval = time.Second

type top struct {
	Interval   time.Duration `short:"i" help:"How often to look again." default:"2s" placeholder:"TIME"`
	Once       bool          `help:"Look once, as is done without a terminal."`
	Operations bool          `short:"o" help:"Show how long each operation took, in place of the servers."`
}

// Run shows what the hub and its servers do and take, again and again on a
// terminal until Ctrl-C. It starts no hub.
func (c *top) Run(ctx context.Context, s *session) error {
	if c.Interval < leastInterval {
		return misuse("top", fmt.Sprintf(s.out.say("--interval is %s or more", "--interval 不得小于 %s"), leastInterval))
	}
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	if s.JSON {
		v, err := h.Stats(ctx)
		if err != nil {
			return err
		}
		return s.out.json(v)
	}
	first, err := look(ctx, h)
	if err != nil {
		return err
	}
	if c.Once || s.out.width == 0 || os.Getenv("TERM") == "dumb" {
		c.show(s.out, first, nil)
		return nil
	}
	return c.follow(ctx, s, h, first)
}

// show prints one look.
func (c *top) show(p *printer, now, before *sight) {
	p.summary(now, before)
	p.line("")
	if c.Operations {
		p.grid(p.operations(now))
		return
	}
	p.grid(p.columns(now, before))
}

// What is written to a terminal (ECMA-48, and what xterm added to it): another
// screen without a cursor, so that the one before is there again afterwards.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	toBegin     = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// follow shows each look on the whole terminal until ctx ends, which is no
// error: Ctrl-C is how this ends.
func (c *top) follow(ctx context.Context, s *session, h *link, now *sight) error {
	fmt.Fprint(s.env.Stdout, enterScreen)
	defer fmt.Fprint(s.env.Stdout, leaveScreen)
	tick := time.NewTicker(c.Interval)
	defer tick.Stop()
	var before *sight
	for {
		c.frame(s, now, before)
		if s.stdout.err != nil {
			return nil // which is told as any error of writing is
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		next, err := look(ctx, h)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		before, now = now, next
	}
}

// frame shows one look on the terminal, as far as there is room: whoever
// resizes it sees that at the next one. All is written at once, over what was
// there, so that nothing flickers.
func (c *top) frame(s *session, now, before *sight) {
	columns, rows := s.env.Width, 0
	if f, ok := s.stdout.w.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil {
			columns, rows = w, h
		}
	}
	var text bytes.Buffer
	p := *s.out
	p.w, p.width = &text, columns
	c.show(&p, now, before)
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if rows > 0 && len(lines) > rows {
		hidden := len(lines) - rows + 1
		lines = append(lines[:rows-1:rows-1], p.paint(dim, fmt.Sprintf(p.say("… and %d more", "……另有 %d 个"), hidden)))
	}
	for i, l := range lines {
		lines[i] = cut(l, columns) + clearLine
	}
	fmt.Fprint(s.env.Stdout, toBegin+strings.Join(lines, "\n")+clearBelow)
}

// sight is what the hub says at one moment.
type sight struct {
	at      time.Time
	status  api.Status
	servers []api.Server
	stats   api.Stats
	trees   map[string]api.ProcessTree
}

// look asks the hub.
func look(ctx context.Context, h *link) (*sight, error) {
	stats, err := h.Stats(ctx)
	if err != nil {
		return nil, err
	}
	at := time.Now()
	list, err := h.Servers(ctx)
	if err != nil {
		return nil, err
	}
	status, err := h.Status(ctx)
	if err != nil {
		return nil, err
	}
	v := &sight{at: at, status: status, servers: list.Servers, stats: stats, trees: map[string]api.ProcessTree{}}
	for _, t := range stats.Processes {
		v.trees[t.Server] = t
	}
	// Those that do or want something stand above those that are at rest.
	slices.SortStableFunc(v.servers, func(a, b api.Server) int { return cmp.Compare(rest(a), rest(b)) })
	return v, nil
}

// rest is 1 for a server that is at rest, else 0.
func rest(v api.Server) int {
	switch hub.State(v.State) {
	case hub.StateIdle, hub.StateStopped, hub.StateDisabled:
		return 1
	}
	return 0
}

// since is the time between two looks, in seconds; 0 if there was none before,
// or another hub was looked at.
func (v *sight) since(before *sight) float64 {
	if before == nil || !before.status.Started.Equal(v.status.Started) {
		return 0
	}
	return v.at.Sub(before.at).Seconds()
}

// load is how the calls of a server went, or those of all.
type load struct {
	good   api.Operation // that went well
	failed int64
}

// load returns that of a server, or of all if the key is empty.
func (v *sight) load(key string) load {
	name := strings.TrimSuffix("tools/call "+key, " ")
	return load{v.stats.Operations[name], v.stats.Operations[name+".error"].Total}
}

func (l load) calls() int64 { return l.good.Total + l.failed }

// summary prints how the hub is. What is per second needs a look before.
func (p *printer) summary(v, before *sight) {
	say := p.say
	r, all := v.stats.Resources, v.load("")
	var had int64
	var spent float64
	if before != nil {
		had, spent = before.load("").calls(), before.stats.Resources.CPU
	}
	seconds := v.since(before)
	p.line("%s", p.paint(bold, "Toolcrib "+clean(v.status.Version))+"  "+strings.Join([]string{
		fmt.Sprintf(say("up %s", "已运行 %s"), short(time.Duration(r.Uptime)*time.Second)),
		fmt.Sprintf(say("%d of %d servers running", "%d/%d 个服务器在运行"), r.RunningServers, r.TotalServers),
		fmt.Sprintf(say("%d tools", "%d 个工具"), v.status.Tools),
		fmt.Sprintf(say("%d sessions", "%d 个会话"), v.status.Sessions),
	}, ", "))
	p.line("%s  %s", say("Hub  ", "本体"), strings.Join([]string{
		"CPU " + percent(r.CPU-spent, seconds),
		size(int(r.Memory)),
		fmt.Sprintf(say("%d goroutines", "%d 个协程"), r.Goroutines),
		fmt.Sprintf(say("%d files open", "打开 %d 个文件"), r.OpenFiles),
		fmt.Sprintf(say("%d processes of servers", "服务器共 %d 个进程"), r.ActiveProcesses),
	}, ", "))
	p.line("%s  %s", say("Calls", "调用"), strings.Join([]string{
		strconv.FormatInt(all.calls(), 10),
		rate(all.calls()-had, seconds) + "/s",
		"p50 " + took(all.good, all.good.P50),
		"p95 " + took(all.good, all.good.P95),
		fmt.Sprintf(say("%d failed", "%d 次失败"), all.failed),
	}, ", "))
	p.line("%s  %s", say("Index", "索引"), strings.Join([]string{
		fmt.Sprintf(say("%d tools", "%d 个工具"), r.CacheSize),
		fmt.Sprintf(say("%d of built-in servers", "内置服务器 %d 个"), r.EmbeddedTools),
	}, ", "))
	if !v.status.Record.Up {
		p.line("%s", p.paint(red, p.unwritable()))
	}
}

// column is one of a table whose columns give way where there is no room.
type column struct {
	head  string
	left  bool // it stands to the left, as words do
	gives int  // those with the highest number give way first; 0 never
	rare  bool // it is left out if there is nothing in it
	cells []string
}

// columns is the table of servers.
func (p *printer) columns(v, before *sight) []column {
	say := p.say
	all := []column{
		{head: say("SERVER", "服务器"), left: true},
		{head: say("STATE", "状态"), left: true},
		{head: say("FOR", "已持续"), gives: 6},
		{head: say("CALLS", "调用"), gives: 4},
		{head: say("CALLS/S", "调用/秒"), gives: 2},
		{head: "P50", gives: 5},
		{head: "P95", gives: 1},
		{head: say("FAILED", "失败"), gives: 3},
		{head: "CPU"},
		{head: say("MEMORY", "内存")},
		{head: say("PROC", "进程"), gives: 7},
		{head: say("INST", "实例"), gives: 8},
		{head: say("OWN", "独占"), gives: 9, rare: true},
		{head: say("SUBS", "订阅"), gives: 10, rare: true},
	}
	seconds := v.since(before)
	for _, s := range v.servers {
		l, tree := v.load(s.Key), v.trees[s.Key]
		var had int64
		busy, memory, processes := "", "", ""
		if tree.Processes > 0 {
			busy, memory, processes = "-", size(int(tree.Memory)), strconv.Itoa(tree.Processes)
		}
		if before != nil {
			had = before.load(s.Key).calls()
			// Other processes than before have nothing to be compared with.
			if old, ok := before.trees[s.Key]; ok && slices.Equal(old.PIDs, tree.PIDs) {
				busy = percent(tree.CPU-old.CPU, seconds)
			}
		}
		for i, cell := range []string{
			cut(clean(s.Key), 24), p.state(s.State), ago(s.Since),
			strconv.FormatInt(l.calls(), 10), rate(l.calls()-had, seconds), took(l.good, l.good.P50), took(l.good, l.good.P95),
			strconv.FormatInt(l.failed, 10), busy, memory, processes, strconv.Itoa(s.Instances),
			number(s.Callers), number(s.Subscriptions),
		} {
			all[i].cells = append(all[i].cells, cell)
		}
	}
	return slices.DeleteFunc(all, func(c column) bool {
		return c.rare && !slices.ContainsFunc(c.cells, func(cell string) bool { return cell != "" })
	})
}

// grid prints a table, on a terminal without the columns for which there is no
// room.
func (p *printer) grid(columns []column) {
	for p.width > 0 {
		total, first := -2, 0
		for i, c := range columns {
			total += c.width() + 2
			if c.gives > columns[first].gives {
				first = i
			}
		}
		if total <= p.width || columns[first].gives == 0 {
			break
		}
		columns = slices.Delete(columns, first, first+1)
	}
	heads := make([]string, len(columns))
	rows := make([]row, len(columns[0].cells))
	for i, c := range columns {
		wide := c.width()
		heads[i] = c.fit(c.head, wide)
		for at, cell := range c.cells {
			rows[at].cells = append(rows[at].cells, c.fit(cell, wide))
		}
	}
	p.table(heads, rows)
}

// width is how many columns of a terminal it takes.
func (c *column) width() int {
	wide := width(c.head)
	for _, cell := range c.cells {
		wide = max(wide, width(cell))
	}
	return wide
}

// fit is a text on its side of the column.
func (c *column) fit(text string, wide int) string {
	if c.left {
		return pad(text, wide)
	}
	return strings.Repeat(" ", wide-width(text)) + text
}

// rate is how many per second.
func rate(n int64, seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(max(n, 0))/seconds, 'f', 1, 64)
}

// percent is how much of one processor was busy.
func percent(busy, seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return strconv.FormatFloat(100*max(busy, 0)/seconds, 'f', 1, 64) + "%"
}

// took is a number of milliseconds for people, if there is something that it
// was measured of.
func took(of api.Operation, ms float64) string {
	switch {
	case of.Count == 0:
		return "-"
	case ms < 10:
		return fmt.Sprintf("%.1fms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0fms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%.1fs", ms/1000)
	}
	return short(time.Duration(ms * float64(time.Millisecond)))
}
