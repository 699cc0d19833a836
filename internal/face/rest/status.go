package rest

import (
	"context"
	"net/http"
	"os"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
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
		needs: hub.MayManage, hubwide: true, status: http.StatusAccepted,
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
	if d.opt.Taken != nil {
		if e := d.opt.Taken(); e != nil {
			text := e.Text(lang(ctx))
			s.Record.Taken = &api.RecordTaken{Code: string(e.Code), Reason: text.What, Remedy: text.Remedy}
		}
	}
	s.Policy = modesOf(d.opt.Policy())
	p := principal(ctx)
	if n, err := d.opt.Approvals.Waiting(ctx, &p); err == nil { // the status is there also when the database is not
		s.Approvals = n
	}
	see, err := d.sight(ctx)
	if err != nil {
		return s // there is always a view of no group
	}
	if !see.who.Hubwide() { // how the hub is set up is no tenant's matter
		s.PID, s.DataDir, s.Sessions, s.Phases, s.Policy = 0, "", 0, nil, map[string]string{}
		s.Record.Reason, s.Record.Taken = "", nil
		s.Config = api.ConfigStatus{Problems: []api.ConfigProblem{}, Warnings: []api.ConfigProblem{}}
	} else if !see.all && see.view.Narrow() { // what is wrong in the file may name others' servers
		s.Config.Problems, s.Config.Warnings = []api.ConfigProblem{}, []api.ConfigProblem{}
	}
	for _, server := range d.seen(see) {
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
