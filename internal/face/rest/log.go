package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type logInput struct {
	Key    string `path:"key" doc:"Key of the server, percent-encoded"`
	After  uint64 `query:"after" doc:"Only lines after the one with this number"`
	Follow bool   `query:"follow" doc:"Answer with an event stream that goes on"`
}

// log registers the log of a server, as a list or as a stream.
func (d *Door) log() {
	add(d, operation{
		id: "getServerLog", method: http.MethodGet, path: "/servers/{key}/log", group: aboutServers,
		summary: "The end of a server's log, and what comes next",
		about: "The last 500 lines, or 64 KiB, are kept while the hub runs. With `follow=true` the answer is an event stream: " +
			"an event named `line` for each of them and each that comes, until the server is removed or the hub stops. " +
			"That of a server that several tenants share is for the hub's own principals.",
		errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, func(ctx context.Context, in *logInput) (*streamOutput, error) {
		if err := d.own(ctx, in.Key); err != nil { // it tells of everybody's calls
			return nil, err
		}
		return d.tail(in.After, in.Follow, func(after uint64) ([]hub.LogLine, <-chan struct{}, error) {
			return d.opt.Control.Log(in.Key, after)
		})
	})
	streamed[api.Log, api.LogLine](d, "getServerLog", "The lines, oldest first; or one in each event")
}

// tailing reads a log after the line with the number; the channel is closed when
// there is more, or what it is about is gone, which is then the error.
type tailing func(after uint64) ([]hub.LogLine, <-chan struct{}, error)

// tail answers with a log, as a list or as a stream.
func (d *Door) tail(after uint64, follow bool, read tailing) (*streamOutput, error) {
	lines, more, err := read(after)
	if err != nil {
		return nil, failed(err)
	}
	if follow {
		return &streamOutput{func(c huma.Context) { d.follow(c, after, read, lines, more) }}, nil
	}
	body := api.Log{Lines: []api.LogLine{}}
	for _, l := range lines {
		body.Lines = append(body.Lines, lineView(l))
	}
	return &streamOutput{func(c huma.Context) { writeJSON(c, body) }}, nil
}

// follow streams a log until the client, or what the log is about, is gone.
func (d *Door) follow(c huma.Context, last uint64, read tailing, lines []hub.LogLine, more <-chan struct{}) {
	stream := newStream(c, d.beat)
	defer stream.close()
	for {
		for _, l := range lines {
			last = l.Seq
			if !stream.send("line", lineView(l)) {
				return
			}
		}
		select {
		case <-c.Context().Done():
			return
		case <-d.closed:
			return
		case <-more:
		}
		var err error
		if lines, more, err = read(last); err != nil {
			return
		}
	}
}

func lineView(l hub.LogLine) api.LogLine {
	return api.LogLine{Seq: l.Seq, Time: l.Time, Source: string(l.Source), Level: string(l.Level), Text: l.Text}
}
