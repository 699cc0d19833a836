package cli

import (
	"context"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
)

// watchSoon is when it is looked once more what is pending, for what was asked
// while the stream of events was being opened.
const watchSoon = time.Second

// watchApprovals shows what is pending, and then each request that is asked or
// decided, until the hub ends or a person has seen enough.
func (s *session) watchApprovals(ctx context.Context) error {
	h, err := s.attachRunning(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type one struct {
		event api.Event
		err   error
	}
	news := make(chan one)
	go func() {
		defer close(news)
		for e, err := range h.FollowEvents(ctx, apiclient.EventQuery{Kinds: []string{api.KindApprovalChanged}}) {
			select {
			case news <- one{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	w := &watched{session: s, link: h, shown: make(map[string]bool)}
	if err := w.pending(ctx); err != nil {
		return err
	}
	soon := time.NewTimer(watchSoon)
	defer soon.Stop()
	for {
		select {
		case n, ok := <-news:
			switch {
			case ctx.Err() != nil || !ok:
				return nil // Ctrl-C is how this command ends
			case n.err != nil:
				return n.err
			}
			err = w.event(ctx, n.event)
		case <-soon.C:
			err = w.pending(ctx)
		case <-ctx.Done():
			return nil
		}
		if err == nil {
			err = s.stdout.err
		}
		if err != nil {
			return err
		}
	}
}

// watched is what was shown of requests.
type watched struct {
	*session
	link  *link
	shown map[string]bool // requests that were shown since they are pending
}

// event shows how a request has changed. Where something is missing it is looked
// what is pending.
func (w *watched) event(ctx context.Context, e api.Event) error {
	if e.Gap != nil {
		return w.pending(ctx)
	}
	if v := e.Approval; v != nil {
		if v.Status == "pending" && v.By == "" && w.shown[v.ID] {
			return nil
		}
		if w.shown[v.ID] = true; v.Status != "pending" {
			delete(w.shown, v.ID)
		}
	}
	return w.session.event(e)
}

// pending shows the requests that are pending and were not shown yet, the oldest
// first.
func (w *watched) pending(ctx context.Context) error {
	list, err := pendingOf(ctx, w.link.Client, "")
	if err != nil {
		return err
	}
	for _, v := range slices.Backward(list) {
		if w.shown[v.ID] {
			continue
		}
		w.shown[v.ID] = true
		err := w.session.event(api.Event{Kind: api.KindApprovalChanged, Time: v.Created, Approval: &api.EventApproval{
			ID: v.ID, Status: v.Status, Tenant: v.Tenant, Subject: v.Subject, Server: v.Server, Tool: v.Name, Risk: v.Risk, Expires: v.Expires,
		}})
		if err != nil {
			return err
		}
	}
	return nil
}
