package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/message"
)

type approvalCommands struct {
	List    approvalList    `cmd:"" help:"List the calls that wait for somebody to agree." default:"withargs"`
	Show    approvalShow    `cmd:"" help:"Show one, with exactly what would be sent."`
	Approve approvalApprove `cmd:"" help:"Agree to a call."`
	Reject  approvalReject  `cmd:"" help:"Refuse a call."`
	Edit    approvalEdit    `cmd:"" help:"Agree to a call with other arguments."`
	Cancel  approvalCancel  `cmd:"" help:"Withdraw a request; for who has asked, and for operators."`
}

type approvalList struct {
	Limit int  `short:"n" help:"How many." default:"100" placeholder:"N"`
	All   bool `help:"Also those that are decided or over." xor:"which"`
	Watch bool `help:"Go on, and show each that is asked or decided, as it happens." xor:"which"`
}

// Run lists requests, the newest first.
func (c *approvalList) Run(ctx context.Context, s *session) error {
	switch {
	case c.Limit < 1:
		return misuse("approval list", "--limit must be 1 or more")
	case c.Watch:
		return s.watchApprovals(ctx)
	}
	return s.with(ctx, func(h *link) error {
		list, err := c.find(ctx, h)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		say := s.out.say
		switch {
		case len(list.Approvals) > 0:
		case c.All:
			s.out.line("%s", say("No requests for approval.", "没有审批请求。"))
			return nil
		default:
			s.out.line("%s", say("Nothing waits for an approval.", "没有等待审批的调用。"))
			return nil
		}
		now := time.Now()
		rows := make([]row, len(list.Approvals))
		for i := range list.Approvals {
			v := &list.Approvals[i]
			rows[i] = row{cells: []string{
				s.out.paint(bold, clean(v.ID)), s.out.approvalStatus(v.Status), s.out.risk(v.Risk), clean(v.Name), clean(v.Subject), leftOf(v, now), oneLine(string(v.Shown)),
			}}
		}
		s.out.table([]string{
			"ID", say("STATUS", "状态"), say("RISK", "风险"), say("TOOL", "工具"), say("ASKED BY", "请求者"), say("LEFT", "剩余"), say("ARGUMENTS", "参数"),
		}, rows)
		s.out.more(len(rows), list.Next)
		return nil
	})
}

// find asks as often as the answers have fewer than are wanted.
func (c *approvalList) find(ctx context.Context, h *link) (api.ApprovalList, error) {
	var q apiclient.ApprovalQuery
	if !c.All {
		q.Status = []string{"pending"}
	}
	return approvalsOf(ctx, h.Client, q, c.Limit)
}

// approvalsOf asks for so many requests as often as the answers have fewer.
func approvalsOf(ctx context.Context, c *apiclient.Client, q apiclient.ApprovalQuery, wanted int) (api.ApprovalList, error) {
	all, next, err := upTo(wanted, func(limit int, cursor string) ([]api.Approval, string, error) {
		q.Limit, q.Cursor = limit, cursor
		page, err := c.Approvals(ctx, q)
		return page.Approvals, page.Next, err
	})
	return api.ApprovalList{Approvals: all, Next: next}, err
}

// mostPending is more than a hub has of requests that are pending.
const mostPending = 20_000

// pendingOf are all requests that are pending, newest first; of a caller, unless that
// is empty.
func pendingOf(ctx context.Context, c *apiclient.Client, subject string) ([]api.Approval, error) {
	list, err := approvalsOf(ctx, c, apiclient.ApprovalQuery{Status: []string{"pending"}, Subject: subject}, mostPending)
	return list.Approvals, err
}

type approvalShow struct {
	ID string `arg:"" help:"Of the request, or its end." complete:"approval"`
}

// Run shows a request.
func (c *approvalShow) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.request(ctx, c.ID)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(v)
		}
		s.approval(s.out, &v)
		return nil
	})
}

// leastEnd is how much of an id has to be given at least.
const leastEnd = 4

// request finds a request by its id or, of those that are pending, by the end of
// it: ids that were made one after the other begin the same.
func (h *link) request(ctx context.Context, id string) (api.Approval, error) {
	v, err := h.Approval(ctx, id)
	if err == nil || !apiclient.IsCode(err, message.ApprovalUnknown) || len(id) < leastEnd {
		return v, err
	}
	all, e := pendingOf(ctx, h.Client, "")
	if e != nil {
		return v, err
	}
	ends := slices.DeleteFunc(all, func(a api.Approval) bool { return !strings.HasSuffix(a.ID, id) })
	if len(ends) != 1 {
		return v, err
	}
	return h.Approval(ctx, ends[0].ID)
}

// round is which agreement the next one is. That there is none after the second is
// the hub's to say.
func round(v *api.Approval) int { return min(v.Confirmations+1, 2) }

type approvalApprove struct {
	ID       string `arg:"" help:"Of the request, or its end." complete:"approval"`
	Note     string `help:"For the record and the caller." placeholder:"TEXT"`
	Remember string `help:"Calls like this one ask nobody for so long." placeholder:"TIME"`
	Any      bool   `help:"With --remember: with any arguments, and not only these."`
	Anyone   bool   `help:"With --remember: whoever calls, and not only who has asked."`
	Confirm  bool   `help:"Agree a second time without being asked, if this is what the request needs."`
}

// Run agrees. A request that needs two agreements gets the second one from the same
// person only if it is asked for once more.
func (c *approvalApprove) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.request(ctx, c.ID)
		if err != nil {
			return err
		}
		with := api.Approve{Note: c.Note, Confirmation: round(&v), Saw: v.Hash}
		if with.Confirmation > 1 && v.Status == "pending" && !v.SecondPerson && !c.Confirm {
			if !s.env.Terminal || s.JSON {
				return misuse("approval approve", "somebody has agreed already; --confirm agrees a second time")
			}
			if yes, err := s.really(ctx, &v); err != nil || !yes {
				return err
			}
		}
		if c.Remember != "" {
			with.Remember = &api.Remember{For: c.Remember, Anyone: c.Anyone}
			if c.Any {
				with.Remember.Arguments = json.RawMessage(`"any"`)
			}
		}
		if v, err = h.Approve(ctx, v.ID, with); err != nil {
			return err
		}
		if v, err = s.again(ctx, h, v, with, c.Confirm); err != nil {
			return err
		}
		return s.decided(&v)
	})
}

// again has somebody agree once more to a request that needs it, if that may be the
// same person.
func (s *session) again(ctx context.Context, h *link, v api.Approval, with api.Approve, confirmed bool) (api.Approval, error) {
	if v.Status != "pending" || v.SecondPerson {
		return v, nil
	}
	if !confirmed {
		if !s.env.Terminal || s.JSON {
			return v, nil
		}
		if yes, err := s.really(ctx, &v); err != nil || !yes {
			return v, err
		}
	}
	with.Confirmation, with.Saw = round(&v), v.Hash
	return h.Approve(ctx, v.ID, with)
}

// really shows a request and asks a person whether they agree a second time.
func (s *session) really(ctx context.Context, v *api.Approval) (bool, error) {
	s.approval(s.out, v)
	return newPrompt(s.env.Stdin, s.env.Stderr).confirm(ctx, s.out.say(
		"This is critical, and needs a second agreement. Do you really agree?", "此调用风险极高，须再次确认。确定同意？"))
}

// decided tells how a request stands after a decision.
func (s *session) decided(v *api.Approval) error {
	if s.JSON {
		return s.out.json(v)
	}
	say, p := s.out.say, s.out
	switch v.Status {
	case "pending":
		left := v.Persons - v.Confirmations
		if v.SecondPerson {
			p.line(say("Agreed. It needs %d more, by another person.", "已同意。还须另一人同意（%d 次）。"), left)
		} else {
			p.line(say("Agreed. It needs %d more: toolcrib approval approve --confirm %s", "已同意。还须 %d 次同意：toolcrib approval approve --confirm %s"), left, clean(v.ID))
		}
	case "approved":
		p.line(say("Approved. The call may be made until %s.", "已同意。调用须在 %s 前执行。"), v.Expires.Local().Format(time.TimeOnly))
	case "edited":
		p.line(say("Approved with other arguments. The call may be made until %s.", "已同意以修改后的参数调用。须在 %s 前执行。"), v.Expires.Local().Format(time.TimeOnly))
	default:
		p.line("%s", p.approvalStatus(v.Status))
	}
	return nil
}

type approvalReject struct {
	ID   string `arg:"" help:"Of the request, or its end." complete:"approval"`
	Note string `help:"Why; the caller is told." placeholder:"TEXT"`
}

// Run refuses.
func (c *approvalReject) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.request(ctx, c.ID)
		if err != nil {
			return err
		}
		if v, err = h.Reject(ctx, v.ID, api.Reject{Note: c.Note}); err != nil {
			return err
		}
		return s.decided(&v)
	})
}

type approvalCancel struct {
	ID string `arg:"" help:"Of the request, or its end." complete:"approval"`
}

// Run withdraws a request.
func (c *approvalCancel) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		v, err := h.request(ctx, c.ID)
		if err != nil {
			return err
		}
		if v, err = h.CancelApproval(ctx, v.ID); err != nil {
			return err
		}
		return s.decided(&v)
	})
}
