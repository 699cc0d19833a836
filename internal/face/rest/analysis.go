package rest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

type (
	analysisInput struct {
		Since string `query:"since" default:"24h" doc:"Of calls that ended at this time (RFC 3339) or after it, or not longer ago than this, such as 24h or 7d"`
		Until string `query:"until" doc:"And before this time, which is given in the same way; now if it is not given"`
		By    string `query:"by" enum:"hour" doc:"Also tell the figures of each hour"`
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"20" doc:"How many tools, servers and failures at most"`
	}
	analysisOutput struct{ Body api.Analysis }
)

// analysis registers the figures of the record.
func (d *Door) analysis() {
	add(d, operation{
		id: "analyseCalls", method: http.MethodGet, path: "/analysis", group: aboutRecord, summary: "Which tools are called most, which fail and why, which are slow",
		about:  "Of the calls that whoever asks sees by `GET /calls`: for operators those of all callers. For them the figures of whole hours are kept with the record, so that a long time takes no longer than a short one. Those of one caller are counted, the newest calls first, as far back as a bounded part of the record reaches; where that is less than was asked for, `cut` is true and `since` tells from when on they are.",
		errors: []int{http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, func(ctx context.Context, in *analysisInput) (*analysisOutput, error) {
		now := time.Now()
		since, err := moment("since", in.Since, now)
		if err != nil {
			return nil, failed(err)
		}
		until, err := moment("until", in.Until, now)
		if err != nil {
			return nil, failed(err)
		}
		if until.IsZero() {
			until = now
		}
		a, err := d.opt.Audit.Analyse(ctx, since, until, whose(ctx))
		if err != nil {
			return nil, failed(err)
		}
		return &analysisOutput{analysisView(a, in.Limit, in.By == "hour")}, nil
	})
}

func analysisView(a *audit.Analysis, limit int, hourly bool) api.Analysis {
	v := api.Analysis{
		Since: a.Since, Until: a.Until, Cut: a.Cut, Total: figuresView(&a.Total),
		Tools: []api.ToolFigures{}, Slow: []api.ToolFigures{}, Failures: []api.CallFailure{}, Servers: []api.ServerFigures{},
	}
	tool := func(t *audit.ToolFigures) api.ToolFigures {
		return api.ToolFigures{Server: t.Server, Tool: t.Tool, Method: t.Method, Share: t.Share, CallFigures: figuresView(&t.Figures)}
	}
	for i := range first(a.Tools, limit) {
		v.Tools = append(v.Tools, tool(&a.Tools[i]))
	}
	slow := slices.DeleteFunc(slices.Clone(a.Tools), func(t audit.ToolFigures) bool {
		return t.Server == "" || t.Tool == "" && t.Method == protocol.MethodToolsCall // no server has worked on those
	})
	slices.SortStableFunc(slow, func(x, y audit.ToolFigures) int {
		return cmp.Or(cmp.Compare(y.P95, x.P95), cmp.Compare(y.Max, x.Max))
	})
	for i := range first(slow, limit) {
		v.Slow = append(v.Slow, tool(&slow[i]))
	}
	for _, f := range first(a.Failures, limit) {
		one := api.CallFailure{Outcome: string(f.Outcome), Code: f.Code, Server: f.Server, Tool: f.Tool, Method: f.Method, Calls: f.Calls}
		switch {
		case f.Outcome == hub.OutcomeUnknown:
			one.Class = string(message.ClassOutcome)
		case f.Code != "":
			one.Class = string(message.ClassOf(message.Code(f.Code)))
		}
		v.Failures = append(v.Failures, one)
	}
	for i := range first(a.Servers, limit) {
		s := &a.Servers[i]
		v.Servers = append(v.Servers, api.ServerFigures{Server: s.Server, Share: s.Share, CallFigures: figuresView(&s.Figures)})
	}
	if !hourly {
		return v
	}
	for i := range a.Hours {
		v.Hours = append(v.Hours, api.HourlyFigures{Hour: a.Hours[i].Hour, CallFigures: figuresView(&a.Hours[i].Figures)})
	}
	return v
}

// first is the beginning of a list.
func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

func figuresView(f *audit.Figures) api.CallFigures {
	v := api.CallFigures{
		Calls: f.Calls, Outcomes: map[string]int64{}, Cached: f.Cached, Bytes: f.Bytes,
		Mean: milliseconds(f.Mean), P50: milliseconds(f.P50), P95: milliseconds(f.P95), Max: milliseconds(f.Max),
	}
	for o, n := range f.Outcomes {
		if n > 0 {
			v.Outcomes[string(o)] = n
		}
	}
	return v
}
