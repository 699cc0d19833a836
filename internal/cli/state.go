package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type stateCommands struct {
	Show  stateShow  `cmd:"" help:"Show what a session shows of its call, or list all that show one." default:"withargs"`
	Retry stateRetry `cmd:"" help:"Make the call of a session that failed once more."`
	Clear stateClear `cmd:"" help:"Have a session be idle whose call has ended."`
}

type stateShow struct {
	Session string `arg:"" optional:"" help:"The session, as it is listed; all if none is given."`
}

// Run shows one session, or lists those that are not idle.
func (c *stateShow) Run(ctx context.Context, s *session) error {
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	if c.Session != "" {
		state, err := h.State(ctx, c.Session)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(state)
		}
		s.callState(state)
		return nil
	}
	list, err := h.States(ctx)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.out.json(list)
	}
	p, say := s.out, s.out.say
	if len(list.States) == 0 {
		p.line("%s", say("All sessions are idle.", "所有会话均空闲。"))
		return nil
	}
	rows := make([]row, len(list.States))
	for i, v := range list.States {
		rows[i] = row{cells: []string{
			p.paint(bold, clean(v.Session)), clean(v.Subject), p.callStatus(v.Status), clean(v.Tool), tookOf(&v), oneLine(v.Message),
		}}
	}
	p.table([]string{say("SESSION", "会话"), say("CALLER", "调用方"), say("STATUS", "状态"), say("TOOL", "工具"), say("TOOK", "耗时"), say("MESSAGE", "消息")}, rows)
	return nil
}

// callState prints one state.
func (s *session) callState(v api.CallState) {
	say := s.out.say
	retries, others, outcome := "", "", ""
	if v.Outcome != "" && v.Outcome != string(hub.OutcomeOK) { // of which the status says all
		outcome = s.out.outcome(v.Outcome)
	}
	if v.Retries > 0 || v.CanRetry {
		retries = fmt.Sprintf("%d / %d", v.Retries, v.MaxRetries)
	}
	if v.Others > 0 {
		others = fmt.Sprint(v.Others)
	}
	s.out.fields(
		say("Session", "会话"), clean(v.Session),
		say("Caller", "调用方"), clean(v.Subject),
		say("Status", "状态"), s.out.callStatus(v.Status),
		say("Outcome", "结果"), outcome,
		say("Tool", "工具"), clean(v.Tool),
		say("Server", "服务器"), clean(v.Server),
		say("Arguments", "参数"), clean(string(v.Arguments)),
		say("Message", "消息"), clean(v.Message),
		say("Error", "错误"), clean(v.Error),
		say("Retries", "重试"), retries,
		say("Took", "耗时"), tookOf(&v),
		say("Other calls", "其他调用"), others,
	)
}

// tookOf is how long the call of a state took; "" if there is none.
func tookOf(v *api.CallState) string {
	if v.Duration == nil {
		return ""
	}
	return milliseconds(*v.Duration)
}

// callStatus is where a session is with its call.
func (p *printer) callStatus(status string) string {
	switch status {
	case "idle":
		return p.paint(dim, p.say("idle", "空闲"))
	case "calling":
		return p.paint(bold, p.say("calling", "调用中"))
	case "retrying":
		return p.paint(yellow, p.say("retrying", "重试中"))
	case "success":
		return p.paint(green, p.say("success", "成功"))
	case "failed":
		return p.paint(red, p.say("failed", "失败"))
	}
	return oneLine(status)
}

// milliseconds is a duration of the API for people.
func milliseconds(ms float64) string {
	return time.Duration(ms * float64(time.Millisecond)).Round(time.Millisecond).String()
}

type stateRetry struct {
	Session string `arg:"" help:"The session, as it is listed."`
}

// Run makes the call once more and prints its result, as "call" does.
func (c *stateRetry) Run(ctx context.Context, s *session) error {
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	result, err := h.RetryState(ctx, c.Session)
	if err != nil {
		return err
	}
	return s.result(result, "")
}

type stateClear struct {
	Session string `arg:"" help:"The session, as it is listed."`
}

// Run has the session be idle.
func (c *stateClear) Run(ctx context.Context, s *session) error {
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.ClearState(ctx, c.Session); err != nil {
		return err
	}
	if !s.JSON {
		s.out.line(s.out.say("Cleared %s.", "已清除 %s。"), clean(c.Session))
	}
	return nil
}
