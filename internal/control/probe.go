package control

import (
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Step is one step on the way to a working server.
type Step string

// The steps, in their order. A remote server has no start.
const (
	StepConfig    Step = "config"    // the entry makes sense and its placeholders can be filled in
	StepCommand   Step = "command"   // the command is found; the remote host is reached
	StepStart     Step = "start"     // the process runs
	StepHandshake Step = "handshake" // it answers as an MCP server
	StepVersion   Step = "version"   // in a revision that is known
	StepAuth      Step = "auth"      // it lets us in
	StepTools     Step = "tools"     // it lists its tools
)

// Probe is how far a test of a server came.
type Probe struct {
	Passed   []Step // in their order
	Failed   Step   // "" if all is well
	Fault    *hub.Error
	Command  string // of a process, as it was found in the definition
	Tools    []string
	Protocol string
	Info     string
	Stderr   string
	Took     time.Duration
}

// Test connects to a server as the fleet would, beside the one that may be
// running, and asks for its tools. The server is ended again.
func (c *Control) Test(ctx context.Context, key string) (Probe, error) {
	def, ok := c.Definition(key)
	if !ok {
		return Probe{}, unknown(key)
	}
	return c.probe(ctx, def), nil
}

// TestEntry is Test for an entry that is not saved.
func (c *Control) TestEntry(ctx context.Context, key string, entry []byte) (Probe, error) {
	if key == "" {
		key = "test"
	}
	text, err := config.SetServer(nil, key, entry)
	if err != nil {
		return Probe{}, err
	}
	cfg, _, err := config.Parse("entry", text, c.opt.Builtins)
	if err != nil {
		return Probe{Failed: StepConfig, Fault: hub.AsError(err)}, nil
	}
	for _, s := range cfg.Servers {
		if s.Key == key {
			return c.probe(ctx, s), nil
		}
	}
	return Probe{}, unknown(key)
}

func (c *Control) probe(ctx context.Context, def hub.Server) (p Probe) {
	began := time.Now()
	defer func() { p.Took = time.Since(began) }()
	p.Command = def.Command
	conn, err := c.opt.Probe(ctx, def)
	if err != nil {
		p.fail(def.Kind, stepOf(hub.AsError(err)), err)
		return p
	}
	defer conn.Close(context.WithoutCancel(ctx))
	p.Protocol, p.Info = conn.Protocol(), conn.Info()
	raw, err := conn.Tools(ctx)
	p.Stderr = conn.Health().Stderr
	if err != nil {
		step := StepTools
		if hub.IsCode(err, message.ServerUnauthorized) {
			step = StepAuth
		}
		p.fail(def.Kind, step, err)
		return p
	}
	p.Passed = before(def.Kind, "")
	for _, t := range raw {
		if tool, err := catalog.ParseTool(t); err == nil {
			p.Tools = append(p.Tools, tool.Name)
		}
	}
	return p
}

func (p *Probe) fail(kind hub.Kind, at Step, err error) {
	p.Failed, p.Fault = at, hub.AsError(err)
	p.Passed = before(kind, at)
	if at == StepAuth {
		// A server that lets nobody in does not shake hands either.
		p.Passed = before(kind, StepHandshake)
	}
}

// before is the steps that come before one, all of them if it is "".
func before(kind hub.Kind, at Step) []Step {
	var steps []Step
	for _, s := range [...]Step{StepConfig, StepCommand, StepStart, StepHandshake, StepVersion, StepAuth, StepTools} {
		if s == at {
			break
		}
		if s == StepStart && kind != hub.KindStdio || s == StepCommand && kind == hub.KindBuiltin {
			continue
		}
		steps = append(steps, s)
	}
	return steps
}

// stepOf is the step at which opening a connection failed.
func stepOf(e *hub.Error) Step {
	switch e.Code {
	case message.PlaceholderUnresolved, message.ConfigInvalid:
		return StepConfig
	case message.CommandNotFound, message.NodeMissing, message.UvMissing, message.ServerUnreachable, message.ServerCertificate:
		return StepCommand
	case message.ServerExited, message.CommandUnusable:
		return StepStart
	case message.ServerProtocol:
		return StepVersion
	case message.ServerUnauthorized:
		return StepAuth
	}
	return StepHandshake
}
