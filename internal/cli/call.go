package cli

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type call struct {
	Name      string   `arg:"" help:"Name of the tool." complete:"tool"`
	Arguments []string `arg:"" optional:"" help:"One JSON object; or NAME=VALUE ..., each of the type that the tool wants (NAME:=JSON for JSON, @FILE for what is in a file); or \"-\" for JSON on standard input."`

	Trace   bool          `help:"Show progress and the server's log lines, and answer its questions."`
	Timeout time.Duration `help:"Give up after so long." placeholder:"30s"`
	Approve bool          `help:"Agree to the call beforehand, if the rules want somebody to."`
	Out     string        `short:"o" help:"Save images, audio and other data of the result." type:"path" placeholder:"FILE"`
}

// Run calls the tool and prints its result. If the tool says that it failed,
// the exit code is 3.
func (c *call) Run(ctx context.Context, s *session) error {
	whole, each, err := parseArguments(c.Arguments, s.env.Stdin)
	if err != nil {
		return err
	}
	return s.with(ctx, func(h *link) error {
		req := api.Call{Tool: c.Name, Arguments: whole}
		if c.Timeout > 0 {
			req.Timeout = c.Timeout.String()
			limit := hub.E(message.CallTimeout, nil, "tool", message.Quote(c.Name), "limit", c.Timeout.String())
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout+s.patience, limit)
			defer cancel()
		}
		if len(each) > 0 {
			t, err := h.tool(ctx, c.Name)
			if err != nil {
				return h.guess(ctx, err, tools, c.Name)
			}
			if req.Arguments, err = object(each, t.Name, parameters(t.Definition)); err != nil {
				return err
			}
		}
		result, err := c.result(ctx, s, h, req)
		if err != nil {
			return h.guess(ctx, err, tools, c.Name)
		}
		return s.result(result, c.Out)
	})
}

// result makes the call as a caller. If somebody has to agree to it, that is the
// person at the terminal, or whoever has said so beforehand; else the call waits as
// any other does.
func (c *call) result(ctx context.Context, s *session, h *link, req api.Call) (api.CallResult, error) {
	asker, err := s.asker(h)
	if err != nil {
		return api.CallResult{}, err
	}
	var ask func() *prompt // which reads only once it is needed
	if s.env.Terminal {
		ask = sync.OnceValue(func() *prompt { return newPrompt(s.env.Stdin, s.env.Stderr) })
	}
	if asker == h || (ask == nil || s.JSON) && !c.Approve {
		return c.once(ctx, s, asker, ask, req)
	}
	a := &agreement{session: s, decider: h, asker: asker, tool: req.Tool, arguments: req.Arguments, seen: make(map[string]bool)}
	if !c.Approve {
		a.ask = ask
	}
	for {
		done, late, wrong := make(chan struct{}), false, error(nil)
		var watching sync.WaitGroup
		watching.Go(func() { late, wrong = a.watch(ctx, done) })
		result, err := c.once(ctx, s, asker, ask, req)
		close(done)
		watching.Wait()
		if wrong != nil || !late || ctx.Err() != nil {
			return result, errors.Join(err, wrong)
		}
	}
}

func (c *call) once(ctx context.Context, s *session, h *link, ask func() *prompt, req api.Call) (api.CallResult, error) {
	if !c.Trace {
		result, err := h.Call(ctx, req)
		if err == nil && asks(result.Result) != nil {
			err = hub.E(message.QuestionDeclined, nil)
		}
		return result, err
	}
	t := &trace{session: s, link: h}
	if ask != nil {
		t.ask = ask()
	}
	return t.call(ctx, req)
}

// result prints the result of a call.
func (s *session) result(r api.CallResult, out string) error {
	if s.JSON {
		if err := s.out.json(r); err != nil {
			return err
		}
		if r.IsError {
			return exit(exitToolError)
		}
		return nil
	}
	var result struct {
		Content    []content       `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(r.Result, &result); err != nil {
		return hub.E(message.ServerBadReply, err).With("detail", message.Say("it is not a tool's result"))
	}
	w := s.env.Stdout
	if r.IsError {
		w = s.env.Stderr
	}
	p := &contentPrinter{printer: &printer{w: w, color: s.env.Color, lang: s.env.Lang}, terminal: s.env.Width > 0, out: out}
	err := p.print(result.Content, result.Structured)
	if r.IsError {
		return errors.Join(err, exit(exitToolError))
	}
	return err
}
