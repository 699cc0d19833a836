package rest

import (
	"context"
	"net/http"
	"os"

	"github.com/toolcrib/toolcrib/internal/api"
)

type statusOutput struct{ Body api.Status }

// status registers what is about the hub as a whole.
func (d *Door) status() {
	add(d, operation{
		id: "getStatus", method: http.MethodGet, path: "/status", group: aboutHub, summary: "The hub at one glance",
	}, func(ctx context.Context, _ *struct{}) (*statusOutput, error) { return &statusOutput{d.hub(ctx)}, nil })
	add(d, operation{
		id: "shutdown", method: http.MethodPost, path: "/shutdown", group: aboutHub, summary: "Stop the hub",
		about: "Calls under way have ten seconds to end. The answer does not wait for that.",
		admin: true, status: http.StatusAccepted,
	}, func(context.Context, *struct{}) (*struct{}, error) {
		d.opt.Shutdown()
		return nil, nil
	})
}

func (d *Door) hub(ctx context.Context) api.Status {
	src := d.opt.Control.Source()
	s := api.Status{
		Version: d.opt.Version, Started: d.opt.Started, PID: os.Getpid(),
		Listen: d.opt.Listen(), DataDir: d.opt.DataDir, Sessions: d.opt.Sessions(), Phases: d.opt.Phases(),
		Config: api.ConfigStatus{
			Path: src.Path, Exists: src.Exists, ETag: d.opt.Control.ETag(), Writable: src.Path != "" && src.Fault == nil,
			Problems: faultProblems(lang(ctx), src.Fault), Warnings: warnings(lang(ctx), src.Warnings),
		},
		Record: api.RecordStatus{Up: d.opt.Audit.Measured().Up, Lost: d.opt.Audit.Lost()},
	}
	if e := d.opt.Audit.Fault(); e != nil {
		s.Record.Reason = e.In(lang(ctx))
	}
	for _, server := range d.opt.Control.Servers() {
		s.Servers++
		s.Tools += server.Offered
		s.Resources += server.Resources
		s.Prompts += server.Prompts
		if server.Status.State.Running() {
			s.Ready++
		}
	}
	return s
}
