package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type secretCommands struct {
	List   secretList   `cmd:"" help:"List the names of the sealed values, and who uses them." default:"withargs"`
	Set    secretSet    `cmd:"" help:"Seal a value, which is typed or piped in."`
	Remove secretRemove `cmd:"" help:"Forget a sealed value."`
}

type secretList struct{}

// Run lists names; no command shows a value.
func (secretList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		list, err := h.Secrets(ctx)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		say := s.out.say
		if len(list.Secrets) == 0 {
			s.out.line("%s", say("No sealed values. Seal one: toolcrib secret set NAME", "没有密封值。添加：toolcrib secret set NAME"))
			return nil
		}
		rows := make([]row, len(list.Secrets))
		for i, v := range list.Secrets {
			rows[i] = row{cells: []string{clean(v.Name), v.Set.Local().Format(time.DateTime), clean(strings.Join(v.Used, ", "))}}
		}
		s.out.table([]string{say("NAME", "名称"), say("SET", "设定时间"), say("USED BY", "使用者")}, rows)
		return nil
	})
}

type secretSet struct {
	Name string `arg:"" help:"Name; the configuration refers to it as $${secret:NAME}."`
}

// Run seals a value.
func (c *secretSet) Run(ctx context.Context, s *session) error {
	value, err := s.readSecret(ctx, c.Name)
	if err != nil {
		return err
	}
	return s.with(ctx, func(h *link) error {
		if err := h.SetSecret(ctx, c.Name, value); err != nil {
			return err
		}
		if !s.JSON {
			s.out.line(s.out.say("Sealed. Refer to it as ${secret:%s}", "已密封。在配置中写作 ${secret:%s}"), c.Name)
		}
		return nil
	})
}

// readSecret asks for a value without showing what is typed, or reads what is
// piped in, without the last line's end. When ctx ends it gives up a person who
// types.
func (s *session) readSecret(ctx context.Context, name string) (string, error) {
	var value string
	if f, ok := s.env.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(s.env.Stderr, s.out.say("Value of %s (not shown): ", "%s 的值（不显示）："), clean(name))
		raw, err := readHidden(ctx, int(f.Fd()))
		fmt.Fprintln(s.env.Stderr)
		if err != nil {
			if ctx.Err() != nil {
				return "", err
			}
			return "", unreadable("terminal", err)
		}
		value = string(raw)
	} else {
		text, err := readAll("standard input", s.env.Stdin)
		if err != nil {
			return "", err
		}
		value = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	if value == "" {
		return "", hub.E(message.SecretMissing, nil)
	}
	return value, nil
}

// readHidden reads a line from a terminal that does not show it. When ctx ends the
// terminal is as it was before; what reads it ends with the program.
func readHidden(ctx context.Context, terminal int) ([]byte, error) {
	before, err := term.GetState(terminal)
	if err != nil {
		return nil, err
	}
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(terminal)
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return l.text, l.err
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), term.Restore(terminal, before))
	}
}

type secretRemove struct {
	Name string `arg:"" help:"Name of the value."`
}

// Run forgets a value.
func (c *secretRemove) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		if err := h.RemoveSecret(ctx, c.Name); err != nil {
			return err
		}
		if !s.JSON {
			s.out.line(s.out.say("Removed %s.", "已移除 %s。"), clean(c.Name))
		}
		return nil
	})
}
