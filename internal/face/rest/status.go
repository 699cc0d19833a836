package rest

import (
	"context"
	"net/http"
	"os"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type statusOutput struct{ Body api.Status }

// status registers what is about the hub as a whole.
func (d *Door) status() {
	huma.Register(d.api, operation("status", http.MethodGet, "/status", "The hub at one glance"),
		func(ctx context.Context, _ *struct{}) (*statusOutput, error) {
			return &statusOutput{d.hub(ctx)}, nil
		})
	op := change("shutdown", http.MethodPost, "/shutdown", "Stop the hub, after calls under way have ended")
	op.DefaultStatus = http.StatusAccepted
	huma.Register(d.api, op, func(context.Context, *struct{}) (*struct{}, error) {
		d.opt.Shutdown()
		return nil, nil
	})
}

func (d *Door) hub(ctx context.Context) api.Status {
	src := d.opt.Control.Source()
	s := api.Status{
		Version: d.opt.Version, Started: d.opt.Started, PID: os.Getpid(),
		Listen: d.opt.Listen(), DataDir: d.opt.DataDir, Sessions: d.opt.Sessions(),
		Config: api.ConfigStatus{
			Path: src.Path, Exists: src.Exists, ETag: src.ETag, Writable: src.Path != "" && src.Fault == nil,
			Problems: faultProblems(lang(ctx), src.Fault), Warnings: warnings(src.Warnings),
		},
	}
	for _, server := range d.opt.Control.Servers() {
		s.Servers++
		s.Tools += server.Offered
		if server.Status.State == hub.StateReady {
			s.Ready++
		}
	}
	return s
}
