package cli

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
)

func (s *session) listDialled(ctx context.Context, kind apiclient.Dialled) error {
	return s.with(ctx, func(h *link) error {
		list, err := h.Dialled(ctx, kind)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(map[string]any{string(kind): list})
		}
		say := s.out.say
		if len(list) == 0 {
			s.out.line(say("None. Connect one: toolcrib xiaozhi %s add NAME URL", "没有。添加：toolcrib xiaozhi %s add NAME URL"), string(kindFor(kind)))
			return nil
		}
		rows := make([]row, len(list))
		for i, v := range list {
			rows[i] = row{cells: []string{
				s.out.paint(bold, clean(v.Name)), s.out.dialled(v.State), clean(v.Group), strconv.Itoa(v.Tools), strconv.Itoa(v.Calls), clean(v.URL),
			}, below: s.out.whyDialled(v)}
		}
		s.out.table([]string{say("NAME", "名称"), say("STATE", "状态"), say("GROUP", "分组"), say("TOOLS", "工具"), say("CALLS", "调用"), say("ADDRESS", "地址")}, rows)
		return nil
	})
}

func (s *session) showDialled(ctx context.Context, kind apiclient.Dialled, name string) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.DialledOne(ctx, kind, name)
		if err != nil {
			return h.guess(ctx, err, kindFor(kind), name)
		}
		if s.JSON {
			return s.out.json(v)
		}
		p, say := s.out, s.out.say
		p.line("%s  %s", p.paint(bold, clean(v.Name)), p.dialled(v.State))
		for _, line := range p.whyDialled(v) {
			p.line("  %s", line)
		}
		expires, closed, list := "", "", ""
		if !v.TokenExpires.IsZero() {
			expires = v.TokenExpires.Local().Format(time.DateOnly)
		}
		if v.CloseCode != 0 {
			closed = strings.TrimSpace(strconv.Itoa(v.CloseCode) + " " + oneLine(v.CloseReason))
		}
		if v.ListBytes > 0 {
			list = size(v.ListBytes)
		}
		p.fields(
			say("Address", "地址"), clean(v.URL),
			say("Since", "持续"), ago(v.Since),
			say("Peer", "对方"), oneLine(v.Peer),
			say("Profile", "类型"), clean(v.Profile),
			say("Group", "分组"), clean(v.Group),
			say("Tools", "工具"), strconv.Itoa(v.Tools),
			say("List", "列表"), list,
			say("Callers", "会话"), number(v.Callers),
			say("Calls", "调用"), strconv.Itoa(v.Calls),
			say("Under way", "进行中"), number(v.Running),
			say("Cut", "截断"), number(v.Truncated),
			say("Late", "超时"), number(v.TimedOut),
			say("Not understood", "无法识别"), number(v.Junk),
			say("Connected", "已连接"), number(v.Connects),
			say("Heard", "最近收到"), ago(v.LastHeard),
			say("Last ping", "最近 ping"), ago(v.LastPing),
			say("Closed last", "上次关闭"), closed,
			say("Token ends", "令牌到期"), expires,
		)
		return nil
	})
}

// dialled is the state of an endpoint with a sign for it.
func (p *printer) dialled(state string) string {
	switch state {
	case "connected":
		return p.paint(green, "● "+p.say(state, "已连接"))
	case "connecting":
		return p.paint(yellow, "◐ "+p.say(state, "连接中"))
	case "waiting":
		return p.paint(yellow, "◐ "+p.say(state, "等待重连"))
	case "replaced":
		return p.paint(yellow, "◐ "+p.say(state, "已被替换"))
	case "auth_failed":
		return p.paint(red, "✗ "+p.say("refused", "被拒绝"))
	case "disabled":
		return p.paint(dim, "○ "+p.say(state, "已停用"))
	case "stopped":
		return p.paint(dim, "○ "+p.say("not running", "未运行"))
	}
	return "○ " + oneLine(state)
}

// whyDialled is why an endpoint is not connected, and what is odd about it, a line
// each.
func (p *printer) whyDialled(v api.Endpoint) []string {
	var lines []string
	if v.Reason != "" {
		lines = append(lines, p.paint(red, oneLine(v.Reason)))
	}
	if v.Remedy != "" {
		lines = append(lines, "→ "+oneLine(v.Remedy))
	}
	if !v.Retry.IsZero() {
		lines = append(lines, p.paint(dim, p.say("tried again at ", "下次重试：")+v.Retry.Local().Format(time.TimeOnly)))
	}
	for _, w := range v.Warnings {
		lines = append(lines, p.paint(yellow, oneLine(w.Text)))
		if w.Remedy != "" {
			lines = append(lines, "→ "+oneLine(w.Remedy))
		}
	}
	return lines
}

func (s *session) dialledLog(ctx context.Context, kind apiclient.Dialled, name string, c logFlags) error {
	return s.with(ctx, func(h *link) error {
		log, err := h.DialledLog(ctx, kind, name, 0)
		if err != nil {
			return h.guess(ctx, err, kindFor(kind), name)
		}
		return s.tail(ctx, log, c.Follow, c.Lines, func(last uint64) iter.Seq2[api.LogLine, error] {
			return h.FollowDialledLog(ctx, kind, name, last)
		})
	})
}

// removeDialled removes them. What goes wrong with one does not keep it from the rest.
func (s *session) removeDialled(ctx context.Context, kind apiclient.Dialled, names []string) error {
	return s.with(ctx, func(h *link) error {
		removed := []string{}
		var wrong error
		for _, name := range names {
			if err := h.RemoveDialled(ctx, kind, name); err != nil {
				wrong = errors.Join(wrong, h.guess(ctx, err, kindFor(kind), name))
				continue
			}
			removed = append(removed, name)
			if !s.JSON {
				s.out.line(s.out.say("Removed %s.", "已移除 %s。"), clean(name))
			}
		}
		if s.JSON {
			return errors.Join(wrong, s.out.json(map[string]any{"removed": removed}))
		}
		return wrong
	})
}

func (s *session) reconnect(ctx context.Context, kind apiclient.Dialled, names []string) error {
	return s.with(ctx, func(h *link) error {
		all := []api.Endpoint{}
		var wrong error
		for _, name := range names {
			v, err := h.Reconnect(ctx, kind, name)
			if err != nil {
				wrong = errors.Join(wrong, h.guess(ctx, err, kindFor(kind), name))
				continue
			}
			all = append(all, v)
			if !s.JSON {
				s.out.line("%s  %s", s.out.paint(bold, clean(v.Name)), s.out.dialled(v.State))
			}
		}
		if s.JSON {
			return errors.Join(wrong, s.out.json(map[string]any{string(kind): all}))
		}
		return wrong
	})
}
