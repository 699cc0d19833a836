package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
)

type serverCommands struct {
	List    serverList    `cmd:"" help:"List all servers, with why one is not ready." default:"withargs"`
	Show    serverShow    `cmd:"" help:"Show one server."`
	Presets serverPresets `cmd:"" help:"List the servers that are known by name, also those that are off."`
	Add     serverAdd     `cmd:"" help:"Add a server to the configuration, once it has been tested."`
	Remove  serverRemove  `cmd:"" help:"Take servers out of the configuration."`
	Enable  serverEnable  `cmd:"" help:"Enable servers in the configuration."`
	Disable serverDisable `cmd:"" help:"Disable servers in the configuration."`
	Start   serverStart   `cmd:"" help:"Start servers now, also those that were given up."`
	Stop    serverStop    `cmd:"" help:"Stop servers until they are started again."`
	Restart serverRestart `cmd:"" help:"Stop servers and start them again."`
	Refresh serverRefresh `cmd:"" help:"Ask servers for their tools again."`
	Login   serverLogin   `cmd:"" help:"Log in at a server that wants it."`
	Logout  serverLogout  `cmd:"" help:"Forget the login at a server."`
	Drift   serverDrift   `cmd:"" help:"Show how the tools of a pinned server differ from what was accepted."`
	Accept  serverAccept  `cmd:"" help:"Accept the tools of a pinned server as they are described now."`
	Log     serverLog     `cmd:"" help:"Show what a server says, and what happened to it."`
}

type serverList struct{}

// Run lists the servers.
func (serverList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		list, err := h.Servers(ctx)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		s.servers(list.Servers)
		st, err := h.Status(ctx)
		if err != nil {
			return err
		}
		s.configProblems(st.Config)
		if len(st.Config.Problems) == 0 && !slices.ContainsFunc(list.Servers, func(v api.Server) bool { return v.Defined }) {
			s.out.line("")
			s.firstSteps()
		}
		return nil
	})
}

// firstSteps tells whoever has added no server yet how to begin.
func (s *session) firstSteps() {
	s.out.line("%s", s.out.say("No servers of your own yet. Add one, or take over those you have:", "还没有自己的服务器。可添加一个，或导入已有的："))
	s.out.line("  toolcrib server add files -- npx -y @modelcontextprotocol/server-filesystem ~")
	s.out.line("  toolcrib import --from claude")
}

// servers prints a table of servers. Most have nothing but tools: if all do, there
// are no columns for the rest.
func (s *session) servers(servers []api.Server) {
	say := s.out.say
	heads := []string{say("SERVER", "服务器"), say("STATE", "状态"), say("KIND", "类型"), say("TOOLS", "工具")}
	resources := slices.ContainsFunc(servers, func(v api.Server) bool { return v.Resources+v.Templates > 0 })
	prompts := slices.ContainsFunc(servers, func(v api.Server) bool { return v.Prompts > 0 })
	if resources {
		heads = append(heads, say("RESOURCES", "资源"))
	}
	if prompts {
		heads = append(heads, say("PROMPTS", "提示"))
	}
	rows := make([]row, len(servers))
	for i, v := range servers {
		key := s.out.paint(bold, clean(v.Key))
		if v.Name != "" && v.Name != v.Key {
			key += " (" + oneLine(v.Name) + ")"
		}
		tools := strconv.Itoa(v.Tools)
		if v.Hidden > 0 {
			tools += fmt.Sprintf(" (-%d)", v.Hidden)
		}
		cells := []string{key, s.out.state(v.State), v.Kind, tools}
		if resources {
			cells = append(cells, number(v.Resources+v.Templates))
		}
		if prompts {
			cells = append(cells, number(v.Prompts))
		}
		rows[i] = row{cells: append(cells, ago(v.Since)), below: s.out.why(v)}
	}
	s.out.table(append(heads, say("SINCE", "已持续")), rows)
}

type serverShow struct {
	Key string `arg:"" help:"Key of the server." complete:"server"`
}

// Run shows one server.
func (c *serverShow) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.Server(ctx, c.Key)
		if err != nil {
			return h.guess(ctx, err, servers, c.Key)
		}
		if s.JSON {
			return s.out.json(v)
		}
		s.server(v)
		return nil
	})
}

func (s *session) server(v api.Server) {
	p, say := s.out, s.out.say
	p.line("%s  %s  %s", p.paint(bold, clean(v.Key)), p.state(v.State), ago(v.Since))
	for _, l := range p.why(v) {
		p.line("  %s", l)
	}
	tools := strconv.Itoa(v.Tools)
	if v.Hidden > 0 {
		tools += fmt.Sprintf(say(" (%d more are hidden by the configuration)", "（另有 %d 个被配置隐藏）"), v.Hidden)
	}
	name := v.Name
	if name == v.Key {
		name = ""
	}
	connection := v.Connection
	if connection == "auto" {
		connection = ""
	}
	p.fields(
		say("Name", "名称"), oneLine(name),
		say("Kind", "类型"), v.Kind,
		say("Command", "命令"), oneLine(strings.Join(append([]string{v.Command}, v.Args...), " ")),
		say("Directory", "目录"), oneLine(v.Dir),
		"URL", oneLine(v.URL),
		say("Environment", "环境变量"), oneLine(strings.Join(v.Env, " ")),
		say("Headers", "请求头"), oneLine(strings.Join(v.Headers, " ")),
		say("Login", "登录"), p.login(v.Auth),
		say("Calls itself", "自称"), oneLine(v.Info),
		say("Protocol", "协议版本"), oneLine(v.Protocol),
		say("Processes", "进程"), processes(v),
		say("Connections", "连接方式"), connection,
		say("Of callers' own", "调用方独占连接"), number(v.Callers),
		say("Under way", "进行中"), number(v.Calls),
		say("Held by", "持有者"), oneLine(holders(v.Leases)),
		say("Tools", "工具"), tools,
		say("To be accepted", "待接受"), oneLine(strings.Join(v.Changed, " ")),
		say("Resources", "资源"), number(v.Resources),
		say("Templates", "资源模板"), number(v.Templates),
		say("Clashing URIs", "冲突的 URI"), p.clashing(v),
		say("Prompts", "提示"), number(v.Prompts),
		say("Subscriptions", "订阅"), number(v.Subscriptions),
		say("Priority", "优先级"), strconv.Itoa(v.Priority),
		say("Pool", "服务器池"), oneLine(v.Pool),
		say("Time limit", "超时"), v.Timeout,
		say("Tried again", "重试"), p.tries(v.Retries),
		say("Calls at once", "并发调用"), p.atOnce(v.CallLimits),
		say("Calls in a time", "调用速率"), p.rate(v.CallLimits),
		say("Results kept", "结果缓存"), clean(v.ToolCache),
		say("Arguments", "参数"), p.validated(v.Validate),
		say("Ends unused after", "闲置结束"), v.IdleStop,
		say("Calls pass", "熔断"), p.breaker(v.Breaker),
		say("Junk lines", "杂乱输出行"), number(int(v.Junk)),
	)
	if v.Stderr != "" {
		p.line("%s", p.paint(dim, say("It wrote to standard error:", "标准错误输出：")))
		for line := range strings.Lines(v.Stderr) {
			p.line("  %s", clean(strings.TrimRight(line, "\r\n")))
		}
	}
	if v.Tools > 0 {
		p.line("%s", p.paint(dim, say("Its tools: ", "查看工具：")+"toolcrib tool list --server "+v.Key))
	}
}

// number is a number; "" for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// clashing says how a server's resources are listed whose URIs are another's.
func (p *printer) clashing(v api.Server) string {
	if len(v.Clashing) == 0 {
		return ""
	}
	return fmt.Sprintf(p.say("%d, listed as toolcrib://%s/URI", "%d 个，列为 toolcrib://%s/URI"), len(v.Clashing), url.PathEscape(v.Key))
}

// processes are the process ids of a server's instances.
func processes(v api.Server) string {
	ids := make([]string, len(v.PIDs))
	for i, id := range v.PIDs {
		ids[i] = strconv.Itoa(id)
	}
	return strings.Join(ids, " ")
}

// holders are those that have leases, each once.
func holders(leases []api.Lease) string {
	var names []string
	for _, l := range leases {
		if !slices.Contains(names, l.Holder) {
			names = append(names, l.Holder)
		}
	}
	return strings.Join(names, " ")
}

// tries is how often a call is tried again.
func (p *printer) tries(n int) string {
	switch n {
	case 0:
		return p.say("never", "不重试")
	case 1:
		return p.say("once", "1 次")
	}
	return fmt.Sprintf(p.say("%d times", "%d 次"), n)
}

// atOnce is how many calls there may be at once; "" for any number.
func (p *printer) atOnce(l *api.CallLimits) string {
	if l == nil || l.Concurrency == 0 {
		return ""
	}
	return fmt.Sprintf(p.say("%d, and %d that wait", "%d 个，另可有 %d 个排队"), l.Concurrency, l.Queue)
}

// rate is how many calls there may be in a time; "" for any number.
func (p *printer) rate(l *api.CallLimits) string {
	if l == nil || l.Rate == 0 {
		return ""
	}
	n, unit := l.Rate, p.say("second", "秒")
	switch { // a rate of less than one is hard to imagine
	case n < 1./60:
		n, unit = n*3600, p.say("hour", "小时")
	case n < 1:
		n, unit = n*60, p.say("minute", "分钟")
	}
	each := strconv.FormatFloat(n, 'g', 4, 64)
	return fmt.Sprintf(p.say("%s a %s, up to %d at once", "每%[2]s %[1]s 个，最多 %[3]d 个同时到来"), each, unit, l.Burst)
}

// validated tells of arguments that are not looked at; "" if they are.
func (p *printer) validated(on bool) string {
	if on {
		return ""
	}
	return p.say("sent as they are", "原样发送，不检查")
}

// breaker is whether calls are kept away from a server; "" if they are not.
func (p *printer) breaker(state string) string {
	switch state {
	case "open":
		return p.paint(red, p.say("no: the last ones failed", "否：最近的调用都失败了"))
	case "half-open":
		return p.paint(yellow, p.say("one, to try", "放行一次试探"))
	}
	return ""
}
