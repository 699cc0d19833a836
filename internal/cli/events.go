package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
)

type followEvents struct {
	After   int64    `help:"Go on after the event with this id; as long as events are kept, also after a restart of the hub." placeholder:"ID"`
	Kind    []string `help:"Only events of this kind, such as server.changed or call.ended; several with commas." placeholder:"KIND"`
	Server  string   `help:"Only events about this server." placeholder:"KEY" complete:"server"`
	Session string   `help:"Only events about this session." placeholder:"SESSION"`
}

// Run shows what happens in the hub until it ends, or a person has seen enough.
// With --json each event is an object of its own, on one line.
func (c *followEvents) Run(ctx context.Context, s *session) error {
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	query := apiclient.EventQuery{After: c.After, Kinds: c.Kind, Server: c.Server, Session: c.Session}
	for e, err := range h.FollowEvents(ctx, query) {
		if ctx.Err() != nil {
			return nil // Ctrl-C is how this command ends
		}
		if err == nil {
			err = s.event(e)
		}
		if err == nil {
			err = s.stdout.err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) event(e api.Event) error {
	if s.JSON {
		return json.NewEncoder(s.env.Stdout).Encode(e)
	}
	s.out.line("%s %s %s", s.out.paint(dim, e.Time.Local().Format(time.TimeOnly)), s.out.paint(dim, pad(oneLine(e.Kind), 17)), s.out.happened(e))
	return nil
}

// happened is what there is to say of an event, on one line.
func (p *printer) happened(e api.Event) string {
	say := p.say
	switch {
	case e.Gap != nil && e.Gap.Missed > 0:
		return p.paint(yellow, fmt.Sprintf(say("%d events are missing (%s)", "缺少 %d 个事件（%s）"), e.Gap.Missed, oneLine(e.Gap.Reason)))
	case e.Gap != nil:
		return p.paint(yellow, fmt.Sprintf(say("events are missing (%s)", "缺少事件（%s）"), oneLine(e.Gap.Reason)))
	case e.Server != nil:
		return fmt.Sprintf("%s %s %s", p.paint(bold, oneLine(e.Server.Key)), p.state(e.Server.State), p.paint(red, oneLine(e.Server.Reason)))
	case e.Drift != nil:
		return p.paint(bold, oneLine(e.Drift.Server)) + " " + oneLine(strings.Join(e.Drift.Tools, ", "))
	case e.Call != nil:
		return fmt.Sprintf("%s %s %s %s %s", p.outcome(e.Call.Outcome), p.paint(bold, oneLine(e.Call.Name)), oneLine(e.Call.Subject), milliseconds(e.Call.Duration), p.paint(red, oneLine(e.Call.Reason)))
	case e.State != nil:
		return fmt.Sprintf("%s %s %s", p.callStatus(e.State.Status), p.paint(dim, oneLine(e.State.Session)), oneLine(e.State.Message))
	case e.Approval != nil:
		line := fmt.Sprintf("%s %s %s %s %s %s", p.approvalStatus(e.Approval.Status), p.paint(bold, oneLine(e.Approval.Tool)), p.risk(e.Approval.Risk),
			oneLine(e.Approval.Subject), p.paint(dim, oneLine(e.Approval.ID)), oneLine(e.Approval.By))
		return strings.TrimSuffix(line, " ")
	case e.Endpoint != nil:
		return fmt.Sprintf("%s %s %s", p.paint(bold, oneLine(e.Endpoint.Name)), p.dialled(e.Endpoint.State), p.paint(red, oneLine(e.Endpoint.Reason)))
	case e.Device != nil:
		return fmt.Sprintf("%s %s %s", p.paint(bold, oneLine(e.Device.Alias)), p.presence(e.Device.Online), p.paint(dim, oneLine(e.Device.ID)))
	}
	return ""
}
