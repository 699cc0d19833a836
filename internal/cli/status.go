package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/datadir"
)

type status struct{}

// Run shows how the hub is. It starts none.
func (status) Run(ctx context.Context, s *session) error {
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	v, err := h.Status(ctx)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.out.json(v)
	}
	p, say := s.out, s.out.say
	listen := v.Listen
	if listen == "" {
		listen = say("local socket only", "仅本地套接字")
	}
	p.line("%s", p.paint(green, "● ")+p.paint(bold, "Toolcrib "+clean(v.Version)))
	p.fields(
		say("Running for", "已运行"), ago(v.Started),
		say("Start took", "启动耗时"), startOf(v.Phases),
		say("Process", "进程"), strconv.Itoa(v.PID),
		say("Listens at", "监听"), listen,
		say("Data", "数据目录"), v.DataDir,
		say("Configuration", "配置"), v.Config.Path,
		say("Servers", "服务器"), fmt.Sprintf(say("%d, %d ready", "%d 个，%d 个就绪"), v.Servers, v.Ready),
		say("Tools", "工具"), strconv.Itoa(v.Tools),
		say("Resources", "资源"), number(v.Resources),
		say("Prompts", "提示"), number(v.Prompts),
		say("Sessions", "会话"), strconv.Itoa(v.Sessions),
		say("Policy", "规则"), p.modes(v.Policy),
		say("To decide", "待审批"), waiting(v.Approvals),
	)
	s.configProblems(v.Config)
	s.recordProblem(v.Record)
	return nil
}

// modes is at which doors the rules are enforced, and at which they are not.
func (p *printer) modes(by map[string]string) string {
	doors := make(map[string][]string)
	for _, door := range slices.Sorted(maps.Keys(by)) {
		doors[by[door]] = append(doors[by[door]], clean(door))
	}
	var parts []string
	for _, mode := range slices.Sorted(maps.Keys(doors)) {
		parts = append(parts, p.mode(mode)+": "+strings.Join(doors[mode], ", "))
	}
	return strings.Join(parts, "; ")
}

// waiting is how many calls wait for somebody to agree, and how to see them.
func waiting(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n) + "  (toolcrib approval list)"
}

// startOf is how long the start took, and what in it took its time.
func startOf(phases []api.Phase) string {
	var all float64
	var slow []string
	for _, p := range phases {
		all += p.Duration
		if p.Duration >= 1 {
			slow = append(slow, fmt.Sprintf("%s %.0f", clean(p.Name), p.Duration))
		}
	}
	if len(phases) == 0 {
		return ""
	}
	text := fmt.Sprintf("%.0f ms", all)
	if len(slow) > 0 {
		text += " (" + strings.Join(slow, ", ") + ")"
	}
	return text
}

// configProblems tells why the configuration file is not in force.
func (s *session) configProblems(c api.ConfigStatus) {
	if len(c.Problems) == 0 {
		return
	}
	s.out.line("%s", s.out.paint(red, s.out.say(
		"The configuration file is not in force:", "配置文件未生效：")))
	s.places(c.Path, c.Problems)
}

// recordProblem tells that the record of calls cannot be written, or has a gap.
func (s *session) recordProblem(r api.RecordStatus) {
	if !r.Up {
		s.out.line("%s", s.out.paint(red, s.out.unwritable()))
		if r.Reason != "" {
			s.out.line("  %s", oneLine(r.Reason))
		}
		s.out.line("  → %s", s.out.unwritableRemedy())
	}
	if r.Taken != nil {
		s.out.line("%s", s.out.paint(red, oneLine(r.Taken.Reason)))
		s.out.line("  → %s", oneLine(r.Taken.Remedy))
	}
	if r.Lost > 0 {
		s.out.line("%s", s.out.paint(yellow, s.out.gap(r.Lost)))
	}
}

func (p *printer) unwritable() string {
	return p.say("The record of calls cannot be written; calls that may change something are refused.", "调用记录无法写入；可能产生变更的调用会被拒绝。")
}

func (p *printer) unwritableRemedy() string {
	return p.say("The disk may be full, or the database out of reach; the hub's log has the cause.", "磁盘可能已满，或数据库无法连接；原因见 Toolcrib 的日志。")
}

func (p *printer) gap(lost int64) string {
	return fmt.Sprintf(p.say("The record of calls has a gap: %d entries were dropped since the start.", "调用记录有缺口：启动以来丢弃了 %d 条。"), lost)
}

// places prints what was found in a file, a line each.
func (s *session) places(path string, found []api.ConfigProblem) {
	for _, f := range found {
		if f.Line == 0 {
			s.out.line("%s: %s", path, oneLine(f.Detail))
			continue
		}
		s.out.line("%s:%d:%d: %s", path, f.Line, f.Column, oneLine(f.Detail))
	}
}

// attachRunning is attach for a command that makes no sense in a hub of its
// own.
func (s *session) attachRunning(ctx context.Context) (*link, error) {
	if s.URL != "" {
		return s.dial(apiclient.Options{URL: s.URL, Token: s.Token})
	}
	path, err := s.dataDir()
	if err != nil {
		return nil, err
	}
	return s.running(ctx, path)
}

type stop struct{}

// Run stops the hub that is running. It returns when the hub has agreed.
func (stop) Run(ctx context.Context, s *session) error {
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Shutdown(ctx); err != nil {
		return err
	}
	if !s.JSON {
		s.out.line("%s", s.out.say("Toolcrib is stopping.", "Toolcrib 正在停止。"))
	}
	return nil
}

type tokenShow struct {
	Caller bool `help:"The callers' token, which lets others look around and call tools."`
	Reveal bool `help:"Print the token itself."`
}

// Run prints the path of the token, or the token. A hub makes it at its first
// start, so one is started for that if need be.
func (c *tokenShow) Run(ctx context.Context, s *session) error {
	path, err := s.dataDir()
	if err != nil {
		return err
	}
	file := datadir.Layout(path).AdminToken()
	if c.Caller {
		file = datadir.Layout(path).CallerToken()
	}
	token, err := auth.ReadToken(file)
	if err != nil && s.URL == "" && !exists(file) {
		if err := s.with(ctx, func(*link) error { return nil }); err != nil {
			return err
		}
		token, err = auth.ReadToken(file)
	}
	if err != nil {
		return err
	}
	value := map[string]string{"path": file}
	switch {
	case s.JSON && c.Reveal:
		value["token"] = token
		return s.out.json(value)
	case s.JSON:
		return s.out.json(value)
	case c.Reveal:
		s.out.line("%s", token)
	default:
		s.out.line("%s", file)
	}
	return nil
}
