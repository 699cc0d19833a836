package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type (
	configOutput struct {
		ETag string `header:"ETag"`
		Body api.ConfigText
	}
	uploadInput struct {
		IfMatch string `header:"If-Match" doc:"ETag of the text that is replaced"`
		DryRun  bool   `query:"dryRun" doc:"Only say what would change"`
		Body    api.ConfigUpload
	}
	checkInput  struct{ Body api.ConfigUpload }
	checkOutput struct{ Body api.ConfigCheck }
	importInput struct {
		DryRun bool `query:"dryRun" doc:"Only say what would be taken over"`
		Body   api.Import
	}
	importOutput struct{ Body api.ImportResult }
)

// config registers what is about the configuration file.
func (d *Door) config() {
	huma.Register(d.api, operation("getConfig", http.MethodGet, "/config", "The configuration file, its secrets masked"),
		func(context.Context, *struct{}) (*configOutput, error) {
			text, etag, err := d.opt.Control.Text()
			if err != nil {
				return nil, failed(err)
			}
			return &configOutput{etag, api.ConfigText{Path: d.opt.Control.Source().Path, ETag: etag, Text: string(text)}}, nil
		})
	put := change("putConfig", http.MethodPut, "/config", "Replace the configuration file and put it in force")
	put.MaxBodyBytes = maxConfig
	huma.Register(d.api, put, d.putConfig)
	// Checking reads files that the text names no more than parsing does, and
	// compares with the file in force, whose secrets it does not tell.
	check := operation("checkConfig", http.MethodPost, "/config/check", "Say what is wrong with a text, or what it would change")
	check.MaxBodyBytes = maxConfig
	huma.Register(d.api, check, func(ctx context.Context, in *checkInput) (*checkOutput, error) {
		return checked(d.opt.Control.Check([]byte(in.Body.Text)))(ctx)
	})
	huma.Register(d.api, change("reloadConfig", http.MethodPost, "/config/reload", "Read the configuration file anew and put it in force"),
		func(ctx context.Context, _ *struct{}) (*checkOutput, error) {
			done, err := d.opt.Control.Reload()
			if err != nil {
				return nil, failed(err)
			}
			return &checkOutput{checkView(ctx, done, nil)}, nil
		})
	take := change("import", http.MethodPost, "/import", "Take servers over from another program's file")
	take.MaxBodyBytes = maxConfig
	huma.Register(d.api, take, d.take)
	d.mux.HandleFunc("GET "+api.Base+"/config/schema", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/schema+json")
		_, _ = w.Write(config.Schema()) // the client may be gone
	})
}

func (d *Door) putConfig(ctx context.Context, in *uploadInput) (*checkOutput, error) {
	text := []byte(in.Body.Text)
	if in.DryRun {
		return checked(d.opt.Control.Check(text))(ctx)
	}
	if in.IfMatch == "" {
		return nil, failed(hub.E(message.ETagMissing, nil))
	}
	done, err := d.opt.Control.Put(text, in.IfMatch)
	if err != nil {
		return nil, failed(err)
	}
	return &checkOutput{checkView(ctx, done, nil)}, nil
}

// checked answers a check: that a text is wrong is no error of the request.
func checked(c control.Check, err error) func(context.Context) (*checkOutput, error) {
	return func(ctx context.Context) (*checkOutput, error) {
		if err != nil && !hub.IsCode(err, message.ConfigInvalid) {
			return nil, failed(err)
		}
		return &checkOutput{checkView(ctx, c, err)}, nil
	}
}

func checkView(ctx context.Context, c control.Check, err error) api.ConfigCheck {
	return api.ConfigCheck{
		Valid: err == nil, Problems: faultProblems(lang(ctx), err), Warnings: warnings(c.Warnings),
		Diff: api.ConfigDiff{
			Added: some(c.Diff.Added), Changed: some(c.Diff.Changed),
			Removed: some(c.Diff.Removed), Unchanged: some(c.Diff.Unchanged),
		},
	}
}

func (d *Door) take(_ context.Context, in *importInput) (*importOutput, error) {
	b := in.Body
	done, err := d.opt.Control.Import([]byte(b.Text), control.ImportOptions{
		Name: b.Name, Keys: b.Keys, Replace: b.Replace, Disabled: b.Disabled, DryRun: in.DryRun,
	})
	if err != nil {
		return nil, failed(err)
	}
	return &importOutput{api.ImportResult{
		Form: done.Form, New: some(done.New), Same: some(done.Same), Clashing: some(done.Clashing),
		Written: some(done.Written), Warnings: warnings(done.Warnings),
	}}, nil
}

// some is a list that is not null in JSON.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
