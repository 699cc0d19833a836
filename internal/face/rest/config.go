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
	configOutput struct {
		ETag string `header:"ETag" doc:"Names the text; to be sent as If-Match"`
		Body api.ConfigText
	}
	uploadInput struct {
		DryRun  bool   `query:"dryRun" doc:"Only say what would be done"`
		IfMatch string `header:"If-Match" doc:"ETag of the text that is replaced; not needed for a dry run"`
		Body    api.ConfigUpload
	}
	checkInput  struct{ Body api.ConfigUpload }
	checkOutput struct{ Body api.ConfigCheck }
	importInput struct {
		DryRun bool `query:"dryRun" doc:"Only say what would be done"`
		Body   api.Import
	}
	importOutput struct{ Body api.ImportResult }
)

// fileMiB is the limit of bodies that hold a whole file: as much as a
// configuration may have, and what it takes to write it as a JSON string.
const fileMiB = 17

// config registers what is about the configuration file.
func (d *Door) config() {
	upload := map[string]any{"text": "{\n  \"mcpServers\": {}\n}\n"}
	add(d, operation{
		id: "getConfig", method: http.MethodGet, path: "/config", group: aboutConfig,
		summary: "The configuration file, its secrets masked", needs: hub.MayOperate, hubwide: true,
		errors: []int{http.StatusConflict, http.StatusInternalServerError},
	}, func(context.Context, *struct{}) (*configOutput, error) {
		text, etag, err := d.opt.Control.Text()
		if err != nil {
			return nil, failed(err)
		}
		return &configOutput{etag, api.ConfigText{Path: d.opt.Control.Source().Path, ETag: etag, Text: string(text)}}, nil
	})
	add(d, operation{
		id: "putConfig", method: http.MethodPut, path: "/config", group: aboutConfig,
		summary: "Replace the configuration file and put it in force",
		about: "A text that cannot be used changes nothing, and neither does one for a file that is broken: it has to be mended by hand. " +
			"A value of `${unchanged}` stays what it is.",
		needs: hub.MayManage, hubwide: true, limit: fileMiB, example: upload,
		errors: []int{
			http.StatusConflict, http.StatusPreconditionFailed, http.StatusPreconditionRequired, http.StatusInternalServerError,
		},
	}, d.putConfig)
	// What a text would change tells whether its values are those of the file;
	// so this needs an administrator as well.
	add(d, operation{
		id: "checkConfig", method: http.MethodPost, path: "/config/check", group: aboutConfig,
		summary: "Say what is wrong with a text, or what it would change",
		about:   "The same as a dry run of putting it. That a text is wrong is no error of the request.",
		needs:   hub.MayManage, hubwide: true, reads: true, limit: fileMiB, example: upload,
	}, func(ctx context.Context, in *checkInput) (*checkOutput, error) {
		return check(ctx, func() (control.Check, error) { return d.opt.Control.Check([]byte(in.Body.Text)) })
	})
	add(d, operation{
		id: "reloadConfig", method: http.MethodPost, path: "/config/reload", group: aboutConfig,
		summary: "Read the configuration file anew and put it in force",
		about:   "A file that cannot be used changes nothing.",
		needs:   hub.MayManage, hubwide: true, errors: []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInternalServerError},
	}, func(ctx context.Context, _ *struct{}) (*checkOutput, error) {
		return checked(ctx, d.opt.Control.Reload)
	})
	add(d, operation{
		id: "import", method: http.MethodPost, path: "/import", group: aboutConfig,
		summary: "Take servers over from another program's file",
		about:   "All that are taken over are, or none. Values that are secrets are sealed.",
		needs:   hub.MayManage, hubwide: true, limit: fileMiB,
		example: map[string]any{"name": "claude_desktop_config.json", "text": `{"mcpServers":{"time":{"command":"uvx","args":["mcp-server-time"]}}}`},
		errors:  []int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusInternalServerError},
	}, d.take)
}

func (d *Door) putConfig(ctx context.Context, in *uploadInput) (*checkOutput, error) {
	switch {
	case in.DryRun:
		return check(ctx, func() (control.Check, error) { return d.opt.Control.Check([]byte(in.Body.Text)) })
	case in.IfMatch == "":
		return nil, failed(hub.E(message.ETagMissing, nil))
	}
	return checked(ctx, func() (control.Check, error) { return d.opt.Control.Put([]byte(in.Body.Text), in.IfMatch) })
}

// checked answers what was done with a text.
func checked(ctx context.Context, do func() (control.Check, error)) (*checkOutput, error) {
	done, err := do()
	if err != nil {
		return nil, failed(err)
	}
	return &checkOutput{checkView(ctx, done, nil)}, nil
}

// check answers what could be done with a text: that it is wrong is an answer,
// too.
func check(ctx context.Context, look func() (control.Check, error)) (*checkOutput, error) {
	c, err := look()
	if err != nil && !hub.IsCode(err, message.ConfigInvalid) {
		return nil, failed(err)
	}
	return &checkOutput{checkView(ctx, c, err)}, nil
}

func checkView(ctx context.Context, c control.Check, err error) api.ConfigCheck {
	return api.ConfigCheck{
		Valid: err == nil, Problems: faultProblems(lang(ctx), err), Warnings: warnings(lang(ctx), c.Warnings),
		Diff: api.ConfigDiff{
			Added: some(c.Diff.Added), Changed: some(c.Diff.Changed), Restarted: some(c.Diff.Restarted),
			Removed: some(c.Diff.Removed), Unchanged: some(c.Diff.Unchanged),
			Views: c.Diff.Views, Settings: c.Diff.Settings, NextStart: some(c.Diff.NextStart),
		},
	}
}

func (d *Door) take(ctx context.Context, in *importInput) (*importOutput, error) {
	b := in.Body
	done, err := d.opt.Control.Import([]byte(b.Text), control.ImportOptions{
		Name: b.Name, Keys: b.Keys, Replace: b.Replace, Disabled: b.Disabled, DryRun: in.DryRun,
	})
	if err != nil {
		return nil, failed(err)
	}
	return &importOutput{api.ImportResult{
		Form: done.Form, New: some(done.New), Same: some(done.Same), Clashing: some(done.Clashing),
		Written: some(done.Written), Endpoints: some(done.Endpoints), Warnings: warnings(lang(ctx), done.Warnings),
	}}, nil
}

// some is a list that is not null in JSON.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
