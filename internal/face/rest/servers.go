package rest

import (
	"context"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type (
	keyInput struct {
		Key string `path:"key" doc:"Key of the server, percent-encoded"`
	}
	serverOutput     struct{ Body api.Server }
	serverListOutput struct{ Body api.ServerList }
	serverAddInput   struct{ Body api.ServerAdd }
	serverEditInput  struct {
		Key  string `path:"key" doc:"Key of the server, percent-encoded"`
		Body api.ServerChange
	}
	entryOutput struct {
		ETag string `header:"ETag" doc:"Of the configuration file"`
		Body api.ServerEntry
	}
	testInput  struct{ Body api.Test }
	testOutput struct{ Body api.TestResult }
)

// servers registers what is about servers.
func (d *Door) servers() {
	add(d, operation{
		id: "listServers", method: http.MethodGet, path: "/servers", group: aboutServers,
		summary: "Every server, in the order of the configuration",
		about:   "Whoever operates the hub as a whole sees those of all tenants. A tenant sees its own and those that all share, of which it is told less.",
	}, func(ctx context.Context, _ *struct{}) (*serverListOutput, error) {
		see, err := d.sight(ctx)
		if err != nil {
			return nil, err
		}
		out := &serverListOutput{api.ServerList{Servers: []api.Server{}}}
		for _, s := range d.seen(see) {
			out.Body.Servers = append(out.Body.Servers, d.whole(ctx, s))
		}
		return out, nil
	})
	add(d, operation{
		id: "getServer", method: http.MethodGet, path: "/servers/{key}", group: aboutServers, summary: "One server",
		errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, in *keyInput) (*serverOutput, error) { return d.server(ctx, in.Key) })
	d.entries()
	d.actions()
	d.logins()
	add(d, operation{
		id: "testServer", method: http.MethodPost, path: "/test", group: aboutServers, summary: "Try a server out",
		about: "Connects to it beside the one that may be running, which is not touched, asks for its tools and ends it again; " +
			"90 seconds at most, and four at a time. An entry is tested as if it were written under the key, but is not saved.",
		needs: hub.MayManage, hubwide: true, limit: 1, example: map[string]any{"entry": exampleEntry()},
		errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError},
	}, d.test)
}

func exampleEntry() map[string]any {
	return map[string]any{"command": "npx", "args": []string{"-y", "@modelcontextprotocol/server-everything"}}
}

// entries registers what changes what the file says about a server.
func (d *Door) entries() {
	const place = "/servers/{key}"
	refused := []int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusInternalServerError}
	absent := append([]int{http.StatusNotFound}, refused...)
	add(d, operation{
		id: "addServer", method: http.MethodPost, path: "/servers", group: aboutServers, summary: "Define a server",
		about: "It is started if its entry says so. Values of `env` and `headers` that are secrets, and `apiKey`, are sealed before they are written.",
		needs: hub.MayManage, hubwide: true, limit: 1, status: http.StatusCreated, errors: refused,
		example: map[string]any{"key": "everything", "entry": exampleEntry()},
	}, func(ctx context.Context, in *serverAddInput) (*serverOutput, error) {
		key, err := d.opt.Control.Add(in.Body.Key, in.Body.Entry)
		if err != nil {
			return nil, failed(err)
		}
		actMade(ctx, "key", key)
		return d.server(ctx, key)
	})
	add(d, operation{
		id: "getServerEntry", method: http.MethodGet, path: place + "/entry", group: aboutServers,
		summary: "What the configuration file says about a server, its secrets masked",
		errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusInternalServerError},
	}, func(ctx context.Context, in *keyInput) (*entryOutput, error) {
		if err := d.own(ctx, in.Key); err != nil {
			return nil, err
		}
		entry, etag, err := d.opt.Control.Entry(in.Key)
		if err != nil {
			return nil, failed(err)
		}
		return &entryOutput{etag, api.ServerEntry{Key: in.Key, Entry: entry, ETag: etag}}, nil
	})
	add(d, operation{
		id: "changeServer", method: http.MethodPut, path: place, group: aboutServers,
		summary: "Replace what the configuration file says about a server",
		about: "A value of `${unchanged}` stays what it is; other secrets are sealed. Settings of a built-in server can be made this way, too. " +
			"A server that is reached in the same way as before keeps its connection.",
		needs: hub.MayManage, hubwide: true, limit: 1, errors: absent, example: map[string]any{"entry": exampleEntry()},
	}, func(ctx context.Context, in *serverEditInput) (*serverOutput, error) {
		if err := d.opt.Control.Change(in.Key, in.Body.Entry); err != nil {
			return nil, failed(err)
		}
		return d.server(ctx, in.Key)
	})
	add(d, operation{
		id: "checkServer", method: http.MethodPost, path: place + "/check", group: aboutServers,
		summary: "Say what is wrong with an entry, or what writing it would change",
		about:   "For a server that is there or a new one. That an entry is wrong is no error of the request.",
		needs:   hub.MayManage, hubwide: true, reads: true, limit: 1, example: map[string]any{"entry": exampleEntry()},
		errors: []int{http.StatusConflict, http.StatusInternalServerError},
	}, func(ctx context.Context, in *serverEditInput) (*checkOutput, error) {
		return check(ctx, func() (control.Check, error) { return d.opt.Control.CheckEntry(in.Key, in.Body.Entry) })
	})
	add(d, operation{
		id: "removeServer", method: http.MethodDelete, path: place, group: aboutServers,
		summary: "Take a server out of the configuration file, and end it",
		about: "Sealed values that only this server has used are deleted. A built-in server goes back to its default settings. " +
			"The answer does not wait until the server has ended.",
		needs: hub.MayManage, hubwide: true, errors: absent,
	}, func(_ context.Context, in *keyInput) (*struct{}, error) {
		return nil, failed(d.opt.Control.Remove(in.Key))
	})
}

// actions registers what is done with a server.
func (d *Door) actions() {
	c := d.opt.Control
	edit, act := []int{http.StatusPreconditionFailed, http.StatusInternalServerError}, []int{http.StatusBadGateway, http.StatusServiceUnavailable}
	for _, a := range []struct {
		action, summary string
		errors          []int
		do              func(ctx context.Context, key string) error
	}{
		{api.ActionEnable, "Enable a server in the configuration file", edit, func(ctx context.Context, key string) error { return c.SetEnabled(ctx, key, true) }},
		{api.ActionDisable, "Disable a server in the configuration file", edit, func(ctx context.Context, key string) error { return c.SetEnabled(ctx, key, false) }},
		{api.ActionStart, "Start a server now, and wait until it is ready or known not to be", act, c.Start},
		{api.ActionStop, "Stop a server, until it is started or the hub starts again", act, c.Stop},
		{api.ActionRestart, "Stop and start a server", act, c.Restart},
		{api.ActionRefresh, "Ask a server for its tools again", act, c.Refresh},
	} {
		add(d, operation{
			id: a.action + "Server", method: http.MethodPost, path: "/servers/{key}/" + a.action, group: aboutServers, summary: a.summary,
			needs: hub.MayOperate, errors: append(a.errors[:2:2], http.StatusNotFound, http.StatusConflict),
		}, func(ctx context.Context, in *keyInput) (*serverOutput, error) {
			may := d.own
			if a.action == api.ActionEnable {
				may = d.mayEnable
			}
			if err := may(ctx, in.Key); err != nil {
				return nil, err
			}
			if err := a.do(ctx, in.Key); err != nil {
				return nil, failed(err)
			}
			return d.server(ctx, in.Key)
		})
	}
}

func (d *Door) server(ctx context.Context, key string) (*serverOutput, error) {
	see, s, err := d.reach(ctx, key)
	if err != nil {
		return nil, err
	}
	see.narrow(&s)
	return &serverOutput{d.whole(ctx, s)}, nil
}

func (d *Door) test(ctx context.Context, in *testInput) (*testOutput, error) {
	key, entry := in.Body.Key, []byte(in.Body.Entry)
	if string(entry) == "null" {
		entry = nil
	}
	if entry == nil && key == "" {
		return nil, failed(unfit(message.Say(`body: "key" or "entry" is needed`)))
	}
	probe, err := d.opt.Control.Test(ctx, key, entry)
	if err != nil {
		return nil, failed(err)
	}
	return &testOutput{testView(lang(ctx), &probe)}, nil
}
