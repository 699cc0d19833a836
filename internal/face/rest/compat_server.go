package rest

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/preset"
)

type (
	compatListOutput  struct{ Body api.CompatServerList }
	compatToggleInput struct {
		Key  string `path:"key" doc:"Key of the server, or its id"`
		Body *api.CompatToggle
	}
	compatDoneOutput  struct{ Body api.CompatServerDone }
	compatAddInput    struct{ Body api.CompatServerAdd }
	compatAddedOutput struct{ Body api.CompatServerAdded }
	compatSetInput    struct {
		ID   string `path:"id" doc:"Id of the server, or its key"`
		Body api.CompatServerSet
	}
	compatDeleteInput struct {
		ID string `path:"id" doc:"Id of the server, or its key"`
	}
	compatDeleteOutput struct{ Body api.CompatDone }
)

// compatServers registers what is about the servers of the configuration.
func (d *Door) compatServers() {
	refused := []int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusInternalServerError}
	absent := append([]int{http.StatusNotFound}, refused...)
	add(d, operation{
		id: "compatListServers", method: http.MethodGet, path: "/mcp", group: aboutCompat,
		summary: "Every server, and the presets",
		about:   "A preset that was never switched on is in no other list.",
	}, func(ctx context.Context, _ *struct{}) (*compatListOutput, error) {
		out := &compatListOutput{api.CompatServerList{Success: true, Servers: []api.CompatServer{}}}
		all, see, err := d.everything(ctx)
		if err != nil {
			return nil, err
		}
		rows := d.rows(ctx, see)
		for _, k := range all {
			out.Body.Servers = append(out.Body.Servers, rows.row(&k))
		}
		return out, nil
	})
	add(d, operation{
		id: "compatToggleServer", method: http.MethodPost, path: "/mcp/{key}/toggle", group: aboutCompat,
		summary: "Enable a server that is disabled, or disable one that is enabled",
		about:   "A preset gets an entry in the configuration by that. With `enabled`, which may be left out with the whole body, asking twice is the same as once.",
		needs:   hub.MayManage, hubwide: true, limit: 1, errors: absent, example: map[string]any{"enabled": true},
	}, d.compatToggle)
	add(d, operation{
		id: "compatAddServer", method: http.MethodPost, path: "/mcp/config", group: aboutCompat, summary: "Define a server",
		about: "With its members, or several with `mcpServers` alone, as other programs have them in their files: then all of them, or none. " +
			"What is new is disabled unless it says otherwise.",
		needs: hub.MayManage, hubwide: true, limit: 1, errors: refused,
		example: map[string]any{"name": "My server", "transport": "stdio", "command": "npx", "args": []string{"-y", "some-package@1.0.0"}},
	}, d.compatAdd)
	add(d, operation{
		id: "compatChangeServer", method: http.MethodPut, path: "/mcp/{id}", group: aboutCompat,
		summary: "Change what the configuration says about a server",
		about:   "Presets, too: what they run stays what it is, and one that was never switched on stays off unless `status` says otherwise.",

		needs: hub.MayManage, hubwide: true, limit: 1, errors: absent,
		example: map[string]any{"name": "Another name", "env": map[string]string{"API_KEY": "…"}},
	}, d.compatChange)
	add(d, operation{
		id: "compatDeleteServer", method: http.MethodDelete, path: "/mcp/{id}", group: aboutCompat,
		summary: "Take a server out of the configuration", about: "Not a preset.",
		needs: hub.MayManage, hubwide: true, errors: absent,
	}, d.compatDelete)
}

// rowing is what it takes to tell of servers.
type rowing struct {
	lang         message.Lang
	see          *sight
	descriptions map[string]string
	tools        map[string][]string // own names, by server
}

func (d *Door) rows(ctx context.Context, see *sight) rowing {
	r := rowing{lang: lang(ctx), see: see, tools: make(map[string][]string)}
	if text, _, err := d.opt.Control.Text(); err == nil { // which is masked
		r.descriptions = config.Descriptions(text)
	}
	now := see.view.Snapshot()
	if see.all {
		now = d.opt.Catalog.Snapshot()
	}
	for _, share := range now.Shares() {
		for _, e := range share.Tools {
			r.tools[share.Server.Key] = append(r.tools[share.Server.Key], e.Tool.Name)
		}
	}
	return r
}

// row is one server.
func (r *rowing) row(k *known) api.CompatServer {
	row := api.CompatServer{ID: compatID(k.key), Key: k.key, PresetKey: k.presetKey(), IsPreset: k.preset != nil, Tools: some(r.tools[k.key])}
	if p := k.preset; p != nil {
		row.Name, row.Description = p.Name, p.Description.In(r.lang)
		if len(row.Tools) == 0 {
			row.Tools = p.Tools
		}
	}
	if k.server == nil {
		row.Transport, row.Args, row.Env, row.AuthConfig = string(hub.KindStdio), []string{}, map[string]string{}, map[string]string{}
		row.AuthType, row.Status = authNone, statusDisabled
		if k.preset.Package != "" {
			row.Command, row.Args, row.RequiresNode = "npx", []string{"-y", k.preset.Package}, true
		}
		return row
	}
	def := &k.server.Definition
	row.Transport, row.Command, row.Args = transportOf(def.Kind), config.MaskCommand(def.Command), some(config.MaskArgs(def.Args))
	row.Env, row.ServerURL = config.MaskEnv(def.Env), config.MaskURL(def.URL)
	row.AuthType, row.AuthConfig = authNone, map[string]string{}
	if r.see.owns(def) {
		row.HealthCheckPath = def.Health.Path
		row.AuthType, row.AuthConfig = authOf(def)
	}
	if def.Name != "" || row.Name == "" {
		row.Name = def.Title()
	}
	if text := r.descriptions[k.key]; text != "" && r.see.owns(def) {
		row.Description = text
	}
	if def.Kind == hub.KindStdio {
		switch strings.TrimSuffix(path.Base(strings.ReplaceAll(def.Command, `\`, "/")), ".cmd") {
		case "npx", "node", "npm":
			row.RequiresNode = true
		}
	}
	row.Status, row.Error = compatStatus(r.lang, k.server)
	return row
}

// The words for how a server is.
const (
	statusEnabled  = "enabled"
	statusDisabled = "disabled"
	statusError    = "error"
)

func compatStatus(l message.Lang, s *control.Server) (status, reason string) {
	switch {
	case !s.Definition.Enabled:
		return statusDisabled, ""
	case s.Status.Reason == nil:
		return statusEnabled, ""
	}
	switch s.Status.State {
	case hub.StateCrashed, hub.StateFailed, hub.StateReconnecting:
		return statusError, s.Status.Reason.In(l)
	}
	return statusEnabled, ""
}

// The words for how the hub shows who it is.
const (
	authNone   = "none"
	authAPIKey = "api_key"
	authOAuth  = "oauth"
)

// authOf says how the hub shows a server who it is, masked.
func authOf(def *hub.Server) (kind string, shown map[string]string) {
	shown = make(map[string]string)
	if o := def.OAuth; o != nil && !o.Off {
		for name, value := range map[string]string{"authorizationServer": o.AuthorizationServer, "clientId": o.ClientID, "scope": strings.Join(o.Scopes, " ")} {
			if value != "" {
				shown[name] = value
			}
		}
		if o.ClientSecret != "" {
			shown["clientSecret"] = config.Unchanged
		}
		return authOAuth, shown
	}
	headers := config.MaskHeaders(def.Headers)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		switch lower := strings.ToLower(name); {
		case lower == "authorization":
			shown[authAPIKey] = strings.TrimPrefix(headers[name], "Bearer ")
		case strings.Contains(lower, "key") || strings.Contains(lower, "token"):
			shown["header"], shown[authAPIKey] = name, headers[name]
		default:
			continue
		}
		return authAPIKey, shown
	}
	return authNone, shown
}

func (d *Door) compatRow(ctx context.Context, key string) (*compatDoneOutput, error) {
	k, err := d.keyed(ctx, key)
	if err != nil {
		return nil, failed(err)
	}
	see, err := d.sight(ctx)
	if err != nil {
		return nil, err
	}
	rows := d.rows(ctx, see)
	return &compatDoneOutput{api.CompatServerDone{Success: true, Server: rows.row(&k)}}, nil
}

func (d *Door) compatToggle(ctx context.Context, in *compatToggleInput) (*compatDoneOutput, error) {
	k, err := d.known(ctx, in.Key)
	if err != nil {
		return nil, failed(err)
	}
	on := k.server != nil && k.server.Definition.Enabled
	want := !on
	if in.Body != nil && in.Body.Enabled != nil {
		want = *in.Body.Enabled
	}
	if want != on {
		if err := d.opt.Control.SetEnabled(ctx, k.key, want); err != nil {
			return nil, failed(err)
		}
	}
	return d.compatRow(ctx, k.key)
}

func (d *Door) compatAdd(ctx context.Context, in *compatAddInput) (*compatAddedOutput, error) {
	set := &in.Body.CompatServerSet
	if len(in.Body.MCPServers) > 0 && string(in.Body.MCPServers) != "null" {
		return d.compatImport(ctx, &in.Body)
	}
	key, err := keyOfSet(set)
	if err != nil {
		return nil, failed(err)
	}
	row, entry := api.CompatServer{Transport: string(hub.KindStdio), Status: statusDisabled}, newEntry([]byte(`{"enabled":false}`))
	k := known{key: key}
	if p, ok := preset.Find(key); ok && (!unsaid(set.PresetKey) || unsaid(set.Command) && unsaid(set.ServerURL)) {
		k.preset = &p
		row = (&rowing{lang: lang(ctx)}).row(&k)
		entry = newEntry(p.Entry(false))
	}
	if err := entry.changeOf(&k, &row, set); err != nil {
		return nil, failed(err)
	}
	if key, err = d.opt.Control.Add(key, entry.json()); err != nil {
		return nil, failed(err)
	}
	done, err := d.compatRow(ctx, key)
	if err != nil {
		return nil, err
	}
	return &compatAddedOutput{api.CompatServerAdded{Success: true, Server: done.Body.Server, Servers: []api.CompatServer{done.Body.Server}}}, nil
}

// compatImport defines the servers of a block.
func (d *Door) compatImport(ctx context.Context, body *api.CompatServerAdd) (*compatAddedOutput, error) {
	if !reflect.ValueOf(body.CompatServerSet).IsZero() {
		return nil, failed(unfit(message.Say(`body: "mcpServers" goes alone`)))
	}
	text := slices.Concat([]byte(`{"mcpServers":`), d.offUnlessSaid(body.MCPServers), []byte(`}`))
	plan, err := d.opt.Control.Import(text, control.ImportOptions{DryRun: true})
	if err == nil && len(plan.Clashing) > 0 {
		err = hub.E(message.ServerExists, nil, "server", message.Quote(plan.Clashing[0]))
	}
	if err == nil {
		plan, err = d.opt.Control.Import(text, control.ImportOptions{})
	}
	if err != nil {
		return nil, failed(err)
	}
	out := &compatAddedOutput{api.CompatServerAdded{Success: true, Servers: []api.CompatServer{}}}
	all, see, err := d.everything(ctx)
	if err != nil {
		return nil, err
	}
	rows := d.rows(ctx, see)
	for _, k := range all {
		if slices.Contains(plan.New, k.key) || slices.Contains(plan.Same, k.key) {
			out.Body.Servers = append(out.Body.Servers, rows.row(&k))
		}
	}
	if len(out.Body.Servers) > 0 {
		out.Body.Server = out.Body.Servers[0]
	}
	return out, nil
}

// offUnlessSaid is a block in which every new server that does not say whether it
// is enabled is disabled; one that is there stays what it is.
func (d *Door) offUnlessSaid(block json.RawMessage) []byte {
	if len(block) == 0 || block[0] != '{' {
		return block // which the reader of blocks tells of
	}
	all := newEntry(block)
	for key, raw := range all.values {
		if len(raw) == 0 || raw[0] != '{' {
			continue
		}
		one := newEntry(raw)
		if one.saysEnabled() {
			continue
		}
		s, err := d.opt.Control.Server(key)
		one.set(err == nil && s.Definition.Enabled, "enabled")
		all.values[key] = one.json()
	}
	return all.json()
}

func (d *Door) compatChange(ctx context.Context, in *compatSetInput) (*compatDoneOutput, error) {
	k, err := d.known(ctx, in.ID)
	if err != nil {
		return nil, failed(err)
	}
	set := &in.Body
	if said := firstSaid(set.Key, set.PresetKey); said != "" && said != k.key {
		return nil, failed(unfit(message.Say("body: the key of a server stays what it is")))
	}
	see, err := d.sight(ctx)
	if err != nil {
		return nil, err
	}
	rows := d.rows(ctx, see)
	row := rows.row(&k)
	var was []byte
	if k.server == nil {
		was = k.preset.Entry(false)
	} else if was, _, err = d.opt.Control.Entry(k.key); err != nil {
		return nil, failed(err)
	}
	entry := newEntry(was)
	if err := entry.changeOf(&k, &row, set); err != nil {
		return nil, failed(err)
	}
	if k.server == nil {
		_, err = d.opt.Control.Add(k.key, entry.json())
	} else {
		err = d.opt.Control.Change(k.key, entry.json())
	}
	if err != nil {
		return nil, failed(err)
	}
	return d.compatRow(ctx, k.key)
}

func (d *Door) compatDelete(ctx context.Context, in *compatDeleteInput) (*compatDeleteOutput, error) {
	k, err := d.known(ctx, in.ID)
	if err == nil && k.kept() {
		err = hub.E(message.PresetKept, nil, "server", message.Quote(k.key))
	}
	if err == nil {
		err = d.opt.Control.Remove(k.key)
	}
	if err != nil {
		return nil, failed(err)
	}
	return &compatDeleteOutput{api.CompatDone{Success: true}}, nil
}
