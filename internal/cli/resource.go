package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type resourceCommands struct {
	List resourceList `cmd:"" help:"List the resources and templates that are offered." default:"withargs"`
	Read resourceRead `cmd:"" help:"Print what is in a resource."`
}

// of is of what a list is.
type of struct {
	Server string `help:"Only those of this server." placeholder:"KEY" complete:"server"`
	Group  string `help:"Those of this group." placeholder:"NAME" complete:"group"`
}

// ready makes sure that a list tells everything: a hub that was started for this
// command has asked no server yet.
func (o *of) ready(ctx context.Context, h *link) error {
	if o.Server != "" {
		if _, err := h.Server(ctx, o.Server); err != nil {
			return h.guess(ctx, err, servers, o.Server) // a wrong key is not a server without anything
		}
	}
	if o.Group != "" {
		if _, err := h.Group(ctx, o.Group); err != nil {
			return h.guess(ctx, err, groups, o.Group)
		}
	}
	if h.own {
		h.learn(ctx, o.Server)
	}
	return nil
}

// informed asks the hub for something by a name. A hub that was started for this
// command may not know it only because it has asked no server yet: then it asks
// them all, and is asked again.
func informed[T any](ctx context.Context, h *link, k kind, ask func() (T, error)) (T, error) {
	v, err := ask()
	if h.own && apiclient.IsCode(err, k.unknown()) {
		h.learn(ctx, "")
		v, err = ask()
	}
	return v, err
}

type resourceList struct{ of }

// Run lists the resources, then the templates.
func (c *resourceList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		if err := c.ready(ctx, h); err != nil {
			return err
		}
		list, err := h.Resources(ctx, c.Server, c.Group)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		s.resources(list)
		return nil
	})
}

func (s *session) resources(list api.ResourceList) {
	say := s.out.say
	if len(list.Resources)+len(list.Templates) == 0 {
		s.out.line("%s", say("No resources.", "没有资源。"))
		return
	}
	var rows []row
	add := func(uri, server, kind, name, title, about string) {
		for _, text := range []string{title, name} {
			if about == "" {
				about = text
			}
		}
		rows = append(rows, row{cells: []string{s.out.paint(bold, clean(uri)), clean(server), clean(kind), sentence(about)}})
	}
	for _, r := range list.Resources {
		add(r.URI, r.Server, r.MIMEType, r.Name, r.Title, r.Description)
	}
	for _, r := range list.Templates {
		add(r.URITemplate, r.Server, r.MIMEType, r.Name, r.Title, r.Description)
	}
	s.out.table([]string{"URI", say("SERVER", "服务器"), say("TYPE", "类型"), say("DESCRIPTION", "说明")}, rows)
}

type resourceRead struct {
	URI string `arg:"" help:"URI of the resource." complete:"resource"`
	Out string `short:"o" help:"Save data that is no text." type:"path" placeholder:"FILE"`
}

// Run prints what is in a resource.
func (c *resourceRead) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		answer, err := informed(ctx, h, resources, func() (api.Answer, error) { return h.ReadResource(ctx, c.URI) })
		if err != nil {
			return h.guess(ctx, err, resources, c.URI)
		}
		if s.JSON {
			return s.out.json(answer)
		}
		var result struct {
			Contents []struct {
				URI      string  `json:"uri"`
				MIMEType string  `json:"mimeType"`
				Text     *string `json:"text"`
				Blob     []byte  `json:"blob"`
			} `json:"contents"`
		}
		if err := json.Unmarshal(answer.Result, &result); err != nil {
			return hub.E(message.ServerBadReply, err).With("detail", message.Say("it is not what is in a resource"))
		}
		p := s.contents(c.Out)
		for _, part := range result.Contents {
			if part.Text != nil {
				p.text(*part.Text)
				continue
			}
			if err := p.data(part.URI, part.MIMEType, part.Blob); err != nil {
				return err
			}
		}
		return nil
	})
}

// contents prints content to standard output.
func (s *session) contents(out string) *contentPrinter {
	return &contentPrinter{printer: s.out, terminal: s.env.Width > 0, out: out}
}

type promptCommands struct {
	List promptList `cmd:"" help:"List the prompts that are offered." default:"withargs"`
	Get  promptGet  `cmd:"" help:"Print a prompt that is filled in."`
}

type promptList struct{ of }

// Run lists the prompts.
func (c *promptList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		if err := c.ready(ctx, h); err != nil {
			return err
		}
		list, err := h.Prompts(ctx, c.Server, c.Group)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		say := s.out.say
		if len(list.Prompts) == 0 {
			s.out.line("%s", say("No prompts.", "没有提示。"))
			return nil
		}
		rows := make([]row, len(list.Prompts))
		for i, v := range list.Prompts {
			about := v.Description
			if about == "" {
				about = v.Title
			}
			rows[i] = row{cells: []string{s.out.paint(bold, clean(v.Name)), clean(v.Server), taken(v.Arguments), sentence(about)}}
		}
		s.out.table([]string{say("PROMPT", "提示"), say("SERVER", "服务器"), say("ARGUMENTS", "参数"), say("DESCRIPTION", "说明")}, rows)
		return nil
	})
}

// taken are the names of arguments, in brackets if they can be left out.
func taken(arguments []api.PromptArgument) string {
	var names []string
	for _, a := range arguments {
		name := oneLine(a.Name)
		if !a.Required {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

type promptGet struct {
	Name      string   `arg:"" help:"Name of the prompt." complete:"prompt"`
	Arguments []string `arg:"" optional:"" help:"One JSON object; or NAME=VALUE ... (@FILE for what is in a file); or \"-\" for JSON on standard input."`
}

// Run prints a prompt that is filled in.
func (c *promptGet) Run(ctx context.Context, s *session) error {
	whole, each, err := parseArguments(c.Arguments, s.env.Stdin)
	if err != nil {
		return err
	}
	if len(each) > 0 {
		texts := make(map[string]string, len(each)) // whatever looks like a number: a prompt takes texts only
		for _, a := range each {
			if a.json {
				return unfit("%s is to be a text: write NAME=VALUE", message.Quote(a.name))
			}
			texts[a.name] = a.text
		}
		if whole, err = json.Marshal(texts); err != nil {
			return err
		}
	}
	return s.with(ctx, func(h *link) error {
		get := api.PromptGet{Name: c.Name, Arguments: whole}
		answer, err := informed(ctx, h, prompts, func() (api.Answer, error) { return h.GetPrompt(ctx, get) })
		if err != nil {
			return h.guess(ctx, err, prompts, c.Name)
		}
		if s.JSON {
			return s.out.json(answer)
		}
		var result struct {
			Messages []struct {
				Role    string  `json:"role"`
				Content content `json:"content"`
			} `json:"messages"`
		}
		if err := json.Unmarshal(answer.Result, &result); err != nil {
			return hub.E(message.ServerBadReply, err).With("detail", message.Say("it is not a prompt"))
		}
		p := s.contents("")
		for _, m := range result.Messages {
			p.line("%s", p.paint(dim, oneLine(m.Role)+":"))
			if err := p.block(m.Content); err != nil {
				return err
			}
		}
		return nil
	})
}
