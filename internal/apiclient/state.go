package apiclient

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
)

// States lists the sessions that show a call.
func (c *Client) States(ctx context.Context) (api.CallStateList, error) {
	return get[api.CallStateList](ctx, c, "/states", nil)
}

// State is what a session shows of its call.
func (c *Client) State(ctx context.Context, session string) (api.CallState, error) {
	return get[api.CallState](ctx, c, statePath(session), nil)
}

// RetryState makes the call of a session that failed once more, and waits for it.
func (c *Client) RetryState(ctx context.Context, session string) (api.CallResult, error) {
	return change[api.CallResult](ctx, c, request{method: http.MethodPost, path: statePath(session) + "/retry"})
}

// ClearState has a session be idle whose call has ended.
func (c *Client) ClearState(ctx context.Context, session string) error {
	return c.into(ctx, request{method: http.MethodDelete, path: statePath(session)}, nil)
}

func statePath(session string) string { return "/states/" + url.PathEscape(session) }

// EventQuery says which events are wanted. The zero value stands for all from
// now on.
type EventQuery struct {
	After   int64    // the event after which to go on; 0 for now
	Kinds   []string // none for all
	Server  string   // about this one
	Session string   // about this one
}

// FollowEvents yields what happens, until ctx ends or the hub does. A stream that
// the hub ends yields no error. An error is yielded last.
func (c *Client) FollowEvents(ctx context.Context, q EventQuery) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		query := given(map[string]string{"kinds": strings.Join(q.Kinds, ","), "server": q.Server, "session": q.Session})
		if q.After > 0 {
			query.Set("after", strconv.FormatInt(q.After, 10))
		}
		for e, err := range c.events(ctx, request{method: http.MethodGet, path: "/events", query: query}) {
			var event api.Event
			if err == nil {
				err = c.decode(e, &event)
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}
