package upstream

import (
	"context"
	"maps"
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/npx"
	"github.com/toolcrib/toolcrib/internal/proc"
	"github.com/toolcrib/toolcrib/internal/sandbox"
)

// spec describes the server's process.
func (c *Conn) spec() proc.Spec {
	s := c.opt.Server
	spec := proc.Spec{
		Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir,
		Ledger: c.opt.Processes, Key: s.Key, Limits: proc.Limits(s.Limits),
		OnStderr: func(line string) { c.note(hub.LogStderr, line) },
	}
	if box := s.Sandbox; box != nil {
		spec.Sandbox = &sandbox.Policy{Read: box.Read, Write: box.Write, Connect: box.Connect, Bind: box.Bind}
	}
	if s.DirectNode {
		c.skipNPX(&spec)
	}
	return spec
}

// skipNPX replaces npx by what it would run, if that is known.
func (c *Conn) skipNPX(spec *proc.Spec) {
	program, ok := npx.Resolve(spec.Command, spec.Args, proc.Environ(spec.Env), spec.Dir)
	if !ok {
		return
	}
	env := map[string]string{}
	maps.Copy(env, spec.Env)
	env["PATH"] = program.Path
	spec.Command, spec.Args, spec.Env = program.Node, program.Args, env
	if spec.Sandbox != nil {
		// Where it lies is nothing that could be named.
		spec.Sandbox.Read = append(slices.Clip(spec.Sandbox.Read), program.Root)
	}
	c.direct = true
	c.note(hub.LogHub, "The package is there: node is started without npx.")
}

// retryWithNPX reports whether a connection that did not come about may do so
// with npx, which was left out: the program ended before it had answered, as
// one does that misses something of what npx prepares.
func (c *Conn) retryWithNPX(ctx context.Context, err error) bool {
	if !c.direct || ctx.Err() != nil || !hub.IsCode(err, message.ServerExited) {
		return false
	}
	c.note(hub.LogHub, "Started without npx the server has ended; it is started with it.")
	return true
}
