package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type (
	// KeyInput names the server of an operation. It is exported for the framework, which skips embedded structs that are not.
	KeyInput struct {
		Key string `path:"key" doc:"Key of the server" maxLength:"512"`
	}
	serverOutput     struct{ Body api.Server }
	serverListOutput struct{ Body api.ServerList }
	serverAddInput   struct{ Body api.ServerAdd }
	serverEditInput  struct {
		KeyInput
		Body api.ServerChange
	}
	entryOutput struct {
		ETag string `header:"ETag"`
		Body api.ServerEntry
	}
	actionInput struct {
		KeyInput
		Action string `path:"action" enum:"enable,disable,start,stop,restart,refresh"`
	}
	testInput  struct{ Body api.Test }
	testOutput struct{ Body api.TestResult }
)

// servers registers what is about servers.
func (d *Door) servers() {
	huma.Register(d.api, operation("listServers", http.MethodGet, "/servers", "Every server, in the order of the configuration"),
		func(ctx context.Context, _ *struct{}) (*serverListOutput, error) {
			out := &serverListOutput{api.ServerList{Servers: []api.Server{}}}
			for _, s := range d.opt.Control.Servers() {
				out.Body.Servers = append(out.Body.Servers, serverView(lang(ctx), s))
			}
			return out, nil
		})
	add := change("addServer", http.MethodPost, "/servers", "Define a server; it is started if its entry says so")
	add.DefaultStatus = http.StatusCreated
	huma.Register(d.api, add, func(ctx context.Context, in *serverAddInput) (*serverOutput, error) {
		if err := d.opt.Control.Add(in.Body.Key, in.Body.Entry); err != nil {
			return nil, failed(err)
		}
		return d.server(ctx, in.Body.Key)
	})
	huma.Register(d.api, operation("getServer", http.MethodGet, "/servers/{key}", "One server"),
		func(ctx context.Context, in *KeyInput) (*serverOutput, error) { return d.server(ctx, in.Key) })
	huma.Register(d.api, operation("getServerEntry", http.MethodGet, "/servers/{key}/entry", "What the configuration file says about a server, its secrets masked"),
		func(_ context.Context, in *KeyInput) (*entryOutput, error) {
			entry, etag, err := d.opt.Control.Entry(in.Key)
			if err != nil {
				return nil, failed(err)
			}
			return &entryOutput{etag, api.ServerEntry{Key: in.Key, Entry: entry, ETag: etag}}, nil
		})
	huma.Register(d.api, change("changeServer", http.MethodPut, "/servers/{key}", "Replace what the configuration file says about a server"),
		func(ctx context.Context, in *serverEditInput) (*serverOutput, error) {
			if err := d.opt.Control.Change(in.Key, in.Body.Entry); err != nil {
				return nil, failed(err)
			}
			return d.server(ctx, in.Key)
		})
	huma.Register(d.api, change("removeServer", http.MethodDelete, "/servers/{key}", "Stop a server and take it out of the configuration file"),
		func(_ context.Context, in *KeyInput) (*struct{}, error) {
			return nil, failed(d.opt.Control.Remove(in.Key))
		})
	huma.Register(d.api, change("actOnServer", http.MethodPost, "/servers/{key}/{action}", "Enable, disable, start, stop, restart a server, or ask for its tools again"),
		d.act)
	d.log()
	huma.Register(d.api, change("testServer", http.MethodPost, "/test", "Try a server out, beside the one that may be running; an entry need not be saved"), d.test)
}

func (d *Door) server(ctx context.Context, key string) (*serverOutput, error) {
	s, err := d.opt.Control.Server(key)
	if err != nil {
		return nil, failed(err)
	}
	return &serverOutput{serverView(lang(ctx), s)}, nil
}

func (d *Door) act(ctx context.Context, in *actionInput) (*serverOutput, error) {
	var err error
	switch c := d.opt.Control; in.Action {
	case api.ActionEnable:
		err = c.SetEnabled(in.Key, true)
	case api.ActionDisable:
		err = c.SetEnabled(in.Key, false)
	case api.ActionStart:
		err = c.Start(ctx, in.Key)
	case api.ActionStop:
		err = c.Stop(ctx, in.Key)
	case api.ActionRestart:
		err = c.Restart(ctx, in.Key)
	case api.ActionRefresh:
		err = c.Refresh(ctx, in.Key)
	}
	if err != nil {
		return nil, failed(err)
	}
	return d.server(ctx, in.Key)
}

func (d *Door) test(ctx context.Context, in *testInput) (*testOutput, error) {
	if len(in.Body.Entry) == 0 && in.Body.Key == "" {
		return nil, failed(hub.E(message.BodyInvalid, nil, "detail", `"key" or "entry" is needed`))
	}
	if len(in.Body.Entry) == 0 {
		probe, err := d.opt.Control.Test(ctx, in.Body.Key)
		if err != nil {
			return nil, failed(err)
		}
		return &testOutput{testView(lang(ctx), &probe)}, nil
	}
	probe, err := d.opt.Control.TestEntry(ctx, in.Body.Key, in.Body.Entry)
	if err != nil {
		return nil, failed(err)
	}
	return &testOutput{testView(lang(ctx), &probe)}, nil
}
