package cli

import (
	"context"
	"errors"

	"github.com/toolcrib/toolcrib/internal/api"
)

// chosen is which servers a command is about.
type chosen struct {
	Keys []string `arg:"" optional:"" name:"key" help:"Keys of the servers." complete:"server"`
	All  bool     `help:"All servers for which it makes sense."`
}

type (
	serverEnable  struct{ chosen }
	serverDisable struct{ chosen }
	serverStart   struct{ chosen }
	serverStop    struct{ chosen }
	serverRestart struct{ chosen }
	serverRefresh struct{ chosen }
)

func isEnabled(v api.Server) bool  { return v.Enabled }
func isDisabled(v api.Server) bool { return !v.Enabled }

// Run enables servers.
func (c *serverEnable) Run(ctx context.Context, s *session) error {
	return s.act(ctx, api.ActionEnable, c.chosen, isDisabled)
}

// Run disables servers.
func (c *serverDisable) Run(ctx context.Context, s *session) error {
	return s.act(ctx, api.ActionDisable, c.chosen, isEnabled)
}

// Run starts servers.
func (c *serverStart) Run(ctx context.Context, s *session) error {
	return s.act(ctx, api.ActionStart, c.chosen, isEnabled)
}

// Run stops servers.
func (c *serverStop) Run(ctx context.Context, s *session) error {
	return s.act(ctx, api.ActionStop, c.chosen, isEnabled)
}

// Run restarts servers.
func (c *serverRestart) Run(ctx context.Context, s *session) error {
	return s.act(ctx, api.ActionRestart, c.chosen, isEnabled)
}

// Run refreshes servers.
func (c *serverRefresh) Run(ctx context.Context, s *session) error {
	return s.act(ctx, api.ActionRefresh, c.chosen, isEnabled)
}

// act does an action with each of the servers, one after the other, and shows
// how they are then. What goes wrong with one does not keep it from the rest.
func (s *session) act(ctx context.Context, action string, c chosen, fits func(api.Server) bool) error {
	if c.All == (len(c.Keys) > 0) {
		return misuse("server "+action, s.out.say("give the keys of servers, or --all", "请给出服务器的键，或用 --all"))
	}
	return s.with(ctx, func(h *link) error {
		if c.All {
			list, err := h.Servers(ctx)
			if err != nil {
				return err
			}
			for _, v := range list.Servers {
				if fits(v) {
					c.Keys = append(c.Keys, v.Key)
				}
			}
		}
		done := api.ServerList{Servers: []api.Server{}}
		var failed error
		for _, key := range c.Keys {
			v, err := h.ServerAction(ctx, key, action)
			if err != nil {
				failed = errors.Join(failed, h.guess(ctx, err, servers, key))
				continue
			}
			done.Servers = append(done.Servers, v)
		}
		if s.JSON {
			return errors.Join(failed, s.out.json(done))
		}
		switch {
		case len(done.Servers) > 0:
			s.servers(done.Servers)
		case failed == nil:
			s.out.line("%s", s.out.say("There is no server for which that makes sense.", "没有适用的服务器。"))
		}
		if failed == nil && h.own && (action == api.ActionStart || action == api.ActionStop || action == api.ActionRestart) {
			s.out.line("%s", s.out.say(
				"No hub is running, so this held for the length of the command only. Start one with: toolcrib serve",
				"没有运行中的 Toolcrib，上述操作仅在此命令期间有效。启动：toolcrib serve"))
		}
		return failed
	})
}

type serverRemove struct {
	Keys []string `arg:"" name:"key" help:"Keys of the servers." complete:"server"`
}

// Run removes servers.
func (c *serverRemove) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		var failed error
		for _, key := range c.Keys {
			if err := h.RemoveServer(ctx, key); err != nil {
				failed = errors.Join(failed, h.guess(ctx, err, servers, key))
				continue
			}
			if !s.JSON {
				s.out.line(s.out.say("Removed %s.", "已移除 %s。"), clean(key))
			}
		}
		return failed
	})
}
