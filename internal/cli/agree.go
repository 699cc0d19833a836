package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/message"
)

// agreeEach is how often it is looked whether a call waits for somebody to agree.
const agreeEach = 200 * time.Millisecond

// agreement is for who makes a call and may decide about it as well, since the
// administrator's token is theirs: the call is made as a caller, as nobody decides
// about calls of their own.
type agreement struct {
	session *session
	decider *link
	ask     func() *prompt // nil if the person has agreed beforehand

	asker     *link // who makes the call
	subject   string
	tool      string
	arguments json.RawMessage
	seen      map[string]bool // requests that were looked at
}

// asker is the link as a caller, and not as an administrator; h itself if there is
// no token of one.
func (s *session) asker(h *link) (*link, error) {
	if h.caller == nil {
		return h, nil
	}
	c, err := h.caller()
	if err != nil {
		return nil, err
	}
	return &link{Client: c, own: h.own, close: h.close}, nil
}

// callerOf returns what makes a client with the callers' token of a data directory.
func (s *session) callerOf(path string, opt apiclient.Options) func() (*apiclient.Client, error) {
	return func() (*apiclient.Client, error) {
		token, err := auth.ReadToken(datadir.Layout(path).CallerToken())
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		opt.Token, opt.Lang = token, s.env.Lang
		return apiclient.New(opt)
	}
}

// watch decides about the call when it waits for that, until done is closed. It
// reports whether it was agreed to only after that: then the call has to be made
// once more.
func (a *agreement) watch(ctx context.Context, done <-chan struct{}) (bool, error) {
	tick := time.NewTicker(agreeEach)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return false, nil
		case <-ctx.Done():
			return false, nil
		case <-tick.C:
		}
		v, err := a.find(ctx)
		if err != nil || v == nil {
			continue // the call itself tells what is wrong
		}
		agreed, err := a.decide(ctx, *v)
		if err != nil {
			return false, err
		}
		select {
		case <-done:
			return agreed, nil
		default:
		}
	}
}

// find finds the request for the call; nil if there is none yet.
func (a *agreement) find(ctx context.Context) (*api.Approval, error) {
	if a.subject == "" {
		me, err := a.asker.Me(ctx)
		if err != nil {
			return nil, err
		}
		a.subject = me.Subject
	}
	list, err := pendingOf(ctx, a.decider.Client, a.subject)
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		if a.seen[one.ID] || one.Door != "rest" || one.Tenant != "" || one.Name != a.tool && one.Tool != a.tool {
			continue
		}
		v, err := a.decider.Approval(ctx, one.ID)
		if err != nil {
			return nil, err
		}
		if len(v.Extra) == 0 && sameJSON(v.Arguments, a.arguments) {
			return &v, nil
		}
		a.seen[one.ID] = true // it stays another one
	}
	return nil, nil
}

// sameJSON reports whether two objects mean the same; none is an empty one.
func sameJSON(a, b json.RawMessage) bool {
	var values [2]any
	for i, raw := range [...]json.RawMessage{a, b} {
		if len(raw) == 0 {
			raw = json.RawMessage("{}")
		}
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		if d.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// decide has the person decide, and reports whether they agree.
func (a *agreement) decide(ctx context.Context, v api.Approval) (bool, error) {
	a.seen[v.ID] = true
	s := a.session
	p := &printer{w: s.env.Stderr, color: s.env.Color, width: s.env.Width, lang: s.env.Lang}
	if a.ask == nil {
		p.line(p.say("Approved by --approve: %s (risk: %s)", "已由 --approve 同意：%s（风险：%s）"), clean(v.Name), p.risk(v.Risk))
		v, err := a.decider.Approve(ctx, v.ID, api.Approve{Note: "call --approve", Confirmation: round(&v), Saw: v.Hash})
		if err == nil {
			v, err = s.again(ctx, a.decider, v, api.Approve{Note: "call --approve"}, true)
		}
		if err == nil && v.Status == "pending" {
			p.line("%s", p.say("Another person has to agree as well.", "还须由另一人同意。"))
		}
		return v.Status == "approved", err
	}
	p.line("")
	s.approval(p, &v)
	v, err := a.answer(ctx, p, v)
	if err == nil && v.Status == "pending" && !v.SecondPerson {
		var yes bool
		yes, err = a.ask().confirm(ctx, p.say("This is critical. Really?", "此调用风险极高。确定？"))
		switch {
		case err != nil:
		case yes:
			v, err = a.decider.Approve(ctx, v.ID, api.Approve{Confirmation: round(&v), Saw: v.Hash})
		default:
			v, err = a.decider.Reject(ctx, v.ID, api.Reject{})
		}
	}
	if err == nil && v.Status == "pending" {
		p.line("%s", p.say("Another person has to agree as well.", "还须由另一人同意。"))
	}
	return v.Status == "approved" || v.Status == "edited", err
}

// answer has the person say yes, no, or with which other arguments. Arguments that
// cannot be are told of, and it is asked again.
func (a *agreement) answer(ctx context.Context, p *printer, v api.Approval) (api.Approval, error) {
	for {
		line, err := a.ask().ask(ctx, p.say("Make this call? [y]es, [n]o, [e]dit: ", "执行此调用？[y] 是，[n] 否，[e] 修改："))
		switch {
		case errors.Is(err, io.EOF):
			line = "n"
		case err != nil:
			return v, err
		}
		switch strings.ToLower(line) {
		case "y", "yes", "是":
			return a.decider.Approve(ctx, v.ID, api.Approve{Confirmation: round(&v), Saw: v.Hash})
		case "n", "no", "否", "":
			return a.decider.Reject(ctx, v.ID, api.Reject{})
		case "e", "edit":
			edited, err := a.session.edit(ctx, &v)
			next := v
			if err == nil {
				next, err = a.decider.Edit(ctx, v.ID, api.Edit{Arguments: edited, Confirmation: round(&v), Saw: v.Hash})
			}
			if err == nil {
				return next, nil
			}
			if ctx.Err() != nil || apiclient.IsCode(err, message.ApprovalDecided) || apiclient.IsCode(err, message.ApprovalExpired) {
				return v, err
			}
			a.session.tell(err)
		}
	}
}
