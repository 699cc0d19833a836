package cli

import (
	"context"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/api"
)

type serverPresets struct{}

// Run lists the presets.
func (serverPresets) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		list, err := h.Presets(ctx)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		say := s.out.say
		rows := make([]row, len(list.Servers))
		for i, v := range list.Servers {
			status := s.out.paint(dim, say("off", "已关闭"))
			switch v.Status {
			case "enabled":
				status = s.out.paint(green, say("on", "已启用"))
			case "error":
				status = s.out.paint(red, say("error", "错误"))
			}
			needs := ""
			if v.RequiresNode {
				needs = "Node.js"
			}
			rows[i] = row{cells: []string{s.out.paint(bold, clean(v.Key)), status, needs, strconv.Itoa(len(v.Tools)), sentence(v.Description)}}
		}
		s.out.table([]string{say("PRESET", "预置"), say("STATUS", "状态"), say("NEEDS", "依赖"), say("TOOLS", "工具"), say("DESCRIPTION", "说明")}, rows)
		s.out.line("")
		s.out.line("%s", say("Switch one on with: toolcrib server enable KEY", "启用：toolcrib server enable KEY"))
		return nil
	})
}

// tried prints how the calls of a batch went, those that failed with why.
func (s *session) tried(v *api.CompatBatchResult) {
	say := s.out.say
	rows := make([]row, len(v.Results))
	for i := range v.Results {
		r := &v.Results[i]
		how, why := s.out.paint(green, say("passed", "通过")), []string(nil)
		if !r.Success {
			how, why = s.out.paint(red, say("failed", "失败")), []string{oneLine(r.Error)}
		}
		rows[i] = row{cells: []string{how, s.out.paint(bold, clean(r.ServerKey)), clean(r.ToolName), strconv.FormatFloat(r.Duration, 'f', 1, 64) + " ms"}, below: why}
	}
	s.out.table([]string{say("RESULT", "结果"), say("SERVER", "服务器"), say("TOOL", "工具"), say("TIME", "用时")}, rows)
	s.out.line("")
	s.out.line(say("%d of %d calls passed.", "%d/%d 次调用通过。"), v.Passed, v.Total)
}
