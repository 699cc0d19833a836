package cli

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type indexCommands struct {
	List   indexList   `cmd:"" help:"List the tools with their tags, cost and age." default:"withargs"`
	Export indexExport `cmd:"" help:"Write the tools into a file for other programs."`
	Import indexImport `cmd:"" help:"Take over the tools of servers that were not asked yet, from such a file."`
}

type indexList struct {
	Tag    string `help:"Only those with this tag, such as navigation or read-only." placeholder:"TAG"`
	Server string `help:"Only those of this server." placeholder:"KEY" complete:"server"`
	Tool   string `help:"Only those of this name; the server that a call reaches comes first." placeholder:"NAME" complete:"tool"`
}

// Run lists the tools.
func (c *indexList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		if c.Server != "" {
			if _, err := h.Server(ctx, c.Server); err != nil {
				return err // a wrong key is not a server without tools
			}
		}
		index, err := h.Index(ctx, c.Tag, c.Server, c.Tool)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(index)
		}
		s.index(index.Entries)
		return nil
	})
}

// index prints a table of tools.
func (s *session) index(entries []api.IndexEntry) {
	say := s.out.say
	if len(entries) == 0 {
		s.out.line("%s", say("The index has no such tools.", "索引中没有符合条件的工具。"))
		return
	}
	rows := make([]row, len(entries))
	for i, e := range entries {
		age := ago(e.LastUpdated)
		if e.Stale {
			age = s.out.paint(yellow, age+say(" (stale)", "（过期）"))
		}
		rows[i] = row{cells: []string{
			s.out.paint(bold, clean(e.Name)), clean(e.ServerID), s.cost(e), age, oneLine(strings.Join(e.Tags, " ")),
		}}
	}
	s.out.table([]string{say("TOOL", "工具"), say("SERVER", "服务器"), say("COST", "成本"), say("AGE", "更新"), say("TAGS", "标签")}, rows)
}

// cost is how long calling a tool usually takes, in a word.
func (s *session) cost(e api.IndexEntry) string {
	cost := e.CostEstimate
	switch cost {
	case "low":
		cost = s.out.say(cost, "低")
	case "medium":
		cost = s.out.say(cost, "中")
	case "high":
		cost = s.out.say(cost, "高")
	}
	if e.Blocking {
		cost += s.out.say(", blocking", "，阻塞")
	}
	return cost
}

type indexExport struct {
	File string `arg:"" optional:"" help:"The file; standard output if not given." type:"path"`
}

// Run writes the index. A file that is there is replaced.
func (c *indexExport) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		text, err := h.ExportIndex(ctx)
		if err != nil {
			return err
		}
		write := func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		}
		if c.File == "" {
			return write(s.env.Stdout)
		}
		if err := writeNew(c.File, true, write); err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(map[string]any{"path": c.File})
		}
		s.out.line(s.out.say("Wrote %s.", "已写入 %s。"), c.File)
		return nil
	})
}

// maxIndex bounds the file that is read.
const maxIndex = 16 << 20

type indexImport struct {
	File  string `arg:"" help:"The file." type:"path"`
	Force bool   `help:"Also in place of what a server said itself before the hub started."`
}

// Run takes the index over.
func (c *indexImport) Run(ctx context.Context, s *session) error {
	info, err := os.Stat(c.File)
	if err != nil {
		return unreadable(c.File, err)
	}
	if info.Size() > maxIndex {
		return hub.E(message.FileUnreadable, nil, "path", c.File).With("detail", message.Say("it is larger than %s", size(maxIndex)))
	}
	text, err := readFile(c.File)
	if err != nil {
		return err
	}
	return s.with(ctx, func(h *link) error {
		done, err := h.ImportIndex(ctx, api.IndexUpload{Text: text, Force: c.Force})
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(done)
		}
		if len(done.Servers) == 0 {
			s.out.line("%s", s.out.say("Nothing was taken over.", "没有导入任何工具。"))
		} else {
			s.out.line(s.out.say("Took over the tools (%d) of: %s", "已导入工具（%d 个），来自：%s"), done.Tools, clean(strings.Join(done.Servers, ", ")))
		}
		if len(done.Skipped) > 0 {
			s.out.line(s.out.say("Left alone, as they are not configured or known better: %s", "未导入（未配置，或已有更可靠的信息）：%s"), clean(strings.Join(done.Skipped, ", ")))
		}
		return nil
	})
}
