package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/message"
)

// learnLimit is how long servers may take that are asked for their tools only
// to list them.
const learnLimit = 20 * time.Second

type toolCommands struct {
	List toolList `cmd:"" help:"List the tools that are offered." default:"withargs"`
	Show toolShow `cmd:"" help:"Show one tool with its parameters."`

	Test toolTrial `cmd:"" help:"Call the tools that a file names, and say how each call went."`
}

type toolList struct{ of }

// Run lists the tools.
func (c *toolList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		if err := c.ready(ctx, h); err != nil {
			return err
		}
		list, err := h.Tools(ctx, c.Server, c.Group)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		say := s.out.say
		if len(list.Tools) == 0 {
			s.out.line("%s", say("No tools. Why a server offers none is shown by: toolcrib server list", "没有工具。原因可见：toolcrib server list"))
			return nil
		}
		rows := make([]row, len(list.Tools))
		for i, t := range list.Tools {
			about := t.Description
			if about == "" {
				about = t.Title
			}
			rows[i] = row{cells: []string{s.out.paint(bold, clean(t.Name)), clean(t.Server), s.mark(t), sentence(about)}}
		}
		s.out.table([]string{say("TOOL", "工具"), say("SERVER", "服务器"), say("KIND", "性质"), say("DESCRIPTION", "说明")}, rows)
		return nil
	})
}

// learn asks the servers that nobody has asked yet for what they have: the one
// with the key, or all. Those that do not tell are passed over; the list of
// servers says why.
func (h *link) learn(ctx context.Context, key string) {
	list, err := h.Servers(ctx)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, learnLimit)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(maxTests)
	for _, v := range list.Servers {
		if v.Enabled && v.Tools+v.Hidden+v.Resources+v.Templates+v.Prompts == 0 && (key == "" || key == v.Key) {
			group.Go(func() error {
				_, err := h.ServerAction(ctx, v.Key, api.ActionRefresh)
				return err
			})
		}
	}
	_ = group.Wait()
}

// mark says what calling a tool can do.
func (s *session) mark(t api.Tool) string {
	switch {
	case t.ReadOnly:
		return s.out.say("reads", "只读")
	case t.Idempotent:
		return s.out.say("repeatable", "可重复")
	}
	return s.out.say("acts", "操作")
}

type toolShow struct {
	Name string `arg:"" help:"Name of the tool." complete:"tool"`
}

// Run shows one tool. With --json its definition is whole.
func (c *toolShow) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		t, err := h.tool(ctx, c.Name)
		if err != nil {
			return h.guess(ctx, err, tools, c.Name)
		}
		if s.JSON {
			return s.out.json(t)
		}
		s.tool(t)
		return nil
	})
}

func (s *session) tool(t api.Tool) {
	p, say := s.out, s.out.say
	p.line("%s  %s  %s", p.paint(bold, clean(t.Name)), s.mark(t), oneLine(t.Title))
	own := t.Tool
	if own == t.Name {
		own = ""
	}
	p.fields(say("Server", "服务器"), clean(t.Server)+"  "+p.state(t.State), say("Its own name", "原名"), clean(own))
	if t.Description != "" {
		p.line("")
		p.line("%s", clean(strings.TrimSpace(t.Description)))
	}
	p.line("")
	params := parameters(t.Definition)
	if len(params) == 0 {
		p.line("%s", say("It takes no parameters.", "无需参数。"))
		return
	}
	rows := make([]row, len(params))
	for i, v := range params {
		need := ""
		if v.required {
			need = say("required", "必填")
		}
		about := v.schema.about()
		if d := v.schema.Description; d != "" {
			about = strings.TrimPrefix(about+"; "+d, "; ")
		}
		rows[i] = row{cells: []string{p.paint(bold, clean(v.name)), v.schema.kind(), need, oneLine(about)}}
	}
	p.table([]string{say("PARAMETER", "参数"), say("TYPE", "类型"), say("NEEDED", "必填"), say("DESCRIPTION", "说明")}, rows)
	p.line("")
	p.line(say("Call it: %s", "调用：%s"), sample(t))
}

// sample is a command that calls the tool, but for the values.
func sample(t api.Tool) string {
	words := []string{"toolcrib call", clean(t.Name)}
	for _, p := range parameters(t.Definition) {
		if p.required {
			words = append(words, clean(p.name)+"=...")
		}
	}
	return strings.Join(words, " ")
}

// tool tells about one tool. One whose server has never been asked for its
// tools is asked for now: by its name, the first half of which is the
// server's key. If that server is disabled or stopped, the error says so.
func (h *link) tool(ctx context.Context, name string) (api.Tool, error) {
	t, err := h.Tool(ctx, name)
	if !apiclient.IsCode(err, message.ToolUnknown) {
		return t, err
	}
	list, listErr := h.Servers(ctx)
	if listErr != nil {
		return t, err
	}
	for _, v := range list.Servers {
		if strings.HasPrefix(name, v.Key+"__") && v.Tools == 0 {
			if _, err := h.ServerAction(ctx, v.Key, api.ActionRefresh); err != nil {
				return t, err
			}
			return h.Tool(ctx, name)
		}
	}
	return t, err
}

// objectFor makes the JSON object of arguments of a tool that were given one by one.
// Elsewhere is for tools that another tenant sees, or that have their names from a group:
// what goes by such a name here may be another one, and no types are guessed.
func (h *link) objectFor(ctx context.Context, each []argument, name string, elsewhere bool) (json.RawMessage, error) {
	if elsewhere {
		if slices.ContainsFunc(each, func(a argument) bool { return !a.json }) {
			return nil, unfit("it is not known here of which types they are; write NAME:=JSON")
		}
		return object(each, name, nil)
	}
	t, err := h.tool(ctx, name)
	if err != nil {
		return nil, err
	}
	return object(each, t.Name, parameters(t.Definition))
}

// parameter is one parameter of a tool.
type parameter struct {
	name     string
	required bool
	schema   schema
}

// parameters are what a tool takes, in the order of its definition. A
// definition that says it in an unusual way has none that are known.
func parameters(definition json.RawMessage) []parameter {
	var tool struct {
		InputSchema schema `json:"inputSchema"`
	}
	if json.Unmarshal(definition, &tool) != nil {
		return nil
	}
	return tool.InputSchema.members()
}

// member is one member of a JSON object.
type member struct {
	name string
	raw  json.RawMessage
}

// members are the members of a JSON object in their order; nil if it is none.
func members(raw json.RawMessage) []member {
	d := json.NewDecoder(bytes.NewReader(raw))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil
	}
	var all []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		m := member{}
		m.name, _ = name.(string)
		if err := d.Decode(&m.raw); err != nil {
			return nil
		}
		all = append(all, m)
	}
	return all
}
