package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type (
	leaseListOutput struct{ Body api.LeaseList }
	leaseInput      struct {
		Holder string `path:"holder" doc:"Who needs the servers, percent-encoded: any text of at most 128 characters that no other holder of the caller's has"`
		Body   api.LeaseRequest
	}
	holderInput struct {
		Holder string `path:"holder" doc:"Who has needed the servers, percent-encoded"`
	}
	leaseOutput struct{ Body api.LeaseGrant }
)

// leases registers what keeps servers running. Whoever may call a tool has its
// server started by that, and so may hold a lease; a holder is the caller's own.
func (d *Door) leases() {
	const place = "/leases/{holder}"
	add(d, operation{
		id: "listLeases", method: http.MethodGet, path: "/leases", group: aboutServers,
		summary: "Every lease that keeps a server running, in the order of the configuration",
	}, func(ctx context.Context, _ *struct{}) (*leaseListOutput, error) {
		see, err := d.sight(ctx)
		if err != nil {
			return nil, err
		}
		out := &leaseListOutput{api.LeaseList{Leases: []api.Lease{}}}
		for _, l := range d.opt.Control.Leases() {
			if see.sees(l.Server) && (see.all || l.Tenant == see.who.Tenant) {
				out.Body.Leases = append(out.Body.Leases, api.Lease{Holder: l.Holder, Tenant: l.Tenant, Subject: l.Subject, Server: l.Server, Tool: l.Tool, Count: l.Count})
			}
		}
		return out, nil
	})
	add(d, operation{
		id: "holdLease", method: http.MethodPut, path: place, group: aboutServers, needs: hub.MayCall, summary: "Keep servers running for as long as they are needed",
		about: "Starts those that are idle, and waits for none. What the holder had before ends, so a holder asks again, with all it needs, before the lease expires. " +
			"A server whose tools are not known yet is meant by its key, or by its key, `__` and the tool. Any caller may do this; what holders another caller has is nothing to it.",
		limit: 1, example: map[string]any{"tools": []string{"calculator__calculator", "datetime"}, "ttl": "5m"},
	}, d.holdLease)
	add(d, operation{
		id: "releaseLease", method: http.MethodDelete, path: place, group: aboutServers, needs: hub.MayCall, summary: "End all leases of a holder",
		about: "Servers that nobody needs any more end after their `cleanupInterval`. A holder of that name which is another caller's is not meant.", errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, in *holderInput) (*struct{}, error) {
		return nil, failed(d.opt.Control.Release(principal(ctx), in.Holder))
	})
}

func (d *Door) holdLease(ctx context.Context, in *leaseInput) (*leaseOutput, error) {
	var ttl time.Duration
	if in.Body.TTL != "" {
		var err error
		if ttl, err = time.ParseDuration(in.Body.TTL); err != nil || ttl <= 0 {
			return nil, failed(unfit(message.Say(`ttl: it must be a duration such as "5m"`)))
		}
	}
	g, err := d.opt.Control.Lease(principal(ctx), in.Holder, in.Body.Tools, ttl)
	if err != nil {
		return nil, failed(err)
	}
	return &leaseOutput{api.LeaseGrant{
		Holder: g.Holder, Tools: g.Tools, Unknown: g.Unknown, Started: g.Started, Expires: g.Expires,
	}}, nil
}
