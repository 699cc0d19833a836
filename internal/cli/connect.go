package cli

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/config/importer"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type connect struct {
	Client string `arg:"" help:"The client: ${connectable}. With --url it is to reach the hub there over HTTP, else it starts \"toolcrib stdio\"." complete:"connectable"`
	Group  string `help:"Offer it what this group has, and nothing else." placeholder:"NAME" complete:"group"`
	Print  bool   `help:"Only print what would be entered."`
	Undo   bool   `help:"Take back what was entered last."`
}

// clientNames are the programs whose files are known; only those that can be
// connected, if so asked for.
func clientNames(connectable bool) []string {
	var names []string
	for _, c := range importer.Clients() {
		if !connectable || c.Connectable() {
			names = append(names, c.Name)
		}
	}
	return names
}

// Run enters Toolcrib in the client's file, or takes it back.
func (c *connect) Run(ctx context.Context, s *session) error {
	client, err := importer.Lookup(c.Client)
	if err != nil {
		return err
	}
	if c.Group != "" && !c.Undo {
		if err := s.hasGroup(ctx, c.Group); err != nil {
			return err
		}
	}
	connection, err := s.connection(client, c.Group)
	if err != nil {
		return err
	}
	if c.Print {
		// Of an empty file: another one may hold secrets.
		text, err := importer.Connect(client, nil, connection)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.env.Stdout, "%s\n", strings.TrimSpace(string(text)))
		return err
	}
	system, err := importer.ThisSystem()
	if err != nil {
		return fmt.Errorf("find the home directory: %w", err)
	}
	path, err := importer.Target(client, system)
	if err != nil {
		return err
	}
	do := func() (importer.Change, error) { return importer.Install(client, path, connection) }
	tell := func(client importer.Client, change importer.Change) { s.connected(client, c.Group, change) }
	if c.Undo {
		do, tell = func() (importer.Change, error) { return importer.Undo(client, path) }, s.undone
	}
	change, err := do()
	if err != nil {
		return err
	}
	if s.JSON {
		return s.out.json(map[string]any{"path": change.Path, "changed": change.Changed, "backup": change.Backup})
	}
	tell(client, change)
	return nil
}

// hasGroup is an error if the hub says that there is no such group, as a client
// that is connected to it would get nothing. A hub that cannot be asked, such as
// one on another machine that is off, may have it.
func (s *session) hasGroup(ctx context.Context, name string) error {
	err := s.with(ctx, func(h *link) error {
		_, err := h.Group(ctx, name)
		return h.guess(ctx, err, groups, name)
	})
	if apiclient.IsCode(err, message.GroupUnknown) {
		return err
	}
	return nil
}

// connection is how a client is to reach this hub: by the hub's URL if one is
// given, else by this program. Clients have an environment of their own, so
// that a place other than the usual one is said by flags.
func (s *session) connection(client importer.Client, group string) (importer.Connection, error) {
	if s.URL != "" {
		c, err := apiclient.New(apiclient.Options{URL: s.URL})
		if err != nil {
			return importer.Connection{}, err
		}
		if group != "" {
			group = "/" + url.PathEscape(group)
		}
		return importer.Connection{URL: c.Where() + "/mcp" + group}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return importer.Connection{}, fmt.Errorf("find this program: %w", err)
	}
	args := []string{"stdio", "--client", client.Name}
	if group != "" {
		args = append(args, "--group", group)
	}
	if s.DataDir != "" || os.Getenv(datadir.EnvPath) != "" {
		dir, err := s.dataDir()
		if err != nil {
			return importer.Connection{}, err
		}
		args = append(args, "--data-dir", dir)
	}
	if s.Config != "" || os.Getenv(config.EnvPath) != "" {
		opt, err := s.hubOptions("", nil)
		if err != nil {
			return importer.Connection{}, err
		}
		args = append(args, "--config", opt.Config)
	}
	return importer.Connection{Command: self, Args: args}, nil
}

func (s *session) connected(client importer.Client, group string, change importer.Change) {
	p, say := s.out, s.out.say
	if !change.Changed {
		p.line(say("%s is connected already: %s", "%s 已连接：%s"), client.Title, change.Path)
		return
	}
	p.line(say("Entered Toolcrib in %s", "已将 Toolcrib 写入 %s"), change.Path)
	if change.Backup != "" {
		p.line(say("  The file as it was: %s", "  原文件备份：%s"), change.Backup)
	}
	p.line(say("  To undo it: %s", "  撤销：%s"), "toolcrib connect "+client.Name+" --undo")
	if group != "" {
		p.line(say("Restart %s; it will offer what the group %s has.", "请重启 %s，即可使用分组 %s 的内容。"), client.Title, clean(group))
		return
	}
	p.line(say("Restart %s; it will offer the tools of all your servers.", "请重启 %s，即可使用所有服务器的工具。"), client.Title)
}

func (s *session) undone(client importer.Client, change importer.Change) {
	p, say := s.out, s.out.say
	switch {
	case !change.Changed:
		p.line(say("%s was not connected any more: %s", "%s 已不再连接：%s"), client.Title, change.Path)
	case change.Partly:
		p.line(say("Took Toolcrib out of %s; what was changed in it since stays.", "已从 %s 移除 Toolcrib；其后的其他更改保留。"), change.Path)
	default:
		p.line(say("%s is again what it was.", "%s 已恢复原状。"), change.Path)
	}
}

// locate finds the file of a program to import from. Further files that it has
// are named, so that they can be given by their paths.
func (s *session) locate(name string) (string, error) {
	client, err := importer.Lookup(name)
	if err != nil {
		return "", err
	}
	system, err := importer.ThisSystem()
	if err != nil {
		return "", hub.E(message.FileUnreadable, err, "path", "~").With("detail", message.Cause(err))
	}
	found, err := importer.Locate(client, system)
	if err != nil {
		return "", err
	}
	if !s.JSON {
		for _, path := range found[1:] {
			s.out.line(s.out.say("There is also %s; take it over with: toolcrib import FILE", "另有 %s；可用 toolcrib import FILE 导入"), path)
		}
	}
	return found[0], nil
}
