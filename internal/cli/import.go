package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type importFile struct {
	File string   `arg:"" optional:"" help:"The file; of any program that is known, and of Toolcrib itself." type:"path"`
	From string   `help:"Find the file of this program: ${clients}." placeholder:"PROGRAM" complete:"client"`
	Only []string `help:"Only these servers." placeholder:"KEY"`

	Replace  bool `help:"Also those whose key is taken by another definition."`
	Disabled bool `help:"Take them over disabled."`
	Yes      bool `short:"y" help:"Do not ask."`
}

// maxImport bounds the file that is read.
const maxImport = 8 << 20

// Run shows what would be taken over, asks, and does it.
func (c *importFile) Run(ctx context.Context, s *session) error {
	path := c.File
	if (path == "") == (c.From == "") {
		return misuse("import", s.out.say("give a file, or --from", "请给出文件，或用 --from"))
	}
	if c.From != "" {
		var err error
		if path, err = s.locate(c.From); err != nil {
			return err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return unreadable(path, err)
	}
	if info.Size() > maxImport {
		return hub.E(message.FileUnreadable, nil, "path", path).With("detail", message.Say("it is larger than %s", size(maxImport)))
	}
	text, err := readFile(path)
	if err != nil {
		return err
	}
	req := api.Import{Text: text, Name: path, Keys: c.Only, Replace: c.Replace, Disabled: c.Disabled}
	return s.with(ctx, func(h *link) error {
		plan, err := h.Import(ctx, req, true)
		if err != nil {
			return err
		}
		if !s.JSON {
			s.plan(path, plan)
		}
		count := len(plan.New)
		if c.Replace {
			count += len(plan.Clashing)
		}
		count += len(plan.Endpoints)
		if yes, err := c.agreed(ctx, s, plan, count); !yes || err != nil {
			return err
		}
		done, err := h.Import(ctx, req, false)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(done)
		}
		s.out.line(s.out.say("Took over: %s", "已导入：%s"), clean(strings.Join(append(done.Written, done.Endpoints...), ", ")))
		s.out.line(s.out.say("See how they are: %s", "查看状态：%s"), "toolcrib server list")
		return nil
	})
}

// agreed reports whether the import is to be done. If not it has said what to
// do for it.
func (c *importFile) agreed(ctx context.Context, s *session, plan api.ImportResult, count int) (bool, error) {
	say := s.out.say
	switch {
	case c.Yes && count > 0:
		return true, nil
	case s.JSON:
		return false, s.out.json(plan)
	case count == 0:
		s.out.line("%s", say("There is nothing to take over.", "没有需要导入的内容。"))
		return false, nil
	case !s.env.Terminal:
		s.out.line("%s", say("Nothing was changed; --yes takes them over.", "未作更改；加 --yes 即可导入。"))
		return false, nil
	}
	return newPrompt(s.env.Stdin, s.env.Stdout).confirm(ctx, fmt.Sprintf(say("Take them over (%d)?", "导入这些服务器（%d 个）？"), count))
}

// plan prints what an import would do.
func (s *session) plan(path string, plan api.ImportResult) {
	p, say := s.out, s.out.say
	p.line("%s", path)
	var rows []row
	for _, group := range []struct {
		text string
		keys []string
	}{
		{p.paint(green, say("+ new", "+ 新增")), plan.New},
		{p.paint(dim, say("= there already, just so", "= 已有且相同")), plan.Same},
		{p.paint(yellow, say("! another definition has the key (--replace)", "! 键已被其他定义占用（--replace）")), plan.Clashing},
	} {
		for _, key := range group.keys {
			rows = append(rows, row{cells: []string{"  " + clean(key), group.text}})
		}
	}
	for _, name := range plan.Endpoints {
		rows = append(rows, row{cells: []string{"  " + clean(name), p.paint(green, say("+ endpoint of a voice assistant; have only one program connected to it", "+ 语音助手接入点；请只让一个程序连接它"))}})
	}
	if len(rows) > 0 {
		p.table([]string{"  " + say("SERVER", "服务器"), ""}, rows)
	}
	s.places(path, plan.Warnings)
}
