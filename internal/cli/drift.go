package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type serverDrift struct {
	Key string `arg:"" help:"Key of the server." complete:"server"`
}

// Run shows how a pinned server's tools differ from what was accepted.
func (c *serverDrift) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		drift, err := h.Drift(ctx, c.Key)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(drift)
		}
		if len(drift.Tools) == 0 {
			s.out.line("%s", s.out.say("Nothing has changed since it was accepted.", "自接受以来没有变化。"))
			return nil
		}
		for _, t := range drift.Tools {
			s.drift(t)
		}
		s.out.line(s.out.say("Accept it all with: toolcrib server accept %s", "全部接受：toolcrib server accept %s"), clean(c.Key))
		return nil
	})
}

// drift prints what changed in one tool.
func (s *session) drift(t api.ToolDrift) {
	p, say := s.out, s.out.say
	change := t.Change
	switch change {
	case "added":
		change = say(change, "新增")
	case "changed":
		change = say(change, "更改")
	case "removed":
		change = say(change, "移除")
	}
	p.line("%s  %s", p.paint(bold, oneLine(t.Tool)), change)
	for line := range strings.Lines(t.Diff) {
		line = clean(strings.TrimRight(line, "\n"))
		switch {
		case strings.HasPrefix(line, "+"):
			line = p.paint(green, line)
		case strings.HasPrefix(line, "-"):
			line = p.paint(red, line)
		case strings.HasPrefix(line, "@@"):
			line = p.paint(dim, line)
		}
		p.line("  %s", line)
	}
}

type serverAccept struct {
	Key   string   `arg:"" help:"Key of the server." complete:"server"`
	Tools []string `arg:"" optional:"" name:"tool" help:"The server's own names of the tools; all that changed if not given."`
	Yes   bool     `short:"y" help:"Do not ask."`
}

// Run shows what changed and accepts just that: what the server changes in the
// meantime is refused. On a terminal it asks before.
func (c *serverAccept) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		drift, err := h.Drift(ctx, c.Key)
		if err != nil {
			return err
		}
		seen, err := c.chosen(drift.Tools)
		if err != nil {
			return err
		}
		if yes, err := c.agreed(ctx, s, seen); !yes || err != nil {
			return err
		}
		left := drift
		if len(seen) > 0 {
			if left, err = h.Accept(ctx, c.Key, seen); err != nil {
				return err
			}
		}
		if s.JSON {
			return s.out.json(left)
		}
		say := s.out.say
		s.out.line(say("Accepted: %d. Left: %d.", "已接受：%d 项，剩余：%d 项。"), len(seen), len(left.Tools))
		for _, t := range left.Tools {
			s.out.line("  %s", oneLine(t.Tool))
		}
		return nil
	})
}

// chosen are those of the changes that are to be accepted.
func (c *serverAccept) chosen(all []api.ToolDrift) ([]api.ToolDrift, error) {
	if len(c.Tools) == 0 {
		return all, nil
	}
	var chosen []api.ToolDrift
	for _, name := range c.Tools {
		i := slices.IndexFunc(all, func(t api.ToolDrift) bool { return t.Tool == name })
		if i < 0 {
			return nil, hub.E(message.ToolUnknown, nil, "tool", message.Quote(name))
		}
		if !slices.ContainsFunc(chosen, func(t api.ToolDrift) bool { return t.Tool == name }) {
			chosen = append(chosen, all[i])
		}
	}
	return chosen, nil
}

// agreed shows the changes, and reports whether they are to be accepted.
func (c *serverAccept) agreed(ctx context.Context, s *session, seen []api.ToolDrift) (bool, error) {
	if s.JSON {
		return true, nil
	}
	for _, t := range seen {
		s.drift(t)
	}
	if c.Yes || len(seen) == 0 || !s.env.Terminal {
		return true, nil
	}
	question := fmt.Sprintf(s.out.say("Accept that (%d)?", "接受以上更改（%d 项）？"), len(seen))
	return newPrompt(s.env.Stdin, s.env.Stdout).confirm(ctx, question)
}
