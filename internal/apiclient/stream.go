package apiclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
)

// maxLine bounds a line of an event stream.
const maxLine = maxAnswer

// FollowLog yields the lines of a server's log after the one with the number
// (0 for all), then each new one as it comes, until ctx ends or the hub does.
// A stream that the hub ends yields no error. An error is yielded last.
func (c *Client) FollowLog(ctx context.Context, key string, after uint64) iter.Seq2[api.LogLine, error] {
	return c.followLog(ctx, serverPath(key), after)
}

// followLog is FollowLog of what is at a path.
func (c *Client) followLog(ctx context.Context, path string, after uint64) iter.Seq2[api.LogLine, error] {
	return func(yield func(api.LogLine, error) bool) {
		query := logQuery(after)
		query.Set("follow", "true")
		r := request{method: http.MethodGet, path: path + "/log", query: query}
		for e, err := range c.events(ctx, r) {
			var line api.LogLine
			switch {
			case err == nil && e.name != "line":
				continue // a kind that this client does not know yet
			case err == nil:
				err = c.decode(e, &line)
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// FollowCall calls a tool and yields what comes of it, in the order in which
// it came: progress and log lines, and at last the result. Leaving the loop
// cancels the call. An error is yielded last; a call that failed is an
// [*Error].
func (c *Client) FollowCall(ctx context.Context, call api.Call) iter.Seq2[api.CallEvent, error] {
	return func(yield func(api.CallEvent, error) bool) {
		r := request{method: http.MethodPost, path: "/calls", body: call}
		for e, err := range c.events(ctx, r) {
			var event api.CallEvent
			if err == nil {
				err = c.decode(e, &event)
			}
			if err == nil && event.Problem != nil {
				err = &Error{Problem: *event.Problem}
			}
			if err != nil {
				yield(api.CallEvent{}, err)
				return
			}
			if !yield(event, nil) || event.Result != nil {
				return
			}
		}
		yield(api.CallEvent{}, c.lost(ctx, errors.New("the stream ended before the result")))
	}
}

func (c *Client) decode(e event, into any) error {
	if err := json.Unmarshal([]byte(e.data), into); err != nil {
		return c.unusable("an event is not the JSON that was expected")
	}
	return nil
}

// events makes the request and yields the events of its answer. An error is
// yielded last.
func (c *Client) events(ctx context.Context, r request) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // so that an answer that is not read to its end is given up
		r.header = map[string]string{"Accept": "text/event-stream"}
		resp, err := c.send(ctx, r)
		if err != nil {
			yield(event{}, err)
			return
		}
		defer resp.Body.Close()
		if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
			yield(event{}, c.unusable("an event stream was expected"))
			return
		}
		for e, err := range read(resp.Body) {
			if err != nil {
				err = c.lost(ctx, err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// event is one server-sent event.
type event struct{ name, data string }

// read yields the events of a stream (HTML Standard, 9.2.6), and an error
// last unless the stream ended. An event that the stream's end cuts off is
// not one.
func read(body io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, maxLine)
		var e event
		var data []string
		for lines.Scan() {
			line := strings.TrimSuffix(lines.Text(), "\r")
			if line == "" {
				if len(data) > 0 {
					e.data = strings.Join(data, "\n")
					if !yield(e, nil) {
						return
					}
				}
				e, data = event{}, nil
				continue
			}
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "event":
				e.name = value
			case "data":
				data = append(data, value)
			}
		}
		if err := lines.Err(); err != nil {
			yield(event{}, err)
		}
	}
}
