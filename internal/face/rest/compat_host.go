package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

type (
	compatHostOutput struct{ Body api.CompatHostServers }
	compatKeyInput   struct {
		Key string `path:"key" doc:"Key of the server, or its id"`
	}
	compatHostDoneOutput struct{ Body api.CompatHostServerDone }
	compatToolsOutput    struct{ Body api.CompatTools }
)

// compatHost registers what is about servers that run, and their tools.
func (d *Door) compatHost() {
	absent := []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusBadGateway, http.StatusServiceUnavailable}
	add(d, operation{
		id: "compatHostServers", method: http.MethodGet, path: "/host/servers", group: aboutCompat, summary: "How every server is",
	}, func(ctx context.Context, _ *struct{}) (*compatHostOutput, error) {
		return d.hosted(ctx, func(*hub.Server) bool { return true })
	})
	for _, a := range []struct {
		id, action, summary string
		do                  func(context.Context, *known) error
		done                message.Phrase
	}{
		{
			"compatStartServer", "start", "Start a server, and wait until it is ready or known not to be",
			func(ctx context.Context, k *known) error { return d.opt.Control.Start(ctx, k.key) }, message.Say("The server is running."),
		},
		{
			"compatStopServer", "stop", "Stop a server, until it is started or the hub starts again",
			func(ctx context.Context, k *known) error { return d.opt.Control.Stop(ctx, k.key) }, message.Say("The server is stopped."),
		},
	} {
		add(d, operation{
			id: a.id, method: http.MethodPost, path: "/host/servers/stdio/{key}/" + a.action, group: aboutCompat, summary: a.summary,
			about: "One that is enabled, and not reached over the network.",
			needs: hub.MayOperate, errors: absent,
		}, func(ctx context.Context, in *compatKeyInput) (*compatHostDoneOutput, error) {
			k, err := d.startable(ctx, in.Key)
			if err == nil {
				err = a.do(ctx, &k)
			}
			if err != nil {
				return nil, failed(err)
			}
			return d.hostDone(ctx, k.key, a.done)
		})
	}
	add(d, operation{
		id: "compatHostTools", method: http.MethodGet, path: "/host/tools", group: aboutCompat, summary: "Every tool of every server",
	}, func(ctx context.Context, _ *struct{}) (*compatToolsOutput, error) {
		tools, err := d.compatTools(ctx)
		if err != nil {
			return nil, failed(err)
		}
		return &compatToolsOutput{api.CompatTools{Success: true, Tools: tools, Total: len(tools)}}, nil
	})
}

// startable finds a server that can be started and stopped here.
func (d *Door) startable(ctx context.Context, ref string) (known, error) {
	k, err := d.known(ctx, ref)
	switch {
	case err != nil:
		return k, err
	case k.server == nil:
		return k, hub.E(message.ServerDisabled, nil, "server", message.Quote(k.key))
	case k.server.Definition.Kind.Remote():
		return k, unfit(message.Say("the server is reached over the network, and not started"))
	}
	return k, d.own(ctx, k.key)
}

// hosted is how the servers are that are asked for.
func (d *Door) hosted(ctx context.Context, wanted func(*hub.Server) bool) (*compatHostOutput, error) {
	list := api.CompatHostServers{Success: true, Servers: []api.CompatHostServer{}}
	all, see, err := d.everything(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		if k.server == nil || !wanted(&k.server.Definition) {
			continue
		}
		s := hostView(lang(ctx), see, &k)
		list.Servers = append(list.Servers, s)
		if list.Total++; s.Running {
			list.Running++
		}
	}
	return &compatHostOutput{list}, nil
}

// hostView is how one server is.
func hostView(l message.Lang, see *sight, k *known) api.CompatHostServer {
	s := k.server
	st := &s.Status
	v := api.CompatHostServer{
		ID: compatID(k.key), Key: k.key, PresetKey: k.presetKey(), Name: s.Definition.Title(), Transport: transportOf(s.Definition.Kind), Status: "stopped",
		ServerURL: config.MaskURL(s.Definition.URL), AuthType: authNone,
		Enabled: s.Definition.Enabled, Running: st.State.Running(), Initialized: st.State.Running(),
		Tools: s.Offered, Resources: s.Resources, Prompts: s.Prompts, PID: st.PID,
	}
	switch st.State {
	case hub.StateReady, hub.StateDegraded:
		v.Status = "running"
	case hub.StateStarting:
		v.Status = "starting"
	case hub.StateCrashed, hub.StateFailed, hub.StateReconnecting:
		v.Status = statusError
	}
	if see.owns(&s.Definition) {
		v.AuthType, _ = authOf(&s.Definition)
	}
	if st.Reason != nil {
		v.Error = st.Reason.In(l)
	}
	return v
}

func (d *Door) hostDone(ctx context.Context, key string, said message.Phrase) (*compatHostDoneOutput, error) {
	k, err := d.keyed(ctx, key)
	if err != nil {
		return nil, failed(err)
	}
	see, err := d.sight(ctx)
	if err != nil {
		return nil, err
	}
	rows := d.rows(ctx, see)
	return &compatHostDoneOutput{api.CompatHostServerDone{
		Success: true, Message: said.In(lang(ctx)), Server: hostView(lang(ctx), see, &k), Tools: some(rows.tools[key]),
	}}, nil
}

// compatTools is every tool that whoever asks can call, by the name by which it is
// called.
func (d *Door) compatTools(ctx context.Context) ([]api.CompatTool, error) {
	view, err := d.compatView(ctx)
	if err != nil {
		return nil, err
	}
	tools := []api.CompatTool{}
	for _, e := range view.Tools() {
		tools = append(tools, compatTool(e))
	}
	return tools, nil
}

func compatTool(e *catalog.Entry) api.CompatTool {
	return api.CompatTool{
		Name: e.Exposed, ToolName: e.Tool.Name, ServerKey: e.Server.Key, ServerName: e.Server.Title(),
		Description: text(e.Raw, "description"), InputSchema: inputSchema(e.Raw), ReadOnly: e.Tool.ReadOnly,
	}
}

// inputSchema is that of a tool; that of one without parameters, if it has none.
func inputSchema(raw []byte) json.RawMessage {
	at := wire.Lookup(raw, wire.Value(raw), "inputSchema")
	if schema := at.Of(raw); at.Exists() && len(schema) > 0 && schema[0] == '{' {
		return json.RawMessage(schema)
	}
	return json.RawMessage(`{"type":"object","properties":{}}`)
}
