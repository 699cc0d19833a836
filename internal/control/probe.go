package control

import (
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Bounds of tests.
const (
	maxTests  = 4 // side by side
	testLimit = 90 * time.Second
)

// Step is one step on the way to a working server.
type Step string

// The steps, in their order. Only a server that is a process has a start, and
// a built-in one has no command.
const (
	StepConfig    Step = "config"    // the entry makes sense and its placeholders can be filled in
	StepCommand   Step = "command"   // the command is found; of a remote server, the host is reached
	StepStart     Step = "start"     // the process runs
	StepHandshake Step = "handshake" // it answers as an MCP server
	StepVersion   Step = "version"   // in a revision that is known
	StepAuth      Step = "auth"      // it lets us in
	StepTools     Step = "tools"     // it lists its tools
)

// Probe is how far a test of a server came.
type Probe struct {
	Passed   []Step     // in their order
	Failed   Step       // "" if all is well
	Fault    *hub.Error // why it failed, or nil
	Tools    []string   // the server's own names
	Protocol string
	Info     string
	Stderr   string // without secrets
	Took     time.Duration
}

// Test connects to a server as the fleet would, beside the one that may be
// running and is not touched, asks for its tools, and ends it again: the server
// with the key or, if an entry is given, the one that it would be if the entry
// were written under the key. A value of "${unchanged}" in the entry stands for
// what the file has there.
//
// That the server does not work, or the entry makes no sense, is no error. A
// test takes 90 seconds at most, after which the step under way has failed. The
// error is [message.TestsBusy] while four others are under way, or
// [message.ServerUnknown].
func (c *Control) Test(ctx context.Context, key string, entry []byte) (Probe, error) {
	select {
	case c.tests <- struct{}{}:
		defer func() { <-c.tests }()
	default:
		return Probe{}, hub.E(message.TestsBusy, nil)
	}
	began := time.Now()
	def, err := c.definition(key, entry)
	if hub.IsCode(err, message.ConfigInvalid) {
		return Probe{Failed: StepConfig, Fault: hub.AsError(err), Took: time.Since(began)}, nil
	}
	if err != nil {
		return Probe{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	p := c.probe(ctx, def)
	p.Took = time.Since(began)
	return p, nil
}

// definition is the server to be tested.
func (c *Control) definition(key string, entry []byte) (hub.Server, error) {
	if entry == nil {
		def, ok := find(c.Source().Config, key)
		if !ok {
			return hub.Server{}, unknown(key)
		}
		return def, nil
	}
	if key == "" {
		key = "test"
	}
	own, err := keyOf(key, entry)
	if err != nil {
		return hub.Server{}, err
	}
	src, text, err := c.look()
	if err != nil {
		return hub.Server{}, err
	}
	if text, err = withEntry(text, key, entry); err != nil {
		return hub.Server{}, err
	}
	// As it would be in the file, whose form and folder have a say.
	cfg, _, err := config.Parse(src.Path, text, c.opt.Builtins)
	if err != nil {
		return hub.Server{}, err
	}
	def, ok := find(cfg, own)
	if !ok {
		return hub.Server{}, unknown(own)
	}
	return def, nil
}

func (c *Control) probe(ctx context.Context, def hub.Server) (p Probe) {
	conn, err := c.opt.Probe(ctx, def)
	if err != nil {
		p.Fault = hub.AsError(err)
		p.Failed = stepOf(p.Fault)
		p.Passed = before(def.Kind, p.Failed)
		if p.Failed == StepAuth {
			// A server that lets nobody in does not shake hands either.
			p.Passed = before(def.Kind, StepHandshake)
		}
		return p
	}
	defer conn.Close(context.WithoutCancel(ctx))
	p.Protocol, p.Info = conn.Protocol(), conn.Info()
	tools, err := conn.Tools(ctx)
	p.Stderr = conn.Health().Stderr
	if err != nil {
		p.Failed, p.Fault = StepTools, hub.AsError(err)
		if stepOf(p.Fault) == StepAuth {
			p.Failed = StepAuth
		}
		p.Passed = before(def.Kind, p.Failed)
		return p
	}
	p.Passed = before(def.Kind, "")
	for _, raw := range tools {
		if tool, err := catalog.ParseTool(raw); err == nil { // those that callers could see
			p.Tools = append(p.Tools, tool.Name)
		}
	}
	return p
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
	case message.PlaceholderUnresolved:
		return StepConfig
	case message.CommandNotFound, message.CommandUnusable, message.NodeMissing, message.UvMissing,
		message.ServerUnreachable, message.ServerCertificate:
		return StepCommand
	case message.ServerExited:
		return StepStart
	case message.ServerProtocol:
		return StepVersion
	case message.ServerUnauthorized, message.UpstreamLoginNeeded, message.UpstreamScopeNeeded, message.UpstreamLoginFailed:
		return StepAuth
	}
	return StepHandshake
}
