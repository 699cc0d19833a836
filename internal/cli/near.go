package cli

import (
	"context"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/message"
)

// kind is of what a name is; flags and arguments name it in the tag "complete".
type kind string

const (
	servers   kind = "server"
	tools     kind = "tool"
	groups    kind = "group"
	resources kind = "resource"
	prompts   kind = "prompt"
	approvals kind = "approval"
	grants    kind = "grant"
	endpoints kind = "endpoint"
	backends  kind = "backend"
	devices   kind = "device"
)

// unknown is the code of the error for a name that nothing of the kind has.
func (k kind) unknown() message.Code {
	return map[kind]message.Code{
		servers: message.ServerUnknown, tools: message.ToolUnknown, groups: message.GroupUnknown,
		resources: message.ResourceUnknown, prompts: message.PromptUnknown,
		approvals: message.ApprovalUnknown, grants: message.GrantUnknown,
		endpoints: message.EndpointUnknown, backends: message.BackendUnknown, devices: message.DeviceUnknown,
	}[k]
}

// names are those that the hub knows, and what they stand for.
func names(ctx context.Context, h *apiclient.Client, k kind) (all []candidate, err error) {
	switch k {
	case servers:
		var list api.ServerList
		list, err = h.Servers(ctx)
		for _, v := range list.Servers {
			all = append(all, candidate{v.Key, v.Name})
		}
	case tools:
		var list api.ToolList
		list, err = h.Tools(ctx, "", "")
		for _, v := range list.Tools {
			all = append(all, candidate{v.Name, v.Description})
		}
	case groups:
		var list api.GroupList
		list, err = h.Groups(ctx)
		for _, v := range list.Groups {
			all = append(all, candidate{v.Name, v.Description})
		}
	case resources:
		var list api.ResourceList
		list, err = h.Resources(ctx, "", "")
		for _, v := range list.Resources {
			all = append(all, candidate{v.URI, v.Name})
		}
	case approvals:
		var list api.ApprovalList // those of one answer: each key that is pressed asks for them
		list, err = h.Approvals(ctx, apiclient.ApprovalQuery{Status: []string{"pending"}, Limit: mostListed})
		for _, v := range list.Approvals {
			all = append(all, candidate{v.ID, v.Name + " (" + v.Subject + ")"})
		}
	case grants:
		var list api.GrantList
		list, err = h.Grants(ctx, apiclient.GrantQuery{Limit: mostListed})
		for _, v := range list.Grants {
			all = append(all, candidate{v.ID, v.Server + "/" + v.Tool})
		}
	case endpoints, backends:
		of := apiclient.Endpoints
		if k == backends {
			of = apiclient.Backends
		}
		var list []api.Endpoint
		list, err = h.Dialled(ctx, of)
		for _, v := range list {
			all = append(all, candidate{v.Name, v.State})
		}
	case devices:
		var list api.DeviceList
		list, err = h.Devices(ctx)
		for _, v := range list.Devices {
			all = append(all, candidate{v.ID, v.Alias})
		}
	case prompts:
		var list api.PromptList
		list, err = h.Prompts(ctx, "", "")
		for _, v := range list.Prompts {
			all = append(all, candidate{v.Name, v.Description})
		}
	}
	return all, err
}

// mistyped is an error about a name that nothing has, with the one that was
// probably meant.
type mistyped struct {
	error
	meant string
}

// Unwrap returns the error as it is without a guess.
func (e *mistyped) Unwrap() error { return e.error }

// guess adds the name that was probably meant to an error that says that nothing
// of the kind has this one. Any other error stays as it is.
func (h *link) guess(ctx context.Context, err error, k kind, name string) error {
	if err == nil || !apiclient.IsCode(err, k.unknown()) {
		return err
	}
	all, listErr := names(ctx, h.Client, k)
	if listErr != nil {
		return err // which says enough
	}
	if meant := nearest(name, all); meant != "" && meant != name { // it may be there, and not for whom it is asked
		return &mistyped{err, meant}
	}
	return err
}

// nearest is the word that whoever wrote the name probably meant; "" if there is
// none. A server's tools and prompts are also known by the names that it has
// given them itself.
func nearest(name string, all []candidate) string {
	const longest = 200 // nobody types more
	best, least := "", 3
	try := func(word, as string) {
		if len(as) > longest {
			return
		}
		// Within a short name two changes make any other.
		if n := message.Distance(strings.ToLower(name), strings.ToLower(as)); n < least && n*3 <= len(as) {
			best, least = word, n
		}
	}
	if len(name) > longest {
		return ""
	}
	for _, c := range all {
		try(c.word, c.word)
		if _, own, ok := strings.Cut(c.word, "__"); ok {
			try(c.word, own)
		}
	}
	return best
}
