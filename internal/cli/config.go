package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type configCommands struct {
	Path   configPath   `cmd:"" help:"Print where the configuration file is."`
	Check  configCheck  `cmd:"" help:"Look for what is wrong in a file, without a hub."`
	Schema configSchema `cmd:"" help:"Print the JSON Schema of the file."`
	Show   configShow   `cmd:"" help:"Print the file, with its secrets masked."`
	Reload configReload `cmd:"" help:"Have the running hub read its file again."`
}

type configPath struct{}

// Run prints the path, whether the file is there or not.
func (configPath) Run(s *session) error {
	opt, err := s.hubOptions("", nil)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.out.json(map[string]any{"path": opt.Config, "exists": exists(opt.Config)})
	}
	s.out.line("%s", opt.Config)
	return nil
}

type configCheck struct {
	File string `arg:"" optional:"" help:"The file; the one in use if not given." type:"path"`
}

// Run checks the file. The exit code is 1 if it cannot be used.
func (c *configCheck) Run(s *session) error {
	path := c.File
	if path == "" {
		opt, err := s.hubOptions("", nil)
		if err != nil {
			return err
		}
		path = opt.Config
		if s.Config == "" && !exists(path) && !s.JSON {
			s.out.line(s.out.say("There is no file %s yet; the built-in servers run without one.", "%s 尚不存在；内置服务器无需配置即可运行。"), path)
			return nil
		}
	}
	check, err := s.checkFile(path)
	if err != nil {
		return err
	}
	if s.JSON {
		if err := s.out.json(check); err != nil {
			return err
		}
	} else {
		s.places(path, check.Problems)
		for i := range check.Warnings {
			check.Warnings[i].Detail = s.out.say("warning: ", "警告：") + check.Warnings[i].Detail
		}
		s.places(path, check.Warnings)
	}
	if !check.Valid {
		return exit(exitFailure)
	}
	if !s.JSON {
		s.out.line(s.out.say("%s is fine. Servers, with the built-in ones: %d", "%s 没有问题。服务器（含内置）：%d"), path, len(check.Diff.Added))
	}
	return nil
}

// checkFile reads a file and returns what is wrong with it; all of its servers
// count as added. The error is that of a file that cannot be read.
func (s *session) checkFile(path string) (api.ConfigCheck, error) {
	check := api.ConfigCheck{
		Problems: []api.ConfigProblem{}, Warnings: []api.ConfigProblem{},
		Diff: api.ConfigDiff{Added: []string{}, Changed: []string{}, Restarted: []string{}, Removed: []string{}, Unchanged: []string{}, NextStart: []string{}},
	}
	cfg, warnings, err := config.Load(path, app.Builtins())
	for _, w := range warnings {
		check.Warnings = append(check.Warnings, api.ConfigProblem{Line: w.Line, Column: w.Column, Detail: w.In(s.env.Lang)})
	}
	if problems, ok := errors.AsType[config.Problems](err); ok {
		for _, p := range problems {
			check.Problems = append(check.Problems, s.problem(p))
		}
		return check, nil
	}
	if err != nil {
		return check, err
	}
	check.Valid, check.Diff.Views = true, len(cfg.Groups)+len(cfg.Profiles) > 0
	for _, v := range cfg.Servers {
		check.Diff.Added = append(check.Diff.Added, v.Key)
	}
	return check, nil
}

// problem is a problem of a configuration in the shape of the API.
func (s *session) problem(e *hub.Error) api.ConfigProblem {
	var p api.ConfigProblem
	_, errLine := fmt.Sscan(e.Args["line"], &p.Line)
	_, errColumn := fmt.Sscan(e.Args["column"], &p.Column)
	if p.Detail = e.Values(s.env.Lang)["detail"]; p.Detail == "" || errLine != nil || errColumn != nil {
		return api.ConfigProblem{Detail: e.In(s.env.Lang)}
	}
	return p
}

type configSchema struct{}

// Run prints the schema.
func (configSchema) Run(s *session) error {
	_, err := s.env.Stdout.Write(config.Schema())
	return err
}

type configShow struct{}

// Run prints the file.
func (configShow) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		text, err := h.Config(ctx)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(text)
		}
		if text.Text == "" {
			s.out.line(s.out.say("There is no file %s yet.", "%s 尚不存在。"), text.Path)
			return nil
		}
		_, err = fmt.Fprint(s.env.Stdout, text.Text)
		return err
	})
}

type configReload struct{}

// Run has the running hub read its file again.
func (configReload) Run(ctx context.Context, s *session) error {
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	check, err := h.ReloadConfig(ctx)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.out.json(check)
	}
	s.diff(check.Diff)
	return nil
}

// diff prints what became of the servers, the views and the settings.
func (s *session) diff(d api.ConfigDiff) {
	say, none := s.out.say, true
	for _, group := range []struct {
		sign  string
		style style
		what  string
		keys  []string
	}{
		{"+", green, say("added", "新增"), d.Added},
		{"~", yellow, say("changed", "更改"), d.Changed},
		{"-", red, say("removed", "移除"), d.Removed},
	} {
		for _, key := range group.keys {
			none = false
			what := group.what
			if slices.Contains(d.Restarted, key) {
				what += say(", restarts", "，将重启")
			}
			s.out.line("%s", s.out.paint(group.style, group.sign+" "+clean(key)+"  "+what))
		}
	}
	if d.Views {
		s.out.line("%s", s.out.paint(yellow, "~ "+say("groups or clients changed", "分组或客户端设定更改")))
	}
	if d.Settings {
		s.out.line("%s", s.out.paint(yellow, "~ "+say("settings of Toolcrib itself changed", "Toolcrib 自身的设定更改")))
	}
	for _, member := range d.NextStart {
		none = false
		s.out.line("%s", s.out.paint(yellow, "~ "+clean(member)+"  "+say("takes effect at the next start", "下次启动时生效")))
	}
	if none && !d.Views && !d.Settings {
		s.out.line("%s", say("Nothing has changed.", "没有变化。"))
	}
}
