package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/message"
)

type groupCommands struct {
	List   groupList   `cmd:"" help:"List the groups." default:"withargs"`
	Show   groupShow   `cmd:"" help:"Show one group."`
	Set    groupSet    `cmd:"" help:"Define a group, or change one."`
	Remove groupRemove `cmd:"" help:"Take groups out of the configuration."`
}

type groupList struct{}

// Run lists the groups.
func (groupList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		if h.own {
			h.learn(ctx, "")
		}
		list, err := h.Groups(ctx)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		say := s.out.say
		if len(list.Groups) == 0 {
			s.out.line(say("No groups. Define one: %s", "没有分组。定义一个：%s"), "toolcrib group set NAME --server KEY")
			return nil
		}
		rows := make([]row, len(list.Groups))
		for i, g := range list.Groups {
			rows[i] = row{cells: []string{
				s.out.paint(bold, clean(g.Name)), strconv.Itoa(g.Offers.Tools), strconv.Itoa(g.Offers.Resources),
				strconv.Itoa(g.Offers.Prompts), clean(where(g)), sentence(g.Description),
			}}
		}
		s.out.table([]string{
			say("GROUP", "分组"), say("TOOLS", "工具"), say("RESOURCES", "资源"), say("PROMPTS", "提示"), say("ADDRESS", "地址"), say("DESCRIPTION", "说明"),
		}, rows)
		return nil
	})
}

// where is the address of a group.
func where(g api.Group) string {
	if g.URL != "" {
		return g.URL
	}
	return g.Path
}

type groupShow struct {
	Name string `arg:"" help:"Name of the group." complete:"group"`
}

// Run shows one group.
func (c *groupShow) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		if h.own {
			h.learn(ctx, "")
		}
		g, err := h.Group(ctx, c.Name)
		if err != nil {
			return h.guess(ctx, err, groups, c.Name)
		}
		if s.JSON {
			return s.out.json(g)
		}
		s.group(g)
		return nil
	})
}

func (s *session) group(g api.Group) {
	p, say := s.out, s.out.say
	p.line("%s", strings.TrimRight(p.paint(bold, clean(g.Name))+"  "+oneLine(g.Description), " "))
	var renamed []string
	for _, old := range slices.Sorted(maps.Keys(g.Rename)) {
		renamed = append(renamed, old+"="+g.Rename[old])
	}
	p.fields(
		say("Address", "地址"), clean(where(g)),
		say("Servers", "服务器"), oneLine(strings.Join(g.Servers, " ")),
		say("Tools besides", "另加工具"), oneLine(strings.Join(g.Tools, " ")),
		say("Without", "排除"), oneLine(strings.Join(g.Exclude, " ")),
		say("Renamed", "改名"), oneLine(strings.Join(renamed, " ")),
		say("Offers tools", "提供工具"), strconv.Itoa(g.Offers.Tools),
		say("Resources", "资源"), strconv.Itoa(g.Offers.Resources),
		say("Templates", "资源模板"), strconv.Itoa(g.Offers.Templates),
		say("Prompts", "提示"), strconv.Itoa(g.Offers.Prompts),
	)
	p.line("%s", p.paint(dim, say("Its tools: ", "查看工具：")+"toolcrib tool list --group "+g.Name))
}

type groupSet struct {
	Name string `arg:"" help:"Name of the group: letters, digits, \"-\" and \"_\"." complete:"group"`

	Description *string  `help:"What it is for." placeholder:"TEXT"`
	Server      []string `help:"Servers of which it has everything." placeholder:"KEY" complete:"server"`
	Tool        []string `help:"Tools that it has as well; \"*\" stands for any text." placeholder:"TOOL" complete:"tool"`
	Exclude     []string `help:"Tools that it does not have, whatever else is said." placeholder:"TOOL" complete:"tool"`
	Rename      []string `help:"New name of a tool." placeholder:"TOOL=NAME"`
	Replace     bool     `help:"What is not said is empty; else it stays as it is."`
}

// Run defines or changes a group.
func (c *groupSet) Run(ctx context.Context, s *session) error {
	rename, err := pairs("group set", "--rename", "TOOL=NAME", c.Rename, "=")
	if err != nil {
		return err
	}
	return s.with(ctx, func(h *link) error {
		was, err := h.Group(ctx, c.Name)
		switch {
		case apiclient.IsCode(err, message.GroupUnknown):
		case err != nil:
			return err
		}
		to := api.GroupDefinition{}
		if !c.Replace {
			to = api.GroupDefinition{Description: was.Description, Servers: was.Servers, Tools: was.Tools, Exclude: was.Exclude, Rename: was.Rename}
		}
		if c.Description != nil {
			to.Description = *c.Description
		}
		for _, list := range []struct {
			to    *[]string
			given []string
		}{{&to.Servers, c.Server}, {&to.Tools, c.Tool}, {&to.Exclude, c.Exclude}} {
			if list.given != nil {
				*list.to = list.given
			}
		}
		if rename != nil {
			to.Rename = rename
		}
		g, err := h.SetGroup(ctx, c.Name, to, was.ETag)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(g)
		}
		s.out.line(s.out.say("The group %s is at %s.", "分组 %s 的地址：%s"), clean(g.Name), clean(where(g)))
		if err := s.absent(ctx, h, g); err != nil {
			return err
		}
		s.out.line(s.out.say("What is in it: %s", "查看内容：%s"), "toolcrib group show "+g.Name)
		return nil
	})
}

// absent tells which servers of a group are not there. That is no error: they may
// come later.
func (s *session) absent(ctx context.Context, h *link, g api.Group) error {
	all, err := names(ctx, h.Client, servers)
	if err != nil {
		return err
	}
	for _, key := range g.Servers {
		if slices.ContainsFunc(all, func(c candidate) bool { return c.word == key }) {
			continue
		}
		text := fmt.Sprintf(s.out.say("There is no server %s; it is in the group once there is.", "没有服务器 %s；添加后即属于该分组。"), oneLine(key))
		if meant := nearest(key, all); meant != "" {
			text += fmt.Sprintf(s.out.say(" Did you mean %s?", "是否指 %s？"), clean(meant))
		}
		s.out.line("%s", s.out.paint(yellow, text))
	}
	return nil
}

type groupRemove struct {
	Names []string `arg:"" name:"name" help:"Names of the groups." complete:"group"`
}

// Run removes groups. What goes wrong with one does not keep it from the rest.
func (c *groupRemove) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		removed := []string{}
		var failed error
		for _, name := range c.Names {
			if err := h.RemoveGroup(ctx, name, ""); err != nil {
				failed = errors.Join(failed, h.guess(ctx, err, groups, name))
				continue
			}
			removed = append(removed, name)
			if !s.JSON {
				s.out.line(s.out.say("Removed %s.", "已移除 %s。"), clean(name))
			}
		}
		if s.JSON {
			return errors.Join(failed, s.out.json(map[string]any{"removed": removed}))
		}
		return failed
	})
}
