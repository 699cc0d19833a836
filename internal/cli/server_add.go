package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type serverAdd struct {
	Key    string   `arg:"" help:"Key of the server; the first half of its tools' names."`
	Target []string `arg:"" help:"Its URL; or \"--\", then the command that runs it, with its arguments." name:"target"`

	Env         []string      `help:"Environment variable of the command; sealed if it is a secret." placeholder:"NAME=VALUE" sep:"none"`
	Cwd         string        `help:"Directory in which the command runs." placeholder:"DIR"`
	Header      []string      `help:"HTTP header; sealed." placeholder:"'NAME: VALUE'" sep:"none"`
	APIKey      *string       `name:"api-key" help:"Key that is sent as a bearer token, sealed; \"-\" reads it from standard input." placeholder:"KEY"`
	Type        string        `help:"How to talk to it: stdio, http, sse or ws; found out if not given." enum:"stdio,http,sse,ws," default:"" placeholder:"TYPE"`
	Name        string        `help:"Name for people." placeholder:"NAME"`
	Timeout     time.Duration `help:"Time limit of one call." placeholder:"30s"`
	Retries     *int          `help:"How often a call that failed is tried again, if it certainly cannot take effect twice." placeholder:"2"`
	Concurrency int           `help:"Calls at once; further ones wait." placeholder:"N"`
	Rate        string        `help:"Calls in a time, such as 10/s, 100/m or 1000/h." placeholder:"RATE"`
	Cache       time.Duration `help:"Keep results of tools that only read for so long." placeholder:"30s"`
	Pool        string        `help:"Servers of one pool have the same tools: calls go to the one that has the least to do." placeholder:"NAME"`
	Priority    *int          `help:"Higher is listed and resolved first." placeholder:"N"`
	Tools       []string      `help:"Offer only these tools." placeholder:"TOOL"`
	Deny        []string      `help:"Do not offer these tools." placeholder:"TOOL"`
	Disabled    bool          `help:"Add it disabled."`
	Test        bool          `help:"Test it before it is saved." default:"true" negatable:""`
	Force       bool          `help:"Save it also if the test fails."`
}

// definition is an entry of the configuration file, as far as this command
// writes it.
type definition struct {
	Name      string            `json:"name,omitempty"`
	Type      string            `json:"type,omitempty"`
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Cwd       string            `json:"cwd,omitempty"`
	URL       string            `json:"url,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	APIKey    string            `json:"apiKey,omitempty"`
	Enabled   *bool             `json:"enabled,omitempty"`
	Priority  *int              `json:"priority,omitempty"`
	Timeout   string            `json:"timeout,omitempty"`
	Retries   *int              `json:"retries,omitempty"`
	Limits    *callLimits       `json:"callLimits,omitempty"`
	ToolCache string            `json:"toolCache,omitempty"`
	Pool      string            `json:"pool,omitempty"`
	Tools     []string          `json:"tools,omitempty"`
	DenyTools []string          `json:"denyTools,omitempty"`
}

// callLimits are those of an entry, as far as this command writes them.
type callLimits struct {
	Concurrency int    `json:"concurrency,omitempty"`
	Rate        string `json:"rate,omitempty"`
}

// definition is what the flags and arguments say.
func (c *serverAdd) definition(stdin io.Reader) (definition, error) {
	d := definition{
		Name: c.Name, Type: c.Type, Cwd: c.Cwd,
		Priority: c.Priority, Tools: c.Tools, DenyTools: c.Deny, Retries: c.Retries, Pool: c.Pool,
	}
	if c.Concurrency != 0 || c.Rate != "" {
		d.Limits = &callLimits{c.Concurrency, c.Rate}
	}
	if c.Cache != 0 {
		d.ToolCache = c.Cache.String()
	}
	var err error
	switch target := c.Target[0]; {
	case isURL(target) && len(c.Target) == 1:
		d.URL = target
	case isURL(target):
		return d, misuse("server add", "a URL stands alone")
	default:
		d.Command, d.Args = target, c.Target[1:]
	}
	if c.Timeout > 0 {
		d.Timeout = c.Timeout.String()
	}
	if c.Disabled {
		off := false
		d.Enabled = &off
	}
	if d.Env, err = pairs("server add", "--env", "NAME=VALUE", c.Env, "="); err != nil {
		return d, err
	}
	if d.Headers, err = pairs("server add", "--header", "'NAME: VALUE'", c.Header, ":"); err != nil {
		return d, err
	}
	switch {
	case c.APIKey == nil:
	case *c.APIKey == "": // of a variable that is not set
		return d, misuse("server add", "--api-key is empty")
	case *c.APIKey == "-":
		if d.APIKey, err = firstLine(stdin); err != nil {
			return d, err
		}
	default:
		d.APIKey = *c.APIKey
	}
	return d, nil
}

// fromHere makes paths absolute that the person means from the present
// directory, as a shell would: the hub runs elsewhere.
func (d *definition) fromHere() {
	if d.Cwd != "" && !strings.HasPrefix(d.Cwd, "${") {
		d.Cwd = kong.ExpandPath(d.Cwd)
	}
	if strings.ContainsAny(d.Command, "/"+string(filepath.Separator)) && !strings.HasPrefix(d.Command, "${") {
		d.Command = kong.ExpandPath(d.Command)
	}
}

func isURL(text string) bool {
	for _, scheme := range []string{"http://", "https://", "ws://", "wss://"} {
		if strings.HasPrefix(strings.ToLower(text), scheme) {
			return true
		}
	}
	return false
}

// pairs splits each text into a name and a value. The error does not show
// them, as they may be secrets.
func pairs(command, flag, form string, texts []string, sep string) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	m := make(map[string]string, len(texts))
	for _, text := range texts {
		name, value, found := strings.Cut(text, sep)
		if name = strings.TrimSpace(name); !found || name == "" {
			return nil, misuse(command, flag+" = "+form)
		}
		if sep == ":" {
			value = strings.TrimSpace(value)
		}
		m[name] = value
	}
	return m, nil
}

// firstLine reads a secret that is piped in: the first line, without its end.
func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, 1<<16)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", hub.E(message.FileUnreadable, err, "path", "standard input").With("detail", message.Cause(err))
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", hub.E(message.SecretMissing, nil)
	}
	return line, nil
}

// Run tests the server and adds it.
func (c *serverAdd) Run(ctx context.Context, s *session) error {
	d, err := c.definition(s.env.Stdin)
	if err != nil {
		return err
	}
	if s.URL == "" { // else it is about another machine
		d.fromHere()
	}
	entry, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode the entry: %w", err)
	}
	return s.with(ctx, func(h *link) error {
		var test api.TestResult
		if c.Test && !c.Disabled {
			if test, err = h.Test(ctx, api.Test{Key: c.Key, Entry: entry}); err != nil {
				return err
			}
			if !s.JSON {
				s.steps(test)
			}
			if !test.OK && !c.Force && !wantsLogin(test) {
				return hub.E(message.TestFailed, nil, "server", c.Key, "step", failedStep(test))
			}
		}
		v, err := h.AddServer(ctx, api.ServerAdd{Key: c.Key, Entry: entry})
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(v)
		}
		switch p := s.out; {
		case c.Test && !c.Disabled && !test.OK && !wantsLogin(test):
			p.line(p.say("Saved %s all the same, as --force says.", "已按 --force 保存 %s（测试未通过）。"), c.Key)
		default:
			p.line(p.say("Added %s.", "已添加 %s。"), c.Key)
		}
		s.whatNext(ctx, h, v, test)
		return nil
	})
}

// wantsLogin reports whether nothing was wrong in a test but that somebody has to
// log in first, which takes a server that is there.
func wantsLogin(t api.TestResult) bool {
	return slices.ContainsFunc(t.Steps, func(step api.TestStep) bool { return step.Code == string(message.UpstreamLoginNeeded) })
}

// whatNext tells what can be done with a new server.
func (s *session) whatNext(ctx context.Context, h *link, v api.Server, test api.TestResult) {
	say := s.out.say
	if !v.Enabled {
		s.out.line(say("Enable it: %s", "启用它：%s"), "toolcrib server enable "+v.Key)
		return
	}
	if wantsLogin(test) {
		s.out.line(say("Log in: %s", "请登录：%s"), "toolcrib server login "+v.Key)
		return
	}
	if len(test.Tools) == 0 {
		s.out.line(say("See how it is: %s", "查看状态：%s"), "toolcrib server show "+v.Key)
		return
	}
	// The usual name, by which the hub finds the server also if it has not
	// connected it yet.
	name := v.Key + "__" + test.Tools[0]
	tool, err := h.tool(ctx, name)
	if err != nil {
		tool.Name = name
	}
	s.out.line(say("Try: %s", "试试：%s"), sample(tool))
	s.out.line(say("All its tools: %s", "全部工具：%s"), "toolcrib tool list --server "+v.Key)
}

// steps prints how far a test came.
func (s *session) steps(t api.TestResult) {
	p := s.out
	for _, step := range t.Steps {
		sign := p.paint(green, "✓")
		if !step.OK {
			sign = p.paint(red, "✗")
		}
		p.line("%s", strings.TrimRight(fmt.Sprintf("  %s %s  %s", sign, pad(s.step(step.Step), 10), oneLine(step.Detail)), " "))
		if step.Remedy != "" {
			p.line("    → %s", clean(step.Remedy))
		}
	}
	if t.OK {
		took := time.Duration(t.Duration * float64(time.Millisecond)).Round(time.Millisecond)
		p.line(p.say("  %s, MCP %s, tools: %d, in %v", "  %s，MCP %s，工具：%d，用时 %v"), oneLine(t.Info), oneLine(t.Protocol), len(t.Tools), took)
	}
	if !t.OK && t.Stderr != "" {
		p.line("%s", p.paint(dim, p.say("    It wrote to standard error:", "    标准错误输出：")))
		for line := range strings.Lines(t.Stderr) {
			p.line("      %s", clean(strings.TrimRight(line, "\r\n")))
		}
	}
}

// step is the name of a step of a test.
func (s *session) step(step string) string {
	chinese := map[string]string{
		api.StepConfig: "配置", api.StepCommand: "命令", api.StepStart: "启动", api.StepHandshake: "握手",
		api.StepVersion: "版本", api.StepAuth: "认证", api.StepTools: "工具",
	}[step]
	if chinese == "" {
		return step
	}
	return s.out.say(step, chinese)
}

func failedStep(t api.TestResult) string {
	for _, step := range t.Steps {
		if !step.OK {
			return step.Step
		}
	}
	return ""
}
