package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type logInput struct {
	KeyInput
	After  uint64 `query:"after" doc:"Only lines after the one with this number"`
	Follow bool   `query:"follow" doc:"Answer with an event stream that goes on: an event named line for each"`
}

type bodyOutput struct{ Body func(huma.Context) }

// log registers the log of a server, as a list or as a stream.
func (d *Door) log() {
	op := operation("getServerLog", http.MethodGet, "/servers/{key}/log", "The end of a server's log, and what comes next")
	op.Responses["200"] = &huma.Response{
		Description: "The lines, oldest first; with follow an event stream of lines",
		Content: map[string]*huma.MediaType{
			"application/json":  {Schema: schemaOf[api.Log](d)},
			"text/event-stream": {Schema: schemaOf[api.LogLine](d)},
		},
	}
	huma.Register(d.api, op, func(ctx context.Context, in *logInput) (*bodyOutput, error) {
		lines, more, err := d.opt.Control.Log(in.Key, in.After)
		if err != nil {
			return nil, failed(err)
		}
		if !in.Follow {
			body := api.Log{Lines: []api.LogLine{}}
			for _, l := range lines {
				body.Lines = append(body.Lines, lineView(l))
			}
			return &bodyOutput{func(c huma.Context) { writeJSON(c, http.StatusOK, body) }}, nil
		}
		return &bodyOutput{func(c huma.Context) { d.follow(c, in.Key, lines, more) }}, nil
	})
}

// beat is how often a silent stream shows that it is alive.
const beat = 15 * time.Second

// follow streams a server's log until the client or the server is gone.
func (d *Door) follow(c huma.Context, key string, lines []hub.LogLine, more <-chan struct{}) {
	events := newEvents(c)
	alive := time.NewTicker(beat)
	defer alive.Stop()
	var last uint64
	for {
		for _, l := range lines {
			last = l.Seq
			events.send("line", lineView(l))
		}
		lines = nil
		if !events.flush() {
			return
		}
		select {
		case <-c.Context().Done():
			return
		case <-d.closed:
			return
		case <-alive.C:
			events.comment()
		case <-more:
			var err error
			if lines, more, err = d.opt.Control.Log(key, last); err != nil {
				return
			}
		}
	}
}

func lineView(l hub.LogLine) api.LogLine {
	return api.LogLine{Seq: l.Seq, Time: l.Time, Source: string(l.Source), Text: l.Text}
}
